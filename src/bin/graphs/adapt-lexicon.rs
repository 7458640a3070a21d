//! `adapt-lexicon`: the words of a model with another language model, and their pronunciations.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use anyhow::{Result, bail};
use kaldi_io::KaldiWriter;
use kaldi_io::text::format_g;
use kaldi_io::text::{count, either};
use kaldi_lang::adaptation::{ANYTHING, Old, Sentences, Words, missing, with_new_pairs, words_of_arpa};
use kaldi_lang::lexicon::RESERVED_WORDS;
use kaldi_lang::plain_text::{self, fields, hint, lines};
use nnet3::messages;

/// Find the words of a model that gets another language model, and their pronunciations.
///
/// The model's folder has phones.txt and lexicon.txt (phones with their places in words), silence.txt and guessed.txt, as
/// nnet3-recover writes them. The output folder gets lexicon.txt (words that the language model can have, with probabilities),
/// vocabulary (words of the texts and new words), text.txt and phrases.txt (sentences whose words have pronunciations).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: adapt-lexicon --text=corpus.txt --new=new_words.txt old adapted\n      \
    adapt-lexicon --write=missing --text=corpus.txt old - | g2p --lexicon=old/lexicon.txt - new_words.txt\n\
    See also: nnet3-recover, prepare-lang, g2p")]
pub struct Options {
    /// language: the files above; missing: a file of the words of the texts that have no pronunciation; parts: a file with lines of a
    /// lexicon for those of these words that words of the model make up
    #[arg(long, value_name = "language|missing|parts", default_value = "language")]
    write: String,
    /// Sentences, one a line
    #[arg(long, value_name = "FILE", default_value = "")]
    text: String,
    /// Phrases, one a line
    #[arg(long, value_name = "FILE", default_value = "")]
    phrases: String,
    /// Old language model, in the ARPA format, whose words stay
    #[arg(long, value_name = "FILE", default_value = "")]
    old_arpa: String,
    /// Pronunciations of new words, or further ones of known words: lines of a word and phones, maybe with a probability behind the word
    #[arg(long, value_name = "FILE", default_value = "")]
    new: String,
    /// More such lines
    #[arg(long, value_name = "FILE", default_value = "")]
    more: String,
    /// True if lines of the model's lexicon have a probability behind the word
    #[arg(long)]
    probabilities: bool,
    /// Leave out sentences with words without a pronunciation, with a warning
    #[arg(long)]
    skip_unknown: bool,
    #[arg(value_name = "model-dir")]
    from: String,
    #[arg(value_name = "out")]
    to: String,
}

/// Words that are named in a message.
const SHOWN: usize = 5;

impl Options {
    /// The kinds of texts that are given, with their files.
    fn texts(&self) -> Vec<(&'static str, &str)> {
        let all = [("text", self.text.as_str()), ("phrases", self.phrases.as_str())];
        all.into_iter().filter(|(_, file)| !file.is_empty()).collect()
    }
}

pub fn run(options: Options) -> Result<u8> {
    let old_file = |name: &str| Path::new(&options.from).join(name).to_string_lossy().into_owned();
    let old = Old::read(&old_file("phones.txt"), &old_file("lexicon.txt"), options.probabilities)?;
    let mut new = Words::new();
    for file in [&options.new, &options.more].into_iter().filter(|file| !file.is_empty()) {
        old.add_new(file, &mut new)?;
    }
    let has = |word: &str| {
        // ([unk] is no word that has a pronunciation of its own, though the model may lack it.)
        old.words.contains_key(old.name_of(word)) || new.contains_key(word) || word == ANYTHING
    };
    let files: Vec<&str> = options.texts().into_iter().map(|(_, file)| file).collect();
    let out = |text: &str| -> Result<()> {
        let mut w = KaldiWriter::create(&options.to, false)?;
        w.write_str(text)?;
        Ok(w.finish()?)
    };
    match options.write.as_str() {
        "missing" => {
            let words = missing(&files, has)?;
            out(&words.iter().map(|word| format!("{word}\n")).collect::<String>())?;
        }
        "parts" => {
            let words = missing(&files, has)?;
            let line = |word: &String| Some(format!("{word} {}\n", old.by_parts(word)?.join(" ")));
            out(&words.iter().filter_map(line).collect::<String>())?;
        }
        "language" => language(&options, &old, &new, &old_file)?,
        other => bail!("--write={other}: expected language, missing or parts"),
    }
    Ok(0)
}

