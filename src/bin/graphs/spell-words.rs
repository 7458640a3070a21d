//! `spell-words`: words → a lexicon whose phones are letters.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use kaldi_io::KaldiWriter;
use kaldi_lang::Lexicon;
use kaldi_lang::adaptation::words_of_arpa;
use kaldi_lang::letters::{Speller, phones};
use kaldi_lang::lexicon::RESERVED_WORDS;
use kaldi_lang::plain_text::{self, fields, lines};

/// Make a lexicon whose phones are the letters of words.
///
/// A phone is a letter in lower case with its marks (NFC). Syllables of Hangul are taken apart into their letters; a digit is a
/// phone d0 to d9; other signs are silent. A word without letters is an error.
///
/// With --lexicon, the phones are those of a lexicon whose phones are letters, such as one of this program. A letter that is no
/// phone of it is an error, and so is a lexicon with other phones.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: spell-words --keys=true data/train/text lexicon.txt\nSee also: g2p, prepare-lang"
)]
pub struct Options {
    /// True if lines of the text begin with a key
    #[arg(long)]
    keys: bool,
    /// Also spell the words of this language model in the ARPA format, except those without letters
    #[arg(long, value_name = "FILE", default_value = "")]
    arpa: String,
    /// Spell with the phones of this lexicon
    #[arg(long, value_name = "FILE", default_value = "")]
    lexicon: String,
    /// Text with the words
    text: String,
    #[arg(value_name = "lexicon-out")]
    to: String,
}

/// Words that are named in an error.
const SHOWN: usize = 5;

pub fn run(options: Options) -> Result<u8> {
    let speller = match options.lexicon.as_str() {
        "" => None,
        file => Some(Speller::new(&Lexicon::read(file)?.0)?),
    };
    let text = plain_text::read(&options.text)?;
    let mut words: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for (line, content) in lines(&text) {
        for word in fields(content).into_iter().skip(usize::from(options.keys)) {
            words.entry(word.to_owned()).or_insert(Some(line));
        }
    }
    if !options.arpa.is_empty() {
        for word in words_of_arpa(&options.arpa)? {
            words.entry(word).or_insert(None);
        }
    }
    let mut faults = Vec::new();
    let mut entries = String::new();
    for (word, line) in words.iter().filter(|(word, _)| !RESERVED_WORDS.contains(&word.as_str())) {
        let spelt = match (&speller, phones(word)) {
            (Some(speller), _) => speller.spell(word),
            (None, phones) if phones.is_empty() => Err(format!("the word '{word}' has no letters")),
            (None, phones) => Ok(phones),
        };
        match (spelt, line) {
            (Ok(phones), _) => entries += &format!("{word} {}\n", phones.join(" ")),
            (Err(clause), Some(line)) => faults.push(format!("{}, line {line}: {clause}", options.text)),
            (Err(_), None) => {}
        }
    }
    if !faults.is_empty() {
        let more = match faults.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("\n… and {more} more words like these"),
        };
        bail!("{}{more}", faults[..faults.len().min(SHOWN)].join("\n"));
    }
    let mut w = KaldiWriter::create(&options.to, false)?;
    w.write_str(&entries)?;
    w.finish()?;
    Ok(0)
}
