//! Training a system on with other speech: its means move towards that speech (maximum a posteriori).
//!
//! The new mean of a Gaussian is (Σγx + τμ) / (Σγ + τ), with posteriors γ of frames x and the mean μ of the system. So Gaussians
//! without frames stay as they are.

use std::num::NonZero;

use kaldi_gmm::update::UpdateOptions;
use kaldi_gmm::{AmDiagGmm, ModelStats, Parts};
use kaldi_lang::Lang;

use crate::error::{Error, Reason, Result};
use crate::features::Front;
use crate::observer::{Event, Observer};
use crate::passes::{Alignments, Passes};
use crate::phone_graph::LexiconGraph;
use crate::system::System;
use crate::train::Trained;
use crate::utterance::{Corpus, Utterance};

/// Settings of [`System::adapt`].
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptOptions {
    /// Frames that the system's mean counts as; above 0.
    pub tau: f64,
    /// Alignments, each followed by an update.
    pub iterations: usize,
}

impl Default for AdaptOptions {
    fn default() -> AdaptOptions {
        AdaptOptions { tau: 20.0, iterations: 3 }
    }
}

impl System {
    /// Moves the means of Gaussians towards utterances.
    ///
    /// # Errors
    /// The language does not fit the system, no utterance can be aligned, or an option is out of range.
    pub fn adapt(
        &self,
        lang: &Lang,
        utterances: &[Utterance],
        options: &AdaptOptions,
        threads: NonZero<usize>,
        observer: &mut dyn Observer,
    ) -> Result<Trained> {
        if !(options.tau > 0.0 && options.tau.is_finite()) {
            return Err(Error::data(format!("`tau`={}: expected a number above 0", options.tau)));
        }
        let corpus = Corpus::new(utterances, self.cepstra());
        let lexicon = LexiconGraph::new(lang)?;
        let front = Front::new(&corpus, self.features.clone(), self.normalized)?;
        let mut front = front.keeping();
        let passes = Passes { corpus: &corpus, threads };
        let settings = self.options.settings();
        self.find_transforms(&passes, &mut front, lang, &lexicon, None, observer)?;
        let mut system = self.clone();
        let mut reasons: Vec<Option<Reason>> = corpus.problems.clone();
        for iteration in 0..options.iterations {
            let gmms = system.boosted(&system.model.gmms, lang)?;
            let outcomes = passes.align(&front, &system.model, &gmms, &lexicon, &settings)?;
            reasons = outcomes.iter().map(|outcome| outcome.as_ref().err().cloned()).collect();
            let retried = outcomes.iter().flatten().filter(|outcome| outcome.1 > 0).count();
            let alignments: Alignments = outcomes.into_iter().map(|outcome| Some(outcome.ok()?.0)).collect();
            let aligned = alignments.iter().flatten().count();
            observer.event(Event::Aligned { aligned, retried, failed: alignments.len() - aligned });
            if aligned == 0 {
                let first = reasons.iter().zip(utterances).find_map(|(reason, utterance)| {
                    Some(format!(", for example {}: {}", utterance.key, reason.as_ref()?))
                });
                return Err(Error::data(format!("no utterance can be aligned{}", first.unwrap_or_default())));
            }
            if let Some(independent) = &self.independent {
                let stats = passes.model_stats(&front, &system.model, &alignments, true)?;
                system.independent = Some(moved(independent, stats, options.tau)?);
            }
            let stats = passes.model_stats(&front, &system.model, &alignments, false)?;
            observer.event(Event::Iteration {
                number: iteration,
                of: options.iterations,
                log_likelihood: stats.log_likelihood / stats.frames.max(1.0),
                frames: stats.frames,
                gaussians: system.model.gmms.num_gauss(),
            });
            system.model.gmms = moved(&self.model.gmms, stats, options.tau)?;
            observer.event(Event::Progress((iteration + 1) as f64 / options.iterations as f64));
        }
        Ok(Trained { system, reasons })
    }
}

/// Mixtures whose means lie between their own and those of the sums.
fn moved(gmms: &AmDiagGmm, mut stats: ModelStats, tau: f64) -> Result<AmDiagGmm> {
    stats.smooth_with_model(gmms, tau)?;
    let means = Parts { means: true, variances: false, weights: false, transitions: false };
    let options = UpdateOptions {
        min_gaussian_weight: 0.0,
        min_gaussian_occupancy: 0.0,
        min_variance: 0.001,
        remove_low_count_gaussians: false,
    };
    let mut gmms = gmms.clone();
    gmms.update(&stats, means, &options, &mut |_| ())?;
    Ok(gmms)
}
