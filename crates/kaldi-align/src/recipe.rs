//! The order of events of a training, and the sizes of models.

use std::collections::BTreeMap;

use kaldi_lang::Lang;

use crate::features::Normalized;
use crate::utterance::Utterance;

/// A kind of model, in the order of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StageKind {
    Monophones,
    /// Triphones on derivatives.
    Triphones,
    /// Triphones on spliced frames, with linear discriminant analysis and a maximum-likelihood linear transform.
    LdaMllt,
    /// The same, with transforms of speakers.
    Sat,
}

impl StageKind {
    pub fn name(self) -> &'static str {
        match self {
            StageKind::Monophones => "monophones",
            StageKind::Triphones => "triphones",
            StageKind::LdaMllt => "LDA+MLLT",
            StageKind::Sat => "SAT",
        }
    }
}

/// The training of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub kind: StageKind,
    pub iterations: usize,
    /// The last iteration in which the number of Gaussians grows.
    pub last_increase: usize,
    /// Iterations that begin with a new alignment.
    pub realign: Vec<usize>,
    /// Iterations that begin with new transforms, of all features or of speakers.
    pub transform: Vec<usize>,
    /// The largest number of leaves of the tree.
    pub leaves: usize,
    /// The number of Gaussians at the end.
    pub gaussians: usize,
    /// The exponent of occupancies by which pdfs share Gaussians.
    pub power: f32,
}

/// Beams of the search, the first one first; each is tried if those before have found no path.
#[derive(Debug, Clone, PartialEq)]
pub struct Beams(pub Vec<f32>);

/// A training.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    pub stages: Vec<Stage>,
    /// Frames on each side of a frame that LDA sees.
    pub splice: (usize, usize),
    /// Dimension of features after LDA.
    pub lda_dim: usize,
    /// Factor of silence's probabilities in alignments.
    pub boost_silence: f32,
    pub acoustic_scale: f32,
    pub transition_scale: f32,
    pub self_loop_scale: f32,
    /// Beams of the first alignment, of the other ones of monophones, and of all others.
    pub first_beams: Beams,
    pub monophone_beams: Beams,
    pub beams: Beams,
    pub normalized: Normalized,
    /// Frames that a speaker must have for a transform.
    pub min_speaker_frames: f64,
}

/// An amount of data.
#[derive(Debug, Clone, PartialEq)]
pub struct Amount {
    /// Frames of each speaker.
    pub speakers: Vec<usize>,
    /// Sets of phones with trees of their own, silence included.
    pub phones: usize,
}

impl Amount {
    /// The amount of utterances in a language.
    pub fn of(lang: &Lang, utterances: &[Utterance]) -> Amount {
        let mut speakers: BTreeMap<&str, usize> = BTreeMap::new();
        for utterance in utterances {
            *speakers.entry(&utterance.speaker).or_default() += utterance.features.rows;
        }
        Amount { speakers: speakers.into_values().collect(), phones: lang.sets.len() }
    }

    /// Frames of all speakers.
    pub fn frames(&self) -> usize {
        self.speakers.iter().sum()
    }

    /// The last stage that the data can train.
    pub fn last_stage(&self) -> StageKind {
        let frames = self.frames();
        let enough = |speaker: &&usize| **speaker as f64 >= 2.0 * Recipe::default().min_speaker_frames;
        let adapted: usize = self.speakers.iter().filter(enough).sum();
        match frames {
            ..TRIPHONE_FRAMES => StageKind::Monophones,
            TRIPHONE_FRAMES..LDA_FRAMES => StageKind::Triphones,
            _ if (adapted as f64) < ADAPTED_SHARE * frames as f64 => StageKind::LdaMllt,
            _ => StageKind::Sat,
        }
    }
}

/// Frames that triphones need, and LDA.
const TRIPHONE_FRAMES: usize = 6_000;
const LDA_FRAMES: usize = 12_000;

/// The share of frames that must be of speakers with enough frames for a transform.
const ADAPTED_SHARE: f64 = 0.75;

impl Recipe {
    /// Chooses stages, and as many leaves and Gaussians as the data can train.
    pub fn for_data(amount: &Amount) -> Recipe {
        Recipe::up_to(amount.last_stage(), amount)
    }

