//! `nnet3-adapt-speaker`: recordings of a speaker → a model folder for this speaker.

#![cfg(feature = "sound")]

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use kaldi_cli::Style;
use kaldi_io::temporary;
use kaldi_io::text::count;
use kaldi_sound::{Channels, Signal, SoundOptions, SoundStream};
use nnet3::messages;
use nnet3::options::threads;
use nnet3::speaker_adaptation::{Adaptation, Certainty, LEAST_GAIN, Outcome, Part, Speech};
use nnet3_online::{Model, ModelOptions, Sentences, Transcript, needs_folder, piece};
use nnet3_train::acoustic::AmNnet;

use crate::recognition::transcribe::checks;

/// Adapt a model to a speaker by recordings of this speaker, without transcripts.
///
/// The recordings are recognised with the model as it is. Speaker-adaptive Gaussian models in the model's folder, as recognizer.sh
/// --adapt-speakers=true puts them there, align the words and give a transform of the features. The new folder has the network with
/// this transform, and all else of the model; all programs and vosk read it. More than five seconds of words that the model is sure of are
/// needed, and a minute is enough: of recordings of single words, that is about fifty. All recordings must be of one speaker, and the model must not be adapted to a speaker already.
///
/// Words that the model is not sure of do not count. Each half of the recordings (ten minutes of them at most) is also recognised adapted to
/// the other half. If that removes less than 15 % of the doubt about words, the new folder has the network of the model as it is.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-adapt-speaker exp/model anna-model anna/*.wav\nSee also: nnet3-transcribe, nnet3-am-add-features"
)]
pub struct Options {
    /// The channel of each recording that has the speaker: first, mix (the mean of all), or its number from 1. Without it the first
    #[arg(long, alias = "channels", value_parser = Channels::one, value_name = "first|mix|N")]
    channel: Option<Channels>,
    /// Seconds of each recording that are used at most: more do not make the transform better
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    max_seconds: u32,
    /// Number of threads; -1 for one for each processor
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    /// <model-dir> <new-model-dir> <recording>...
    #[arg(value_name = "<model-dir> <new-model-dir> <recording>...", required = true, num_args = 3..)]
    paths: Vec<String>,
}

/// Advice at the end: confidence is no measure of errors.
const COMPARE: &str = "no texts were known: compare both models on recordings of the speaker whose words you know \
     (docs/recognizer.md#speakers); the new one may be worse";

pub fn main() -> ExitCode {
    kaldi_cli::run_styled(Style::Mixed, run)
}

