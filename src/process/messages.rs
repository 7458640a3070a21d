//! Log lines of programs, for lines that scripts do not parse: function `main` of a file named after the program.

use std::sync::{LazyLock, Mutex, PoisonError};

use kaldi_cli::log::{self, Site};

/// The warnings of this process.
#[derive(Default)]
struct Warnings {
    count: u64,
    first: String,
    /// Remarks in parentheses behind warnings.
    advice: Vec<String>,
}

static WARNINGS: LazyLock<Mutex<Warnings>> = LazyLock::new(Mutex::default);

/// A remark in parentheses of at least so many bytes is advice, and is given once.
const ADVICE: usize = 80;
/// So many remarks are remembered.
const MOST_ADVICE: usize = 20;

impl Warnings {
    /// Counts a warning. Returns its length without the advice behind it, if that was given before.
    fn count(&mut self, message: &str) -> usize {
        self.count += 1;
        if self.first.is_empty() {
            message.clone_into(&mut self.first);
        }
        let whole = message.strip_suffix('.').unwrap_or(message);
        let Some(at) = whole.rfind(" (").filter(|at| whole.ends_with(')') && whole.len() - at >= ADVICE)
        else {
            return message.len();
        };
        let advice = &whole[at..];
        // (Numbers in it, such as rates, make it another one.)
        if self.advice.iter().any(|given| given == advice) {
            return at;
        }
        if self.advice.len() < MOST_ADVICE {
            self.advice.push(advice.to_owned());
        }
        message.len()
    }
}

pub fn log(message: &str) {
    log::log(&Site::PROGRAM, message);
}

/// A `WARNING` line. A long remark in parentheses at its end is written once: the same advice is not given for each entry.
pub fn warn(message: &str) {
    let length = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).count(message);
    log::warning(&Site::PROGRAM, &message[..length]);
}

/// A clause about the warnings so far, for an error that ends a program which could use no entry; empty without warnings.
pub fn warnings_so_far() -> String {
    let warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    match warnings.count {
        0 => String::new(),
        1 => format!(", because of the warning: {}", warnings.first),
        count => format!(", because of {count} warnings, the first of which is: {}", warnings.first),
    }
}

pub fn error(message: &str) {
    log::error(&Site::PROGRAM, message);
}

/// A `VLOG` line, written with `--verbose` of at least this level.
pub fn detail(level: i32, message: std::fmt::Arguments) {
    if level <= log::verbose() {
        log::vlog(level, &Site::PROGRAM, &message.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::Warnings;

    #[test]
    fn advice_is_given_once() {
        let advice = " (--sample-frequency=8000 computes features of this rate; --allow-upsample=true allows upsampling)";
        let mut warnings = Warnings::default();
        let mut shown = |message: &str| message[..warnings.count(message)].to_owned();
        assert_eq!(shown(&format!("a: a mismatch{advice}.")), format!("a: a mismatch{advice}."));
        assert_eq!(shown(&format!("b: a mismatch{advice}.")), "b: a mismatch");
        // Other advice, short remarks, and parentheses within a sentence stay.
        let other = advice.replace("8000", "11025");
        assert_eq!(shown(&format!("c: a mismatch{other}")), format!("c: a mismatch{other}"));
        for message in ["d: too short (3 frames)", "d: too short (3 frames)", "", "(", " (", ")"] {
            assert_eq!(shown(message), message);
        }
        let within = format!("e: it{advice} is there");
        assert_eq!([shown(&within), shown(&within)], [within.clone(), within]);
        assert_eq!((warnings.count, warnings.first.as_str()), (11, &*format!("a: a mismatch{advice}.")));
    }
}
