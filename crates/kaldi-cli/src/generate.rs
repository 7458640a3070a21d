//! Manual pages and shell completions, made from clap's command: `PROGRAM --generate=man|bash|zsh|fish` prints them.

use std::io::{self, Write};

use clap::{Arg, Command};
use clap_complete::Shell;

use kaldi_io::options::Kind;

use crate::arguments::kind_of;
use crate::help;

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
        What::Manual => manual(command, program, &mut out).expect("writing to memory"),
        What::Bash => out.extend(bash(&command, program).into_bytes()),
        What::Completion(shell) => clap_complete::generate(shell, &mut command, program, &mut out),
    }
    out
}

/// A manual page, whose synopsis is that of `--help`. (The one that clap makes lists all options, and the choices of each switch.)
fn manual(command: Command, program: &str, out: &mut Vec<u8>) -> io::Result<()> {
    let synopsis = help::synopsis(&command);
    let more = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let page =
        clap_mangen::Man::new(command.mut_args(plain)).title(program.to_uppercase()).manual("nnet3 programs");
    page.render_title(out)?;
    // (Each section begins with the definitions that the title has.)
    let mut section = |render: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| {
        let mut text = Vec::new();
        render(&mut text)?;
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let rest = lines.skip_while(|line| line.starts_with(b".ie ") || line.starts_with(b".el "));
        rest.for_each(|line| out.extend_from_slice(line));
        io::Result::Ok(())
    };
    section(&|text| page.render_name_section(text))?;
    section(&|text| write!(text, ".SH SYNOPSIS\n{}\n", roff(&synopsis)))?;
    section(&|text| page.render_description_section(text))?;
    section(&|text| page.render_options_section(text))?;
    let (see_also, examples): (Vec<&str>, Vec<&str>) =
        more.as_deref().unwrap_or_default().lines().partition(|line| line.starts_with(SEE_ALSO));
    for (heading, lines, prefix) in [("EXAMPLES", examples, "e.g.: "), ("SEE ALSO", see_also, SEE_ALSO)] {
        if lines.iter().any(|line| !line.trim().is_empty()) {
            write!(out, ".SH \"{heading}\"\n.nf\n")?;
            for line in lines {
                writeln!(out, "{}", roff(line.strip_prefix(prefix).unwrap_or(line).trim()))?;
            }
            writeln!(out, ".fi")?;
        }
    }
    Ok(())
}

/// The beginning of the line of the help that names other programs.
const SEE_ALSO: &str = "See also: ";

/// Text of a manual page, in which `-` is not the one that hyphenates.
pub fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// An option of a manual page, without the values of a switch and without an empty default.
fn plain(arg: Arg) -> Arg {
    let is_switch = kind_of(&arg) == Kind::Bool && !arg.is_positional();
    let is_empty = arg.get_default_values().iter().all(|value| value.is_empty());
    arg.hide_possible_values(is_switch).hide_default_value(is_empty)
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
