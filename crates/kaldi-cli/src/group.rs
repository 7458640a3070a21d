//! Options that a library declares, as a part of a program's options.

use std::ops::{Deref, DerefMut};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use kaldi_io::options::{Declared, Kind, Options, Source, Value};

/// A library's options for `#[command(flatten)]`.
///
/// ```
/// kaldi_io::options! {
///     /// Options of windows.
///     pub struct WindowArgs {
///         /// Frame length in milliseconds
///         pub frame_length: f32 = 25.0,
///     }
/// }
///
/// #[derive(clap::Parser)]
/// struct ProgramOptions {
///     #[command(flatten)]
///     window: kaldi_cli::Group<WindowArgs>,
/// }
///
/// let parsed = kaldi_cli::parse::<ProgramOptions>(["program", "--frame-length=32"].map(Into::into));
/// assert_eq!(parsed.map(|parsed| parsed.options.window.frame_length), Ok(32.0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Group<O>(pub O);

impl<O> Deref for Group<O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.0
    }
}

impl<O> DerefMut for Group<O> {
    fn deref_mut(&mut self) -> &mut O {
        &mut self.0
    }
}

impl<O: Options> Args for Group<O> {
    fn augment_args(command: Command) -> Command {
        let mut arguments = Arguments(Vec::new());
        O::from_source(&mut arguments);
        command.args(arguments.0)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<O: Options> FromArgMatches for Group<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Group(O::from_source(&mut Matches(matches))))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Makes clap's arguments of declarations.
struct Arguments(Vec<Arg>);

impl Source for Arguments {
    fn value<V: Value>(&mut self, option: &Declared<V>) -> V {
        let arg = Arg::new(option.field)
            .long(option.name())
            .help(option.help())
            .value_name(option.field.to_ascii_uppercase())
            .default_value(option.default.to_string());
        self.0.push(match V::KIND {
            Kind::Bool => arg.action(ArgAction::SetTrue),
            _ => arg.action(ArgAction::Set).value_parser(|text: &str| V::parse(text)),
        });
        V::of_default(option.default)
    }
}

/// Takes values from a parsed command line.
struct Matches<'m>(&'m ArgMatches);

impl Source for Matches<'_> {
    fn value<V: Value>(&mut self, option: &Declared<V>) -> V {
        self.0.get_one(option.field).cloned().unwrap_or_else(|| V::of_default(option.default))
    }
}