pub fn run(options: Options) -> Result<u8> {
    let threads = match options.num_threads {
        -1 => threads::number("num-threads", threads::processors() as i64)?,
        wanted => threads::number("num-threads", wanted.into())?,
    };
    ensure!(options.max_seconds > 0, "--max-seconds=0: expected a number above 0");
    let [folder, new, recordings @ ..] = options.paths.as_slice() else {
        bail!("expected the folder of a model, a new folder and recordings");
    };
    needs_folder(folder)?;
    if Path::new(new).is_file() {
        bail!(
            "{new}: expected the name of a new folder, found a file: the folder comes before the recordings"
        );
    }
    let place = Place::new(folder, new)?;
    for recording in recordings {
        if let Some(fault) = checks::fault(recording) {
            bail!("{recording}: {fault}");
        }
    }
    let adaptation = Adaptation::open(folder)?;
    let model = Model::open(folder, &ModelOptions::default())?;
    let mut sentences = Sentences::new(&model, model.options())?;
    let channels = options.channel.unwrap_or(Channels::First);
    let mut speech = Speech::default();
    let (mut compared, mut before, mut seconds) = (Vec::new(), Certainty::default(), 0.0);
    for (number, recording) in recordings.iter().enumerate() {
        let sound = Sound::read(recording, channels, options.max_seconds)?;
        if let Some(low) = model.low_rate(sound.rate as f32) {
            messages::warn(&format!("{recording}: {low}"));
        }
        let found = recognize(&mut sentences, &sound).with_context(|| recording.clone())?;
        let added = adaptation.add(&mut speech, number, &sound.samples, sound.rate, &found);
        added.with_context(|| recording.clone())?;
        if seconds < MOST_COMPARED {
            seconds += sound.samples.len() as f64 / f64::from(sound.rate);
            before.add(&found, |word| adaptation.knows(word));
            compared.push(sound);
        }
    }
    ensure!(!speech.utterances.is_empty(), "no word was recognised in the recordings");
    let adapted = match adaptation.adapt(&speech, Part::All, threads)? {
        Outcome::Adapted(adapted) => adapted,
        Outcome::TooLittle { seconds, needed } => bail!(
            "there is too little speech for a transform: {seconds:.1} s of words that the model is sure of; more than {needed:.1} s are needed"
        ),
    };
    warn_of_left_out(recordings, &speech, &adapted.aligned);
    let mut halves = [None, None];
    for (half, odd) in halves.iter_mut().zip([false, true]) {
        if let Outcome::Adapted(adapted) = adaptation.adapt(&speech, Part::Half { odd }, threads)? {
            *half = Some(adapted.network);
        }
    }
    let mut after = Certainty::default();
    let mut hear = |network: &AmNnet, part: Part| -> Result<()> {
        let copy = place.copy(if part.has(0) { "even" } else { "odd" }, Some(network))?;
        let model = Model::open(&copy, &ModelOptions::default())?;
        let mut sentences = Sentences::new(&model, model.options())?;
        for (_, sound) in compared.iter().enumerate().filter(|(number, _)| part.has(*number)) {
            after.add(&recognize(&mut sentences, sound)?, |word| adaptation.knows(word));
        }
        Ok(())
    };
    // (A half that has too little speech, as of one recording, is no test of the other.)
    let with = if let [Some(even), Some(odd)] = &halves {
        hear(even, Part::Half { odd: true })?;
        hear(odd, Part::Half { odd: false })?;
        "with one of the other half of the recordings"
    } else {
        hear(&adapted.network, Part::All)?;
        "with it"
    };
    let figures = format!(
        "mean confidence of words {:.3} without a transform, {:.3} {with}, on {seconds:.1} s of sound",
        before.mean(),
        after.mean()
    );
    if !after.beats(&before) {
        place.write(None)?;
        messages::warn(&format!(
            "{new} has the network of {folder}, as the transform does not remove {:.0} % of the doubt about words: {figures}",
            100.0 * LEAST_GAIN
        ));
        return Ok(0);
    }
    place.write(Some(&adapted.network))?;
    messages::log(&format!(
        "Wrote a model for the speaker of {} ({:.1} s of speech; {} could not be aligned) to {new}; {figures}",
        count(adapted.aligned.iter().filter(|aligned| **aligned).count(), "sentence"),
        adapted.seconds,
        adapted.aligned.iter().filter(|aligned| !**aligned).count()
    ));
    messages::log(COMPARE);
    Ok(0)
}

/// Seconds of recordings, at most and but for the last one, that networks are compared on.
const MOST_COMPARED: f64 = 600.0;

/// Names that a warning lists.
const MOST_NAMES: usize = 10;

/// Names recordings from which no sentence could be aligned.
fn warn_of_left_out(recordings: &[String], speech: &Speech, aligned: &[bool]) {
    let used = speech.recordings.iter().zip(aligned).filter(|(_, aligned)| **aligned);
    let used: HashSet<usize> = used.map(|(number, _)| *number).collect();
    let left: Vec<&str> = recordings
        .iter()
        .enumerate()
        .filter(|(number, _)| !used.contains(number))
        .map(|(_, recording)| recording.as_str())
        .collect();
    if !left.is_empty() {
        let more = if left.len() > MOST_NAMES { ", …" } else { "" };
        let names = left.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
        messages::warn(&format!(
            "{} of {} had no words that could be aligned: {names}{more}",
            left.len(),
            count(recordings.len(), "recording")
        ));
    }
}

/// The beginning of a recording.
struct Sound {
    samples: Vec<f32>,
    rate: u32,
}

impl Sound {
    /// Reads the first seconds of a recording.
    fn read(recording: &str, channels: Channels, most: u32) -> Result<Sound> {
        let stream = SoundStream::open_with(recording, &SoundOptions::default())?;
        if stream.channels() > 1 && channels == Channels::First {
            messages::warn(&format!(
                "{recording}: the first of {} channels is taken; see --channel",
                stream.channels()
            ));
        }
        let mut signal = Signal::new(stream, channels, None)?;
        let rate = signal.rate();
        let mut samples = Vec::new();
        let wanted = most as usize * rate as usize;
        while samples.len() < wanted {
            let some = signal.read(wanted - samples.len())?;
            if some.is_empty() {
                // (What is missing is known at the end only.)
                signal
                    .warnings()
                    .iter()
                    .for_each(|warning| messages::warn(&format!("{recording}: {warning}")));
                signal.close()?;
                break;
            }
            samples.extend(some);
        }
        ensure!(!samples.is_empty(), "{recording}: the recording has no samples");
        Ok(Sound { samples, rate })
    }
}