fn language(options: &Options, old: &Old, new: &Words, old_file: &dyn Fn(&str) -> String) -> Result<()> {
    let is_known = |word: &str| {
        (old.words.contains_key(word) || new.contains_key(word)) && !RESERVED_WORDS.contains(&word)
    };
    let mut texts = Vec::new();
    let mut is_lacking = false;
    for (kind, file) in options.texts() {
        let sentences = Sentences::read(
            file,
            |word| if new.contains_key(word) { word } else { old.name_of(word) },
            is_known,
        )?;
        name_unknown(&sentences, file, old, new);
        if sentences.left_out > 0 {
            is_lacking = true;
            let noun = if kind == "phrases" { "phrase" } else { "sentence" };
            let (number, are) = (sentences.left_out, either(sentences.left_out, "is", "are"));
            messages::warn(&format!("{file}: {} {are} left out", count(number, noun)));
        }
        texts.push((kind, sentences));
    }
    if is_lacking && !options.skip_unknown {
        bail!(
            "stopped: words have no pronunciation; --new gives them one, and --skip-unknown=true leaves out sentences with such words"
        );
    }
    if texts.iter().all(|(_, sentences)| sentences.kept.is_empty()) {
        bail!("no sentence is left");
    }
    let said =
        texts.iter().flat_map(|(_, sentences)| &sentences.kept).flat_map(|sentence| sentence.split(' '));
    let vocabulary: BTreeSet<&str> = said.chain(new.keys().map(String::as_str)).collect();
    let of_arpa = match options.old_arpa.as_str() {
        "" => BTreeSet::new(),
        file => words_of_arpa(file)?,
    };
    let silence = plain_text::read(&old_file("silence.txt"))?;
    let guessed = plain_text::read(&old_file("guessed.txt"))?;
    let pairs: HashSet<(String, String)> = lines(&guessed)
        .filter_map(|(_, line)| match fields(line)[..] {
            [before, phone] => Some((before.to_owned(), phone.to_owned())),
            _ => None,
        })
        .collect();
    let odd = with_new_pairs(new, &pairs, silence.trim());
    if !odd.is_empty() {
        messages::warn(&format!(
            "{} {} two phones in a row that the old graph does not have; their pdfs are those of the most similar phones ({}{})",
            count(odd.len(), "new word"),
            either(odd.len(), "has", "have"),
            odd[..odd.len().min(SHOWN)].join(", "),
            if odd.len() > SHOWN { " …" } else { "" }
        ));
    }
    let mut entries: HashMap<(&str, &[String]), f64> = HashMap::new();
    for (word, forms) in old.words.iter().chain(new) {
        if vocabulary.contains(word.as_str()) || of_arpa.contains(word) {
            for (probability, phones) in forms {
                let entry = entries.entry((word, phones)).or_insert(0.0);
                *entry = entry.max(*probability);
            }
        }
    }
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let line = |((word, phones), probability): &((&str, &[String]), f64)| {
        format!("{word} {} {}\n", decimal(*probability), phones.join(" "))
    };
    let folder = Path::new(&options.to);
    std::fs::create_dir_all(folder)
        .map_err(|error| anyhow::anyhow!("{}: cannot make the folder: {error}", options.to))?;
    let put = |name: &str, text: String| -> Result<()> {
        let mut w = KaldiWriter::create(&folder.join(name).to_string_lossy(), false)?;
        w.write_str(&text)?;
        Ok(w.finish()?)
    };
    put("lexicon.txt", entries.iter().map(line).collect())?;
    for (kind, sentences) in &texts {
        put(&format!("{kind}.txt"), sentences.kept.iter().map(|sentence| format!("{sentence}\n")).collect())?;
    }
    put("vocabulary", vocabulary.iter().map(|word| format!("{word}\n")).collect())?;
    let words: HashSet<&str> = entries.iter().map(|((word, _), _)| *word).collect();
    let unheard = new.keys().filter(|word| !old.words.contains_key(*word)).count();
    messages::log(&format!(
        "{}, of which {unheard} {} new; {}",
        count(words.len(), "word"),
        either(unheard, "is", "are"),
        count(entries.len(), "pronunciation")
    ));
    Ok(())
}

/// A number that readers of lexicons take for a probability: with a point.
fn decimal(probability: f64) -> String {
    let number = format_g(probability, 7);
    match (number.contains('.'), number.split_once('e')) {
        (true, _) => number,
        (false, Some((digits, exponent))) => format!("{digits}.0e{exponent}"),
        (false, None) => number + ".0",
    }
}

/// Warns of the most frequent words without a pronunciation.
fn name_unknown(sentences: &Sentences, file: &str, old: &Old, new: &Words) {
    let known = || old.words.keys().chain(new.keys()).map(String::as_str);
    for unknown in sentences.unknown.iter().take(SHOWN) {
        let (word, line) = (&unknown.word, unknown.line);
        if word == ANYTHING {
            messages::warn(&format!(
                "{file}, line {line}: '{word}' asks for the word for anything else, and the model has none (no <unk>)"
            ));
            continue;
        }
        messages::warn(&format!(
            "{file}, line {line}: the word '{word}' has no pronunciation{}",
            hint(word, known())
        ));
    }
    if sentences.unknown.len() > SHOWN {
        messages::warn(&format!("… and {} of {file}", count(sentences.unknown.len() - SHOWN, "more word")));
    }
}
