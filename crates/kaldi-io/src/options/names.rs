//! Finds options by their names. Case and `_`/`-` do not matter.

use super::{Fault, Kind};
use crate::text::trim;

/// An option that may be given.
#[derive(Debug, Clone)]
pub struct Known {
    /// The name, without dashes.
    pub long: String,
    /// Other names.
    pub aliases: Vec<String>,
    pub kind: Kind,
}

/// The options that may be given.
#[derive(Debug, Clone, Default)]
pub struct Names(pub Vec<Known>);

/// Names are compared in lower case and with `-` for `_`.
pub fn normal_name(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

impl Names {
    /// Returns the option with this normal name.
    pub fn find(&self, name: &str) -> Option<&Known> {
        self.0.iter().find(|known| {
            [&known.long].into_iter().chain(&known.aliases).any(|other| normal_name(other) == name)
        })
    }

    /// Splits `--name=value` or `--name` into the normal name and the value.
    ///
    /// # Errors
    /// There is no name.
    pub fn split(arg: &str) -> Result<(String, Option<&str>), Fault> {
        let body = arg.strip_prefix("--").unwrap_or(arg);
        let (name, value) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value)));
        if name.is_empty() {
            return Err(Fault::Form(format!("Invalid option (no key): {arg}")));
        }
        Ok((normal_name(name), value))
    }

    /// Returns the option and its canonical value. If no option has this name, the error is `unknown`, with a suggestion.
    ///
    /// # Errors
    /// No option has this name, or its value is of another kind.
    pub fn given(&self, arg: &str, unknown: &str) -> Result<(&Known, String), Fault> {
        let (name, value) = Self::split(arg)?;
        let Some(known) = self.find(&name) else {
            let hint =
                self.nearest(&name).map_or_else(String::new, |near| format!(" (did you mean --{near}?)"));
            return Err(Fault::Form(format!("{unknown}{hint}")));
        };
        let value = known.kind.canonical(&name, value.map(trim))?;
        Ok((known, value))
    }

    /// Returns the name that a wrong one may mean, if there is one.
    fn nearest(&self, name: &str) -> Option<&str> {
        if name.len() > 100 {
            return None;
        }
        let names = self.0.iter().map(|known| known.long.as_str());
        let close = names.filter_map(|long| Some((likeness(&normal_name(long), name)?, long)));
        close.min().map(|(_, long)| long)
    }
}

/// Returns the distance of an option from a wrong name; the nearest option is the smallest. Kinds of likeness, in this order: few
/// letters differ or are swapped; one has all words of the other (`threads` and `num-threads`); the wrong name is the beginning of
/// the option. `None` for names that are not alike.
fn likeness(option: &str, wrong: &str) -> Option<(u8, usize)> {
    const SHORTEST: usize = 3;
    let letters = strsim::osa_distance(option, wrong);
    if letters <= 1 + option.len() / 5 {
        return Some((0, letters));
    }
    if wrong.len() < SHORTEST {
        return None;
    }
    let words = |name: &str| name.split('-').map(str::to_owned).collect::<Vec<_>>();
    let (option_words, wrong_words) = (words(option), words(wrong));
    let has_all = |all: &[String], some: &[String]| {
        some.concat().len() >= SHORTEST && some.iter().all(|word| all.contains(word))
    };
    if has_all(&option_words, &wrong_words) || has_all(&wrong_words, &option_words) {
        return Some((1, option_words.len().abs_diff(wrong_words.len())));
    }
    option.starts_with(wrong).then_some((2, option.len()))
}

#[cfg(test)]
mod tests {
    use super::likeness;

    #[test]
    fn two_letters_that_are_swapped_are_one_mistake() {
        assert_eq!(likeness("port", "prot"), Some((0, 1)));
        assert_eq!((likeness("port", "trap"), likeness("port", "spot")), (None, None));
    }
}
