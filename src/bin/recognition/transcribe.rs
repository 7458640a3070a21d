//! From sound to text with a model folder: the work of `nnet3-transcribe`.

mod names;
mod pieces;
mod speakers;

use std::io::Write as _;
use std::num::NonZero;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kaldi_io::KaldiWriter;
use kaldi_sound::{Channels, SoundStream};
use nnet3_online::formats::{self, Segment};
use nnet3_online::voices::Voices;
use nnet3_online::{Recognizer, State, Transcript};

use names::{Name, is_live};
pub use nnet3_online::formats::Format;
pub use pieces::PieceArgs;
pub use speakers::SpeakerArgs;
use speakers::Speakers;

use nnet3::messages;
use nnet3::workers::{Give, in_parallel};

/// Seconds of sound in a piece.
const PIECE: f32 = 0.2;
/// Pieces between two displays of partial results.
const PIECES_TO_A_LOOK: usize = 3;

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

/// Writes the text of each file, in their order. The status is 1 if there was none of some file.
pub fn transcribe(
    args: &PieceArgs,
    speakers: &SpeakerArgs,
    channels: Option<Channels>,
    texts: &Texts,
    mut paths: Vec<String>,
    threads: Threads,
) -> Result<u8> {
    let speakers = speakers.load(texts.format)?;
    let model = args.open(&mut paths, threads.at_startup)?;
    if paths.is_empty() {
        bail!("expected recordings");
    }
    let sounds = texts.sounds(&paths)?;
    let threads = threads.files.get().min(paths.len());
    // Largest number of files in progress: a single thread prints its own lines in order.
    let most = if threads == 1 { 1 } else { 2 * threads };
    let mut workers = Vec::new();
    for _ in 0..threads {
        let mut recognizer = Recognizer::new(&model, model.sample_rate(), model.options())?;
        if let Some(speakers) = &speakers {
            recognizer.set_speaker_model(speakers.model.clone());
        }
        let mut session = Session { recognizer, channels, speakers: speakers.as_ref(), voices: Vec::new() };
        workers.push(move |sound: &Sound| {
            let text = session.text(sound, texts.format, threads == 1);
            (sound.path.to_owned(), sound.to.clone(), text)
        });
    }
    let give_all = |give: Give<'_, _>| {
        let _all_were_wanted = sounds.iter().all(give);
        Ok(())
    };
    let mut failed = 0;
    in_parallel(most, give_all, workers, |(path, to, text)| match (text, to) {
        (Ok(text), None) => print(&text),
        (Ok(text), Some(file)) => write_whole(&file, &text),
        (Err(error), _) => {
            failed += 1;
            messages::warn(&format!("{path}: {error:#}"));
            Ok(())
        }
    })?;
    if failed > 0 {
        messages::warn(&format!("no text of {failed} of {} files", sounds.len()));
    }
    Ok(u8::from(failed > 0))
}

fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}

fn write_whole(file: &str, text: &str) -> Result<()> {
    let mut writer = KaldiWriter::create(file, false)?;
    writer.write_str(text)?;
    Ok(writer.finish()?)
}

struct Session<'s> {
    recognizer: Recognizer,
    /// The channel that is used; without it the first, with a warning if there are others.
    channels: Option<Channels>,
    speakers: Option<&'s Speakers>,
    /// With a speaker model, the voices of the segments of the present file.
    voices: Vec<Voices>,
}

impl Session<'_> {
    /// Returns the text of a file, or the part that has not been printed. If `at_once`, sentences of live sound are
    /// printed when they end. Speakers are known at the end only.
    fn text(&mut self, sound: &Sound, format: Format, at_once: bool) -> Result<String> {
        let at_once = at_once
            && self.speakers.is_none()
            && format == Format::Text
            && is_live(sound.path)
            && sound.to.is_none();
        let each = |segment: &Segment| match at_once && !segment.is_empty() {
            true => print(&formats::write(format, &sound.name, std::slice::from_ref(segment))),
            false => Ok(()),
        };
        let segments = self.file(sound.path, each)?;
        if let Some(speakers) = self.speakers {
            return speakers.write(format, &sound.name, &segments, &self.voices);
        }
        let printed = at_once && segments.iter().any(|segment| !segment.is_empty());
        Ok(if printed { String::new() } else { formats::write(format, &sound.name, &segments) })
    }

    /// Returns the text of a file, with a new speaker. Calls `each` for each segment when it ends.
    fn file(&mut self, path: &str, each: impl Fn(&Segment) -> Result<()>) -> Result<Vec<Segment>> {
        let mut stream = SoundStream::open(path)?;
        let count = stream.channels();
        let channels = self.channels.unwrap_or_default();
        if count > 1 && self.channels.is_none() {
            messages::warn(&format!("{path}: the first of {count} channels is taken; see --channels"));
        }
        let signals = stream.signals(channels)?;
        let rate = stream.sample_rate() as f32;
        let piece = ((rate * PIECE) as usize).max(1);
        let shown = partial_results(path);
        let (mut segments, mut voices) = (Vec::new(), Vec::new());
        let mut end = |transcript: Transcript| -> Result<()> {
            for warning in &transcript.warnings {
                messages::warn(&format!("{path}: {warning}"));
            }
            shown.set_message("");
            shown.suspend(|| each(&transcript.words))?;
            segments.push(transcript.words);
            voices.extend(transcript.voices);
            Ok(())
        };
        let (mut taken, mut pieces) = (0, 0);
        self.recognizer.reset(rate)?;
        loop {
            let samples = stream.read(piece, &signals)?.swap_remove(0);
            if samples.is_empty() {
                break;
            }
            let state = self.recognizer.accept(&samples)?;
            taken += samples.len();
            pieces += 1;
            if pieces % PIECES_TO_A_LOOK == 0 && !shown.is_hidden() {
                shown.set_message(self.recognizer.partial()?);
            }
            if let State::Endpoint { .. } = state {
                end(self.recognizer.result()?)?;
            }
        }
        if let Some(complaint) = stream.complaint() {
            messages::warn(&format!("{path}: {complaint}"));
        }
        stream.close()?;
        if taken == 0 {
            bail!("there are no samples");
        }
        let last = self.recognizer.finish()?;
        if last.frames > 0 {
            end(last)?;
        } else if segments.is_empty() {
            bail!("{taken} samples are too few for a frame");
        }
        shown.finish_and_clear();
        self.voices = voices;
        Ok(segments)
    }
}

/// Returns the line of partial results on a terminal, for live sound. It is hidden without a terminal, and for sound in
/// a file.
fn partial_results(path: &str) -> ProgressBar {
    if !is_live(path) {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_msg}").expect("a template");
    ProgressBar::new_spinner().with_style(style)
}
