//! Translates Kaldi's option syntax into arguments that clap understands.
//!
//! First, `--name value` becomes `--name=value` if the option needs a value. Pass 1 searches all arguments for
//! `--config` and `--help`. Pass 2 takes the options up to the first positional argument. Each becomes `--name=value`
//! under its registered name, and its value is checked by the option's type. In other styles than Kaldi's, the options
//! are put before the arguments first.

use std::any::TypeId;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command};

use super::mixed::options_first;
use super::shell_escape;
use super::{StandardOptions, Stop, Style, help};
use crate::text::{parse_integer, parse_real, trim};

/// Type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    Double,
    String,
}

impl Kind {
    /// Finds the kind by the type of the field that the option fills.
    pub(super) fn of(arg: &Arg) -> Self {
        let id = arg.get_value_parser().type_id();
        let is = |types: &[TypeId]| types.iter().any(|t| id == *t);
        if is(&[TypeId::of::<bool>()]) {
            Kind::Bool
        } else if is(&[TypeId::of::<i32>(), TypeId::of::<i64>(), TypeId::of::<i16>(), TypeId::of::<i8>()]) {
            Kind::Int
        } else if is(&[TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>(), TypeId::of::<u16>()])
        {
            Kind::Uint
        } else if is(&[TypeId::of::<f32>()]) {
            Kind::Float
        } else if is(&[TypeId::of::<f64>()]) {
            Kind::Double
        } else {
            Kind::String
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Uint => "uint",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::String => "string",
        }
    }
}

/// clap's command for a program: with the standard options, without clap's own help and version, and with flags that
/// take values.
pub fn command<A: clap::Parser>() -> Command {
    let mut command = A::command();
    if !command.get_arguments().any(|arg| arg.get_long() == Some("print-args")) {
        command = StandardOptions::augment_args(command);
    }
    command
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args_override_self(true)
        .mut_args(|arg| {
            if !matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse) {
                return arg;
            }
            let opposite = matches!(arg.get_action(), ArgAction::SetFalse);
            let has_default = !arg.get_default_values().is_empty();
            let arg = arg.action(ArgAction::Set).num_args(1).value_parser(clap::value_parser!(bool));
            if has_default { arg } else { arg.default_value(if opposite { "true" } else { "false" }) }
        })
}

/// A value that stood apart from its option, and was taken for it.
pub(super) struct Attached {
    pub option: String,
    pub value: String,
}

/// Makes `--name=value` of each option that needs a value and has none and the argument after it, unless that one is an
/// option too. Switches need no value.
fn attach_values(command: &Command, argv: &[String]) -> (Vec<String>, Vec<Attached>) {
    let (mut out, mut attached): (Vec<String>, Vec<Attached>) = (Vec::new(), Vec::new());
    let mut rest = argv.iter().peekable();
    while let Some(arg) = rest.next_if(|arg| arg.starts_with("--") && *arg != "--") {
        let value =
            if lacks_value(command, arg) { rest.next_if(|next| !next.starts_with("--")) } else { None };
        out.push(value.map_or_else(|| arg.clone(), |value| format!("{arg}={value}")));
        attached.extend(value.map(|value| Attached { option: arg.clone(), value: value.clone() }));
    }
    out.extend(rest.cloned());
    (out, attached)
}

/// True if this text is an option that needs a value and has none.
pub(super) fn lacks_value(command: &Command, text: &str) -> bool {
    let name = text.strip_prefix("--").map(normal_name);
    name.and_then(|name| find(command, &name)).is_some_and(|option| Kind::of(option) != Kind::Bool)
}

/// The option with this normal name.
fn find<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    command.get_opts().find(|arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(aliases).any(|long| normal_name(long) == name)
    })
}

