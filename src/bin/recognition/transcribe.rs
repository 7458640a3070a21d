//! From sound to text with a model folder: the work of `nnet3-transcribe`.

mod folder;
mod names;
mod output;
mod subtitles;

use std::io::Write as _;
use std::num::NonZero;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kaldi_feat::wave::WaveStream;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::forward::LoopedForward;
use nnet3_decode::align::{WordAlignment, align_words};
use nnet3_decode::decoder::{ComposedGraph, ExpandedGrammar, Graph, LatticeDecoder};
use nnet3_decode::{CompactLattice, Scale, mbr, path};
use nnet3_online::Recognizer;

pub use folder::PieceArgs;
use folder::{Loaded, load};
use names::{Name, is_live};
pub use output::Format;
use output::{Segment, Word};

use crate::recognition::search_graph::SharedGraph;
use nnet3::lattices::no_name;
use nnet3::messages;
use nnet3::workers::{Give, in_parallel};

/// Seconds of sound in a piece.
const PIECE: f32 = 0.2;
/// Scale of graph costs for the choice of words, as in vosk.
const GRAPH_SCALE: f64 = 0.9;
/// Pieces between two displays of partial results.
const PIECES_TO_A_LOOK: usize = 3;
/// States of a lattice with words as arcs, for each of the lattice and besides.
const MOST_STATES: usize = 1_000_000;

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
pub fn transcribe(args: &PieceArgs, texts: &Texts, mut paths: Vec<String>, threads: Threads) -> Result<u8> {
    let (loaded, network) = load(args, &mut paths, threads.at_startup)?;
    if paths.is_empty() {
        bail!("expected wave files");
    }
    let sounds = texts.sounds(&paths)?;
    let count = threads.files.get().min(paths.len());
    let mut networks: Vec<LoopedForward> =
        (1..count).map(|_| loaded.settings.looped.another(&network)).collect();
    networks.push(network);
    let format = texts.format;
    match &loaded.graph {
        SharedGraph::Whole(graph) => all_files(&loaded, networks, || graph.unvisited(), format, &sounds),
        SharedGraph::Pair(pair) => all_files(&loaded, networks, || ComposedGraph::new(pair), format, &sounds),
        SharedGraph::Grammar(grammar) => {
            all_files(&loaded, networks, || ExpandedGrammar::new(grammar), format, &sounds)
        }
    }
}

