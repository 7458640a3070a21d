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
use kaldi_io::escape::shell_escape;
use kaldi_io::options::{Fault, Kind, Known, Names, normal_name};
use kaldi_io::text::trim;

use crate::help;
use crate::mixed::options_first;
use crate::program::{Elsewhere, StandardOptions, Stop, Style};

/// Returns the kind of an option's values, by the type of the field that the option fills.
pub(super) fn kind_of(arg: &Arg) -> Kind {
    let id = arg.get_value_parser().type_id();
    let is = |types: &[TypeId]| types.iter().any(|t| id == *t);
    if is(&[TypeId::of::<bool>()]) {
        Kind::Bool
    } else if is(&[TypeId::of::<i32>(), TypeId::of::<i64>(), TypeId::of::<i16>(), TypeId::of::<i8>()]) {
        Kind::Int
    } else if is(&[TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>(), TypeId::of::<u16>()]) {
        Kind::Uint
    } else if is(&[TypeId::of::<f32>()]) {
        Kind::Float
    } else if is(&[TypeId::of::<f64>()]) {
        Kind::Double
    } else {
        Kind::String
    }
}

/// Returns the names of a program's options.
fn names(command: &Command) -> Names {
    let known = command.get_opts().filter_map(|arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        Some(Known {
            long: arg.get_long()?.to_owned(),
            aliases: aliases.into_iter().map(str::to_owned).collect(),
            kind: kind_of(arg),
        })
    });
    Names(known.collect())
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
    name.and_then(|name| find(command, &name)).is_some_and(|option| kind_of(option) != Kind::Bool)
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
    names: Names,
    echo: String,
    /// Canonical options, in the order in which they apply.
    options: Vec<String>,
    print_args: bool,
}

