//! From sound to text with a model folder: the work of `nnet3-transcribe`.

mod names;
mod pieces;
mod progress;
mod session;
mod speakers;
mod words;

use std::num::NonZero;

use anyhow::{Context, Result, bail};
use kaldi_io::{KaldiWriter, StandardOutput};
use kaldi_sound::{Channels, SoundOptions};

use names::{Name, is_live};
pub use nnet3_online::formats::Format;
use nnet3_online::formats::Parts;
pub use pieces::PieceArgs;
use progress::Minutes;
use session::{Job, Session};
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

/// Format of the texts, and the folder for them.
#[derive(Debug, Clone)]
pub struct Texts {
    pub format: Format,
    /// The folder for a file of each text; without it all go to standard output.
    pub folder: Option<String>,
}

/// A file of sound.
struct Sound<'p> {
    path: &'p str,
    /// Name in the text form.
    name: String,
    /// The output file of its text, if the text has a file of its own.
    to: Option<String>,
}

impl Texts {
    /// Gives each path a name, and its text a place.
    fn sounds<'p>(&self, paths: &'p [String]) -> Result<Vec<Sound<'p>>> {
        let form = if self.format.is_subtitles() { Name::OfFile } else { Name::OfColumn };
        let form = if self.format == Format::Json { Name::Plain } else { form };
        let names = names::distinct(paths, form);
        let to: Vec<Option<String>> = match &self.folder {
            None if self.format.is_subtitles() && paths.len() > 1 => bail!(
                "--format={} is for one file, found {}; --output-dir=FOLDER writes a file of subtitles for each",
                self.format.suffix(),
                paths.len()
            ),
            None => vec![None; paths.len()],
            Some(folder) => {
                std::fs::create_dir_all(folder).with_context(|| format!("--output-dir={folder}"))?;
                let suffix = self.format.suffix();
                let names = names::distinct(paths, Name::OfFile);
                names.iter().map(|name| Some(format!("{folder}/{name}.{suffix}"))).collect()
            }
        };
        let sounds = paths.iter().zip(names).zip(to);
        Ok(sounds.map(|((path, name), to)| Sound { path, name, to }).collect())
    }
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
    pub threads: Threads,
}

/// Writes the text of each file, in their order. The status is 1 if there was none of some file.
pub fn transcribe(arguments: &Arguments, mut paths: Vec<String>) -> Result<u8> {
    let Arguments { pieces, words, speakers, channels, sound, texts, threads } = arguments;
    let channels = *channels;
    words.check(texts.format)?;
    if texts.folder.is_none() {
        StandardOutput::check()?;
    }
    if !speakers.speakers.is_empty() && channels == Some(Channels::Each) {
        bail!("--speakers is not for --channels=each, whose channels are the speakers");
    }
    if !speakers.speakers.is_empty() && words.alternatives > 0 && texts.format == Format::Text {
        bail!("--speakers with --alternatives is for --format=json");
    }
    let speakers = speakers.load(texts.format)?;
    let model = pieces.open(&mut paths, threads.at_startup)?;
    if paths.is_empty() {
        bail!("expected at least one recording");
    }
    let options = words.recognizer(&model)?;
    let sounds = texts.sounds(&paths)?;
    let threads = threads.files.get().min(paths.len());
    // Largest number of files in progress: a single thread prints its own lines in order.
    let most = if threads == 1 { 1 } else { 2 * threads };
    let mut workers = Vec::new();
    let minutes = Minutes::new(sounds.len(), sounds.iter().any(|sound| is_live(sound.path)));
    let job = Job {
        model: &model,
        options,
        channels,
        sound: sound.clone(),
        speakers: speakers.as_ref(),
        format: texts.format,
        parts: Parts { channels: channels == Some(Channels::Each), alternatives: words.alternatives > 0 },
        min_confidence: words.min_confidence,
        minutes: &minutes,
    };
    for _ in 0..threads {
        let mut session = Session::new(&job)?;
        workers.push(move |sound: &Sound| {
            let text = session.text(sound, threads == 1);
            (sound.path.to_owned(), sound.to.clone(), text)
        });
    }
    let give_all = |give: Give<'_, _>| {
        let _all_were_wanted = sounds.iter().all(give);
        Ok(())
    };
    let mut failed = 0;
    in_parallel(most, give_all, workers, |(path, to, text)| {
        minutes.file_done();
        minutes.suspend(|| match (text, to) {
            (Ok(text), None) => print(&text),
            (Ok(text), Some(file)) => write_whole(&file, &text),
            (Err(error), _) => {
                failed += 1;
                let text = format!("{error:#}");
                // (Most errors begin with the name of the file.)
                messages::warn(&if text.starts_with(&path) { text } else { format!("{path}: {text}") });
                Ok(())
            }
        })
    })?;
    minutes.finish();
    if failed > 0 {
        messages::warn(&format!("{failed} of {} files could not be transcribed", sounds.len()));
    }
    Ok(u8::from(failed > 0))
}

fn print(text: &str) -> Result<()> {
    Ok(StandardOutput::print(text)?)
}

fn write_whole(file: &str, text: &str) -> Result<()> {
    let mut writer = KaldiWriter::create(file, false)?;
    writer.write_str(text)?;
    Ok(writer.finish()?)
}
