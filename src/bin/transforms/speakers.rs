//! Statistics of speakers, or of single utterances, for the programs that estimate transforms of features.

use anyhow::{Context, Result};
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::fmllr::FmllrStats;
use kaldi_gmm::fmllr_update::{FmllrEstimate, FmllrKind, FmllrOptions, Outcome};
use kaldi_gmm::{AmDiagGmm, pdf_posterior};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::{GaussPostHolder, Holder, MatrixHolder, PosteriorHolder, TokenVectorHolder};
use kaldi_io::{DenseMatrix, GaussPost, Posterior, RandomReader, TableWriter};
use nnet3::gaussians::{self, Counts};
use nnet3::messages;
use nnet3::tables::Input;

/// A kind of posteriors that transforms are estimated from.
pub trait Occupancies {
    type Holder: Holder;
    /// Their name in log lines.
    const NAME: &str;
    /// The end of the log lines about speakers and utterances of `gmm-est-fmllr` and its sister.
    const ENDS: [&str; 2];
    fn frames(posteriors: &<Self::Holder as Holder>::T) -> usize;
    fn add(
        stats: &mut FmllrStats,
        transitions: &TransitionModel,
        model: &AmDiagGmm,
        features: &DenseMatrix<f32>,
        posteriors: &<Self::Holder as Holder>::T,
    ) -> kaldi_gmm::Result<()>;
}

/// Posteriors of transition-ids. The posteriors of Gaussians come from the model.
pub struct OfTransitions;

impl Occupancies for OfTransitions {
    type Holder = PosteriorHolder;
    const NAME: &str = "posts";
    const ENDS: [&str; 2] = ["speaker", "utterance"];
    fn frames(posteriors: &Posterior) -> usize {
        posteriors.len()
    }
    fn add(
        stats: &mut FmllrStats,
        transitions: &TransitionModel,
        model: &AmDiagGmm,
        features: &DenseMatrix<f32>,
        posteriors: &Posterior,
    ) -> kaldi_gmm::Result<()> {
        stats.add_utterance(model, features, &pdf_posterior(transitions, posteriors)?)
    }
}

/// Posteriors of Gaussians, maybe by another model.
pub struct OfGaussians;

impl Occupancies for OfGaussians {
    type Holder = GaussPostHolder;
    const NAME: &str = "gposts";
    const ENDS: [&str; 2] = ["speaker", "utterancer"];
    fn frames(posteriors: &GaussPost) -> usize {
        posteriors.len()
    }
    fn add(
        stats: &mut FmllrStats,
        _: &TransitionModel,
        model: &AmDiagGmm,
        features: &DenseMatrix<f32>,
        posteriors: &GaussPost,
    ) -> kaldi_gmm::Result<()> {
        stats.add_gaussians(model, features, posteriors)
    }
}

/// Names of tables; without `spk2utt` each utterance is a speaker.
pub struct Tables<'a> {
    pub spk2utt: &'a str,
    pub features: &'a str,
    pub posteriors: &'a str,
}

impl Tables<'_> {
    pub fn by_speaker(&self) -> bool {
        !self.spk2utt.is_empty()
    }

    /// Collects the statistics of each speaker and calls `finish` with them. Warns of utterances that cannot be used, and
    /// counts them.
    pub fn for_each<O: Occupancies>(
        &self,
        transitions: &TransitionModel,
        model: &AmDiagGmm,
        mut finish: impl FnMut(&str, FmllrStats) -> Result<()>,
    ) -> Result<Counts> {
        let dim = model.dim();
        if !self.by_speaker() {
            let missing = |key: &str| format!("Did not find posts for utterance {key}");
            return gaussians::for_each_with::<O::Holder>(
                self.features,
                self.posteriors,
                missing,
                |key, features, posteriors| {
                    if let Err(reason) = gaussians::check_posteriors(O::frames(posteriors), features) {
                        return Ok(Err(reason));
                    }
                    let mut stats = FmllrStats::new(dim);
                    O::add(&mut stats, transitions, model, features, posteriors)
                        .with_context(|| self.posteriors.to_owned())?;
                    finish(key, stats)?;
                    Ok(Ok(()))
                },
            );
        }
        let mut counts = Counts::default();
        let mut features = RandomReader::<MatrixHolder>::open(self.features)?;
        let mut posteriors = RandomReader::<O::Holder>::open(self.posteriors)?;
        Input::<TokenVectorHolder>::open(self.spk2utt)?.for_each(|speaker, utterances| {
            let mut stats = FmllrStats::new(dim);
            for key in &utterances {
                let Some(features) = features.get(key)? else {
                    messages::warn(&format!("Did not find features for utterance {key}"));
                    counts.failed += 1;
                    continue;
                };
                let Some(posteriors) = posteriors.get(key)? else {
                    messages::warn(&format!("Did not find posteriors for utterance {key}"));
                    counts.missing += 1;
                    continue;
                };
                if let Err(skip) = gaussians::check_posteriors(O::frames(posteriors), features) {
                    messages::warn(&skip.sentence(key));
                    counts.failed += 1;
                    continue;
                }
                O::add(&mut stats, transitions, model, features, posteriors)
                    .with_context(|| format!("utterance {key}"))?;
                counts.done += 1;
            }
            finish(speaker, stats)
        })?;
        features.close()?;
        posteriors.close()?;
        Ok(counts)
    }
}

