//! Places where phrases are said: the work of `nnet3-search`.

mod kept;
mod phrases;

use std::num::NonZero;
use std::path::Path;

use anyhow::{Result, bail};
use kaldi_cli::{FAILED, StandardOutput};
use kaldi_kws::{IndexOptions, Searcher, index_lattice};
use kaldi_sound::{Channels, SoundOptions, SoundStream};
use nnet3::messages;
use nnet3_decode::{CompactLattice, Scale, lattice};
use nnet3_online::formats::clock;
use nnet3_online::{Model, RecognizerOptions, Recording, RecordingOptions, Sentence, Sentences, Word, text};
use phrases::Phrase;
use serde_json::json;

use super::transcribe::lattices::check_model;
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
    /// The channels that are searched. Without it the first one, with a warning if there are others.
    pub channels: Option<Channels>,
    /// A folder of lattices that were kept; recordings are then names of them.
    pub lattices: Option<String>,
    /// True if words that the vocabulary lacks are searched by their sounds.
    pub sounds: bool,
}

/// A place where a phrase is said. Times are seconds from the beginning of the recording.
#[derive(Debug, Clone, PartialEq)]
struct Place {
    phrase: usize,
    /// The number of its signal, from 1.
    channel: usize,
    start: f64,
    end: f64,
    probability: f64,
}

/// Writes all places in the recordings, in their order. The status is 1 if there are none, and that of an error if no recording
/// could be searched.
pub fn search(
    pieces: &PieceArgs,
    wanted: &Wanted,
    threads: NonZero<usize>,
    mut arguments: Vec<String>,
) -> Result<u8> {
    let folder = pieces.folder(&mut arguments)?;
    if arguments.is_empty() || arguments.len() < 2 && wanted.lattices.is_none() {
        bail!("expected phrases and at least one recording");
    }
    if wanted.sounds && folder.is_none() {
        bail!("--sounds=true: expected the folder of a model, for its lexicon");
    }
    if wanted.channels.is_some() && wanted.lattices.is_some() {
        bail!(
            "--channels is not for --lattices: lattices have the channels that nnet3-transcribe --channels chose"
        );
    }
    let phrases = arguments.remove(0);
    let is_there = |name: &String| checks::fault(name).is_none();
    if is_there(&phrases) && Path::new(&phrases).is_file() && !arguments.iter().any(is_there) {
        bail!(
            "phrases come before recordings: found the file {phrases} first, and then '{}', which is no file",
            arguments[0]
        );
    }
    let mut failed = 0;
    let sources = match &wanted.lattices {
        Some(kept) => kept::archives(kept, &arguments, wanted.form == Form::Text)?,
        None => recordings(&arguments, wanted, &mut failed)?,
    };
    StandardOutput::check()?;
    let model = pieces.open(folder.clone(), threads)?;
    wanted.lattices.as_deref().map_or(Ok(()), |kept| check_model(kept, &model))?;
    let sounds = folder.as_deref().filter(|_| wanted.sounds).map(|folder| (folder, threads));
    let searching = Searching { model: &model, wanted, phrases: phrases::read(&model, &phrases, sounds)? };
    let options = RecognizerOptions { keep_lattice: true, ..model.options().clone() };
    let mut sentences = match wanted.lattices {
        None => Some(Sentences::new(&model, &options)?),
        Some(_) => None,
    };
    let (mut found, all) = (0, failed + sources.len());
    for (path, name) in sources {
        let places = match &mut sentences {
            Some(sentences) => searching.recording(sentences, &path),
            None => searching.kept(&path),
        };
        match places {
            Ok(places) => {
                for (place, words) in &places.all {
                    let phrase = &searching.phrases[place.phrase].text;
                    let channel = places.has_channels.then_some(place.channel);
                    StandardOutput::print(shown(wanted, &name, channel, phrase, place, words))?;
                }
                found += places.all.len();
            }
            Err(error) => {
                failed += 1;
                messages::warn(&checks::named(&path, format!("{error:#}")));
            }
        }
    }
    if failed > 0 {
        let say = if failed == all { messages::error } else { messages::warn };
        say(&format!("{failed} of {all} files could not be searched"));
    }
    if failed == all {
        return Ok(FAILED);
    }
    Ok(u8::from(found == 0))
}

