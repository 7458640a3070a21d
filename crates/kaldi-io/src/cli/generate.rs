//! Manual pages and shell completions, made from clap's command: `PROGRAM --generate=man|bash|zsh|fish` prints them.

use clap::{Arg, Command};
use clap_complete::Shell;

/// What `--generate=KIND` asks for on this command line, if it is the only argument; an error names the kinds.
pub(super) fn requested(arguments: &[String]) -> Option<Result<Kind, String>> {
    let [argument] = arguments else { return None };
    let kind = argument.strip_prefix("--generate=")?;
    Some(match kind {
        "man" => Ok(Kind::Manual),
        "bash" => Ok(Kind::Completion(Shell::Bash)),
        "zsh" => Ok(Kind::Completion(Shell::Zsh)),
        "fish" => Ok(Kind::Completion(Shell::Fish)),
        _ => Err(format!("--generate={kind}: expected man, bash, zsh or fish")),
    })
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Manual,
    Completion(Shell),
}

/// The page or completion script of a program.
pub(super) fn generate(kind: Kind, command: Command, program: &'static str) -> Vec<u8> {
    let mut command = command.name(program).bin_name(program).mut_args(with_equals);
    let mut out = Vec::new();
    match kind {
        Kind::Manual => clap_mangen::Man::new(command)
            .title(program.to_uppercase())
            .manual("nnet3 programs")
            .render(&mut out)
            .expect("writing to memory"),
        Kind::Completion(shell) => clap_complete::generate(shell, &mut command, program, &mut out),
    }
    out
}

/// Kaldi's options take their value after `=`.
fn with_equals(arg: Arg) -> Arg {
    if arg.is_positional() { arg } else { arg.require_equals(true) }
}