/// A command line, understood as far as it goes without types.
pub(super) struct Arguments {
    /// Program name, `--name=value` for each option, `--`, positionals.
    pub for_clap: Vec<OsString>,
    pub positionals: Vec<String>,
    /// Values that stood apart from their options.
    attached: Vec<Attached>,
    /// The command line for `--print-args`, or an empty string.
    pub echo: String,
}

/// An error that clap found.
pub(super) enum Problem {
    /// Too few or too many positional arguments.
    Positionals(String),
    /// An option's or argument's value.
    Value(String),
}

struct Normalizer<'a> {
    command: &'a Command,
    echo: String,
    /// Canonical options, in the order in which they apply.
    options: Vec<String>,
    print_args: bool,
}

pub(super) fn normalize(command: &Command, style: Style, argv: &[OsString]) -> Result<Arguments, Stop> {
    let texts = as_text(argv)?;
    let echo = texts.iter().map(|arg| shell_escape(arg) + " ").collect::<String>() + "\n";
    let program = texts.first().cloned().unwrap_or_default();
    let given = texts.get(1..).unwrap_or_default();
    let (texts, attached) = match style {
        Style::Kaldi => attach_values(command, given),
        Style::Mixed | Style::Quiet => options_first(command, given),
    };
    let mut normalizer = Normalizer { command, echo, options: Vec::new(), print_args: style != Style::Quiet };

    let is_option = |arg: &&String| arg.starts_with("--") && *arg != "--";
    if texts.iter().find(|arg| !is_option(arg)).is_some_and(|arg| arg == "-h") {
        return Err(Stop::shows(help::usage(command)));
    }
    for arg in texts.iter().take_while(|arg| *arg != "--").filter(|arg| arg.starts_with("--")) {
        let (name, value) = normalizer.split(arg)?;
        match name.as_str() {
            "config" => normalizer.read_config(trim(value.unwrap_or_default()))?,
            "help" if normalizer.check_value(Kind::Bool, &name, value.map(trim))? == "true" => {
                return Err(Stop::shows(help::usage(command)));
            }
            _ => {}
        }
    }

    let mut next = 0;
    let mut double_dash = false;
    while let Some(arg) = texts.get(next).filter(|arg| arg.starts_with("--")) {
        next += 1;
        if arg == "--" {
            double_dash = true;
            break;
        }
        if find(command, "version").is_none() && normalizer.split(arg)? == ("version".to_owned(), None) {
            return Err(Stop::shows(help::version(command)));
        }
        if normalizer.split(arg)?.0 != "help" {
            normalizer.add(arg, &format!("Invalid option {arg}"))?;
        }
    }
    let mut positionals = texts[next..].to_vec();
    if !double_dash && let Some(at) = positionals.iter().position(|arg| arg == "--") {
        positionals.remove(at);
    }
    let words = [program].into_iter().chain(normalizer.options).chain(["--".to_owned()]);
    let for_clap = words.chain(positionals.iter().cloned()).map(OsString::from).collect();
    let echo = if normalizer.print_args { normalizer.echo } else { String::new() };
    Ok(Arguments { for_clap, positionals, attached, echo })
}

/// Names of files, tables and keys are text everywhere in the programs.
fn as_text(argv: &[OsString]) -> Result<Vec<String>, Stop> {
    let text = |(i, arg): (usize, &OsString)| {
        let lossy = || arg.to_string_lossy().into_owned();
        // The program's own name is for messages only.
        if i == 0 { Some(lossy()) } else { arg.to_str().map(str::to_owned) }.ok_or_else(|| {
            Stop::refuses(format!(
                "Argument {i}, {}, is not UTF-8: expected names and values in UTF-8",
                shell_escape(&lossy())
            ))
        })
    };
    argv.iter().enumerate().map(text).collect()
}

