//! Texts of the binary itself: its programs by family, its manual page, completions of shells.

use std::fmt::Write as _;

use kaldi_cli::roff;

use crate::{FAMILIES, Family, Program, programs};

pub const USAGE: &str = "\
Usage: nnet3 PROGRAM [options] …     runs a program; PROGRAM --help explains it
       nnet3 help PROGRAM            explains a program
       nnet3 --list                  prints all programs, by family, with a sentence for each
       nnet3 --list=FAMILY           prints the programs of a family, or those that are used most (most-used)
       nnet3 --list=names            prints the names of all programs, sorted
       nnet3 --install FOLDER        makes links in FOLDER, by which programs are called as PROGRAM
       nnet3 --generate=KIND         prints a manual page (man) or a completion script (bash, zsh, fish)
";

/// The name of the first group of the list, and its programs: those that people begin with.
const MOST_USED: &str = "most-used";
const MOST_USED_PROGRAMS: [&str; 12] = [
    "nnet3-transcribe",
    "nnet3-serve",
    "nnet3-search",
    "nnet3-adapt-speaker",
    "nnet3-align",
    "corpus-to-data",
    "nnet3-info",
    "nnet3-train",
    "nnet3-fit",
    "nnet3-latgen-faster",
    "compute-mfcc-feats",
    "copy-feats",
];

/// The groups of the list: name, sentence, programs.
fn groups() -> Vec<(&'static str, &'static str, Vec<&'static Program>)> {
    let of_name = |name: &&str| programs().find(|program| program.name == *name);
    let most_used = MOST_USED_PROGRAMS.iter().filter_map(of_name).collect();
    let families =
        FAMILIES.iter().map(|Family { name, about, programs }| (*name, *about, programs.iter().collect()));
    [(MOST_USED, "Programs to begin with; each is in its family, too.", most_used)]
        .into_iter()
        .chain(families)
        .collect()
}

/// All programs by family, with a sentence for each, or those of one family. `None` if there is no such family.
pub fn list(family: Option<&str>) -> Option<String> {
    let width = programs().map(|program| program.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, about, programs) in
        groups().iter().filter(|(name, ..)| family.is_none_or(|family| family == *name))
    {
        text.push_str(&format!("{name}: {about}\n"));
        for Program { name, about, .. } in programs {
            text.push_str(&format!("  {name:width$}  {about}\n"));
        }
        text.push('\n');
    }
    text.pop().map(|_| text)
}

/// The names of all programs, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = programs().map(|program| program.name).collect();
    names.sort_unstable();
    names
}

/// The names of all groups.
pub fn families() -> Vec<&'static str> {
    groups().into_iter().map(|(name, ..)| name).collect()
}

/// The manual page or a completion script. `None` for other kinds.
pub fn generate(kind: &str) -> Option<String> {
    match kind {
        "man" => Some(manual()),
        "bash" => Some(bash()),
        "zsh" => Some(zsh()),
        "fish" => Some(fish()),
        _ => None,
    }
}

fn manual() -> String {
    let mut page = format!(
        ".TH NNET3 1 \"\" \"nnet3 {}\" \"nnet3 programs\"\n.SH NAME\n\
         nnet3 \\- speech recognition, alignment and training, in one binary\n.SH SYNOPSIS\n.nf\n",
        env!("CARGO_PKG_VERSION")
    );
    for line in USAGE.lines() {
        page += &format!("{}\n", roff(line.get("Usage: ".len()..).unwrap_or_default()));
    }
    page += ".fi\n.SH DESCRIPTION\nA link to the binary with the name of a program runs that program. Each program has a \
             manual page of its own.\n";
    for (name, about, programs) in groups() {
        let _always = write!(page, ".SH \"{}\"\n{}\n", roff(&name.to_uppercase()), roff(about));
        for Program { name, about, .. } in programs {
            let _always = write!(page, ".TP\n.B {}\n{}\n", roff(name), roff(about));
        }
    }
    page
}

/// The options of the binary itself.
fn options() -> Vec<String> {
    let lists = ["names"].into_iter().chain(families()).map(|name| format!("--list={name}"));
    let kinds = ["man", "bash", "zsh", "fish"].map(|kind| format!("--generate={kind}"));
    ["--help", "--install", "--list", "--version"]
        .map(str::to_owned)
        .into_iter()
        .chain(lists)
        .chain(kinds)
        .collect()
}

/// The completion of a program comes from the program, when it is first wanted.
fn bash() -> String {
    format!(
        r#"_nnet3() {{
  local line=${{COMP_LINE:0:COMP_POINT}} words word choices='{names} help {options}'
  read -ra words <<<"$line "
  word=${{line##*[[:space:]]}}
  COMPREPLY=()
  if [[ $line != *[[:space:]]*[[:space:]]* ]]; then
    [[ $word != --*=* || $COMP_WORDBREAKS != *=* ]] || choices=${{choices//${{word%%=*}}=/}}
    [[ $word != --*=* || $COMP_WORDBREAKS != *=* ]] || word=${{word#*=}}
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
  elif [[ ${{words[1]}} == help ]]; then COMPREPLY=($(compgen -W '{names}' -- "$word"))
  else
    local function=_${{words[1]//[-.]/_}}
    declare -F "$function" >/dev/null || eval "$("${{words[0]}}" "${{words[1]}}" --generate=bash 2>/dev/null)"
    if declare -F "$function" >/dev/null; then "$function"; fi
  fi
}}
complete -F _nnet3 -o bashdefault -o default nnet3
"#,
        names = names().join(" "),
        options = options().join(" ")
    )
}

/// Text within single quotes of zsh and fish.
fn quoted(text: &str) -> String {
    text.replace(['\'', '\\', '[', ']', ':'], " ")
}

fn zsh() -> String {
    let programs: Vec<&Program> = programs().collect();
    let lines: String = programs
        .iter()
        .map(|program| format!("    '{}:{}'\n", program.name, quoted(program.about)))
        .collect();
    format!(
        "#compdef nnet3\n_nnet3() {{\n  local -a programs options\n  programs=(\n{lines}    'help:explains a program'\n  )\n  \
         options=({})\n  if (( CURRENT == 2 )); then\n    _describe program programs\n    compadd -- $options\n  \
         elif [[ $words[2] == help ]]; then\n    _describe program programs\n  else\n    _files\n  fi\n}}\n_nnet3 \"$@\"\n",
        options().join(" ")
    )
}

fn fish() -> String {
    let first = "complete -c nnet3 -n __fish_use_subcommand";
    let mut text = format!("{first} -f -a help -d 'explains a program'\n");
    for Program { name, about, .. } in programs() {
        text += &format!("{first} -f -a {name} -d '{}'\n", quoted(about));
    }
    for option in options() {
        text += &format!("{first} -f -a '{option}'\n");
    }
    text + &format!("complete -c nnet3 -n '__fish_seen_subcommand_from help' -f -a '{}'\n", names().join(" "))
}
