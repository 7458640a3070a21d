//! Statistics of utterances for one mixture, such as a background model. Posteriors come from all Gaussians, from lists
//! of Gaussians, or from elsewhere; frames may have weights.

use crate::error::{Error, Result};
use crate::scorer::{FRAMES, Scorer, at_frame};
use crate::selection::softmax;
use crate::stats::{GmmStats, Kind};
use kaldi_io::{DenseMatrix, Posterior};

/// Sums over frames.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// Log-likelihoods times weights.
    pub log_likelihood: f64,
    /// Weights.
    pub weight: f64,
}

/// An utterance whose frames have posteriors by a mixture.
#[derive(Debug, Clone, Copy)]
pub struct Frames<'a> {
    /// Features by which posteriors are computed.
    pub features: &'a DenseMatrix<f32>,
    /// Features that are added: the same, or others with as many frames.
    pub added: &'a DenseMatrix<f32>,
    /// For each frame, the Gaussians that take part ([`Scorer::check_lists`]); all without lists.
    pub lists: Option<&'a [Vec<usize>]>,
    /// The weight of each frame; 1 without weights. Frames with weight 0 are left out.
    pub weights: Option<&'a [f32]>,
}

impl Frames<'_> {
    fn weight(&self, t: usize) -> f32 {
        self.weights.map_or(1.0, |weights| weights[t])
    }
}

/// Adds an utterance to statistics. An error, with the frame, if a log-likelihood is not finite.
///
/// # Panics
/// If numbers of frames differ, or dimensions differ from those of the mixture and the statistics.
pub fn accumulate<K: Kind>(scorer: &Scorer, frames: Frames<'_>, stats: &mut GmmStats<K>) -> Result<Total> {
    let mut total = Total::default();
    let mut count = |log_likelihood: f32, weight: f32| {
        total.log_likelihood += f64::from(weight) * f64::from(log_likelihood);
        total.weight += f64::from(weight);
    };
    let wanted: Vec<usize> = (0..frames.features.rows).filter(|&t| frames.weight(t) != 0.0).collect();
    if let Some(lists) = frames.lists {
        for t in wanted {
            let mut posteriors = scorer.listed(frames.features.row(t), &lists[t]);
            count(softmax(&mut posteriors).map_err(|e| at_frame(t, &e))?, frames.weight(t));
            posteriors.iter_mut().for_each(|posterior| *posterior *= frames.weight(t));
            stats.add_some(frames.added.row(t), lists[t].iter().copied().zip(posteriors));
        }
        return Ok(total);
    }
    let gather = |from: &DenseMatrix<f32>, block: &[usize]| -> Vec<f32> {
        block.iter().flat_map(|&t| from.row(t)).copied().collect()
    };
    for block in wanted.chunks(FRAMES) {
        let mut posteriors = scorer.log_likelihoods(&gather(frames.features, block));
        for (row, &t) in block.iter().enumerate() {
            let row = posteriors.row_mut(row);
            count(softmax(row).map_err(|e| at_frame(t, &e))?, frames.weight(t));
            row.iter_mut().for_each(|posterior| *posterior *= frames.weight(t));
        }
        stats.add_block(&gather(frames.added, block), &posteriors);
    }
    Ok(total)
}