/// Names are compared in lower case and with `-` for `_`.
fn normal_name(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

impl Normalizer<'_> {
    /// An error about the form of an option, with the synopsis.
    fn usage_error(&self, message: String) -> Stop {
        let text = format!("{}Command line was: {}", help::hint(self.command), self.echo);
        Stop { text, ..Stop::refuses(message) }
    }

    /// Splits `--name=value` or `--name` into the normal name and the value.
    fn split<'a>(&self, arg: &'a str) -> Result<(String, Option<&'a str>), Stop> {
        let body = arg.strip_prefix("--").unwrap_or(arg);
        let (name, value) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value)));
        if name.is_empty() {
            return Err(self.usage_error(format!("Invalid option (no key): {arg}")));
        }
        Ok((normal_name(name), value))
    }

    /// Adds one option. If no option has this name, the error is `unknown`.
    fn add(&mut self, arg: &str, unknown: &str) -> Result<(), Stop> {
        let (name, value) = self.split(arg)?;
        let value = value.map(trim);
        let Some(option) = find(self.command, &name) else {
            let hint =
                self.nearest(&name).map_or_else(String::new, |near| format!(" (did you mean --{near}?)"));
            return Err(self.usage_error(format!("{unknown}{hint}")));
        };
        let long = option.get_long().unwrap_or_default().to_owned();
        let canonical = self.check_value(Kind::of(option), &name, value)?;
        if long == "print-args" {
            self.print_args = canonical == "true";
        }
        self.options.push(format!("--{long}={canonical}"));
        Ok(())
    }

    /// The value as clap's parser for the type will take it.
    fn check_value(&self, kind: Kind, name: &str, value: Option<&str>) -> Result<String, Stop> {
        let text = value.unwrap_or_default();
        match kind {
            Kind::Bool => match text.to_ascii_lowercase().as_str() {
                "" if value.is_some() => Err(Stop::refuses(format!("Invalid option --{name}="))),
                "" | "true" | "t" | "1" => Ok("true".to_owned()),
                "false" | "f" | "0" => Ok("false".to_owned()),
                _ => Err(self.usage_error(format!(
                    "Invalid format for boolean argument [expected true or false]: {text} (option --{name})"
                ))),
            },
            Kind::Int | Kind::Uint => match parse_integer::<i128>(text) {
                Some(number) => Ok(number.to_string()),
                None => Err(Stop::refuses(format!("Invalid integer option \"{text}\" (option --{name})"))),
            },
            Kind::Float | Kind::Double => match parse_real(text) {
                Some(number)
                    if kind == Kind::Float && number.is_finite() && (number as f32).is_infinite() =>
                {
                    Err(Stop::refuses(format!("Option --{name}={text} is out of range")))
                }
                Some(number) if number.is_nan() => {
                    Err(Stop::refuses(format!("Option --{name}={text} is not a number")))
                }
                Some(number) if number.is_infinite() => Ok(number.to_string()),
                Some(_) => Ok(text.to_owned()),
                None => {
                    Err(Stop::refuses(format!("Invalid floating-point option \"{text}\" (option --{name})")))
                }
            },
            Kind::String => match value {
                Some(text) => Ok(text.to_owned()),
                None => {
                    Err(Stop::refuses(format!("Invalid option --{name} (option format is --{name}=VALUE).")))
                }
            },
        }
    }

    /// Options of a file, one `--name=value` a line, `#` begins a comment.
    fn read_config(&mut self, path: &str) -> Result<(), Stop> {
        let content = std::fs::read(path)
            .map_err(|e| Stop::refuses(format!("Cannot open config file: {}: {e}", shell_escape(path))))?;
        let content = String::from_utf8_lossy(&content).into_owned();
        let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
        for (index, line) in content.lines().enumerate() {
            let line = trim(line.split('#').next().unwrap_or_default());
            if line.is_empty() {
                continue;
            }
            if !line.starts_with("--") {
                return Err(Stop::refuses(format!(
                    "Reading config file {path}: line {} does not look like a line from a Kaldi command-line \
                     program's config file: should be of the form --x=y.  Note: config files intended to be sourced \
                     by shell scripts lack the '--'.",
                    index + 1
                )));
            }
            self.add(line, &format!("Invalid option {} in config file {path}", shortened(line)))?;
        }
        Ok(())
    }

    /// The registered name that a wrong one may mean, if there is one.
    fn nearest(&self, name: &str) -> Option<String> {
        if name.len() > 100 {
            return None;
        }
        let names = self.command.get_opts().filter_map(|arg| arg.get_long());
        let close = names.filter_map(|long| Some((likeness(&normal_name(long), name)?, long)));
        close.min().map(|(_, long)| long.to_owned())
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

/// Returns the distance of an option from a wrong name; the nearest option is the smallest. Kinds of likeness, in this order: few
/// letters differ; one has all words of the other (`threads` and `num-threads`); the wrong name is the beginning of the option.
/// `None` for names that are not alike.
fn likeness(option: &str, wrong: &str) -> Option<(u8, usize)> {
    const SHORTEST: usize = 3;
    let letters = distance(option, wrong);
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

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Translates clap's error into our words. Options have been checked before, so a wrong number of arguments can only
/// concern positional ones.
pub(super) fn explain(e: &clap::Error, command: &Command, arguments: &Arguments) -> Problem {
    match e.kind() {
        ErrorKind::MissingRequiredArgument
        | ErrorKind::UnknownArgument
        | ErrorKind::TooManyValues
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Problem::Positionals(wrong_number(command, arguments))
        }
        _ => {
            let get = |kind| match e.get(kind) {
                Some(ContextValue::String(text)) => text.clone(),
                _ => String::new(),
            };
            let (arg, value) = (get(ContextKind::InvalidArg), get(ContextKind::InvalidValue));
            let arg = arg.split(' ').next().unwrap_or_default();
            let arg = arg.split('=').next().unwrap_or_default();
            let why = match (e.get(ContextKind::ValidValue), std::error::Error::source(e)) {
                (Some(ContextValue::Strings(possible)), _) => {
                    format!("expected one of {}", possible.join(", "))
                }
                (_, Some(cause)) => cause.to_string(),
                _ => e.kind().to_string(),
            };
            Problem::Value(format!("Invalid value \"{value}\" of {arg}: {why}"))
        }
    }
}

/// Describes a wrong number of arguments: the missing ones, or the first superfluous one, with a suggestion.
fn wrong_number(command: &Command, arguments: &Arguments) -> String {
    let given = &arguments.positionals;
    let mut room = Vec::new();
    for arg in command.get_positionals() {
        let counts = arg.get_num_args();
        let least = counts.map_or(1, |n| n.min_values());
        let least = if arg.is_required_set() { least.max(1) } else { 0 };
        room.push((help::value_name(arg), least, counts.map_or(1, |n| n.max_values())));
    }
    let most = room.iter().fold(0usize, |sum, (_, _, most)| sum.saturating_add(*most));
    let mut text = match given.len() {
        n if n > most => {
            let surplus = shell_escape(&given[most]);
            format!("Called with {}, expected at most {most}: {surplus} is one too many", count(n))
        }
        n => {
            let mut left = n;
            let mut missing = Vec::new();
            for (name, least, _) in &room {
                if left < *least {
                    missing.push(name.as_str());
                }
                left = left.saturating_sub(*least);
            }
            let least: usize = room.iter().map(|(_, least, _)| least).sum();
            format!("Called with {}, expected at least {least}: {} is missing", count(n), missing.join(", "))
        }
    };
    if let Some(option) = given.iter().find(|arg| arg.starts_with("--")) {
        text += &format!("; {} counts as an argument: options go before all arguments", shell_escape(option));
    }
    for Attached { option, value } in &arguments.attached {
        text += &format!("; {} was taken for the value of {option}", shell_escape(value));
    }
    text
}

fn count(arguments: usize) -> String {
    match arguments {
        0 => "no argument".to_owned(),
        1 => "1 argument".to_owned(),
        n => format!("{n} arguments"),
    }
}
