//! `prepare-lang`: makes the folder of a language from a lexicon.

use anyhow::{Result, bail};
use kaldi_fst::store::Symbols;
use kaldi_lang::{Lang, LangOptions, Lexicon, TopologyKind};
use nnet3::messages;

/// Make what training and graphs need of a language from a lexicon: the files of Kaldi's lang folders.
///
/// The lexicon has lines of a word and phones; there may be a probability behind the word, and behind that, as in
/// lexiconp_silprob.txt and the dictionaries of the Montreal Forced Aligner, a probability of silence after the word and two
/// corrections. With --phones, phones have the names and numbers of a model, and the lexicon has these names, with places in words;
/// only phones.txt, words.txt, L_disambig.fst.txt, phones/disambig.int and phones/optional_silence.int are written then.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: prepare-lang --topology=hmm lexicon.txt data/lang\nSee also: train-gaussians, make-h-transducer")]
pub struct Options {
    /// Silence phones between commas; the first may be between words, others are noises.
    #[arg(long, default_value = "SIL")]
    silence_phones: String,
    /// Probability of silence between words
    #[arg(long, default_value_t = 0.5)]
    silence_probability: f64,
    /// True if phones differ by their place in words
    #[arg(long, default_value_t = true)]
    word_positions: bool,
    /// The word that stands for others
    #[arg(long, default_value = "")]
    oov_word: String,
    /// Table of the phones of a model: names and numbers
    #[arg(long, default_value = "")]
    phones: String,
    /// chain for one state a phone; hmm for three states of sounds and five of silences
    #[arg(long, default_value = "chain")]
    topology: String,
    lexicon: String,
    lang_dir: String,
}

pub fn run(options: Options) -> Result<u8> {
    let topology = match options.topology.as_str() {
        "chain" => TopologyKind::Chain,
        "hmm" => TopologyKind::Hmm,
        other => bail!("--topology={other}: expected chain or hmm"),
    };
    let (lexicon, warnings) = Lexicon::read(&options.lexicon)?;
    warnings.iter().for_each(|warning| messages::warn(warning));
    let of_model = !options.phones.is_empty();
    let lang_options = LangOptions {
        silence_phones: options.silence_phones.split(',').map(str::to_owned).collect(),
        silence_probability: options.silence_probability,
        // The lexicon for a model has places in words already.
        word_positions: options.word_positions && !of_model,
        oov_word: options.oov_word.clone(),
        topology,
        silence_at_ends: None,
    };
    if of_model {
        let table = Symbols::load(&options.phones)?;
        Lang::for_phones(&lexicon, &table, &options.phones, &lang_options)?.write_for_model(&options.lang_dir)?;
    } else {
        Lang::new(&lexicon, &lang_options)?.write(&options.lang_dir)?;
    }
    Ok(0)
}
