//! Places where phrases are said: the work of `nnet3-search`.

use std::num::NonZero;

use anyhow::{Context, Result, bail};
use kaldi_fst::{Arc, Fst, Weight};
use kaldi_io::StandardOutput;
use kaldi_kws::{IndexOptions, Searcher, index_lattice};
use kaldi_sound::{SoundOptions, SoundStream};
use nnet3::messages;
use nnet3_decode::{Scale, lattice};
use nnet3_online::formats::clock;
use nnet3_online::{
    Model, RecognizerOptions, Recording, RecordingOptions, Sentences, Transcript, Word, text,
};
use serde_json::json;

use super::transcribe::{Name, PieceArgs, checks, distinct};

/// The forms of places.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line for each place: name, begin --> end, probability, words around [what was found]
    Text,
    /// An object on a line for each place: file, phrase, start, end, conf, before, after
    Json,
}

/// Options of a search.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub form: Form,
    /// The least probability of a place.
    pub least: f32,
    /// Words on either side.
    pub context: usize,
    /// Longest silence within a phrase, in seconds.
    pub silence: f32,
    pub sound: SoundOptions,
}

/// A phrase.
struct Phrase {
    text: String,
    /// The acceptor of its words.
    words: Fst,
}

/// A place where a phrase is said. Times are seconds from the beginning of the recording.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    phrase: usize,
    start: f64,
    end: f64,
    probability: f64,
}

/// Writes all places in the recordings, in their order. The status is 1 if there are none.
pub fn search(
    pieces: &PieceArgs,
    wanted: &Wanted,
    threads: NonZero<usize>,
    mut arguments: Vec<String>,
) -> Result<u8> {
    let folder = pieces.folder(&mut arguments)?;
    if arguments.len() < 2 {
        bail!("expected phrases and at least one recording");
    }
    let phrases = arguments.remove(0);
    let mut failed = 0;
    let names = distinct(&arguments, if wanted.form == Form::Text { Name::OfColumn } else { Name::Plain });
    let mut recordings: Vec<(&String, String)> = arguments.iter().zip(names).collect();
    recordings.retain(|(path, _)| {
        let fault = checks::fault(path);
        if let Some(fault) = &fault {
            failed += 1;
            messages::warn(&format!("{path}: {fault}"));
        }
        fault.is_none()
    });
    if recordings.is_empty() {
        bail!("no recording can be read");
    }
    StandardOutput::check()?;
    let model = pieces.open(folder, threads)?;
    let phrases = read_phrases(&model, &phrases)?;
    let options = RecognizerOptions { keep_lattice: true, ..model.options().clone() };
    let mut sentences = Sentences::new(&model, &options)?;
    let mut found = 0;
    for (path, name) in recordings {
        match places(&model, &mut sentences, &phrases, wanted, path) {
            Ok(places) => {
                for (place, words) in &places {
                    StandardOutput::print(shown(wanted, &name, &phrases[place.phrase].text, place, words))?;
                }
                found += places.len();
            }
            Err(error) => {
                failed += 1;
                messages::warn(&checks::named(path, format!("{error:#}")));
            }
        }
    }
    if failed > 0 {
        messages::warn(&format!("{failed} of {} files could not be searched", arguments.len()));
    }
    Ok(u8::from(found == 0))
}

/// Makes acceptors of phrases with commas between them. Fails if a word is not one of the model.
fn read_phrases(model: &Model, list: &str) -> Result<Vec<Phrase>> {
    let mut all = Vec::new();
    for phrase in list.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()) {
        let mut words = Fst::default();
        words.start = Some(words.add_state());
        for word in phrase.split_whitespace() {
            let number = model.word_number(word).with_context(|| {
                format!("the vocabulary of the model lacks the word '{word}'{}", model.word_hint(word))
            })?;
            let next = words.add_state();
            let from = next - 1;
            words.states[from as usize].arcs.push(Arc {
                ilabel: number,
                olabel: number,
                weight: Weight::one(),
                next,
            });
        }
        let last = words.states.len() - 1;
        words.states[last].final_weight = Weight::one();
        all.push(Phrase { text: phrase.split_whitespace().collect::<Vec<_>>().join(" "), words });
    }
    if all.is_empty() {
        bail!("expected words or phrases with commas between them, found '{list}'");
    }
    Ok(all)
}

