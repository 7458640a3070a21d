//! Configuration files: one `--name=value` a line; `#` begins a comment.

use std::collections::BTreeMap;

use super::{Declared, Fault, Kind, Known, Names, Options, Source, Value};
use crate::error::without_numbers;
use crate::escape::shell_escape;
use crate::text::trim;

/// Options of every program, which files may have, too. They have no effect there.
const STANDARD: [(&str, Kind); 3] =
    [("config", Kind::String), ("print-args", Kind::Bool), ("verbose", Kind::Int)];

/// Returns options with their defaults.
pub fn defaults<O: Options>() -> O {
    O::from_source(&mut Given(BTreeMap::new()))
}

/// Reads the options in a configuration file. Other options have their defaults.
///
/// # Errors
/// The file cannot be read, or has a line that is no option or has a value out of range.
pub fn read_file<O: Options>(path: &str) -> Result<O, Fault> {
    let listed = Listed::of::<O>();
    let given = listed.names.in_file(path)?;
    listed.filled(given)
}

/// Returns options with these arguments, `--name=value` each. Other options have their defaults.
///
/// # Errors
/// An argument is no option, or has a value out of range.
pub fn read_given<O: Options>(arguments: &[&str]) -> Result<O, Fault> {
    let listed = Listed::of::<O>();
    let given = arguments.iter().map(|argument| {
        let unknown = format!("Invalid option {argument}");
        if !argument.starts_with("--") {
            return Err(Fault::Form(unknown));
        }
        let (known, value) = listed.names.given(argument, &unknown)?;
        Ok((known.long.clone(), value))
    });
    let given = given.collect::<Result<_, _>>()?;
    listed.filled(given)
}

impl Names {
    /// Returns the options of a file, with names and canonical values.
    ///
    /// # Errors
    /// The file cannot be read, or has a line that is no option.
    pub fn in_file(&self, path: &str) -> Result<Vec<(String, String)>, Fault> {
        let content = std::fs::read(path).map_err(|e| {
            let e = without_numbers(&e.to_string());
            Fault::Value(format!("Cannot open config file: {}: {e}", shell_escape(path)))
        })?;
        let content = String::from_utf8_lossy(&content).into_owned();
        let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
        let mut given = Vec::new();
        for (index, line) in content.lines().enumerate() {
            let line = trim(line.split('#').next().unwrap_or_default());
            if line.is_empty() {
                continue;
            }
            if !line.starts_with("--") {
                return Err(Fault::Value(format!(
                    "Reading config file {path}: line {} does not look like a line from a Kaldi command-line \
                     program's config file: should be of the form --x=y.  Note: config files intended to be sourced \
                     by shell scripts lack the '--'.",
                    index + 1
                )));
            }
            let unknown = format!("Invalid option {} in config file {path}", shortened(line));
            let (known, value) = self.given(line, &unknown)?;
            given.push((known.long.clone(), value));
        }
        Ok(given)
    }
}

/// A text as it may be repeated in a message.
fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

type Check = fn(&str) -> Result<(), String>;

/// The options of a struct, with checks of their values.
struct Listed {
    names: Names,
    checks: BTreeMap<String, Check>,
}

impl Listed {
    fn of<O: Options>() -> Listed {
        let mut listed = Listed { names: Names::default(), checks: BTreeMap::new() };
        O::from_source(&mut listed);
        for (name, kind) in STANDARD {
            if !listed.checks.contains_key(name) {
                let check: Check = match kind {
                    Kind::Int => |text| i32::parse(text).map(drop),
                    _ => |_| Ok(()),
                };
                listed.add(name.to_owned(), kind, check);
            }
        }
        listed
    }

    fn add(&mut self, long: String, kind: Kind, check: Check) {
        self.checks.insert(long.clone(), check);
        self.names.0.push(Known { long, aliases: Vec::new(), kind });
    }

    /// Returns the struct with these values. The last value of an option counts.
    fn filled<O: Options>(&self, given: Vec<(String, String)>) -> Result<O, Fault> {
        for (name, value) in &given {
            if let Some(Err(why)) = self.checks.get(name).map(|check| check(value)) {
                return Err(Fault::Value(format!("Invalid value \"{value}\" of --{name}: {why}")));
            }
        }
        Ok(O::from_source(&mut Given(given.into_iter().collect())))
    }
}

impl Source for Listed {
    fn value<V: Value>(&mut self, option: &Declared<V>) -> V {
        self.add(option.name(), V::KIND, |text| V::parse(text).map(drop));
        V::of_default(option.default)
    }
}

/// Values that have been checked, by the names of their options.
struct Given(BTreeMap<String, String>);