/// The recordings that can be read, with their names.
fn recordings(paths: &[String], wanted: &Wanted, failed: &mut usize) -> Result<Vec<(String, String)>> {
    let names = distinct(paths, if wanted.form == Form::Text { Name::OfColumn } else { Name::Plain });
    let mut recordings: Vec<(String, String)> = paths.iter().cloned().zip(names).collect();
    recordings.retain(|(path, _)| {
        let fault = checks::fault(path);
        if let Some(fault) = &fault {
            *failed += 1;
            messages::warn(&format!("{path}: {fault}"));
        }
        fault.is_none()
    });
    if recordings.is_empty() {
        bail!("no recording can be read");
    }
    Ok(recordings)
}

/// The places in a recording, in the order of time.
struct Places {
    /// Each with the words of its sentence.
    all: Vec<(Place, Vec<Word>)>,
    /// True if channels were recognised one by one, so that lines have the channel.
    has_channels: bool,
}

impl Places {
    fn new(mut all: Vec<(Place, Vec<Word>)>, has_channels: bool) -> Places {
        // Of places of a phrase that overlap, the likeliest stays.
        all.sort_by(|(a, _), (b, _)| b.probability.total_cmp(&a.probability));
        let mut best: Vec<(Place, Vec<Word>)> = Vec::with_capacity(all.len());
        for (place, words) in all {
            let is_same = |(other, _): &(Place, Vec<Word>)| {
                (other.phrase, other.channel) == (place.phrase, place.channel)
                    && other.start < place.end
                    && place.start < other.end
            };
            if !best.iter().any(is_same) {
                best.push((place, words));
            }
        }
        let mut all = best;
        // (Sentences of several channels end in another order.)
        all.sort_by(|(a, _), (b, _)| a.start.total_cmp(&b.start));
        Places { all, has_channels }
    }
}

struct Searching<'s> {
    model: &'s Model,
    wanted: &'s Wanted,
    phrases: Vec<Phrase>,
}

impl Searching<'_> {
    /// The places in a recording.
    fn recording(&self, sentences: &mut Sentences, path: &str) -> Result<Places> {
        let stream = SoundStream::open_with(path, &self.wanted.sound)?;
        let mut recording =
            Recording::new(stream, sentences, &RecordingOptions { channels: self.wanted.channels })?;
        let mut all = Vec::new();
        for sentence in recording.by_ref() {
            let Sentence { transcript, channel } = sentence?;
            let Some(lattice) = &transcript.lattice else { continue };
            let places = self.sentence(channel, transcript.lattice_start, &self.words_as_arcs(lattice))?;
            all.extend(places.into_iter().map(|place| (place, transcript.words.clone())));
        }
        for warning in recording.warnings() {
            messages::warn(&checks::named(path, checks::with_hint(warning)));
        }
        Ok(Places::new(all, self.wanted.channels == Some(Channels::Each)))
    }

    /// The places in an archive of lattices. A sentence of a second channel tells that channels were recognised one by one.
    fn kept(&self, file: &str) -> Result<Places> {
        let (mut all, mut has_channels) = (Vec::new(), false);
        kept::sentences(self.model, file, |channel, start, lattice| {
            has_channels |= channel > 1;
            let lattice = self.words_as_arcs(lattice);
            let places = self.sentence(channel, start, &lattice)?;
            if !places.is_empty() {
                let words = kept::words(self.model, &lattice, start)?;
                all.extend(places.into_iter().map(|place| (place, words.clone())));
            }
            Ok(())
        })?;
        Ok(Places::new(all, has_channels))
    }

    fn words_as_arcs(&self, lattice: &CompactLattice) -> CompactLattice {
        let mut lattice = self.model.words_as_arcs(lattice);
        lattice::scale(&mut lattice, Scale::new(self.model.options().graph_scale, 1.0));
        lattice
    }

    /// The places in a sentence in the order of time. Arcs of the lattice are words.
    fn sentence(&self, channel: usize, begin: f64, lattice: &CompactLattice) -> Result<Vec<Place>> {
        let frame = f64::from(self.model.output_frame_length());
        let longest_silence = (f64::from(self.wanted.silence) / frame).round() as usize;
        let how = IndexOptions { longest_silence, max_states_scale: 0.0, allow_partial: true };
        let searcher = Searcher::new(index_lattice(lattice, 1, how)?.index);
        let mut places = Vec::new();
        for (number, phrase) in self.phrases.iter().enumerate() {
            let mut found: Vec<Place> = Vec::new();
            for hit in searcher.search(&phrase.words)?.hits(None) {
                let probability = f64::from(-hit.weight.cost).exp().min(1.0);
                // (The lattice may begin with silence before the sound.)
                let at = |frames: f32| (begin + f64::from(frames) * frame).max(0.0);
                let (start, end) = (at(hit.weight.begin), at(hit.weight.end));
                // Several known words sound like an unknown one: the likeliest of a place counts. (Hits come in this order.)
                let is_there = |other: &Place| phrase.is_by_sounds && other.start < end && start < other.end;
                if probability >= f64::from(self.wanted.least) && !found.iter().any(is_there) {
                    found.push(Place { phrase: number, channel, start, end, probability });
                }
            }
            places.extend(found);
        }
        places.sort_by(|a, b| a.start.total_cmp(&b.start));
        Ok(places)
    }
}

