//! Finds the times of words in recordings with texts: `align CORPUS LEXICON`.

use std::error::Error;
use std::num::NonZero;

use nnet3_toolkit::Aligner;
use nnet3_toolkit::align::{
    Event, FeatureSettings, Input, Lang, Options, Policy, Pronunciations, Source, Unknown, apply, extract,
    read,
};

/// Trains a model on a folder of recordings with texts beside them. Returns a line for each word: utterance, begin and end
/// in seconds, word.
pub fn align(folder: &str, lexicon: &str) -> Result<String, Box<dyn Error>> {
    let mut corpus = read(&Input::Path(folder.into()), &Options::default())?;
    let mut pronunciations = Pronunciations::new(Source::File(lexicon.to_owned()))?;
    apply(&mut corpus, &pronunciations.words.rule(), &pronunciations.words, &|_| None, Policy::Keep);
    pronunciations.complete(&corpus, Unknown::Spoken)?;
    let lang = Lang::new(&pronunciations.lexicon, &pronunciations.options())?;
    let settings = FeatureSettings::for_rate(corpus.common_rate().unwrap_or(16000));
    let threads = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let extracted = extract(&corpus, &lang, &settings, threads, |_| ())?;
    let mut observer = |event: Event| {
        if let Event::Warning(text) = event {
            eprintln!("{text}");
        }
    };
    let model = Aligner::train(&lang, &extracted, settings, threads, &mut observer)?;
    let inputs = (&corpus, &extracted);
    let results = model.align(&lang, &pronunciations, inputs, false, threads, &mut observer)?;
    let mut lines = String::new();
    for (utterance, result) in corpus.utterances.iter().zip(&results.utterances) {
        match result {
            Ok(aligned) => aligned.words.iter().for_each(|word| {
                lines += &format!("{} {:.2} {:.2} {}\n", utterance.id, word.begin, word.end, word.text);
            }),
            Err(reason) => eprintln!("{}: {reason}", utterance.id),
        }
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, lexicon] = &arguments[..] else {
        return Err("expected a folder of recordings with texts and a lexicon".into());
    };
    print!("{}", align(folder, lexicon)?);
    Ok(())
}