/// The places in a recording in the order of time, each with the text of its sentence.
fn places(
    model: &Model,
    sentences: &mut Sentences,
    phrases: &[Phrase],
    wanted: &Wanted,
    path: &str,
) -> Result<Vec<(Place, Vec<Word>)>> {
    let stream = SoundStream::open_with(path, &wanted.sound)?;
    let mut recording = Recording::new(stream, sentences, &RecordingOptions::default())?;
    let mut all = Vec::new();
    for sentence in recording.by_ref() {
        let transcript = sentence?.transcript;
        let mut places = in_sentence(model, phrases, wanted, &transcript)?;
        places.sort_by(|a, b| a.start.total_cmp(&b.start));
        all.extend(places.into_iter().map(|place| (place, transcript.words.clone())));
    }
    for warning in recording.warnings() {
        messages::warn(&checks::named(path, warning.to_string()));
    }
    Ok(all)
}

fn in_sentence(
    model: &Model,
    phrases: &[Phrase],
    wanted: &Wanted,
    transcript: &Transcript,
) -> Result<Vec<Place>> {
    let Some(lattice) = &transcript.lattice else { return Ok(Vec::new()) };
    let mut lattice = model.words_as_arcs(lattice);
    lattice::scale(&mut lattice, Scale::new(model.options().graph_scale, 1.0));
    let frame = f64::from(model.output_frame_length());
    let longest_silence = (f64::from(wanted.silence) / frame).round() as usize;
    let how = IndexOptions { longest_silence, max_states_scale: 0.0, allow_partial: true };
    let searcher = Searcher::new(index_lattice(&lattice, 1, how)?.index);
    let mut places = Vec::new();
    for (number, phrase) in phrases.iter().enumerate() {
        for hit in searcher.search(&phrase.words)?.hits(None) {
            let probability = f64::from(-hit.weight.cost).exp().min(1.0);
            if probability >= f64::from(wanted.least) {
                let at = |frames: f32| transcript.start + f64::from(frames) * frame;
                let (start, end) = (at(hit.weight.begin), at(hit.weight.end));
                places.push(Place { phrase: number, start, end, probability });
            }
        }
    }
    Ok(places)
}

/// The line of a place.
fn shown(wanted: &Wanted, name: &str, phrase: &str, place: &Place, words: &[Word]) -> String {
    let (before, after) = around(place, words, wanted.context);
    let Place { start, end, probability, .. } = *place;
    match wanted.form {
        Form::Text => {
            let line = format!("{before} [{phrase}] {after}");
            format!("{name} {} --> {} {probability:.2} {}\n", clock(start, '.'), clock(end, '.'), line.trim())
        }
        Form::Json => {
            let rounded = |number: f64| (number * 1000.0).round() / 1000.0;
            let object = json!({
                "file": name,
                "phrase": phrase,
                "start": rounded(start),
                "end": rounded(end),
                "conf": rounded(probability),
                "before": before,
                "after": after,
            });
            format!("{object}\n")
        }
    }
}

/// The last words that end about where a place begins, and the first ones that begin about where it ends.
fn around(place: &Place, words: &[Word], most: usize) -> (String, String) {
    let middle = |word: &Word| (word.start + word.end) / 2.0;
    let before: Vec<Word> = words.iter().filter(|word| middle(word) < place.start).cloned().collect();
    let after: Vec<Word> = words.iter().filter(|word| middle(word) > place.end).cloned().collect();
    (text(&before[before.len().saturating_sub(most)..]), text(&after[..most.min(after.len())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_around_a_place() {
        let word =
            |text: &str, start: f64| Word { text: text.to_owned(), start, end: start + 1.0, confidence: 1.0 };
        let words =
            ["a", "b", "c", "d", "e"].iter().zip(0..).map(|(text, start)| word(text, f64::from(start)));
        let words: Vec<Word> = words.collect();
        let place = Place { phrase: 0, start: 1.9, end: 3.1, probability: 0.5 };
        assert_eq!(around(&place, &words, 5), ("a b".to_owned(), "d e".to_owned()));
        assert_eq!(around(&place, &words, 1), ("b".to_owned(), "d".to_owned()));
        assert_eq!(around(&place, &words, 0), (String::new(), String::new()));
    }
}
