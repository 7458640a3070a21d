//! `lattice-lmrescore-pruned`: replaces the costs of a language model by another model's, with pruning.

use anyhow::Result;
use kaldi_io::read_object;
use nnet3::{lattices, messages};
use nnet3_decode::lm::ConstArpa;
use nnet3_decode::lm::deterministic::{BackOffFst, ConstArpaStates, DeterministicLm, Replacement};
use nnet3_decode::rescore_pruned::{PrunedOptions, compose_pruned};
use nnet3_decode::{CompactLatticeHolder, Scale};

/// This program can be used to subtract scores from one language model and add scores from another one.
///
/// It uses an efficient rescoring algorithm that avoids exploring the entire composed lattice. The first (negative-weight)
/// language model is expected to be an FST, e.g. G.fst; the second one can either be in FST or const-arpa format. Any
/// FST-format language models will be projected on their output by this program, making it unnecessary for the caller to
/// remove disambiguation symbols.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-lmrescore-pruned --acoustic-scale=0.1 data/lang/G.fst data/lang_fg/G.fst ark:in.lats ark:out.lats\n\
    or: lattice-lmrescore-pruned --acoustic-scale=0.1 --add-const-arpa=true data/lang/G.fst data/lang_fg/G.carpa ark:in.lats ark:out.lats"
)]
pub struct Options {
    /// Scaling factor for <lm-to-add>; its negative will be applied to <lm-to-subtract>.
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Scaling factor for acoustic probabilities (e.g. 0.1 for non-chain systems); important because of its effect on
    /// pruning.
    #[arg(long, default_value_t = 1.0)]
    acoustic_scale: f32,
    /// If true, <lm-to-add> is expected to be in const-arpa format; if false it's expected to be in FST format.
    #[arg(long, default_value_t = false)]
    add_const_arpa: bool,
    lm_to_subtract_rxfilename: String,
    lm_to_add_rxfilename: String,
    lattice_rspecifier: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let scale = Scale::new(1.0, f64::from(options.acoustic_scale));
    lattices::check_invertible(scale.acoustic, 1.0)?;
    messages::log("Reading LMs...");
    let subtracted = back_off_fst(&options.lm_to_subtract_rxfilename)?;
    let added: Box<dyn DeterministicLm> = match options.add_const_arpa {
        true => Box::new(ConstArpaStates::new(read_object::<ConstArpa>(&options.lm_to_add_rxfilename)?)),
        false => Box::new(back_off_fst(&options.lm_to_add_rxfilename)?),
    };
    let mut lm = Replacement::new(subtracted, added, options.lm_scale);
    messages::log("Done.");
    let (from, to) = (&options.lattice_rspecifier, &options.lattice_wspecifier);
    let output = lattices::map::<_, _, CompactLatticeHolder, CompactLatticeHolder>(from, to, |lattice| {
        let mut lattice = lattices::scaled(lattice, scale)?;
        let out = compose_pruned(&mut lattice, &mut lm, &PrunedOptions::default())?;
        lattices::scaled(out, lattices::inverse(scale))
    })?;
    messages::log(&format!("Overall, succeeded for {} lattices, failed for {}", output.done, output.failed));
    output.finish()
}

/// The FST on its output labels.
fn back_off_fst(rxfilename: &str) -> Result<BackOffFst> {
    let mut fst = kaldi_fst::read_fst(rxfilename)?;
    kaldi_fst::ops::project(&mut fst, kaldi_fst::ops::Side::Output);
    Ok(BackOffFst::new(fst)?)
}
