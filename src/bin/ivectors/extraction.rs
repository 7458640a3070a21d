//! The loops of `ivector-extract`: utterances, or speakers with their utterances.

use std::collections::VecDeque;

use anyhow::Result;
use kaldi_cli::log::{self, Site, num, ratio};
use kaldi_feat::posterior;
use kaldi_io::RandomReader;
use kaldi_io::holder::{MatrixHolder, PosteriorHolder, TokenVectorHolder, VectorHolder};
use kaldi_ivector::Error;
use kaldi_ivector::extract::{Estimate, Estimator};
use nnet3::messages;
use nnet3::tables::{Input, Output};

use crate::ivectors::posteriors;

// Weights of the data against the prior.
#[derive(clap::Args, Debug)]
pub struct Limits {
    /// Weight on part of auxf that involves the data (e.g. 0.2); if this weight is small, the prior will have more effect.
    #[arg(long, default_value_t = 1.0)]
    acoustic_weight: f64,
    /// Maximum frame count (affects prior scaling): if >0, the prior term will be scaled up after the frame count exceeds
    /// this value. Note that this count is considered after posterior scaling (e.g. --acoustic-weight option, or scale
    /// argument to scale-post). So if you scale by 0.1, use a cutoff 10 times smaller than the corresponding number of
    /// frames.
    #[arg(long, default_value_t = 0.0)]
    max_count: f64,
}

// Features, posteriors and i-vectors.
#[derive(clap::Args, Debug)]
pub struct Tables {
    feature_rspecifier: String,
    posteriors_rspecifier: String,
    ivector_wspecifier: String,
}

/// Sums over i-vectors, and the table that they are written to.
struct Results {
    output: Output<VectorHolder>,
    frames: f64,
    improvement: f64,
    norm: f64,
}

impl Results {
    fn open(wspecifier: &str) -> Result<Results> {
        Ok(Results { output: Output::open(wspecifier)?, frames: 0.0, improvement: 0.0, norm: 0.0 })
    }

    /// Writes an i-vector and returns its length, or warns that there is none.
    fn write(&mut self, key: &str, estimate: kaldi_ivector::Result<Estimate>) -> Result<Option<Written>> {
        let estimate = match estimate {
            Ok(estimate) => estimate,
            Err(reason) => {
                self.output.skip(key, reason);
                return Ok(None);
            }
        };
        let norm = estimate.ivector.iter().map(|x| x * x).sum::<f64>().sqrt();
        self.frames += estimate.count;
        self.improvement += estimate.improvement;
        self.norm += norm * estimate.count;
        self.output.write(key, &estimate.ivector.iter().map(|&x| x as f32).collect())?;
        Ok(Some(Written { count: estimate.count, improvement: estimate.improvement, norm }))
    }
}

struct Written {
    count: f64,
    improvement: f64,
    norm: f64,
}

/// Writes the i-vector of each utterance.
pub fn by_utterance(
    mut estimator: Estimator,
    limits: &Limits,
    tables: &Tables,
    with_improvements: bool,
) -> Result<u8> {
    let mut results = Results::open(&tables.ivector_wspecifier)?;
    // The weighted number of frames of utterances that wait.
    let mut waiting = VecDeque::new();
    let (mut total, mut failure) = (0.0, None);
    let mut receive = |key: &str, estimate: kaldi_ivector::Result<Estimate>, waiting: &mut VecDeque<f64>| {
        let frames = waiting.pop_front().unwrap_or_default();
        match results.write(key, estimate) {
            Ok(Some(written)) => {
                total += frames;
                if with_improvements {
                    let change = ratio(written.improvement, frames);
                    vlog(&format!(
                        "Auxf change for utterance {key} was {change} per frame over {} frames (weighted)",
                        num(frames)
                    ));
                }
                vlog(&format!("Ivector norm for utterance {key} was {}", num(written.norm)));
            }
            Ok(None) => {}
            Err(error) => failure = Some(error),
        }
    };
    let (features, posteriors) = (&tables.feature_rspecifier, &tables.posteriors_rspecifier);
    let counts = posteriors::for_each(features, posteriors, |key, features, posterior| {
        if let Err(error) = estimator.check(features, posterior) {
            return Ok(Err(error));
        }
        let given: f64 = posterior.iter().flatten().map(|(_, p)| f64::from(*p)).sum();
        let (mut frames, mut scale) = (limits.acoustic_weight * given, 1.0);
        if limits.max_count > 0.0 && frames > limits.max_count {
            scale = limits.max_count / frames;
            frames = limits.max_count;
            messages::log(&format!(
                "Scaling stats for utterance {key} by scale {} due to --max-count={}",
                num(scale),
                num(limits.max_count)
            ));
        }
        let mut posterior = posterior.clone();
        posterior::scale(&mut posterior, (limits.acoustic_weight * scale) as f32);
        estimator.begin(key, &mut |key, estimate| receive(key, estimate, &mut waiting));
        waiting.push_back(frames);
        Ok(estimator.add(features, &posterior))
    })?;
    estimator.flush(&mut |key, estimate| receive(key, estimate, &mut waiting));
    if let Some(error) = failure {
        return Err(error);
    }
    let errors = counts.missing + counts.failed + results.output.failed;
    messages::log(&format!(
        "Done {} files, {errors} with errors.  Total (weighted) frames {}",
        results.output.done,
        num(total)
    ));
    if with_improvements {
        // (Two blanks: it is what the reference prints.)
        messages::log(&format!(
            "Overall average objective-function change from estimating ivector was {} per frame  over {} (weighted) \
             frames.",
            ratio(results.improvement, total),
            num(total)
        ));
    }
    results.output.finish()
}