/// Runs a thread with a search of its own for each network.
fn all_files<'p, G: Graph + Send>(
    loaded: &Loaded,
    networks: Vec<LoopedForward>,
    graph: impl Fn() -> G,
    format: Format,
    sounds: &'p [Sound<'p>],
) -> Result<u8> {
    let threads = networks.len();
    // Largest number of files in progress: a single thread prints its own lines in order.
    let most = if threads == 1 { 1 } else { 2 * threads };
    let mut workers = Vec::new();
    for network in networks {
        let options = &loaded.settings.search;
        let search = LatticeDecoder::new(graph(), options.options_with_chunks())?;
        let mut recognizer = Recognizer::new(loaded.model.clone(), network, search)?;
        recognizer.determinize_in_chunks(options.chunks(loaded.chunks)?);
        let mut session = Session { loaded, recognizer };
        workers.push(move |sound: &'p Sound<'p>| (sound, session.text(sound, format, threads == 1)));
    }
    let give_all = |give: Give<'_, _>| {
        let _all_were_wanted = sounds.iter().all(give);
        Ok(())
    };
    let mut failed = 0;
    in_parallel(most, give_all, workers, |(sound, text)| match (text, &sound.to) {
        (Ok(text), None) => print(&text),
        (Ok(text), Some(file)) => write_whole(file, &text),
        (Err(error), _) => {
            failed += 1;
            messages::warn(&format!("{}: {error:#}", sound.path));
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

struct Session<'l, G> {
    loaded: &'l Loaded,
    recognizer: Recognizer<G>,
}

impl<G: Graph> Session<'_, G> {
    /// Returns the text of a file, or the part that has not been printed. If `at_once`, sentences of live sound are
    /// printed when they end.
    fn text(&mut self, sound: &Sound, format: Format, at_once: bool) -> Result<String> {
        let at_once = at_once && format == Format::Text && is_live(sound.path) && sound.to.is_none();
        let each = |segment: &Segment| match at_once && !segment.is_empty() {
            true => print(&output::write(format, &sound.name, std::slice::from_ref(segment))),
            false => Ok(()),
        };
        let segments = self.file(sound.path, each)?;
        let printed = at_once && segments.iter().any(|segment| !segment.is_empty());
        Ok(if printed { String::new() } else { output::write(format, &sound.name, &segments) })
    }

    /// Returns the text of a file, with a new speaker. Calls `each` for each segment when it ends.
    fn file(&mut self, path: &str, each: impl Fn(&Segment) -> Result<()>) -> Result<Vec<Segment>> {
        let mut wave = WaveStream::new(KaldiReader::open_raw(path)?)?;
        if wave.channels() > 1 {
            messages::warn(&format!("{path}: the first of {} channels is taken", wave.channels()));
        }
        let rate = wave.sample_rate() as f32;
        let piece = ((rate * PIECE) as usize).max(1);
        let shown = partial_results(path);
        let mut segments = Vec::new();
        // The samples since the last pause, and how many there were before.
        let (mut samples, mut before) = (Vec::new(), 0);
        let mut pieces = 0;
        self.recognizer.begin(self.loaded.speaker.clone())?;
        loop {
            let new = wave.read(piece)?;
            if new.is_empty() {
                break;
            }
            self.recognizer.accept(rate, &new)?;
            samples.extend_from_slice(&new);
            pieces += 1;
            if pieces % PIECES_TO_A_LOOK == 0 && !shown.is_hidden() {
                shown.set_message(self.partial()?);
            }
            let endpoint = self.loaded.endpoint.as_ref().map(|endpoint| self.recognizer.endpoint(endpoint));
            if endpoint.transpose()?.flatten().is_some() {
                // Samples that were not decoded belong to the next segment.
                let seconds = self.recognizer.frames_decoded() as f32 * self.recognizer.output_frame_length();
                let decoded = ((seconds * rate) as usize).min(samples.len());
                let segment = self.segment(path, before as f64 / f64::from(rate))?;
                shown.set_message("");
                shown.suspend(|| each(&segment))?;
                segments.push(segment);
                let speaker = self.recognizer.speaker()?;
                self.recognizer.begin(speaker)?;
                samples.drain(..decoded);
                before += decoded;
                self.recognizer.accept(rate, &samples)?;
            }
        }
        if let Some(complaint) = wave.complaint() {
            messages::warn(&format!("{path}: {complaint}"));
        }
        wave.close()?;
        if before + samples.len() == 0 {
            bail!("there are no samples");
        }
        self.recognizer.accept_last(rate, &[])?;
        if self.recognizer.frames_decoded() > 0 {
            let segment = self.segment(path, before as f64 / f64::from(rate))?;
            shown.suspend(|| each(&segment))?;
            segments.push(segment);
        } else if segments.is_empty() {
            bail!("{} samples are too few for a frame", samples.len());
        }
        shown.finish_and_clear();
        Ok(segments)
    }

    /// The words of the best path so far.
    fn partial(&self) -> Result<String> {
        if self.recognizer.frames_decoded() == 0 {
            return Ok(String::new());
        }
        let raw = self.recognizer.decoder().raw_lattice()?;
        let best = path::read_linear(&path::best_path(&raw))?;
        Ok(best.words.iter().map(|&word| self.word(word)).collect::<Result<Vec<_>>>()?.join(" "))
    }

    fn word(&self, word: i32) -> Result<&str> {
        self.loaded.names.get(word).with_context(|| no_name(word))
    }

    /// Ends the utterance. `start` is its beginning, in seconds from the beginning of the sound.
    fn segment(&mut self, path: &str, start: f64) -> Result<Segment> {
        let lattice = match self.recognizer.finish()? {
            true => self.recognizer.determinized()?.map(|(lattice, _)| lattice),
            false => None,
        };
        let Some(mut lattice) = lattice.filter(|lattice| lattice.start.is_some()) else {
            messages::warn(&format!("{path}: no path was left from {start:.2} s on"));
            return Ok(Vec::new());
        };
        nnet3_decode::lattice::scale(&mut lattice, Scale::new(GRAPH_SCALE, 1.0));
        let outcome = self.choose_words(path, start, &lattice)?;
        let frame = f64::from(self.recognizer.output_frame_length());
        let words = outcome.words.iter().zip(&outcome.times).zip(&outcome.confidences);
        let word = |((&word, &(begin, end)), &confidence): ((&i32, &(f32, f32)), &f32)| {
            Ok(Word {
                text: self.word(word)?.to_owned(),
                start: start + f64::from(begin) * frame,
                end: start + f64::from(end) * frame,
                confidence,
            })
        };
        words.map(word).collect()
    }

    /// Finds the words with the least risk. Their times are the times of their phones. If the lattice cannot be aligned
    /// to words, all words are kept, with the times of the search, and a warning gives the reason.
    fn choose_words(&self, path: &str, start: f64, lattice: &CompactLattice) -> Result<mbr::Outcome> {
        let Loaded { transitions, boundaries, .. } = self.loaded;
        let decode = |lattice: &CompactLattice| mbr::decode(lattice, None, mbr::Options::default());
        let Some(boundaries) = boundaries else { return Ok(decode(lattice)?) };
        let options = WordAlignment {
            reorder: true,
            silence_label: 0,
            partial_word_label: 0,
            max_states: Some(MOST_STATES),
        };
        let (cause, aligned) = match align_words(lattice, transitions, boundaries, &options) {
            Ok((aligned, problems)) if problems.is_empty() => return Ok(decode(&aligned)?),
            Ok((aligned, problems)) => (problems.join(", "), decode(&aligned).ok()),
            Err(error) => (error.to_string(), None),
        };
        let outcome = decode(lattice)?;
        match aligned {
            // A word that sound ends in is no reason to complain.
            Some(aligned) if aligned.words == outcome.words && !self.recognizer.decoder().reached_final() => {
                Ok(aligned)
            }
            _ => {
                messages::warn(&format!(
                    "{path}: words from {start:.2} s on cannot be aligned with the sound ({cause}): their times are those of \
                     the search, which are less exact"
                ));
                Ok(outcome)
            }
        }
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
