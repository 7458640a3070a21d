//! Sentences of the libraries in words of Python: what programs have as options are arguments here.

/// An option of programs, and the argument in its place.
pub type Argument = (&'static str, &'static str);

/// The arguments of Model.
pub const MODEL: &[Argument] = &[("allow-upsample", "allow_upsample")];

/// The arguments of compute whose names have several words.
const COMPUTE: [&str; 9] = [
    "online-ivector-period",
    "frames-per-chunk",
    "frame-subsampling-factor",
    "extra-left-context-initial",
    "extra-right-context-final",
    "extra-left-context",
    "extra-right-context",
    "acoustic-scale",
    "use-priors",
];

/// The arguments of align.
pub const ALIGN: &[Argument] = &[
    ("text-extension", "text_extensions"),
    ("text-extensions", "text_extensions"),
    ("unknown-words", "unknown_words"),
    ("unknown_words", "unknown_words"),
    ("save-model", "save_model"),
    ("save_model", "save_model"),
    ("all-words", "all_words"),
    ("all_words", "all_words"),
    ("adapt", "adapt"),
    ("model", "model"),
    ("text", "text"),
    ("speakers", "speakers"),
    ("tiers", "tiers"),
    ("channels", "channels"),
    ("digraphs", "digraphs"),
    ("threads", "threads"),
];

/// The arguments that are lists of texts.
const LISTS: [&str; 2] = ["text_extensions", "digraphs"];

/// Writes options (`--allow-upsample=true`, or the name between two backquotes) as arguments (`allow_upsample=True`). Options of a
/// program or a script that the sentence names stay what they are.
pub fn in_python(text: &str, arguments: &[Argument]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['-', '`']) {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let found = arguments.iter().filter_map(|argument| option(behind, argument)).next();
        match found.filter(|_| !is_of_program(&out)) {
            Some((written, end)) => {
                out.push_str(&written);
                rest = &behind[end..];
            }
            None => {
                let len = behind.chars().take_while(|&c| c == '-').count().max(1);
                out.push_str(&behind[..len]);
                rest = &behind[len..];
            }
        }
    }
    out + rest
}

/// Writes the options of nnet3-compute, which sentences name without signs, as arguments.
pub fn of_compute(text: &str) -> String {
    COMPUTE.iter().fold(text.to_owned(), |text, name| text.replace(name, &name.replace('-', "_")))
}

/// The argument for an option with which a text begins, and the end of the option.
fn option(text: &str, (option, argument): &Argument) -> Option<(String, usize)> {
    let (name, is_dashed) = match text.strip_prefix("--") {
        Some(name) => (name.strip_prefix(option)?, true),
        None => (text.strip_prefix('`')?.strip_prefix(option)?.strip_prefix('`')?, false),
    };
    if name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return None;
    }
    let is_of_value = |c: char| !c.is_whitespace() && !matches!(c, ',' | ';' | ')' | '\'' | '"');
    let value =
        name.strip_prefix('=').map(|value| value.split(|c| !is_of_value(c)).next().unwrap_or_default());
    let value = value.map(|value| value.trim_end_matches([':', '.']));
    let is_number = |value: &str| value.parse::<f64>().is_ok();
    let written = match value {
        Some("true") => "True".to_owned(),
        Some("false") => "False".to_owned(),
        // (Between backquotes stand values as the caller has given them.)
        Some(value) if !is_dashed || is_number(value) => value.to_owned(),
        Some(value) if value.chars().all(|c| c.is_ascii_uppercase()) && LISTS.contains(argument) => {
            "[…]".to_owned()
        }
        Some(value) if LISTS.contains(argument) => format!("[{value:?}]"),
        Some(value) => format!("{value:?}"),
        None => return Some(((*argument).to_owned(), text.len() - name.len())),
    };
    let end = text.len() - name.len() + 1 + value.map_or(0, str::len);
    Some((format!("{argument}={written}"), end))
}

/// True if the words before an option are a command.
fn is_of_program(before: &str) -> bool {
    let mut words = before.split_whitespace().rev();
    let last = words.find(|word| !word.starts_with("--")).unwrap_or_default();
    let last = last.trim_start_matches(['(', '\'', '"']);
    last.ends_with(".sh") || ["nnet3-", "corpus-"].iter().any(|start| last.starts_with(start))
}