pub(super) fn normalize(
    command: &Command,
    style: Style,
    elsewhere: Elsewhere,
    argv: &[OsString],
) -> Result<Arguments, Stop> {
    let texts = as_text(argv)?;
    let echo = match style {
        Style::Kaldi => texts.iter().map(|arg| shell_escape(arg) + " ").collect::<String>() + "\n",
        Style::Mixed | Style::Quiet => shortened(&texts) + "\n",
    };
    let program = texts.first().cloned().unwrap_or_default();
    let given = texts.get(1..).unwrap_or_default();
    let (texts, attached) = match style {
        Style::Kaldi => attach_values(command, given),
        Style::Mixed | Style::Quiet => options_first(command, given),
    };
    let mut normalizer = Normalizer {
        command,
        names: names(command),
        echo,
        options: Vec::new(),
        print_args: style != Style::Quiet,
    };

    let is_option = |arg: &&String| arg.starts_with("--") && *arg != "--";
    if texts.iter().find(|arg| !is_option(arg)).is_some_and(|arg| arg == "-h") {
        return Err(Stop::shows(help::usage(command)));
    }
    for arg in texts.iter().take_while(|arg| *arg != "--").filter(|arg| arg.starts_with("--")) {
        let (name, value) = Names::split(arg).map_err(|fault| normalizer.stop(fault))?;
        match name.as_str() {
            "config" => normalizer.read_config(trim(value.unwrap_or_default()))?,
            "help" => {
                let shown = Kind::Bool.canonical(&name, value.map(trim));
                if shown.map_err(|fault| normalizer.stop(fault))? == "true" {
                    return Err(Stop::shows(help::usage(command)));
                }
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
        let name = Names::split(arg).map_err(|fault| normalizer.stop(fault))?;
        if find(command, "version").is_none() && name == ("version".to_owned(), None) {
            return Err(Stop::shows(help::version(command)));
        }
        let advice = elsewhere.iter().find(|(other, _)| normal_name(other) == name.0);
        if let (Some((_, advice)), None) = (advice, find(command, &name.0)) {
            let shown = if name.0.len() == 1 { format!("-{}", name.0) } else { arg.clone() };
            let message = format!("{shown} is an option of other programs; here: {advice}");
            return Err(normalizer.stop(Fault::Form(message)));
        }
        if name.0 != "help" {
            let given = normalizer.names.given(arg, &format!("Invalid option {arg}"));
            let given = given.map(|(known, value)| (known.long.clone(), value));
            let (long, value) = given.map_err(|fault| normalizer.stop(fault))?;
            normalizer.add(&long, &chosen(command, &long, value));
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

/// Writes choices as the option has them: capitals do not matter in `--format=SRT`.
fn chosen(command: &Command, long: &str, value: String) -> String {
    let Some(option) = find(command, &normal_name(long)) else { return value };
    let choices = option.get_possible_values();
    if choices.is_empty() || kind_of(option) == Kind::Bool {
        return value;
    }
    let choose = |given: &str| {
        let is_exact = choices.iter().any(|choice| choice.matches(given, false));
        let found = choices.iter().find(|choice| !is_exact && choice.matches(given, true));
        found.map_or(given, |choice| choice.get_name()).to_owned()
    };
    match option.get_value_delimiter() {
        None => choose(&value),
        Some(mark) => value.split(mark).map(choose).collect::<Vec<_>>().join(&mark.to_string()),
    }
}

/// Arguments of an echo that is shortened, and the largest number that is not.
const FEW: usize = 4;
const MANY: usize = 10;

/// The command line of a program that takes many files: all options, the first arguments, and the number of the others.
fn shortened(texts: &[String]) -> String {
    let is_option = |text: &str| text.starts_with('-') && text.len() > 1;
    // (A value may stand behind its option.)
    let may_be_value = |i: usize| is_option(&texts[i - 1]) && !texts[i - 1].contains('=');
    let is_argument = |i: usize| i > 0 && !is_option(&texts[i]) && !may_be_value(i);
    let arguments = (0..texts.len()).filter(|&i| is_argument(i)).count();
    let shown = if arguments > MANY { FEW } else { arguments };
    let (mut echo, mut seen) = (String::new(), 0);
    for (i, text) in texts.iter().enumerate() {
        seen += usize::from(is_argument(i));
        if !is_argument(i) || seen <= shown {
            echo += &(shell_escape(text) + " ");
        } else if seen == shown + 1 {
            echo += &format!("… ({} more) ", arguments - shown);
        }
    }
    echo
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

/// An error about an option, with the synopsis and the command line.
pub(super) fn refused(command: &Command, echo: &str, message: String) -> Stop {
    Stop { text: format!("{}Command line was: {echo}", help::hint(command)), ..Stop::refuses(message) }
}

impl Normalizer<'_> {
    /// An error about an option.
    fn stop(&self, fault: Fault) -> Stop {
        let (Fault::Form(message) | Fault::Value(message)) = fault;
        refused(self.command, &self.echo, message)
    }

    /// Adds an option with its canonical value.
    fn add(&mut self, long: &str, canonical: &str) {
        if long == "print-args" {
            self.print_args = canonical == "true";
        }
        self.options.push(format!("--{long}={canonical}"));
    }

    /// Adds the options of a file.
    fn read_config(&mut self, path: &str) -> Result<(), Stop> {
        let given = self.names.in_file(path).map_err(|fault| self.stop(fault))?;
        given.iter().for_each(|(long, value)| self.add(long, value));
        Ok(())
    }
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
            let are = if missing.len() == 1 { "is" } else { "are" };
            format!(
                "Called with {}, expected at least {least}: {} {are} missing",
                count(n),
                missing.join(", ")
            )
        }
    };
    if let Some(option) = given.iter().find(|arg| arg.starts_with("--")) {
        text += &format!("; {} counts as an argument: options go before all arguments", shell_escape(option));
    }
    if let Some(value) = given.iter().find(|arg| ["true", "false"].contains(&arg.as_str())) {
        text += &format!(
            "; {value} counts as an argument: the value of a switch stands behind =, as in --switch={value}"
        );
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

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn an_echo_has_the_first_of_many_files() {
        let echo = |line: &str| shortened(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(echo("p --x=1 a 'b' -o c"), "p --x=1 a \"'b'\" -o c ");
        let many = format!(
            "p --x=1 model {} -o out --y",
            (0..50).map(|i| format!("{i}.wav")).collect::<Vec<_>>().join(" ")
        );
        assert_eq!(echo(&many), "p --x=1 model 0.wav 1.wav 2.wav … (47 more) -o out --y ");
    }
}
