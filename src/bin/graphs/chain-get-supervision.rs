//! `chain-get-supervision`: supervision for chain examples from phones with durations, or from phone lattices.

use anyhow::{Context, Result, bail};
use kaldi_cli::kaldi_log;
use kaldi_cli::log::Site;
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::holder::{I32PairVectorHolder, ObjectHolder};
use kaldi_io::read_object;
use nnet3::tables::{self, Outcome, Output};
use nnet3_chain::proto::{ProtoSupervision, SupervisionOptions};
use nnet3_chain::{PhoneModel, Supervision};
use nnet3_decode::CompactLatticeHolder;

const SITE: Site = Site::main("chain-get-supervision.cc", 182);

/// Get a 'chain' supervision object for each file of training data.
///
/// This will normally be piped into nnet3-chain-get-egs, where it will be split up into pieces and combined with the
/// features. Input can come in two formats: from alignments (as phones and lengths, from ali-to-phones
/// --write-lengths=true), or from lattices that have phones as labels (from lattice-align-phones
/// --replace-output-symbols=true).
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ali-to-phones --write-lengths=true 0.mdl \"ark:gunzip -c ali.1.gz|\" ark:- | \
    chain-get-supervision tree 0.trans_mdl ark:- ark:sup.ark\nSee also: lattice-align-phones, nnet3-chain-get-egs")]
pub struct Options {
    /// True for reading lattices, false for reading phones with lengths
    #[arg(long, default_value_t = false)]
    lattice_input: bool,
    /// Left tolerance for shift in phone position relative to the alignment, in frames before subsampling
    #[arg(long, default_value_t = 5)]
    left_tolerance: usize,
    /// Right tolerance for shift in phone position relative to the alignment, in frames before subsampling
    #[arg(long, default_value_t = 5)]
    right_tolerance: usize,
    /// Number of alignment frames for each frame of the network's output
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: usize,
    /// Accepted for compatibility and without effect, as in the original: supervision has the weight 1
    #[arg(long, default_value_t = 1.0)]
    weight: f32,
    /// Scale of the lattices' graph costs in the supervision: at least 0 and less than 1. The remainder comes from the
    /// normalization FST
    #[arg(long, default_value_t = 0.0)]
    lm_scale: f32,
    /// If true, labels are pdf-ids plus one; if false, transition-ids, for unconstrained examples
    #[arg(long, default_value_t = true)]
    convert_to_pdfs: bool,
    tree: String,
    #[arg(value_name = "<transition-model>")]
    transition_model: String,
    #[arg(value_name = "[<phones-with-lengths-rspecifier>|<phone-lattice-rspecifier>]")]
    input: String,
    #[arg(value_name = "<supervision-wspecifier>")]
    output: String,
}

pub fn run(options: Options) -> Result<u8> {
    let supervision_options = SupervisionOptions {
        left_tolerance: options.left_tolerance,
        right_tolerance: options.right_tolerance,
        frame_subsampling_factor: options.frame_subsampling_factor,
        lm_scale: options.lm_scale,
    };
    supervision_options.check()?;
    if options.lm_scale != 0.0 && !options.lattice_input {
        bail!("--lm-scale={}: only lattices have costs to scale (--lattice-input=true)", options.lm_scale);
    }
    let tree: ContextDependency = read_object(&options.tree)?;
    let transitions: TransitionModel = read_object(&options.transition_model)?;
    let model = PhoneModel::new(&tree, &transitions)
        .with_context(|| format!("{} and {}", options.tree, options.transition_model))?;
    let make = |proto: nnet3_train::Result<ProtoSupervision>| -> Result<Outcome<Supervision>> {
        match proto.and_then(|proto| proto.supervision(model, options.convert_to_pdfs)) {
            Ok(Some(supervision)) => Ok(Ok(supervision)),
            Ok(None) => tables::skip("Supervision FST is empty (too many phones for too few frames?)"),
            Err(e) => tables::skip(e),
        }
    };
    let (from, to) = (&options.input, &options.output);
    let output: Output<ObjectHolder<Supervision>> = if options.lattice_input {
        tables::map::<CompactLatticeHolder, _>(from, to, |_, lattice| {
            make(ProtoSupervision::from_lattice(lattice, &supervision_options))
        })?
    } else {
        tables::map::<I32PairVectorHolder, _>(from, to, |_, phones| {
            make(ProtoSupervision::from_durations(&phones, &supervision_options))
        })?
    };
    let (done, failed) = (output.done, output.failed);
    kaldi_log!(SITE, "Generated chain supervision information for {done} utterances, errors on {failed}");
    let status = output.finish()?;
    Ok(if done > failed { status } else { status.max(1) })
}
