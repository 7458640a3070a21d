//! `nnet3-adapt-speaker`: recordings of a speaker → a model folder for this speaker.

#![cfg(feature = "sound")]

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use kaldi_cli::Style;
use kaldi_io::temporary;
use kaldi_io::text::count;
use kaldi_sound::{Channels, Signal, SoundOptions, SoundStream};
use nnet3::messages;
use nnet3::options::threads;
use nnet3::speaker_adaptation::Adaptation;
use nnet3_online::{Model, ModelOptions, Sentences, Transcript, needs_folder, piece};

use crate::recognition::transcribe::checks;

/// Adapt a model to a speaker by recordings of this speaker, without transcripts.
///
/// The recordings are recognised with the model as it is. Speaker-adaptive Gaussian models in the model's folder, as recognizer.sh
/// --adapt-speakers=true puts them there, align the words and give a transform of the features. The new folder has the network with
/// this transform, and all else of the model; all programs and vosk read it. Ten seconds of speech are needed, and a minute is
/// enough. All recordings must be of one speaker.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-adapt-speaker exp/model anna-model anna/*.wav\nSee also: nnet3-transcribe, nnet3-am-add-features"
)]
pub struct Options {
    /// The channel of each recording that has the speaker: first, mix (the mean of all), or its number from 1. Without it the first
    #[arg(long, value_parser = Channels::one, value_name = "first|mix|N")]
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
    let mut utterances = Vec::new();
    for recording in recordings {
        let (samples, rate) = samples(recording, channels, options.max_seconds)?;
        let found = recognize(&mut sentences, &samples, rate).with_context(|| recording.clone())?;
        utterances.extend(
            adaptation.utterances(recording, &samples, rate, &found).with_context(|| recording.clone())?,
        );
    }
    ensure!(!utterances.is_empty(), "no word was recognised in the recordings");
    let Some(adapted) = adaptation.adapt(&utterances, threads)? else {
        bail!("there is too little speech for a transform: at least ten seconds of words are needed");
    };
    place.write(|am| Ok(adapted.network.save(&am.to_string_lossy(), true)?))?;
    messages::log(&format!(
        "Wrote a model for the speaker of {} ({:.1} s of speech; {} could not be aligned) to {new}",
        count(adapted.sentences, "sentence"),
        adapted.seconds,
        utterances.len() - adapted.sentences
    ));
    Ok(0)
}

/// The first seconds of a recording, with its rate.
fn samples(recording: &str, channels: Channels, most: u32) -> Result<(Vec<f32>, u32)> {
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
            signal.warnings().iter().for_each(|warning| messages::warn(&format!("{recording}: {warning}")));
            signal.close()?;
            break;
        }
        samples.extend(some);
    }
    ensure!(!samples.is_empty(), "{recording}: the recording has no samples");
    Ok((samples, rate))
}

fn recognize(sentences: &mut Sentences, samples: &[f32], rate: u32) -> Result<Vec<Transcript>> {
    sentences.begin(rate as f32, 1)?;
    let mut found = Vec::new();
    for part in samples.chunks(piece(rate as f32)) {
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

    /// Copies the folder of the model, with another acoustic model that `save` writes. The new folder appears whole.
    fn write(self, save: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let copy = self.private.path().join("model");
        copy_folder(self.model, &copy, 0)?;
        save(Path::new(&nnet3_online::acoustic_model(&copy)?))?;
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
