//! Groups of options under their last names: `--optimize` in the place of `--optimization.optimize`.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The options of a group, with names cut before the last dot.
#[derive(Clone, Debug)]
pub struct Unprefixed<T>(pub T);

impl<T: Args> Args for Unprefixed<T> {
    fn augment_args(command: Command) -> Command {
        renamed(T::augment_args(Command::default()), command)
    }
    fn augment_args_for_update(command: Command) -> Command {
        renamed(T::augment_args_for_update(Command::default()), command)
    }
}

impl<T: FromArgMatches> FromArgMatches for Unprefixed<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Unprefixed)
    }
    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

fn renamed(group: Command, command: Command) -> Command {
    group.get_arguments().fold(command, |command, arg| {
        let short = arg.get_long().and_then(|name| name.rsplit_once('.'));
        command.arg(match short {
            // Names of options live as long as the program.
            Some((_, short)) => arg.clone().long(&*short.to_owned().leak()),
            None => arg.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use kaldi_cli::Group;

    use super::super::compute::{CachingOptions, OptimizationOptions};
    use super::*;

    #[test]
    fn names_without_prefix() {
        let command = Unprefixed::<Group<OptimizationOptions>>::augment_args(Command::new("x"));
        let command = Unprefixed::<CachingOptions>::augment_args(command);
        assert!(command.get_arguments().all(|arg| !arg.get_long().unwrap_or("").contains('.')));
        let matches = command.get_matches_from(["x", "--cache-capacity=7"]);
        assert!(Unprefixed::<Group<OptimizationOptions>>::from_arg_matches(&matches).unwrap().0.optimize);
        assert_eq!(Unprefixed::<CachingOptions>::from_arg_matches(&matches).unwrap().0.cache_capacity, 7);
    }
}
