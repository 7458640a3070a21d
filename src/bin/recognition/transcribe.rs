//! From sound to text with a model folder: the work of `nnet3-transcribe`.

pub mod checks;
mod interrupted;
pub mod lattices;
mod names;
mod outputs;
mod pieces;
mod progress;
mod session;
mod speakers;
mod words;

use std::num::NonZero;

use anyhow::{Result, bail};
use kaldi_corpus::Loss;
use kaldi_io::interruption;
use kaldi_sound::{Channels, SoundOptions};

pub use names::{Name, distinct};
use nnet3_online::RecognizerOptions;
pub use nnet3_online::formats::Format;
use nnet3_online::formats::Parts;
use outputs::Outputs;
pub use outputs::{Texts, forms};
pub use pieces::PieceArgs;
use progress::Minutes;
use session::{Heard, Job, Session};
pub use speakers::SpeakerArgs;
pub use words::WordArgs;

use nnet3::messages;
use nnet3::workers::{Give, in_parallel};

/// Numbers of threads.
#[derive(Debug, Clone, Copy)]
pub struct Threads {
    /// Threads for preparing i-vectors, at the beginning.
    pub at_startup: NonZero<usize>,
    /// Threads for files.
    pub files: NonZero<usize>,
}

/// A file of sound.
pub struct Sound<'p> {
    path: &'p str,
    /// Names in each form.
    names: Vec<String>,
    /// The output file of its text in each form, if texts have files of their own.
    to: Vec<String>,
    /// The archive of its lattices and its name in keys, if they are kept.
    lattices: Option<(String, String)>,
}

/// The groups of options.
#[derive(Debug, Clone)]
pub struct Arguments {
    pub pieces: PieceArgs,
    pub words: WordArgs,
    pub speakers: SpeakerArgs,
    /// Without it the first channel, with a warning if there are others.
    pub channels: Option<Channels>,
    pub sound: SoundOptions,
    pub texts: Texts,
    /// A folder for lattices.
    pub lattices: Option<String>,
    /// True if sentences of plain text have times.
    pub times: bool,
    /// True if each sentence is written when it ends.
    pub as_it_comes: bool,
    pub threads: Threads,
}

impl Arguments {
    /// The parts of texts.
    fn parts(&self) -> Parts {
        Parts {
            channels: self.channels == Some(Channels::Each),
            alternatives: self.words.alternatives > 0,
            speakers: !self.speakers.speakers.is_empty(),
            times: self.times,
        }
    }

    /// Fails if options do not fit each other, for so many recordings.
    fn check(&self, outputs: &Outputs, recordings: usize) -> Result<()> {
        let formats = &outputs.formats[..];
        self.words.check(formats)?;
        let parts = self.parts();
        if self.as_it_comes {
            outputs.check_sentences(parts)?;
            if recordings > 1 && self.threads.files.get() > 1 {
                bail!("--as-it-comes writes one recording after the other, so it needs --num-threads=1");
            }
        }
        if parts.speakers && parts.channels {
            bail!("--speakers is not for --channels=each, whose channels are the speakers");
        }
        if parts.speakers && parts.alternatives && formats.contains(&Format::Text) {
            bail!("--speakers with --alternatives is for --format=json");
        }
        if parts.times && !formats.contains(&Format::Text) {
            bail!("--times is for --format=text: the other forms have times");
        }
        if parts.times && parts.alternatives {
            bail!("--times is not for --alternatives, whose lines have the begins of sentences");
        }
        Ok(())
    }
}

/// Writes the text of each file, in their order. The status is 1 if there was none of some file. All that can be known of
/// the arguments is checked before the model is loaded.
pub fn transcribe(arguments: &Arguments, mut paths: Vec<String>) -> Result<u8> {
    arguments.texts.check_standard_output()?;
    let folder = arguments.pieces.folder(&mut paths)?;
    if paths.is_empty() {
        bail!("expected at least one recording");
    }
    let all = paths.len();
    let outputs = arguments.texts.outputs(all)?;
    arguments.check(&outputs, all)?;
    let phrases = arguments.words.lines()?;
    let mut sounds = outputs.sounds(&paths, arguments.lattices.as_deref())?;
    let mut lost = Loss::default();
    sounds.retain(|sound| match checks::fault(sound.path) {
        Some(fault) => {
            lost.add(None);
            messages::warn(&format!("{}: {fault}", sound.path));
            false
        }
        None => true,
    });
    if sounds.is_empty() {
        return Ok(ended(all, lost, all));
    }
    outputs.check(&sounds)?;
    let speakers = arguments.speakers.load()?;
    let model = arguments.pieces.open(folder, arguments.threads.at_startup)?;
    arguments.speakers.compare(speakers.as_ref(), &model);
    arguments.lattices.as_deref().map_or(Ok(()), |folder| lattices::note_model(folder, &model))?;
    let keep_lattice = arguments.lattices.is_some();
    let options = RecognizerOptions { keep_lattice, ..arguments.words.recognizer(&model, phrases)? };
    let threads = arguments.threads.files.get().min(sounds.len());
    // Largest number of files in progress: a single thread prints its own lines in order.
    let most = if threads == 1 { 1 } else { 2 * threads };
    let mut workers = Vec::new();
    let minutes = Minutes::new(sounds.iter().map(|sound| sound.path));
    let job = Job {
        model: &model,
        options,
        channels: arguments.channels,
        sound: arguments.sound.clone(),
        speakers: speakers.as_ref(),
        outputs: &outputs,
        parts: arguments.parts(),
        words: &arguments.words,
        as_it_comes: arguments.as_it_comes,
        minutes: &minutes,
    };
    let sounds = &sounds;
    for _ in 0..threads {
        let mut session = Session::new(&job)?;
        workers.push(move |number: usize| (number, session.texts(number, &sounds[number], threads == 1)));
    }
    let give_all = |give: Give<'_, _>| {
        let _all_were_wanted =
            (0..sounds.len()).all(|number| interruption::received().is_none() && give(number));
        Ok(())
    };
    let (mut failed, mut whole) = (all - sounds.len(), 0);
    let mut writer = outputs.writer()?;
    interruption::defer();
    in_parallel(most, give_all, workers, |(number, texts)| {
        let sound = &sounds[number];
        let seconds = minutes.length(number);
        minutes.file_done(number);
        minutes.suspend(|| match texts {
            Ok(Heard::Whole(texts)) => {
                whole += 1;
                writer.write(&sound.to, &texts)
            }
            Ok(Heard::Part(part)) => interrupted::write(&mut writer, sound, &part),
            Ok(Heard::Nothing) => Ok(()),
            Err(error) => {
                failed += 1;
                lost.add(seconds);
                messages::warn(&checks::named(sound.path, format!("{error:#}")));
                Ok(())
            }
        })
    })?;
    minutes.finish();
    if let Some(signal) = interruption::received() {
        return interrupted::end(writer, signal, whole, failed, all);
    }
    writer.finish()?;
    Ok(ended(failed, lost, all))
}

/// Says how many recordings have no text, and how much sound they have. Returns the exit status.
fn ended(failed: usize, lost: Loss, all: usize) -> u8 {
    if failed > 0 {
        let say = if failed == all { messages::error } else { messages::warn };
        say(&format!("{failed} of {all} files could not be transcribed ({lost})"));
    }
    u8::from(failed > 0)
}
