//! `nnet3-am-train-transitions`: estimates transition probabilities and priors of an acoustic model from alignments.

use anyhow::{Context, bail};
use kaldi_cli::kaldi_log;
use kaldi_cli::log::{Site, num};
use kaldi_hmm::update::{MleOptions, TransitionCounts};
use kaldi_io::holder::I32VectorHolder;
use nnet3::{messages, models, tables};
use nnet3_train::acoustic::AmNnet;
const UPDATE: Site = Site::new("MleUpdate", "transition-model.cc", 518);

/// Train the transition probabilities of an nnet3 neural network acoustic model.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n nnet3-am-train-transitions 1.nnet \"ark:gunzip -c ali.*.gz|\" 2.nnet")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// If true, also set priors in neural net (we divide by these in test time)
    #[arg(long, default_value_t = true)]
    set_priors: bool,
    /// Floor for priors, if they are set
    #[arg(long, default_value_t = 5.0e-06)]
    prior_floor: f32,
    /// Floor for transition probabilities
    #[arg(long, default_value_t = 0.01)]
    transition_floor: f32,
    /// Minimum count required to update transitions from a state
    #[arg(long, default_value_t = 5.0)]
    transition_min_count: f32,
    /// If true, states with the same pdf share all transition parameters
    #[arg(long, default_value_t = false)]
    share_for_pdfs: bool,
    nnet_in: String,
    alignments_rspecifier: String,
    nnet_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (input, alignments) = (&options.nnet_in, &options.alignments_rspecifier);
    let mut model = models::load_acoustic(input)?;
    let mut counts = TransitionCounts::new(&model.transitions);
    let mut utterances = 0;
    tables::Input::<I32VectorHolder>::open(alignments)?.for_each(|_, alignment| {
        for id in model.transitions.transition_ids(&alignment)? {
            counts.add(id, 1.0);
        }
        utterances += 1;
        Ok(())
    })?;
    if utterances == 0 {
        bail!("{alignments}: expected at least one alignment, found none");
    }
    messages::log(&format!("Accumulated transition stats from {utterances} utterances."));
    update(&options, &mut model, &counts).with_context(|| format!("{input} and {alignments}"))?;
    model.save(&options.nnet_out, options.mode.binary)?;
    messages::log(&format!(
        "Trained transitions of neural network model and wrote it to {}",
        options.nnet_out
    ));
    Ok(0)
}

fn update(options: &Options, model: &mut AmNnet, counts: &TransitionCounts) -> anyhow::Result<()> {
    let report = model.transitions.update(
        counts,
        &MleOptions {
            floor: options.transition_floor,
            min_count: options.transition_min_count,
            share_for_pdfs: options.share_for_pdfs,
        },
    )?;
    let improvement = num(f64::from(report.improvement_per_frame()));
    let count = num(f64::from(report.count));
    let skipped = match options.share_for_pdfs {
        true => format!("{} pdf-ids", report.num_skipped),
        false => {
            format!("{} out of {} transition-states", report.num_skipped, model.transitions.states().len())
        }
    };
    kaldi_log!(
        UPDATE,
        "TransitionModel::Update, objf change is {improvement} per frame over {count} frames."
    );
    kaldi_log!(
        UPDATE,
        "{} probabilities floored, {skipped} skipped due to insufficient data (it is normal to have some skipped.)",
        report.num_floored
    );
    messages::log(&format!(
        "Transition model update: average {improvement} log-like improvement per frame over {count} frames."
    ));
    if options.set_priors {
        messages::log("Setting priors of pdfs in the model.");
        model.set_priors_from_counts(counts, options.prior_floor)?;
    }
    Ok(())
}