    /// All stages up to one, with as many leaves and Gaussians as the data can train.
    pub fn up_to(last: StageKind, amount: &Amount) -> Recipe {
        let frames = amount.frames();
        // 5 hours of speech can train about 2,000 leaves; five times the data train about twice as many.
        let leaves = (2000.0 * (frames as f64 / 1.8e6).powf(0.45)).min(6000.0);
        let leaves = |factor: f64| ((leaves * factor) as usize).max(2 * amount.phones);
        let gaussians = |leaves: usize| (6 * leaves).min(frames / 50).max(leaves);
        let monophones = (frames / 60).min(1000).max(3 * amount.phones);
        let mut stages = vec![Stage::monophones(monophones)];
        for (kind, factor) in [(StageKind::Triphones, 0.9), (StageKind::LdaMllt, 1.1), (StageKind::Sat, 1.2)]
        {
            let leaves = leaves(factor);
            let of_kind = match kind {
                StageKind::Triphones => Stage::triphones,
                StageKind::LdaMllt => Stage::lda_mllt,
                StageKind::Monophones | StageKind::Sat => Stage::sat,
            };
            if kind <= last {
                stages.push(of_kind(leaves, gaussians(leaves)));
            }
        }
        Recipe { stages, ..Recipe::default() }
    }
}

impl Default for Recipe {
    /// No stages, and the settings of Kaldi's scripts.
    fn default() -> Recipe {
        Recipe {
            stages: Vec::new(),
            splice: (3, 3),
            lda_dim: 40,
            boost_silence: 1.0,
            acoustic_scale: 0.1,
            transition_scale: 1.0,
            self_loop_scale: 0.1,
            first_beams: Beams(vec![6.0, 24.0, 100.0]),
            monophone_beams: Beams(vec![10.0, 40.0, 160.0]),
            beams: Beams(vec![10.0, 40.0, 160.0]),
            normalized: Normalized::Means,
            min_speaker_frames: 500.0,
        }
    }
}

impl Stage {
    pub fn monophones(gaussians: usize) -> Stage {
        let realign = (1..10).chain([10, 12, 14, 16, 18, 20, 23, 26, 29, 32, 35, 38]).collect();
        Stage {
            kind: StageKind::Monophones,
            iterations: 40,
            last_increase: 30,
            realign,
            transform: Vec::new(),
            leaves: 0,
            gaussians,
            power: 0.25,
        }
    }

    pub fn triphones(leaves: usize, gaussians: usize) -> Stage {
        Stage {
            kind: StageKind::Triphones,
            iterations: 35,
            last_increase: 25,
            realign: vec![10, 20, 30],
            transform: Vec::new(),
            leaves,
            gaussians,
            power: 0.25,
        }
    }

    pub fn lda_mllt(leaves: usize, gaussians: usize) -> Stage {
        Stage {
            kind: StageKind::LdaMllt,
            transform: vec![2, 4, 6, 12],
            ..Stage::triphones(leaves, gaussians)
        }
    }

    pub fn sat(leaves: usize, gaussians: usize) -> Stage {
        Stage {
            kind: StageKind::Sat,
            transform: vec![2, 4, 6, 12],
            power: 0.2,
            ..Stage::triphones(leaves, gaussians)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(speakers: &[usize], phones: usize) -> Vec<StageKind> {
        let recipe = Recipe::for_data(&Amount { speakers: speakers.to_vec(), phones });
        for stage in &recipe.stages {
            assert!(stage.gaussians >= stage.leaves && stage.gaussians > 0, "{stage:?}");
        }
        recipe.stages.into_iter().map(|stage| stage.kind).collect()
    }

    #[test]
    fn stages_follow_from_the_amount_of_data() {
        use StageKind::{LdaMllt, Monophones, Sat, Triphones};
        assert_eq!(kinds(&[0], 1), [Monophones]);
        assert_eq!(kinds(&[3000], 2000), [Monophones]);
        assert_eq!(kinds(&[8000], 40), [Monophones, Triphones]);
        // Speakers with too little speech.
        assert_eq!(kinds(&[300; 1000], 40), [Monophones, Triphones, LdaMllt]);
        assert_eq!(kinds(&[30_000; 6], 40), [Monophones, Triphones, LdaMllt, Sat]);
    }

    #[test]
    fn more_data_train_more_leaves_up_to_a_limit() {
        let leaves =
            |frames| Recipe::for_data(&Amount { speakers: vec![frames], phones: 40 }).stages[1].leaves;
        assert!(leaves(100_000) < leaves(1_000_000) && leaves(1_000_000) < leaves(10_000_000));
        assert_eq!(leaves(1_000_000_000), leaves(10_000_000_000));
    }
}
