//! Manual pages and shell completions, made from clap's command: `PROGRAM --generate=man|bash|zsh|fish` prints them.

use clap::{Arg, Command};
use clap_complete::Shell;

use kaldi_io::options::Kind;

use crate::arguments::kind_of;

/// Returns the kind that `--generate=KIND` asks for, if it is the only argument. An error lists the kinds.
pub(super) fn requested(arguments: &[String]) -> Option<Result<What, String>> {
    let [argument] = arguments else { return None };
    let kind = argument.strip_prefix("--generate=")?;
    Some(match kind {
        "man" => Ok(What::Manual),
        "bash" => Ok(What::Bash),
        "zsh" => Ok(What::Completion(Shell::Zsh)),
        "fish" => Ok(What::Completion(Shell::Fish)),
        _ => Err(format!("--generate={kind}: expected man, bash, zsh or fish")),
    })
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Manual,
    Bash,
    Completion(Shell),
}

/// The page or completion script of a program.
pub(super) fn generate(what: What, command: Command, program: &'static str) -> Vec<u8> {
    let mut command = command.name(program).bin_name(program).mut_args(with_equals);
    let mut out = Vec::new();
    match what {
        What::Manual => clap_mangen::Man::new(command)
            .title(program.to_uppercase())
            .manual("nnet3 programs")
            .render(&mut out)
            .expect("writing to memory"),
        What::Bash => out.extend(bash(&command, program).into_bytes()),
        What::Completion(shell) => clap_complete::generate(shell, &mut command, program, &mut out),
    }
    out
}

/// Kaldi's options take their value after `=`.
fn with_equals(arg: Arg) -> Arg {
    if arg.is_positional() { arg } else { arg.require_equals(true) }
}

/// A completion script for bash: `--option=` without a blank after it, then the values that there are to choose from, or
/// files. (The one that clap makes knows of no `=`.)
fn bash(command: &Command, program: &str) -> String {
    let function = format!("_{}", program.replace(['-', '.'], "_"));
    let options: Vec<&Arg> = command.get_opts().filter(|arg| !arg.is_hide_set()).collect();
    let names = options.iter().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}="));
    let names: Vec<String> = names.chain(["--help".to_owned(), "--version".to_owned()]).collect();
    let mut values = String::new();
    for arg in options {
        let choices: Vec<String> =
            arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        let action = match kind_of(arg) {
            _ if !choices.is_empty() => format!("choices='{}'", choices.join(" ")),
            Kind::String => continue,
            _ => "compopt +o default 2>/dev/null; return".to_owned(),
        };
        values += &format!("    --{}=*) {action} ;;\n", arg.get_long().unwrap_or_default());
    }
    // The line is cut into words here: bash's own words may end at `=` or not, which a user can change.
    format!(
        r#"{function}() {{
  local word=${{COMP_LINE:0:COMP_POINT}} choices=
  word=${{word##*[[:space:]]}}
  COMPREPLY=()
  case $word in
{values}    --*=*) return ;;
    --*) choices='{names}' ;;
    *) return ;;
  esac
  if [[ $word != --*=* ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
    if [[ ${{COMPREPLY[0]-}} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  elif [[ $COMP_WORDBREAKS == *=* ]]; then COMPREPLY=($(compgen -W "$choices" -- "${{word#*=}}"))
  else COMPREPLY=($(compgen -P "${{word%%=*}}=" -W "$choices" -- "${{word#*=}}"))
  fi
}}
complete -F {function} -o bashdefault -o default {program}
"#,
        names = names.join(" ")
    )
}
