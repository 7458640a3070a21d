//! `post-to-tacc`: sums posteriors into counts of transition-ids or pdfs.

use kaldi_cli::NOTHING_DONE;
use kaldi_hmm::TransitionModel;
use kaldi_hmm::update::TransitionCounts;
use kaldi_io::holder::PosteriorHolder;
use kaldi_io::{read_object, write_object};
use nnet3::{messages, tables};
/// From posteriors, compute transition-accumulators. The output is a vector of counts/soft-counts, indexed by
/// transition-id (element 0 is unused), or by pdf-id.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n post-to-tacc --binary=false 1.mdl \"ark:ali-to-post 1.ali ark:-|\" 1.tacc\nSee also: \
        get-post-on-ali"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// If true, accumulate counts per pdf-id rather than transition-id. As in the reference, the last transition-id does
    /// not count then
    #[arg(long, default_value_t = false)]
    per_pdf: bool,
    model: String,
    post_rspecifier: String,
    accs: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let mut counts = TransitionCounts::new(&model);
    let mut done = 0;
    tables::Input::<PosteriorHolder>::open(&options.post_rspecifier)?.for_each(|_, posterior| {
        for &(id, weight) in posterior.iter().flatten() {
            counts.add(model.transition_id(id)?, f64::from(weight));
        }
        done += 1;
        Ok(())
    })?;
    let counts: Vec<f32> = if options.per_pdf {
        messages::log("accumulate counts per pdf-id");
        let mut pdfs = vec![0.0; model.num_pdfs()];
        model
            .ids()
            .take(model.num_transition_ids() - 1)
            .for_each(|id| pdfs[model.pdf(id) as usize] += counts.get(id));
        pdfs.into_iter().map(|count| count as f32).collect()
    } else {
        counts.as_slice().iter().map(|&count| count as f32).collect()
    };
    write_object(&options.accs, options.mode.binary, &counts)?;
    messages::log(&format!(
        "Done computing transition stats over {done} utterances; wrote stats to {}",
        options.accs
    ));
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
