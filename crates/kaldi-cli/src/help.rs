//! Usage text, made from clap's command.

use clap::{Arg, Command};

use kaldi_io::options::Kind;

use crate::arguments::kind_of;

/// Heading of the options that every program has.
pub(super) const STANDARD: &str = "Standard options";

/// Width of lines, and of the column of option names.
const WIDTH: usize = 100;
const NAME_WIDTH: usize = 25;

/// The description of the program, its arguments, and its options by groups. The program's own options come first.
/// Those with a common prefix (`--optimization.…`) and those with a heading follow, and last the standard ones.
pub(super) fn usage(command: &Command) -> String {
    let mut out = String::from("\n");
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        push_wrapped(&mut out, &about.to_string(), 0);
        out.push('\n');
    }
    out.push_str(&format!("Usage: {}\n", synopsis(command)));
    if let Some(more) = command.get_after_long_help().or(command.get_after_help()) {
        out.push_str(&format!("\n{}\n", more.to_string().trim_end()));
    }
    let positionals: Vec<&Arg> = command.get_positionals().filter(|arg| arg.get_help().is_some()).collect();
    if !positionals.is_empty() {
        out.push_str("\nArguments:\n");
        positionals.iter().for_each(|arg| push_entry(&mut out, &value_name(arg), &doc(arg)));
    }
    let mut groups: Vec<(String, Vec<&Arg>)> = vec![("Options".to_owned(), Vec::new())];
    for arg in command.get_opts().filter(|arg| !arg.is_hide_set()) {
        let group = group(arg);
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, members)) => members.push(arg),
            None => groups.push((group, vec![arg])),
        }
    }
    groups.sort_by_key(|(name, _)| name == STANDARD);
    for (name, mut members) in groups.into_iter().filter(|(_, members)| !members.is_empty()) {
        members.sort_by_key(|arg| arg.get_long().unwrap_or_default());
        out.push_str(&format!("\n{name}:\n"));
        for arg in members {
            let letter = arg.get_short().map_or(String::new(), |letter| format!(", -{letter}"));
            let name = format!("--{}{letter}", arg.get_long().unwrap_or_default());
            push_entry(&mut out, &name, &option_doc(arg));
        }
    }
    out.push('\n');
    out
}

/// Heading of an option: its own, or its prefix up to the last dot.
fn group(arg: &Arg) -> String {
    let long = arg.get_long().unwrap_or_default();
    match (arg.get_help_heading(), long.rsplit_once('.')) {
        (Some(heading), _) => heading.to_owned(),
        (None, Some((prefix, _))) => format!("Options of --{prefix}"),
        (None, None) => "Options".to_owned(),
    }
}

/// Returns the synopsis, and the option that prints the full help.
pub(super) fn hint(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    format!("Usage: {}\n{name} --help explains arguments and options.\n", synopsis(command))
}

/// The line of `--version`.
pub(super) fn version(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let own = command.get_version().unwrap_or(env!("CARGO_PKG_VERSION"));
    format!("{name} {own} (files, options and messages of Kaldi {})\n", crate::log::VERSION)
}

/// `program [options] <a> <b> [<c>]`.
pub(super) fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut out = format!("{name} [options]");
    for arg in command.get_positionals() {
        let value = value_name(arg);
        let many = arg.get_num_args().is_some_and(|n| n.max_values() > 1);
        out.push_str(&match (arg.is_required_set(), many) {
            (true, true) if is_written_out(&value) => format!(" {value}"),
            (true, true) => format!(" {value} ..."),
            (true, false) => format!(" {value}"),
            (false, true) => format!(" [{value} ...]"),
            (false, false) => format!(" [{value}]"),
        });
    }
    out
}

/// True if a name describes its arguments completely, as in `<a>|<b>` or `<a1> [<a2> ...]`.
fn is_written_out(name: &str) -> bool {
    name.contains(' ') || name.contains('|')
}

/// Returns the name of a value in the help, for example `<raw-model-in>`. A name that has such brackets already stays
/// unchanged: `(<rspecifier>|<rxfilename>)`.
pub(super) fn value_name(arg: &Arg) -> String {
    let name = arg
        .get_value_names()
        .and_then(|names| names.first())
        .map_or(arg.get_id().as_str(), |name| name.as_str());
    if name.contains('<') {
        return name.to_owned();
    }
    format!("<{}>", name.to_ascii_lowercase().replace('_', "-"))
}

fn doc(arg: &Arg) -> String {
    arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default()
}

/// The doc comment with type and default: `Scale (float, default = 1)`. Values with explanations follow, a line for each.
fn option_doc(arg: &Arg) -> String {
    let kind = kind_of(arg);
    let default = arg.get_default_values().first().map(|value| value.to_string_lossy());
    let default = match (default, kind) {
        (Some(value), Kind::String) => format!(", default = \"{value}\""),
        (Some(value), _) => format!(", default = {value}"),
        (None, _) => String::new(),
    };
    let mut text = format!("{} ({}{default})", doc(arg).trim_end(), kind.name());
    for value in arg.get_possible_values() {
        if let Some(meaning) = value.get_help() {
            text += &format!("\n{}: {meaning}", value.get_name());
        }
    }
    text
}

fn push_entry(out: &mut String, name: &str, doc: &str) {
    let start = out.len();
    out.push_str(&format!("  {name:width$} : ", width = NAME_WIDTH + 2));
    let column = out.len() - start;
    push_wrapped(out, doc, column);
}

/// Appends text and a newline; continuation lines begin at `column`. Blank lines stay.
fn push_wrapped(out: &mut String, text: &str, column: usize) {
    let hang = (NAME_WIDTH + 7).min(column);
    let mut at = column;
    let mut first = true;
    for line in text.trim_end().lines() {
        if !first {
            out.push('\n');
            out.push_str(&" ".repeat(hang));
            at = hang;
        }
        let mut line_start = true;
        for word in line.split_whitespace() {
            let width = word.chars().count();
            if !line_start && at + 1 + width > WIDTH {
                out.push('\n');
                out.push_str(&" ".repeat(hang));
                at = hang;
            } else if !line_start {
                out.push(' ');
                at += 1;
            }
            out.push_str(word);
            at += width;
            line_start = false;
        }
        first = false;
    }
    out.push('\n');
}
