//! `lattice-lmrescore-kaldi-rnnlm-pruned`: replaces the costs of a language model by those of a recurrent one, with pruning.

use anyhow::{Result, bail};
use kaldi_io::read_object;
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::lm::ConstArpa;
use nnet3_decode::lm::deterministic::{BackOffFst, ConstArpaStates, DeterministicLm, Replacement};
use nnet3_decode::rescore_pruned::{PrunedOptions, compose_pruned};
use nnet3_decode::{CompactLatticeHolder, Scale};
use nnet3_rnnlm::lattices::RnnlmStates;

use super::options::{Files, SentenceArguments};

/// Rescores lattices with a recurrent language model, in the place of the one that they were made with.
///
/// It uses an efficient rescoring algorithm that avoids exploring the entire composed lattice. The result is not determinized.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-lmrescore-kaldi-rnnlm-pruned --bos-symbol=1 --eos-symbol=2 data/lang_test/G.fst word_embedding.mat final.raw ark:in.lats ark:out.lats\n\
    or: lattice-lmrescore-kaldi-rnnlm-pruned --use-const-arpa=true --bos-symbol=1 --eos-symbol=2 data/lang_test_fg/G.carpa word_embedding.mat final.raw ark:in.lats ark:out.lats"
)]
pub struct Options {
    /// Scaling factor for the new language model; its negative will be applied to the old one.
    #[arg(long, default_value_t = 0.5)]
    lm_scale: f32,
    /// Scaling factor for acoustic probabilities (e.g. 0.1 for non-chain systems); important because of its effect on pruning.
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    /// If positive, allow RNNLM histories longer than this to be identified with each other for rescoring purposes (an
    /// approximation that saves time and reduces output lattice size).
    #[arg(long, default_value_t = 3)]
    max_ngram_order: i32,
    /// If true, read the old-LM file as a const-arpa file as opposed to an FST file
    #[arg(long, default_value_t = false)]
    use_const_arpa: bool,
    /// Beam used in pruned lattice composition, which determines how large the composed lattice may be.
    #[arg(long, default_value_t = 6.0)]
    lattice_compose_beam: f32,
    /// Maximum number of arcs we allow in any given lattice, during pruned composition (limits max size of lattices; also see
    /// lattice-compose-beam).
    #[arg(long, default_value_t = 100000)]
    max_arcs: i32,
    /// Factor used in the lattice composition algorithm; must be >1.0. Affects speed vs. the optimality of the best-first
    /// composition.
    #[arg(long, default_value_t = 1.5)]
    growth_ratio: f32,
    #[command(flatten)]
    sentence: SentenceArguments,
    old_lm_in: String,
    word_embedding_in: String,
    rnnlm_in: String,
    lattices_in: String,
    lattices_out: String,
}

impl Options {
    fn pruning(&self) -> Result<PrunedOptions> {
        let (beam, growth) = (self.lattice_compose_beam, self.growth_ratio);
        if beam.is_nan() || beam <= 0.0 {
            bail!("--lattice-compose-beam={beam}: expected a number above 0");
        }
        if !growth.is_finite() || growth <= 1.0 {
            bail!("--growth-ratio={growth}: expected a number above 1");
        }
        match usize::try_from(self.max_arcs) {
            Ok(max_arcs) if max_arcs > 0 => {
                Ok(PrunedOptions { beam, growth, max_arcs, ..PrunedOptions::default() })
            }
            _ => bail!("--max-arcs={}: expected a number above 0", self.max_arcs),
        }
    }

    fn old_lm(&self) -> Result<Box<dyn DeterministicLm>> {
        if self.use_const_arpa {
            return Ok(Box::new(ConstArpaStates::new(read_object::<ConstArpa>(&self.old_lm_in)?)));
        }
        let mut fst = kaldi_fst::read_fst(&self.old_lm_in)?;
        kaldi_fst::ops::project(&mut fst, kaldi_fst::ops::Side::Output);
        Ok(Box::new(BackOffFst::new(fst)?))
    }
}

pub fn run(options: Options) -> Result<u8> {
    let pruning = options.pruning()?;
    let scale = Scale::new(1.0, f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, 1.0)?;
    if !options.sentence.has_symbols() {
        bail!("must set --bos-symbol and --eos-symbol options");
    }
    messages::log("Reading old LMs...");
    let mut old = options.old_lm()?;
    let files = Files { rnnlm: &options.rnnlm_in, embedding: &options.word_embedding_in };
    let model = options.sentence.open(&files, (false, false))?;
    let mut new = RnnlmStates::new(model, options.max_ngram_order)?;
    let input = Input::<CompactLatticeHolder>::open(&options.lattices_in)?;
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattices_out)?;
    input.for_each(|key, lattice| {
        let composed = lattices::nonempty(lattice).and_then(|lattice| {
            let mut lattice = lattices::scaled(lattice, scale)?;
            let mut lm = Replacement::new(&mut old, &mut new, options.lm_scale);
            let composed = compose_pruned(&mut lattice, &mut lm, &pruning)?;
            lattices::scaled(lattices::nonempty(composed)?, lattices::inverse(scale))
        });
        match (new.clear(), composed) {
            (Err(error), _) => output.skip(key, error),
            (_, Err(error)) => output.skip(key, error),
            (_, Ok(composed)) => output.write(key, &composed)?,
        }
        Ok(())
    })?;
    messages::log(&format!("Overall, succeeded for {} lattices, failed for {}", output.done, output.failed));
    output.finish()
}
