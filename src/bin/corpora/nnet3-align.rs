//! `nnet3-align`: forced alignment: recordings and texts → times of words and phones.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use kaldi_aligner::outputs::{self, Format, TABLE};
use kaldi_aligner::state::{self, State};
use kaldi_aligner::{Model, Unknown};
use kaldi_corpus::vocabulary::Policy;
use kaldi_corpus::{Check, MOST_LOST, write_faults};
use nnet3::messages;
use nnet3::options::threads;

use super::aligning::{Begin, Job, tell};
use super::options::CorpusArgs;
use super::words::{normalise, pronunciations};

/// Find out when each word and phone of recordings is spoken (forced alignment).
///
/// The corpus is a tree of folders with .TextGrid, .eaf, .lab or .txt files beside the recordings, a table with a column of
/// recordings and one of texts, or a data folder of Kaldi (see corpus-to-data). The lexicon has lines of a word and its
/// phones, maybe with probabilities, as Kaldi and the Montreal Forced Aligner have them; letters means that each letter is a
/// sound.
///
/// Without --model, models are trained on these recordings (monophones, triphones, LDA+MLLT and, if speakers have enough
/// speech, SAT), and all of them are aligned. The results' folder gets TextGrids for Praat and the other formats, files.tsv
/// with a line for each recording, unknown_words.tsv, faults.tsv, doubtful.tsv (words whose sound does not fit), and the model.
/// If the program is stopped and started again with the same arguments, it goes on with the trained model.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-align interviews lexicon.txt aligned\n      nnet3-align --formats=textgrid,csv --speakers=field:1 recordings letters aligned\n      \
    nnet3-align --model=aligned/model more lexicon.txt more-aligned\n      nnet3-align --validate=true interviews lexicon.txt report\n\
    See also: corpus-to-data, nnet3-transcribe"
)]
pub struct Options {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Align with this model, and train none: a folder that --save-model or a training of Kaldi's scripts wrote, or an unpacked
    /// acoustic model of the Montreal Forced Aligner
    #[arg(long, value_name = "FOLDER", default_value = "")]
    model: String,
    /// Write the trained model to this folder, too. (The results' folder has it as model)
    #[arg(long, value_name = "FOLDER", default_value = "")]
    save_model: String,
    /// Forms of results, with commas between them: textgrid, short-textgrid, ctm, json, csv, srt (subtitles), vtt
    #[arg(long, value_name = "FORMATS", default_value = "textgrid,csv")]
    formats: String,
    /// Words that the lexicon lacks: spoken (one phone that stands for anything), letters (letters are phones), or skip (their
    /// utterances are left out)
    #[arg(long, value_name = "spoken|letters|skip", default_value = "spoken", value_parser = unknown)]
    unknown_words: Unknown,
    /// If true, words and phones get scores (see docs/alignment.md), and words with low scores are listed
    #[arg(long, default_value_t = true)]
    scores: bool,
    /// If true, only look for what would go wrong: read all samples and texts, write faults.tsv and unknown_words.tsv
    #[arg(long, default_value_t = false)]
    validate: bool,
    /// Number of threads; -1 for one for each processor
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    #[arg(value_name = "corpus")]
    from: String,
    #[arg(value_name = "lexicon|letters")]
    lexicon: String,
    #[arg(value_name = "results-dir")]
    to: String,
}

fn unknown(text: &str) -> Result<Unknown, String> {
    match text {
        "spoken" => Ok(Unknown::Spoken),
        "letters" => Ok(Unknown::Letters),
        "skip" => Ok(Unknown::Skip),
        _ => Err("expected spoken, letters or skip".to_owned()),
    }
}

/// The folder of the model in that of the results.
const MODEL: &str = "model";

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
    if !options.model.is_empty() && !options.save_model.is_empty() {
        bail!("--save-model={}: no model is trained with --model", options.save_model);
    }
    let model = match options.model.as_str() {
        "" => None,
        folder => Some(Box::new(Model::open(folder.as_ref())?)),
    };
    let out = PathBuf::from(&options.to);
    let mut pronunciations = pronunciations(&options.lexicon)?;
    let check = if options.validate { Check::Samples } else { Check::Headers };
    let mut corpus = options.corpus.read(&options.from, check, threads.get() as i64)?;
    let policy = if options.unknown_words == Unknown::Skip { Policy::Lose } else { Policy::Keep };
    let missing = normalise(&mut corpus, &pronunciations.words, policy, "")?;
    let rate = corpus.common_rate();
    if let Some(rate) = rate {
        corpus.require_rate(rate.min(model.as_ref().map_or(rate, |model| model.features.rate)));
    }
    let reports = |folder: &Path| -> Result<()> {
        write_faults(&folder.join("faults.tsv"), &corpus.faults)?;
        Ok(kaldi_corpus::vocabulary::write_missing(&folder.join("unknown_words.tsv"), &missing)?)
    };
    if options.validate {
        kaldi_corpus::write::new_folder(&out)?;
        reports(&out)?;
        validate(&corpus);
        options.corpus.judge(&corpus)?;
        return Ok(0);
    }
    options.corpus.judge(&corpus)?;
    pronunciations.complete(&corpus, options.unknown_words)?;
    let kind = format!("{:?} {:?}", options.unknown_words, model.as_ref().map(|model| &model.features));
    let inputs = state::fingerprint(&corpus, &pronunciations.lexicon, &[options.model.clone(), kind]);
    let outputs = format!("{formats:?} {}", options.scores);
    let state = state::look(&out, &inputs, &outputs)?;
    if state == State::Ended {
        messages::log(&format!("{}: all is there already", options.to));
        return Ok(0);
    }
    state::begin(&out, &inputs, &outputs)?;
    reports(&out)?;
    let trained = out.join(MODEL);
    let begin = match model {
        Some(model) => Begin::Model(model),
        None if trained.join("final.mdl").is_file() => {
            messages::log(&format!("going on with the model in {}", trained.display()));
            Begin::Model(Box::new(Model::open(&trained)?))
        }
        None => Begin::Rate(rate.unwrap_or(16000)),
    };
    let job = Job { corpus: &corpus, pronunciations: &pronunciations, with_scores: options.scores, threads };
    let results = job.run(begin, |model| Ok(model.save(&trained)?))?;
    if !options.save_model.is_empty() {
        Model::open(&trained)?.save(options.save_model.as_ref())?;
    }
    outputs::write(&out, &corpus, &results, &formats)?;
    let aligned = tell(&corpus, &results, &out.join(TABLE));
    let lost = corpus.utterances.len() - aligned;
    if aligned == 0 {
        bail!("no utterance could be aligned; {} has the reasons", out.join(TABLE).display());
    }
    if lost as f64 > MOST_LOST * corpus.utterances.len() as f64 && !options.corpus.skips_bad() {
        bail!(
            "{lost} of {} utterances could not be aligned; the results of the others are in {}",
            corpus.utterances.len(),
            options.to
        );
    }
    Ok(0)
}

/// Says what else may be odd: speakers with one utterance, rates.
fn validate(corpus: &kaldi_corpus::Corpus) {
    let speakers = corpus.speakers();
    let single: Vec<&str> = speakers
        .iter()
        .filter(|(_, utterances)| utterances.len() == 1)
        .map(|(speaker, _)| *speaker)
        .collect();
    if !single.is_empty() {
        let first = single.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        messages::warn(&format!(
            "{} of {} speakers have one utterance, such as {first}: is --speakers right?",
            single.len(),
            speakers.len()
        ));
    }
    for (rate, count) in corpus.rates() {
        messages::log(&format!("{count} recordings have {rate} samples per second"));
    }
}
