//! Command lines with options behind arguments and with letters for options, as most programs outside of Kaldi have them.

use std::path::Path;

use clap::Command;

use crate::arguments::{Attached, lacks_value};

/// Puts options before arguments, with `--` between them, and joins options and their values.
pub(super) fn options_first(command: &Command, argv: &[String]) -> (Vec<String>, Vec<Attached>) {
    let (mut options, mut positionals): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut attached: Vec<Attached> = Vec::new();
    let mut rest = argv.iter().peekable();
    while let Some(text) = rest.next() {
        let option = match text.strip_prefix("--") {
            Some("") => break,
            Some(_) => Some(text.clone()),
            None => spelled_out(command, text).or_else(|| long_with_one_dash(text)),
        };
        let Some(option) = option else {
            positionals.push(text.clone());
            continue;
        };
        let value = match lacks_value(command, &option) {
            true => rest.next_if(|next| !next.starts_with("--")),
            false => None,
        };
        options.push(value.map_or_else(|| option.clone(), |value| format!("{option}={value}")));
        attached.extend(value.map(|value| Attached { option: text.clone(), value: value.clone() }));
    }
    positionals.extend(rest.cloned());
    options.push("--".to_owned());
    options.extend(positionals);
    (options, attached)
}

/// Writes `-x` and `-xVALUE` as the option whose letter is x. `None` if there is none.
fn spelled_out(command: &Command, text: &str) -> Option<String> {
    let mut letters = text.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    if letter == 'h' && letters.as_str().is_empty() {
        return Some("--help".to_owned());
    }
    let option = command.get_opts().find(|option| option.get_short() == Some(letter))?;
    let long = option.get_long()?;
    Some(match letters.as_str() {
        "" => format!("--{long}"),
        value => format!("--{long}={}", value.strip_prefix('=').unwrap_or(value)),
    })
}

/// Writes `-name` as `--name`, unless it is a file or a number. So no option with one dash is taken for the name of a file.
fn long_with_one_dash(text: &str) -> Option<String> {
    let name = text.strip_prefix('-')?;
    let is_argument = name.is_empty() || text.parse::<f64>().is_ok() || Path::new(text).exists();
    (!is_argument).then(|| format!("-{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Options {
        /// File
        #[arg(long, short = 'o', default_value = "")]
        output: String,
        /// Switch
        #[arg(long, default_value_t = false)]
        times: bool,
        #[arg(required = true)]
        paths: Vec<String>,
    }

    #[test]
    fn options_come_first_and_two_dashes_end_them() {
        let command = crate::command::<Options>();
        let first = |line: &str| {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            options_first(&command, &argv).0.join(" ")
        };
        assert_eq!(first("a --output b c -o d"), "--output=b --output=d -- a c");
        assert_eq!(first("a -ob -o=c --times d"), "--output=b --output=c --times -- a d");
        assert_eq!(first("a -- --times -o"), "-- a --times -o");
        assert_eq!(first("- -x --times=f -1"), "--x --times=f -- - -1");
        // An option with one dash is one with two. Arguments stay.
        assert_eq!(first("a -times b"), "--times -- a b");
        assert_eq!(first("a -times=f /"), "--times=f -- a /");
        assert_eq!(first("a -o - -h"), "--output=- --help -- a");
        assert_eq!(first("a --output --times"), "--output --times -- a");
    }
}