/// Writes the i-vector of each speaker, from all of the speaker's utterances.
pub fn by_speaker(
    mut estimator: Estimator,
    limits: &Limits,
    tables: &Tables,
    spk2utt: &str,
    with_improvements: bool,
) -> Result<u8> {
    let speakers = Input::<TokenVectorHolder>::open(spk2utt)?;
    let mut utterances = Utterances {
        features: RandomReader::open(&tables.feature_rspecifier)?,
        posteriors: RandomReader::open(&tables.posteriors_rspecifier)?,
        done: 0,
        failed: 0,
    };
    let mut results = Results::open(&tables.ivector_wspecifier)?;
    let mut without = 0;
    speakers.for_each(|speaker, keys| {
        // (One at a time, so that lines of the log follow each other.)
        estimator.begin(speaker, &mut |_, _| ());
        for key in &keys {
            utterances.add(&mut estimator, key, limits)?;
        }
        if estimator.count() == 0.0 {
            messages::warn(&format!("No stats accumulated for speaker {speaker}"));
            without += 1;
            estimator.drop_last();
            return Ok(());
        }
        if limits.max_count > 0.0 && estimator.count() > limits.max_count {
            let scale = limits.max_count / estimator.count();
            estimator.scale(scale);
            messages::log(&format!(
                "Scaling stats for speaker {speaker} by scale {} due to --max-count={}",
                num(scale),
                num(limits.max_count)
            ));
        }
        let mut estimate = None;
        estimator.flush(&mut |_, found| estimate = Some(found));
        let Some(estimate) = estimate else { return Ok(()) };
        if let Some(written) = results.write(speaker, estimate)? {
            if with_improvements {
                messages::log(&format!(
                    "Auxf change for speaker {speaker} was {} per frame, over {} frames (weighted).",
                    ratio(written.improvement, written.count),
                    num(written.count)
                ));
            }
            messages::log(&format!("Ivector norm for speaker {speaker} was {}", num(written.norm)));
        }
        Ok(())
    })?;
    utterances.features.close()?;
    utterances.posteriors.close()?;
    messages::log(&format!(
        "Done {} speakers; {} with errors.  {} utterances were processed, {} with errors.",
        results.output.done,
        without + results.output.failed,
        utterances.done,
        utterances.failed
    ));
    if results.frames != 0.0 {
        let frames = num(results.frames);
        if with_improvements {
            messages::log(&format!(
                "Overall weighted-average objective function improvement was {} over {frames} frames (weighted)",
                ratio(results.improvement, results.frames)
            ));
        }
        messages::log(&format!(
            "Average iVector norm (weighted by frames) was {} over {frames} frames (weighted)",
            ratio(results.norm, results.frames)
        ));
    }
    results.output.finish()
}

/// Features and posteriors by key, and how many utterances could be used.
struct Utterances {
    features: RandomReader<MatrixHolder>,
    posteriors: RandomReader<PosteriorHolder>,
    done: u64,
    failed: u64,
}

impl Utterances {
    /// Adds an utterance to a speaker, or warns that it cannot be used.
    fn add(&mut self, estimator: &mut Estimator, key: &str, limits: &Limits) -> Result<()> {
        let mut skip = |reason: String| {
            messages::warn(&reason);
            self.failed += 1;
            Ok(())
        };
        let Some(features) = self.features.get(key)? else {
            return skip(format!("No features present for utterance {key}"));
        };
        let Some(posterior) = self.posteriors.get(key)? else {
            return skip(format!("No posteriors present for utterance {key}"));
        };
        if posterior.len() != features.rows {
            let (found, expected) = (posterior.len(), features.rows);
            return skip(format!("Posterior has wrong size {found} vs. feats {expected} for {key}"));
        }
        if features.rows == 0 {
            return skip(nnet3::tables::no_frames(key));
        }
        let mut posterior = posterior.clone();
        posterior::scale(&mut posterior, limits.acoustic_weight as f32);
        match estimator.add(features, &posterior) {
            Ok(()) => self.done += 1,
            Err(error @ Error::OtherModel(_)) => return Err(error.into()),
            Err(error) => return skip(format!("{key}: {error}")),
        }
        Ok(())
    }
}

fn vlog(line: &str) {
    log::vlog(2, &Site::PROGRAM, line);
}
