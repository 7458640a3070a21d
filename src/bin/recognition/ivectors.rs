//! The loop of `ivector-extract-online2` over speakers and their utterances.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use kaldi_cli::log::{self, Site, num};
use kaldi_io::holder::{MatrixHolder, TokenVectorHolder, VectorHolder};
use kaldi_io::{DenseMatrix, RandomReader};
use kaldi_online::ivector::{AdaptationState, IvectorModel, IvectorStream};

use nnet3::ivectors::Averages;
use nnet3::messages;
use nnet3::options::threads;
use nnet3::tables::{Input, Output, open_optional};
use nnet3_online::config::ivector::IvectorArgs;

// Settings of the estimation, and the utterances.
#[derive(clap::Args, Clone, Debug)]
pub struct ExtractOptions {
    /// Number of threads to use for computing derived variables of iVector extractor, at process start-up.
    #[arg(long, default_value_t = 8)]
    pub num_threads: i32,
    /// If true, output the same number of iVectors as input frames (including repeated data).
    #[arg(long)]
    pub repeat: bool,
    /// Archive of frame weights to scale stats
    #[arg(long, default_value = "")]
    pub frame_weights_rspecifier: String,
    /// Tolerance on the difference in number of frames for feats and frame weights
    #[arg(long, default_value_t = 0)]
    pub length_tolerance: i32,
    pub spk2utt_rspecifier: String,
    pub feature_rspecifier: String,
    pub ivector_wspecifier: String,
}

/// Pitch features behind the others, which i-vectors do without.
const PITCH_FEATURES: usize = 3;

/// Writes the i-vectors of all utterances. The state of a speaker is carried from utterance to utterance.
pub fn extract(ivectors: &IvectorArgs, options: &ExtractOptions) -> Result<u8> {
    let threads = threads::number("num-threads", options.num_threads.into())?;
    let Ok(length_tolerance) = usize::try_from(options.length_tolerance) else {
        bail!("--length-tolerance={}: expected a number that is not negative", options.length_tolerance);
    };
    let ivectors = IvectorArgs { use_most_recent_ivector: false, ..ivectors.clone() };
    ivectors.remark().into_iter().for_each(messages::warn);
    let model = ivectors.read(threads)?;
    let mut extraction =
        Extraction { model: Arc::new(model), options, warned: false, averages: Averages::default() };
    let speakers = Input::<TokenVectorHolder>::open(&options.spk2utt_rspecifier)?;
    let mut features = RandomReader::<MatrixHolder>::open(&options.feature_rspecifier)?;
    let mut weights = open_optional::<VectorHolder>(&options.frame_weights_rspecifier)?;
    let mut output = Output::<MatrixHolder>::open(&options.ivector_wspecifier)?;
    speakers.for_each(|_, utterances| {
        let mut state = extraction.model.new_speaker();
        for utterance in &utterances {
            let Some(features) = features.get(utterance)? else {
                output.skip(utterance, format!("no features in {}", options.feature_rspecifier));
                continue;
            };
            let weights = match &mut weights {
                None => None,
                Some(table) => match table.get(utterance)? {
                    None => {
                        output.skip(utterance, format!("no weights in {}", options.frame_weights_rspecifier));
                        continue;
                    }
                    Some(weights) if weights.len().abs_diff(features.rows) > length_tolerance => {
                        let reason = format!("{} weights for {} frames", weights.len(), features.rows);
                        output.skip(utterance, reason);
                        continue;
                    }
                    weights => weights,
                },
            };
            match extraction.utterance(utterance, features, weights.map(Vec::as_slice), &mut state) {
                Ok(ivectors) => output.write(utterance, &ivectors)?,
                Err(reason) => output.skip(utterance, format!("{reason:#}")),
            }
        }
        Ok(())
    })?;
    features.close()?;
    if let Some(weights) = weights {
        weights.close()?;
    }
    let (done, failed) = (output.done, output.failed);
    messages::log(&format!("Estimated iVectors for {done} files, {failed} with errors."));
    if done > 0 {
        extraction.averages.report(extraction.model.ivector_dim());
    }
    output.finish()
}

struct Extraction<'o> {
    model: Arc<IvectorModel>,
    options: &'o ExtractOptions,
    /// True after the warning that pitch features are left out.
    warned: bool,
    averages: Averages,
}

impl Extraction<'_> {
    /// Returns the i-vectors of an utterance, and updates the speaker's `state`.
    fn utterance(
        &mut self,
        key: &str,
        features: &DenseMatrix<f32>,
        weights: Option<&[f32]>,
        state: &mut AdaptationState,
    ) -> Result<DenseMatrix<f32>> {
        if features.rows == 0 {
            bail!("there are no frames");
        }
        let expected = self.model.feature_dim();
        if features.cols == expected + PITCH_FEATURES && !self.warned {
            self.warned = true;
            messages::warn(
                "Feature dimension is too large by 3, assuming there are pitch features and removing the last 3 dims.",
            );
        } else if ![expected, expected + PITCH_FEATURES].contains(&features.cols) {
            bail!("expected features of dimension {expected}, found {}", features.cols);
        }
        let mut stream = IvectorStream::new(self.model.clone(), state.clone())?;
        for t in 0..features.rows {
            stream.accept(&features.row(t)[..expected])?;
        }
        stream.finish();
        if let Some(weights) = weights {
            stream.change_weights(
                (0..features.rows).zip(weights.iter().copied().chain(std::iter::repeat(0.0))),
            )?;
        }
        let step = if self.options.repeat { 1 } else { self.model.options().period };
        let rows = (0..features.rows).step_by(step).map(|t| stream.ivector(t));
        let ivectors = DenseMatrix::from_rows(&rows.collect::<Result<Vec<_>, _>>().map_err(|e| anyhow!(e))?);
        let diagnostics = stream.diagnostics();
        if diagnostics.exact_solutions > 0 {
            messages::warn(&format!(
                "{key}: {} i-vectors were estimated by exact optimization, since conjugate gradients diverged",
                diagnostics.exact_solutions
            ));
        }
        let length = self.averages.add(features.rows as f64, diagnostics.improvement, &ivectors);
        log::vlog(
            2,
            &Site::PROGRAM,
            &format!(
                "For utterance {key}, UBM loglike/frame was {}, iVector length (at utterance end) was {}, objf \
                 improvement/frame from iVector estimation was {}",
                num(diagnostics.likelihood),
                num(length),
                num(diagnostics.improvement)
            ),
        );
        *state = stream.adaptation_state();
        Ok(ivectors)
    }
}
