//! Pipes of our own programs, run without a shell.
//!
//! Training scripts give their programs `command |` in place of a file. If the command only starts programs of this
//! project, the running program does their work itself, without processes and pipes. The shell runs all other commands.

use std::path::PathBuf;

use kaldi_cli::Parsed;
use kaldi_io::shell;

/// One command of a pipeline.
#[derive(Debug, PartialEq, Eq)]
pub struct Command<'t> {
    pub words: Vec<String>,
    /// The command's text.
    pub text: &'t str,
}

impl Command<'_> {
    /// Returns the options if this is a correct call of the program `name` beside the running one. Options about the
    /// process, such as `--verbose`, need a separate process; the result is `None` then.
    pub fn parse<P: clap::Parser>(&self, name: &str) -> Option<Parsed<P>> {
        if !is_beside(&self.words[0], name) || has_functions() {
            return None;
        }
        let parsed = kaldi_cli::parse::<P>(self.words.iter().map(Into::into)).ok()?;
        (parsed.standard.verbose == 0).then_some(parsed)
    }
}

/// Splits a pipeline into commands. `None` if a shell would expand or redirect a part of it, or would treat a character
/// specially. Then the shell must run it.
pub fn pipeline(text: &str) -> Option<Vec<Command<'_>>> {
    let command = |text| Some(Command { words: shell::plain_words(text)?, text });
    shell::parts(text)?.into_iter().map(command).collect()
}

/// True if a shell would run the program `name` beside the running one.
fn is_beside(command: &str, name: &str) -> bool {
    if command.rsplit('/').next() != Some(name) {
        return false;
    }
    let file = |path: PathBuf| path.canonicalize().ok();
    let own = std::env::current_exe().ok().and_then(|own| file(own.with_file_name(name)));
    own.is_some() && shell::program_file(command).and_then(file) == own
}

/// True if a shell may know functions with our programs' names.
fn has_functions() -> bool {
    std::env::vars_os().any(|(name, _)| name.to_string_lossy().starts_with("BASH_FUNC_nnet3"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<Vec<Vec<String>>> {
        Some(pipeline(text)?.into_iter().map(|command| command.words).collect())
    }

    #[test]
    fn words_quotes_and_pipes() {
        let found = words("  a --x=1:2 'ark:gunzip -c b.gz|'  | c \"d  e\"f'' ''|g\t-\n").unwrap();
        assert_eq!(
            found,
            [vec!["a", "--x=1:2", "ark:gunzip -c b.gz|"], vec!["c", "d  ef", ""], vec!["g", "-"]]
        );
        let texts: Vec<&str> = pipeline("a b | 'c|d' |e").unwrap().iter().map(|c| c.text).collect();
        assert_eq!(texts, ["a b ", " 'c|d' ", "e"]);
        assert_eq!(words("größe 'é' x").unwrap(), [["größe", "é", "x"]]);
    }

    #[test]
    fn what_is_for_the_shell() {
        for text in [
            "",
            "a |",
            "| a",
            "a || b",
            "a | | b",
            "a; b",
            "a & b",
            "a && b",
            "a > f",
            "a 2>/dev/null",
            "a < f",
            "a $B",
            "a \"$B\"",
            "a `b`",
            "a \"`b`\"",
            "a \\b",
            "a \"\\n\"",
            "a *.ark",
            "a b?",
            "a [bc]",
            "{ a; }",
            "(a)",
            "a ~/b",
            "a # b",
            "a\nb",
            "! a",
            "a 'b",
            "a \"b",
            "a {b,c}",
        ] {
            assert_eq!(words(text), None, "{text}");
        }
    }
}
