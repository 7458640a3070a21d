//! `corpus-to-data`: recordings and texts in any form → a data folder of Kaldi.

use anyhow::{Result, bail};
use kaldi_corpus::vocabulary::Policy;
use kaldi_corpus::{Check, write, write_faults};

use super::options::CorpusArgs;
use super::words::{normalise, pronunciations};

/// Make a data folder of Kaldi (wav.scp, text, utt2spk, spk2utt, segments, utt2dur, reco2dur) of recordings and their texts.
///
/// A corpus is one of these: a tree of folders with .TextGrid, .eaf, .lab or .txt files beside the recordings; a table
/// (.csv, .tsv, metadata.csv with |, lines of JSON) with a column of recordings and one of texts; a data folder of Kaldi; with
/// --text, recordings and texts by key. Recordings may have any format that nnet3-transcribe reads.
///
/// Every utterance that cannot be used is counted with its reason. More than 2 % are an error, unless --skip-bad=true. All
/// recordings are brought to one rate, the highest that 98 % of the utterances reach. What is no wave of this rate is read
/// by commands with the program sound-to-wav in wav.scp.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: corpus-to-data interviews data/train\n      corpus-to-data --speakers=field:2 --skip-bad=true LJSpeech-1.1/metadata.csv data/lj\n\
    See also: sound-to-wav"
)]
pub struct Options {
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Samples per second of all recordings; 0: the highest rate that 98 % of the utterances reach
    #[arg(long, default_value_t = 0)]
    sample_frequency: u32,
    /// Write all faults to this file: a line each, with tabs between place, kind, lost utterances, seconds, and the fault
    #[arg(long, value_name = "FILE", default_value = "")]
    faults: String,
    /// Use the words of this lexicon: a file with lines of a word and its phones, or letters (a letter is a sound). Capitals,
    /// punctuation and other forms of letters in the texts become those of the lexicon, by a rule that is logged. Words that
    /// it lacks stay in the texts. Without it texts stay as they are
    #[arg(long, value_name = "FILE|letters", default_value = "")]
    lexicon: String,
    /// Write the words that the lexicon lacks to this file: a line each, with tabs between word, count, utterances, first place
    /// and a remark
    #[arg(long, value_name = "FILE", default_value = "")]
    unknown_words: String,
    /// Lose utterances with words that the lexicon lacks; otherwise such words stay in the texts
    #[arg(long)]
    lose_unknown: bool,
    /// Write this file, by which later steps notice that recordings have changed: lines of a recording's key, bytes, time of change in
    /// nanoseconds, rate and seconds
    #[arg(long, value_name = "FILE", default_value = "")]
    stamps: String,
    /// Number of threads that open recordings
    #[arg(long, default_value_t = 1)]
    num_threads: i32,
    #[arg(value_name = "corpus")]
    from: String,
    #[arg(value_name = "data-dir")]
    to: String,
}

/// The lowest and the highest rate that make sense, in Hz.
const RATES: std::ops::RangeInclusive<u32> = 1000..=384_000;

pub fn run(options: Options) -> Result<u8> {
    let wanted = options.sample_frequency;
    if wanted != 0 && !RATES.contains(&wanted) {
        bail!("--sample-frequency={wanted}: expected 0, or a rate from {} to {}", RATES.start(), RATES.end());
    }
    let mut corpus = options.corpus.read(&options.from, Check::Headers, options.num_threads.into())?;
    let rate = if wanted == 0 { corpus.common_rate() } else { Some(wanted) };
    if let Some(rate) = rate {
        corpus.require_rate(rate);
    }
    match options.lexicon.as_str() {
        "" if !options.unknown_words.is_empty() => {
            bail!("--unknown-words={}: it has an effect beside --lexicon only", options.unknown_words);
        }
        "" if options.lose_unknown => bail!("--lose-unknown=true: it has an effect beside --lexicon only"),
        "" => {}
        lexicon => {
            let policy = if options.lose_unknown { Policy::Lose } else { Policy::Keep };
            normalise(&mut corpus, &pronunciations(lexicon)?, policy, &options.unknown_words)?;
        }
    }
    if !options.faults.is_empty() {
        write_faults(options.faults.as_ref(), &corpus.faults)?;
    }
    options.corpus.judge(&corpus)?;
    write::data_folder(&corpus, options.to.as_ref(), |recording| write::sound(recording, rate))?;
    if !options.stamps.is_empty() {
        write::stamps(&corpus, options.stamps.as_ref())?;
    }
    Ok(0)
}
