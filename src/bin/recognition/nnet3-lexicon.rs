//! `nnet3-lexicon`: a model folder → its lexicon.

use anyhow::{Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_io::text::{count, either};
use nnet3::messages;
use nnet3_online::lexicon::Lexicon;

/// Print the lexicon of a recogniser, from its graph: lines of a word and its phones.
///
/// The folder has vosk's form (see nnet3-transcribe). Its graph, graph/HCLG.fst or graph/HCLr.fst and graph/Gr.fst, has the
/// words and phones. graph/phones/word_boundary.int must say which phones end words. Names of phones are those of
/// graph/phones.txt; without it, or if it belongs to another model, a phone is p and a number. A word with several pronunciations has several lines, in no order of
/// likelihood. Words that the graph cannot say (such as <s>) are counted in a log line.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: nnet3-lexicon model-ko >lexicon.txt\n      nnet3-lexicon --words='hello world' model"
)]
pub struct Options {
    /// Print the phones as the model has them, with the suffixes _B, _I, _E and _S for their places in the word
    #[arg(long, default_value_t = false)]
    positions: bool,
    /// Print these words alone (with blanks between them). It is an error if the lexicon has none of them
    #[arg(long, default_value = "")]
    words: String,
    #[arg(value_name = "model-dir")]
    folder: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Lexicon { entries, without, nameless } = Lexicon::read(&options.folder, options.positions)?;
    if let Some(phone) = nameless {
        messages::warn(&format!(
            "{}/graph/phones.txt belongs to another model, as it does not name phone {phone}: phones are p and a number",
            options.folder
        ));
    }
    let wanted: Vec<&str> = options.words.split_ascii_whitespace().collect();
    let is_wanted = |word: &str| wanted.is_empty() || wanted.contains(&word);
    let lines: String = entries
        .iter()
        .filter(|(word, _)| is_wanted(word))
        .map(|(word, phones)| format!("{word} {}\n", phones.join(" ")))
        .collect();
    if lines.is_empty() {
        bail!("{}: the lexicon has none of these words", options.folder);
    }
    StandardOutput::print(lines)?;
    if !without.is_empty() && wanted.is_empty() {
        let first = without.iter().take(3).map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
        let words = count(without.len(), "word");
        let have = either(without.len(), "has", "have");
        messages::log(&format!("{words} {have} no pronunciation, such as {first}"));
    }
    Ok(0)
}