fn recognize(sentences: &mut Sentences, sound: &Sound) -> Result<Vec<Transcript>> {
    let rate = sound.rate as f32;
    sentences.begin(rate, 1)?;
    let mut found = Vec::new();
    for part in sound.samples.chunks(piece(rate)) {
        found.extend(sentences.accept(&[part])?);
    }
    found.extend(sentences.finish()?);
    Ok(found.into_iter().map(|sentence| sentence.transcript).collect())
}

/// The place of a new model.
struct Place<'p> {
    model: &'p Path,
    new: &'p Path,
    /// Beside the new folder.
    private: temporary::Folder,
}

impl<'p> Place<'p> {
    /// Fails if the new folder cannot be made.
    fn new(model: &'p str, new: &'p str) -> Result<Place<'p>> {
        let (model, new) = (Path::new(model), Path::new(new));
        let shown = new.display();
        ensure!(!new.as_os_str().is_empty(), "expected the name of a new folder, found an empty one");
        ensure!(
            new.symlink_metadata().is_err(),
            "{shown} is there already: expected the name of a new folder"
        );
        let parent = match new.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let whole = |path: &Path| {
            path.canonicalize().with_context(|| format!("cannot read the folder {}", path.display()))
        };
        let cannot = || format!("cannot make the folder {shown}");
        ensure!(
            !parent.exists() || !whole(parent)?.starts_with(whole(model)?),
            "{shown} lies in the folder of the model, which is copied: expected another place"
        );
        std::fs::create_dir_all(parent).with_context(cannot)?;
        // (A name that the system does not take fails here, and not at the end.)
        std::fs::create_dir(new).and_then(|()| std::fs::remove_dir(new)).with_context(cannot)?;
        let private = temporary::Folder::new_in(parent).with_context(cannot)?;
        Ok(Place { model, new, private })
    }

    /// Copies the folder of the model to a private one of this name, with another network if there is one.
    fn copy(&self, name: &str, network: Option<&AmNnet>) -> Result<PathBuf> {
        let copy = self.private.path().join(name);
        copy_folder(self.model, &copy, 0)?;
        if let Some(network) = network {
            network.save(&nnet3_online::acoustic_model(&copy)?, true)?;
        }
        Ok(copy)
    }

    /// Makes the new folder, with another network if there is one. It appears whole.
    fn write(self, network: Option<&AmNnet>) -> Result<()> {
        let copy = self.copy("model", network)?;
        std::fs::rename(&copy, self.new)
            .with_context(|| format!("cannot make the folder {}", self.new.display()))
    }
}

/// Folders in folders of a model, at most. (A link may lead back.)
const DEEPEST: usize = 8;

/// Copies files and folders, and what links lead to, `deep` folders below the model.
fn copy_folder(from: &Path, to: &Path, deep: usize) -> Result<()> {
    ensure!(
        deep <= DEEPEST,
        "{}: more than {DEEPEST} folders in each other: does a link lead back?",
        from.display()
    );
    std::fs::create_dir(to).with_context(|| format!("cannot make the folder {}", to.display()))?;
    let cannot_read = || format!("cannot read the folder {}", from.display());
    // (All names are read first: no folder is open while those in it are copied.)
    let entries: Vec<_> = std::fs::read_dir(from)
        .and_then(Iterator::collect::<std::io::Result<_>>)
        .with_context(cannot_read)?;
    for entry in entries {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let cannot = || format!("cannot copy {} to {}", from.display(), to.display());
        let kind = from.metadata().with_context(cannot)?;
        if kind.is_dir() {
            copy_folder(&from, &to, deep + 1)?;
            continue;
        }
        ensure!(kind.is_file(), "{}: expected a file or a folder in a model", from.display());
        std::fs::copy(&from, &to).with_context(cannot)?;
    }
    Ok(())
}
