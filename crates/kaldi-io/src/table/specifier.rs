//! Rspecifiers and wspecifiers: `options:filename`, options split at commas and spaces.

use crate::error::{IoError, Result};
use crate::text::is_space;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RspecifierKind {
    Archive,
    Script,
}

/// A table to read, e.g. `ark,s,cs:file`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rspecifier {
    pub kind: RspecifierKind,
    /// The archive or script.
    pub rxfilename: String,
    /// `o`: each key is requested at most once.
    pub once: bool,
    /// `s`: keys of the table increase.
    pub sorted: bool,
    /// `cs`: keys are requested in ascending order.
    pub called_sorted: bool,
    /// `p`: unreadable objects are skipped.
    pub permissive: bool,
    /// `bg`: the next object is read by a thread while the present one is used.
    pub background: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WspecifierKind {
    Archive { archive: String },
    Script { script: String },
    Both { archive: String, script: String },
}

/// A table to write, e.g. `ark,t:file`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wspecifier {
    pub kind: WspecifierKind,
    pub binary: bool,
    /// `f`: flush after each object.
    pub flush: bool,
    /// `p`: keys that the script does not list are ignored.
    pub permissive: bool,
}

/// True for a valid rspecifier or wspecifier: a mistake if a file is expected.
pub(crate) fn is_table_specifier(text: &str) -> bool {
    text.starts_with(['a', 's']) && (Rspecifier::parse(text).is_ok() || Wspecifier::parse(text).is_ok())
}

/// Splits at the first colon; the part before it further into options.
fn split(specifier: &str) -> std::result::Result<(Vec<&str>, &str), String> {
    let (options, rest) = specifier.split_once(':').ok_or("there is no ':' in it")?;
    if specifier.bytes().last().is_some_and(is_space) {
        return Err("it ends with a blank".to_owned());
    }
    Ok((options.split([',', ' ']).collect(), rest))
}

fn unknown(option: &str) -> String {
    match option {
        "" => "there is an empty option".to_owned(),
        _ => format!("'{option}' is not an option, or not in this place"),
    }
}

impl Rspecifier {
    pub fn parse(text: &str) -> Result<Self> {
        let examples = "expected something like ark:file, scp:file or 'ark,s,cs:command |'";
        Self::parse_inner(text)
            .map_err(|why| IoError::spec(text, format!("not an rspecifier: {why}; {examples}")))
    }

    fn parse_inner(text: &str) -> std::result::Result<Self, String> {
        let (options, rxfilename) = split(text)?;
        let mut kind = None;
        let mut spec = Rspecifier {
            kind: RspecifierKind::Archive,
            rxfilename: rxfilename.to_owned(),
            once: false,
            sorted: false,
            called_sorted: false,
            permissive: false,
            background: false,
        };
        for option in options {
            match option {
                "ark" if kind.is_none() => kind = Some(RspecifierKind::Archive),
                "scp" if kind.is_none() => kind = Some(RspecifierKind::Script),
                "b" | "t" => {}
                "o" => spec.once = true,
                "no" => spec.once = false,
                "s" => spec.sorted = true,
                "ns" => spec.sorted = false,
                "cs" => spec.called_sorted = true,
                "ncs" => spec.called_sorted = false,
                "p" => spec.permissive = true,
                "np" => spec.permissive = false,
                "bg" => spec.background = true,
                other => return Err(unknown(other)),
            }
        }
        spec.kind = kind.ok_or("expected 'ark' or 'scp' before the colon")?;
        Ok(spec)
    }
}

impl Wspecifier {
    pub fn parse(text: &str) -> Result<Self> {
        let examples = "expected something like ark:file, ark,t:- or ark,scp:archive,script";
        Self::parse_inner(text)
            .map_err(|why| IoError::spec(text, format!("not a wspecifier: {why}; {examples}")))
    }

    fn parse_inner(text: &str) -> std::result::Result<Self, String> {
        let (options, rest) = split(text)?;
        let (mut archive, mut script) = (false, false);
        let (mut binary, mut flush, mut permissive) = (true, false, false);
        for option in options {
            match option {
                "ark" if !archive && !script => archive = true,
                "scp" if !script => script = true,
                "b" => binary = true,
                "t" => binary = false,
                "f" => flush = true,
                "nf" => flush = false,
                "p" => permissive = true,
                other => return Err(unknown(other)),
            }
        }
        let kind = match (archive, script) {
            (true, false) => WspecifierKind::Archive { archive: rest.to_owned() },
            (false, true) => WspecifierKind::Script { script: rest.to_owned() },
            (true, true) => {
                let (archive, script) = rest.split_once(',').ok_or("'ark,scp' needs two file names")?;
                WspecifierKind::Both { archive: archive.to_owned(), script: script.to_owned() }
            }
            (false, false) => return Err("expected 'ark' or 'scp' before the colon".to_owned()),
        };
        Ok(Wspecifier { kind, binary, flush, permissive })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rspecifiers() {
        let spec = Rspecifier::parse("b, ark:x").map(|s| s.kind);
        assert!(spec.is_err(), "an empty option between comma and space");
        let spec = Rspecifier::parse("ark t:x").unwrap();
        assert_eq!((spec.kind, spec.rxfilename.as_str()), (RspecifierKind::Archive, "x"));
        let spec = Rspecifier::parse("p,o,s,cs,bg,scp:a:b,c |").unwrap();
        assert_eq!(spec.kind, RspecifierKind::Script);
        assert_eq!(spec.rxfilename, "a:b,c |");
        assert!(spec.permissive && spec.once && spec.sorted && spec.called_sorted && spec.background);
        assert!(!Rspecifier::parse("p,np,ark:-").unwrap().permissive);
        for bad in ["ark", "x:y", "ark,scp:y", "ark,ark:y", "ark,f:y", "t:y", "ark:y ", "ark, t:x", ""] {
            assert!(Rspecifier::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn wspecifiers() {
        let spec = Wspecifier::parse("ark,t,scp,f:a b,c,d").unwrap();
        assert_eq!(spec.kind, WspecifierKind::Both { archive: "a b".into(), script: "c,d".into() });
        assert!(!spec.binary && spec.flush);
        assert!(Wspecifier::parse("ark:x").unwrap().binary);
        for bad in ["scp,ark:a,b", "ark,scp:a", "ark,o:a", "ark:a\t", "a"] {
            assert!(Wspecifier::parse(bad).is_err(), "{bad}");
        }
    }
}
