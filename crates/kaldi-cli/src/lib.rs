//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! The shell of a program: Kaldi's command-line syntax (`util/parse-options`) for options in a `clap` struct, help,
//! completions, manual pages, log lines, signals, the terminal.
//!
//! Libraries do not use this crate. So a process that only loads them parses no command line, and runs no function before
//! `main`.
//!
//! A program is a struct and a function:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! /// Copy a neural network.
//! #[derive(clap::Parser)]
//! struct Options {
//!     /// Write output in binary mode
//!     #[arg(long, default_value_t = true)]
//!     binary: bool,
//!     /// Multiply all parameters by this
//!     #[arg(long, default_value_t = 1.0)]
//!     scale: f32,
//!     /// Earliest time for which derivatives are computed
//!     #[arg(long = "optimization.min-deriv-time", default_value_t = i32::MIN)]
//!     min_deriv_time: i32,
//!     nnet_in: String,
//!     nnet_out: String,
//! }
//!
//! fn copy(options: Options) -> Result<u8, kaldi_io::IoError> {
//!     kaldi_cli::StandardOutput::print(format!("{} -> {}\n", options.nnet_in, options.nnet_out))?;
//!     Ok(0)
//! }
//!
//! fn main() -> ExitCode {
//!     kaldi_cli::run(copy)
//! }
//! ```
//!
//! Doc comments become the help. A field `bool` is an option that takes `--x`, `--x=true`, `--x=f` and so on, for any
//! default, without further attributes. Strings usually have `default_value = ""`. A program does not declare the
//! standard options (`--config`, `--print-args`, `--verbose`, `--help`, `--version`). If it reads them, it flattens
//! [`StandardOptions`] into its struct. A struct of options that several programs flatten needs a plain comment: clap
//! would show a doc comment as the description of the program.
//!
//! The syntax differs from plain `clap`. Case and `_`/`-` do not matter in names. The first positional argument ends
//! the options. `--config` files come before the command line. The value `nan` is refused.
//! Programs of our own may have options behind arguments, and letters for options ([`Style`]).
//! `--generate=man|bash|zsh|fish`, alone, prints a manual page or a completion script.
//! A library's options ([`mod@kaldi_io::options`]) are flattened as a [`Group`].

mod arguments;
mod generate;
mod group;
mod help;
pub mod log;
mod mixed;
mod program;
mod signal;
mod stack;
mod standard;
pub mod terminal;

pub use arguments::command;
pub use generate::roff;
pub use group::Group;
pub use kaldi_io::escape::shell_escape;
pub use kaldi_io::host::FAILED;
pub use program::{
    Elsewhere, NOTHING_DONE, Parsed, StandardOptions, Stop, Style, command_line, parse, program_name, run,
    run_advised, run_main, run_styled, run_with, show, skip_arguments, usage_error,
};
pub use signal::end_by;
pub use stack::with_enough_stack;
pub use standard::StandardOutput;
