//! `lattice-to-ctm-conf`: words with times and confidences.

use anyhow::{Context, Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::{num, ratio};
use kaldi_io::KaldiWriter;
use kaldi_io::holder::{F32PairVectorHolder, I32VectorHolder};
use nnet3::tables::{self, Input};
use nnet3::{lattices, messages};
use nnet3_decode::{CompactLatticeHolder, Scale, mbr};

/// This tool turns a lattice into a ctm with confidences, based on the posterior probabilities in the lattice.
///
/// The word sequence in the ctm is determined as follows. Firstly we determine the initial word sequence: in the 3-argument
/// form, it is read from the <1best-rspecifier> input; otherwise it is the 1-best of the lattice. Then, if
/// --decode-mbr=true, we iteratively refine the hypothesis using Minimum Bayes Risk decoding. So with --decode-mbr=true the words may
/// differ from those of <1best-rspecifier>; --decode-mbr=false gives these words their confidences.
///
/// <lattice-rspecifier> has lattices or compact lattices; times are only meaningful after lattice-align-words or
/// lattice-align-words-lexicon. <1best-rspecifier> has a list of word-ids for each lattice, and <times-rspecifier> pairs of begin and end for
/// them, of which only the keys matter: a lattice without an entry in either fails. <ctm-wxfilename> is a file, or - for standard
/// output, and gets a line for each word:
/// utterance-id 1 <begin-time> <duration> <word-id> <confidence>.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: lattice-to-ctm-conf --acoustic-scale=0.1 ark:1.lats 1.ctm\n\
       lattice-to-ctm-conf --acoustic-scale=0.1 --decode-mbr=false ark:1.lats ark:1.1best 1.ctm\n\
    See also: lattice-mbr-decode, nbest-to-ctm, lattice-arc-post, lattice-align-words")]
pub struct Options {
    /// Scaling factor for acoustic likelihoods
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// An alternative way of setting the acoustic scale: its inverse
    #[arg(long, default_value_t = 1.0)]
    inv_acoustic_scale: f32,
    /// Scaling factor for language model (graph) costs
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Time in seconds between frames.
    #[arg(long, default_value_t = 0.01)]
    frame_shift: f32,
    /// Number of decimal digits for confidences in 'ctm'.
    #[arg(long, default_value_t = 2)]
    confidence_digits: i32,
    /// If true, do Minimum Bayes Risk decoding (else, Maximum a Posteriori)
    #[arg(long, default_value_t = true)]
    decode_mbr: bool,
    /// Keep the inter-word <eps> bins in the 1-best output (ctm, <eps> can be a silence or a deleted word)
    #[arg(long, default_value_t = false)]
    print_silence: bool,
    /// Lattices
    lattice_rspecifier: String,
    /// Words to begin with, their times, and the ctm to write
    #[arg(value_name = "[<1best-rspecifier> [<times-rspecifier>]] <ctm-wxfilename>", required = true, num_args = 1..=3)]
    others: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let acoustic = lattices::acoustic_scale(options.acoustic_scale, options.inv_acoustic_scale)?;
    let scale = Scale::new(f64::from(options.lm_scale), acoustic);
    let digits = usize::try_from(options.confidence_digits)
        .with_context(|| format!("--confidence-digits={}: expected 0 or more", options.confidence_digits))?;
    let (Some(ctm), named) = (options.others.last(), options.others.len() - 1) else {
        bail!("expected a name for the ctm");
    };
    if tables::is_output(ctm) {
        bail!(
            "The output ctm file {ctm} should not be a wspecifier. Please use things like 1.ctm instead of ark:-"
        );
    }
    let open = |place: usize| if place < named { options.others[place].as_str() } else { "" };
    let mut one_best = tables::open_optional::<I32VectorHolder>(open(0))?;
    let mut times = tables::open_optional::<F32PairVectorHolder>(open(1))?;
    let choices = mbr::Options { decode: options.decode_mbr, keep_silence: options.print_silence };
    let input = Input::<CompactLatticeHolder>::open(&options.lattice_rspecifier)?;
    let mut writer = KaldiWriter::create(ctm, false)?;
    let (mut done, mut failed, mut num_words, mut risk) = (0, 0, 0, 0.0_f32);
    input.for_each(|key, lattice| {
        if lattices::is_left_out(key, &lattice) {
            failed += 1;
            return Ok(());
        }
        let mut words = None;
        if let Some(table) = &mut one_best {
            words = table.get(key)?.cloned();
            if words.is_none() {
                messages::warn(&format!("No 1-best present for utterance {key}"));
                return Ok(());
            }
        }
        if let Some(table) = &mut times
            && !table.has(key)?
        {
            messages::warn(&format!("No 'times' present for utterance {key}"));
            return Ok(());
        }
        let decoded = lattices::scaled(lattice, scale)
            .and_then(|lattice| mbr::decode(&lattice, words.as_deref(), choices));
        let outcome = match decoded {
            Ok(outcome) => outcome,
            Err(error) => {
                messages::warn(&format!("{key}: {error}"));
                return Ok(());
            }
        };
        outcome.problems.iter().for_each(|problem| messages::warn(&format!("{key}: {problem}")));
        for ((word, times), confidence) in outcome.words.iter().zip(&outcome.times).zip(&outcome.confidences)
        {
            let (start, length) = (options.frame_shift * times.0, options.frame_shift * (times.1 - times.0));
            writer.write_str(&format!(
                "{key} 1 {start:.digits$} {length:.digits$} {word} {confidence:.digits$}\n"
            ))?;
        }
        let sum: f64 = outcome.confidences.iter().map(|&confidence| f64::from(confidence)).sum();
        messages::log(&format!(
            "For utterance {key}, Bayes Risk {}, avg. confidence per-word {}",
            num(f64::from(outcome.risk as f32)),
            ratio(sum, outcome.words.len() as f64)
        ));
        done += 1;
        num_words += outcome.words.len();
        risk += outcome.risk as f32;
        Ok(())
    })?;
    writer.finish()?;
    messages::log(&format!("Done {done} lattices."));
    lattices::report_left_out(failed);
    messages::log(&format!(
        "Overall average Bayes Risk per sentence is {} and per word, {}",
        ratio(risk, done as f32),
        ratio(risk, num_words as f32)
    ));
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