/// The line of a place, with its channel if there is one.
fn shown(
    wanted: &Wanted,
    name: &str,
    channel: Option<usize>,
    phrase: &str,
    place: &Place,
    words: &[Word],
) -> String {
    let (before, after) = around(place, words, wanted.context);
    let Place { start, end, probability, .. } = *place;
    match wanted.form {
        Form::Text => {
            let line = format!("{before} [{phrase}] {after}");
            let label = channel.map_or(String::new(), |channel| format!("Channel {channel}: "));
            let (start, end) = (clock(start, '.'), clock(end, '.'));
            format!("{name} {start} --> {end} {probability:.2} {label}{}\n", line.trim())
        }
        Form::Json => {
            let rounded = |number: f64| (number * 1000.0).round() / 1000.0;
            let mut object = json!({
                "file": name,
                "phrase": phrase,
                "start": rounded(start),
                "end": rounded(end),
                "conf": rounded(probability),
                "before": before,
                "after": after,
            });
            if let Some(channel) = channel {
                object["channel"] = channel.into();
            }
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
    fn of_places_that_overlap_the_likeliest_stays() {
        let place = |phrase, channel, start, probability| {
            (Place { phrase, channel, start, end: start + 1.0, probability }, Vec::new())
        };
        let all = vec![
            place(0, 1, 5.0, 0.2),
            place(0, 1, 5.5, 0.6),
            place(0, 1, 6.4, 0.3),
            place(1, 1, 5.5, 0.1),
            place(0, 2, 5.5, 0.1),
            place(0, 1, 1.0, 0.1),
        ];
        let kept = Places::new(all, true).all;
        let kept: Vec<(usize, usize, f64)> =
            kept.iter().map(|(place, _)| (place.phrase, place.channel, place.start)).collect();
        assert_eq!(kept, [(0, 1, 1.0), (0, 1, 5.5), (1, 1, 5.5), (0, 2, 5.5)]);
    }

    #[test]
    fn words_around_a_place() {
        let word =
            |text: &str, start: f64| Word { text: text.to_owned(), start, end: start + 1.0, confidence: 1.0 };
        let words =
            ["a", "b", "c", "d", "e"].iter().zip(0..).map(|(text, start)| word(text, f64::from(start)));
        let words: Vec<Word> = words.collect();
        let place = Place { phrase: 0, channel: 1, start: 1.9, end: 3.1, probability: 0.5 };
        assert_eq!(around(&place, &words, 5), ("a b".to_owned(), "d e".to_owned()));
        assert_eq!(around(&place, &words, 1), ("b".to_owned(), "d".to_owned()));
        assert_eq!(around(&place, &words, 0), (String::new(), String::new()));
    }
}