impl Source for Given {
    fn value<V: Value>(&mut self, option: &Declared<V>) -> V {
        let given = self.0.get(&option.name()).and_then(|text| V::parse(text).ok());
        given.unwrap_or_else(|| V::of_default(option.default))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::options! {
        struct Inner {
            /// Edge.
            low_freq: f32 = 20.0,
            /// Scale
            scale("mel.scale"): f64 = 0.5,
        }
    }

    crate::options! {
        struct Outer {
            inner: Inner,
            /// Number
            num_bins: i32 = 23,
            /// Count
            min_active: usize = 200,
            /// Size
            block: u32 = 256,
            /// Switch
            snip_edges: bool = true,
            /// Name
            window_type: String = "povey",
        }
    }

    fn read(content: &str) -> Result<Outer, String> {
        let thread = std::thread::current();
        let name = format!("options-{}-{}.conf", std::process::id(), thread.name().unwrap_or_default());
        let path = std::env::temp_dir().join(name.replace(':', "-"));
        std::fs::write(&path, content).unwrap();
        let read = read_file(path.to_str().unwrap());
        std::fs::remove_file(&path).unwrap();
        read.map_err(|fault| fault.to_string().replace(path.to_str().unwrap(), "FILE"))
    }

    #[test]
    fn values_come_from_lines_and_defaults() {
        let usual: Outer = defaults();
        assert_eq!((usual.inner.low_freq, usual.inner.scale, usual.num_bins), (20.0, 0.5, 23));
        assert_eq!((usual.min_active, usual.block, usual.snip_edges), (200, 256, true));
        let text = "\u{feff}# comment\r\n\n--num_bins= 40 # bins\n--Low-Freq=-1e2\n--snip-edges=F\n--mel.scale=inf\n\
                    --window-type=a=b\n--num-bins=41\n--min-active=7\n--block=0\n--verbose=2\n--print-args=no";
        assert!(
            read(text)
                .is_err_and(|error| error.contains("expected true or false]: no (option --print-args)"))
        );
        let some = read(text.strip_suffix("=no").unwrap()).unwrap();
        assert_eq!((some.inner.low_freq, some.inner.scale, some.num_bins), (-100.0, f64::INFINITY, 41));
        assert_eq!((some.min_active, some.block, some.snip_edges), (7, 0, false));
        assert_eq!(some.window_type, "a=b");
    }

    #[test]
    fn faults_name_file_line_option_and_range() {
        for (line, expected) in [
            ("--num-bin=3", "Invalid option --num-bin=3 in config file FILE (did you mean --num-bins?)"),
            ("--verbos=3", "Invalid option --verbos=3 in config file FILE (did you mean --verbose?)"),
            ("--help", "Invalid option --help in config file FILE"),
            ("--=3", "Invalid option (no key): --=3"),
            ("--num-bins=3.5", "Invalid integer option \"3.5\" (option --num-bins)"),
            ("--num-bins", "Invalid integer option \"\" (option --num-bins)"),
            ("--low-freq=x", "Invalid floating-point option \"x\" (option --low-freq)"),
            ("--low-freq=1e60", "Option --low-freq=1e60 is out of range"),
            ("--mel.scale=nan", "Option --mel.scale=nan is not a number"),
            ("--window-type", "Invalid option --window-type (option format is --window-type=VALUE)."),
            ("--snip-edges=", "Invalid option --snip-edges="),
            (
                "--num-bins=3000000000",
                "Invalid value \"3000000000\" of --num-bins: 3000000000 is not in -2147483648..=2147483647",
            ),
            ("--block=-1", "Invalid value \"-1\" of --block: -1 is not in 0..=4294967295"),
            ("--min-active=-1", "Invalid value \"-1\" of --min-active: invalid digit found in string"),
        ] {
            assert_eq!(read(line).err().as_deref(), Some(expected), "{line}");
        }
        let error = read("--num-bins=3\n\nnum-bins=3").err().unwrap();
        assert!(error.starts_with("Reading config file FILE: line 3 does not look like"), "{error}");
        assert!(read(&format!("--{}", "x".repeat(100_000))).is_err_and(|error| error.len() < 1000));
        let missing = read_file::<Outer>("/no/file").err().unwrap().to_string();
        assert_eq!(missing, "Cannot open config file: /no/file: No such file or directory");
        let argument = read_given::<Outer>(&["num-bins"]).err().unwrap();
        assert_eq!(argument.to_string(), "Invalid option num-bins");
    }

    #[test]
    fn explanations_are_one_line() {
        let declared = |lines| Declared::<i32> { field: "a_b", long: None, default: 1, lines };
        assert_eq!(declared(&[" One", " two."]).help(), "One two");
        assert_eq!(declared(&[" And so on.."]).help(), "And so on..");
        assert_eq!(declared(&[" One"]).name(), "a-b");
    }
}