/// Growth of the objective function over all speakers.
#[derive(Default)]
pub struct Improvement {
    sum: f64,
    frames: f64,
}

impl Improvement {
    pub fn add(&mut self, improvement: f64, frames: f64) {
        self.sum += improvement;
        self.frames += frames;
    }

    /// Logs counts, and the improvement per frame. `what` is the name of the objective function's growth.
    pub fn log(&self, counts: &Counts, name: &str, what: &str) {
        messages::log(&format!(
            "Done {} files, {} with no {name}, {} with other errors.",
            counts.done, counts.missing, counts.failed
        ));
        messages::log(&format!(
            "Overall fMLLR {what} per frame is {} over {} frames.",
            ratio(self.sum, self.frames),
            num(self.frames)
        ));
    }
}

// Options of gmm-est-fmllr and its sister.
#[derive(clap::Args)]
pub struct FmllrArgs {
    /// Update type for fMLLR ("full"|"diag"|"offset"|"none")
    #[arg(long, default_value = "full")]
    fmllr_update_type: String,
    /// Minimum count required to update fMLLR
    #[arg(long, default_value_t = 500.0)]
    fmllr_min_count: f32,
    /// Number of iterations in fMLLR update phase.
    #[arg(long, default_value_t = 40)]
    fmllr_num_iters: usize,
}

impl FmllrArgs {
    fn options(&self) -> Result<FmllrOptions> {
        let kind = FmllrKind::parse(&self.fmllr_update_type)?;
        Ok(FmllrOptions { kind, min_count: self.fmllr_min_count.into(), iterations: self.fmllr_num_iters })
    }

    /// The whole of both programs.
    pub fn run<O: Occupancies>(&self, model: &str, tables: &Tables<'_>, transforms: &str) -> Result<u8> {
        let options = self.options()?;
        let (transitions, model) = gaussians::read_model(model)?;
        let mut output = TableWriter::<MatrixHolder>::open(transforms)?;
        let mut improvement = Improvement::default();
        let unit = O::ENDS[usize::from(!tables.by_speaker())];
        // The sister ends the lines about speakers with an additional newline.
        let newline = if O::NAME == "gposts" && tables.by_speaker() { "\n" } else { "" };
        let counts = tables.for_each::<O>(&transitions, &model, |key, mut stats| {
            let estimate = stats.estimate(&options)?;
            log_outcome(&estimate, options.kind, stats.count());
            output.write(key, &estimate.transform)?;
            messages::log(&format!(
                "For {unit} {key}, auxf-impr from fMLLR is {}, over {} frames.{newline}",
                ratio(estimate.improvement, stats.count()),
                num(stats.count())
            ));
            improvement.add(estimate.improvement, stats.count());
            Ok(())
        })?;
        output.close()?;
        improvement.log(&counts, O::NAME, "auxf impr");
        Ok(counts.status())
    }
}

fn log_outcome(estimate: &FmllrEstimate, kind: FmllrKind, count: f64) {
    match (estimate.outcome, kind) {
        (Outcome::TooFew, _) => {
            messages::warn(&format!("Not updating fMLLR since below min-count: count is {}", num(count)))
        }
        (Outcome::NoGain, FmllrKind::Full) => {
            messages::warn("No applying fMLLR transform change because objective function did not increase.")
        }
        (Outcome::NoGain, _) => messages::warn("The objective function of fMLLR did not increase."),
        (Outcome::Estimated, FmllrKind::Full) => messages::log(&format!(
            "fMLLR objf improvement is {} per frame over {} frames.",
            ratio(estimate.improvement, count),
            num(count)
        )),
        (Outcome::Estimated, _) => {}
    }
}
