//! `ivector-extract-online`: i-vectors of growing beginnings of utterances.

use anyhow::{Result, bail};
use kaldi_cli::log::{self, Site, num};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::read_object;
use kaldi_ivector::growing::{GrowingOptions, estimate};
use kaldi_ivector::{IvectorExtractor, IvectorTerms, Weights};
use nnet3::ivectors::Averages;
use nnet3::messages;
use nnet3::options::threads;
use nnet3::tables::Output;

use crate::ivectors::derived::logged;
use crate::ivectors::posteriors;

/// Extract iVectors for utterances, using a trained iVector extractor, and features and Gaussian-level posteriors. This
/// version extracts an iVector every n frames (see the --ivector-period option), by including all frames up to that point in
/// the utterance. The iVectors are output as an archive of matrices, indexed by utterance-id; each row corresponds to an
/// iVector.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: gmm-global-get-post 1.dubm scp:feats.scp ark:- | \
    ivector-extract-online --ivector-period=10 final.ie scp:feats.scp ark,s,cs:- ark,t:ivectors.1.ark\n\
    See also: ivector-extract-online2")]
pub struct Options {
    /// Number of iterations of conjugate gradient descent to perform each time we re-estimate the iVector.
    #[arg(long, default_value_t = 15)]
    num_cg_iters: usize,
    /// Controls how frequently we re-estimate the iVector as we get more data.
    #[arg(long, default_value_t = 10)]
    ivector_period: usize,
    /// Number of threads to use for computing derived variables of iVector extractor, at process start-up.
    #[arg(long, default_value_t = 8)]
    num_threads: i32,
    /// If >0, when the count of posteriors exceeds max-count we will start using a stronger prior term. Can make iVectors
    /// from longer than normal utterances look more 'typical'. Interpret this value as a number of frames multiplied by your
    /// posterior scale (so typically 0.1 times a number of frames).
    #[arg(long, default_value_t = 0.0)]
    max_count: f32,
    model_in: String,
    feature_rspecifier: String,
    posteriors_rspecifier: String,
    ivector_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    if options.ivector_period == 0 {
        bail!("--ivector-period=0: expected a number above 0");
    }
    let growing = GrowingOptions {
        steps: options.num_cg_iters,
        period: options.ivector_period,
        max_count: options.max_count.into(),
    };
    let threads = threads::number("num-threads", options.num_threads.into())?;
    let extractor: IvectorExtractor = read_object(&options.model_in)?;
    if matches!(extractor.weights, Weights::Regression(_)) {
        bail!("{}: weights that depend on the i-vector cannot be used online", options.model_in);
    }
    let terms = logged(|| IvectorTerms::new(&extractor, threads));
    drop(extractor);
    let mut output = Output::<MatrixHolder>::open(&options.ivector_wspecifier)?;
    let mut averages = Averages::default();
    let (features, posteriors) = (&options.feature_rspecifier, &options.posteriors_rspecifier);
    let counts = posteriors::for_each(features, posteriors, |key, features, posterior| {
        let found = match estimate(&terms, features, posterior, &growing) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        if found.exact_solutions > 0 {
            messages::warn(&format!(
                "{key}: {} i-vectors were estimated by exact optimization, since conjugate gradients diverged",
                found.exact_solutions
            ));
        }
        let frames = posterior.iter().flatten().map(|(_, p)| f64::from(*p)).sum();
        let improvement = format!("objf impr/frame is {} per frame", num(found.improvement));
        log::vlog(
            2,
            &Site::PROGRAM,
            &format!("For utterance {key} {improvement}, over {} frames (weighted).", num(frames)),
        );
        averages.add(frames, found.improvement, &found.rows);
        output.write(key, &found.rows)?;
        Ok(Ok(()))
    })?;
    let errors = counts.missing + counts.failed + output.failed;
    messages::log(&format!("Estimated iVectors for {} files, {errors} with errors.", output.done));
    if output.done > 0 {
        averages.report(terms.ivector_dim());
    }
    output.finish()
}