/// Adds an utterance with given posteriors of Gaussians to statistics. The result has the sum of all posteriors, once for each
/// frame, in the place of the log-likelihood. An error if the numbers of posteriors and frames differ, if a posterior is not
/// finite, or if its Gaussian does not exist. Then the statistics are unchanged.
///
/// As in the reference, the weight of a frame scales the posteriors of that frame and of all that follow.
pub fn accumulate_posteriors<K: Kind>(
    features: &DenseMatrix<f32>,
    posteriors: &Posterior,
    weights: Option<&[f32]>,
    stats: &mut GmmStats<K>,
) -> Result<Total> {
    if posteriors.len() != features.rows {
        return Err(Error::data(format!("wrong size {} vs. {}", posteriors.len(), features.rows)));
    }
    let entry = |t: usize, (g, posterior): (i32, f32)| {
        let index = usize::try_from(g).ok().filter(|&g| g < stats.num_gauss() && posterior.is_finite());
        index.map(|g| (g, posterior)).ok_or_else(|| {
            let count = stats.num_gauss();
            Error::data(format!(
                "posterior {posterior} of Gaussian {g} at frame {t}; there are {count} Gaussians"
            ))
        })
    };
    let checked =
        posteriors.iter().enumerate().map(|(t, frame)| frame.iter().map(|&pair| entry(t, pair)).collect());
    let checked: Vec<Vec<(usize, f32)>> = checked.collect::<Result<_>>()?;
    let sum: f64 = checked.iter().flatten().map(|pair| f64::from(pair.1)).sum();
    let (mut total, mut scale) = (Total::default(), 1.0f32);
    for (t, frame) in checked.into_iter().enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[t]);
        if weight == 0.0 {
            continue;
        }
        scale *= weight;
        total.log_likelihood += f64::from(scale) * sum;
        total.weight += f64::from(weight);
        stats.add_some(features.row(t), frame.into_iter().map(|(g, posterior)| (g, posterior * scale)));
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Parts;
    use crate::stats::{Diagonal, Full, FullGmmStats};
    use crate::testing_models::{features, full_mixture, mixture};

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4 * b.abs().max(1.0))
    }

    fn same<K: Kind>(a: &(GmmStats<K>, Total), b: &(GmmStats<K>, Total)) {
        assert!(near(a.0.occupancies(), b.0.occupancies()) && near(&a.0.products.data, &b.0.products.data));
        assert!(near(&a.0.sums.data, &b.0.sums.data));
        assert!(near(&[a.1.log_likelihood, a.1.weight], &[b.1.log_likelihood, b.1.weight]));
    }

    fn run<K: Kind>(
        scorer: &Scorer,
        features: &DenseMatrix<f32>,
        lists: Option<&[Vec<usize>]>,
        weights: Option<&[f32]>,
    ) -> (GmmStats<K>, Total) {
        let mut stats = GmmStats::new(scorer.num_gauss(), scorer.dim(), Parts::ALL);
        let frames = Frames { features, added: features, lists, weights };
        let total = accumulate(scorer, frames, &mut stats).unwrap();
        (stats, total)
    }

    #[test]
    fn lists_of_all_gaussians_are_as_none() {
        let features = features(300, 3, 4);
        let lists = vec![vec![2, 0, 1, 3]; 300];
        let scorer = Scorer::from(&mixture(4, 3, 6));
        same(&run::<Diagonal>(&scorer, &features, None, None), &run(&scorer, &features, Some(&lists), None));
        let scorer = Scorer::from(&full_mixture(4, 3, 6));
        same(&run::<Full>(&scorer, &features, None, None), &run(&scorer, &features, Some(&lists), None));
    }

    #[test]
    fn weights_scale_and_leave_out() {
        let all = features(300, 3, 4);
        let scorer = Scorer::from(&mixture(4, 3, 6));
        // A weight of 2 is as two frames, and 0 as none: 150 frames with weight 2 are as the first 150 twice.
        let weights: Vec<f32> = (0..300).map(|t| if t < 150 { 2.0 } else { 0.0 }).collect();
        let half = all.block(0, 150, 0, 3);
        let twice = DenseMatrix { rows: 300, cols: 3, data: [half.data.clone(), half.data].concat() };
        same(&run::<Diagonal>(&scorer, &all, None, Some(&weights)), &run(&scorer, &twice, None, None));
        let lists = vec![vec![3, 1]; 300];
        let listed = run::<Diagonal>(&scorer, &all, Some(&lists), Some(&weights));
        same(&listed, &run(&scorer, &twice, Some(&lists), None));
        assert_eq!((listed.0.occupancies()[0], listed.1.weight), (0.0, 300.0));
    }

    #[test]
    fn features_that_are_added_may_differ() {
        let (features, scorer) = (features(10, 3, 4), Scorer::from(&mixture(4, 3, 6)));
        let other = DenseMatrix { rows: 10, cols: 1, data: vec![1.0; 10] };
        let mut stats = GmmStats::<Diagonal>::new(4, 1, Parts::ALL);
        let frames = Frames { features: &features, added: &other, lists: None, weights: None };
        accumulate(&scorer, frames, &mut stats).unwrap();
        assert!(near(&stats.sums.data, stats.occupancies()) && (stats.total() - 10.0).abs() < 1e-5);
        let mut large = features.clone();
        large.row_mut(3)[1] = 1e25;
        let frames = Frames { features: &large, ..frames };
        let error = accumulate(&scorer, frames, &mut stats).unwrap_err().to_string();
        assert!(error.starts_with("frame 3: log-likelihood ") && error.contains("Invalid answer"), "{error}");
    }

    #[test]
    fn given_posteriors() {
        let features = DenseMatrix::from_rows(&[[1.0f32], [2.0], [3.0]]);
        let posteriors = vec![vec![(0, 0.5), (1, 0.5)], vec![(1, 1.0)], vec![(0, 0.25)]];
        let new = || FullGmmStats::new(2, 1, Parts::ALL);
        let mut stats = new();
        let total = accumulate_posteriors(&features, &posteriors, None, &mut stats).unwrap();
        assert_eq!((stats.occupancies(), &stats.sums.data[..]), (&[0.75, 1.5][..], &[1.25, 2.5][..]));
        assert_eq!(total, Total { log_likelihood: 3.0 * 2.25, weight: 3.0 });
        // Scales are 2, then nothing, then 2 · 4.
        let mut stats = new();
        let total =
            accumulate_posteriors(&features, &posteriors, Some(&[2.0, 0.0, 4.0]), &mut stats).unwrap();
        assert_eq!((stats.occupancies(), total.weight), (&[3.0, 1.0][..], 6.0));
        assert_eq!(total.log_likelihood, (2.0 + 8.0) * 2.25);
        let error = |posteriors: &Posterior| {
            let mut stats = new();
            let error =
                accumulate_posteriors(&features, posteriors, None, &mut stats).unwrap_err().to_string();
            assert_eq!(stats, new());
            error
        };
        assert_eq!(error(&vec![]), "wrong size 0 vs. 3");
        for (pair, text) in [
            ((2, 1.0), "posterior 1 of Gaussian 2"),
            ((-1, 1.0), "Gaussian -1"),
            ((0, f32::NAN), "posterior NaN"),
        ] {
            let found = error(&vec![vec![(0, 1.0)], vec![pair], vec![]]);
            assert!(found.contains(text) && found.contains("at frame 1; there are 2 Gaussians"), "{found}");
        }
    }
}
