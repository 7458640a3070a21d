//! A mixture from random frames (`gmm-global-init-from-feats`). Gaussians start around frames of a sample. EM on the sample
//! then splits them until the wanted number is reached.

use std::collections::HashSet;
use std::num::NonZero;

use crate::accumulate::{Frames, Total, accumulate};
use crate::error::{Error, Result};
use crate::flags::Parts;
use crate::global::GlobalMean;
use crate::gmm::DiagGmm;
use crate::random::Chance;
use crate::scorer::Scorer;
use crate::stats::GmmStats;
use crate::update::{UpdateOptions, UpdateReport, update};
use kaldi_io::DenseMatrix;
use kaldi_io::log::{num, ratio};
use kaldi_io::threads;

/// Frames of a piece of work of a thread. Pieces are added in their order, so results do not depend on the number of threads.
const PIECE: usize = 4096;

/// Least number of frames for each Gaussian at the beginning.
const FRAMES_PER_GAUSSIAN: usize = 10;

/// The part of a standard deviation by which halves of a Gaussian move apart.
const PERTURB_FACTOR: f32 = 0.1;

/// A random sample of frames, each with the same probability.
#[derive(Debug)]
pub struct Sample {
    capacity: usize,
    frames: DenseMatrix<f32>,
    seen: u64,
}

impl Sample {
    /// Makes an empty sample for at most `capacity` frames. An error if that is 0 or above `i32::MAX`.
    pub fn new(capacity: i64) -> Result<Sample> {
        match usize::try_from(capacity).ok().filter(|&capacity| (1..=i32::MAX as usize).contains(&capacity)) {
            Some(capacity) => Ok(Sample { capacity, frames: DenseMatrix::default(), seen: 0 }),
            None => {
                Err(Error::options(format!("`num-frames`={capacity}: expected a number of frames above 0")))
            }
        }
    }

    /// Shows frames to the sample. After the first `capacity`, frame k replaces a random one with probability capacity / k.
    /// An error if the dimension is another one than before.
    pub fn add(&mut self, features: &DenseMatrix<f32>, chance: &mut dyn Chance) -> Result<()> {
        if self.seen > 0 && features.cols != self.frames.cols {
            let (found, expected) = (features.cols, self.frames.cols);
            return Err(Error::data(format!("Features have inconsistent dims {found} vs. {expected}")));
        }
        self.frames.cols = features.cols;
        for t in 0..features.rows {
            self.seen += 1;
            if self.frames.rows < self.capacity {
                self.frames.data.extend_from_slice(features.row(t));
                self.frames.rows += 1;
            } else if chance.with_probability(self.capacity as f32 / self.seen as f32) {
                let place = chance.int(0, self.capacity as i32 - 1) as usize;
                self.frames.row_mut(place).copy_from_slice(features.row(t));
            }
        }
        Ok(())
    }

    /// Returns the frames of the sample.
    pub fn frames(&self) -> &DenseMatrix<f32> {
        &self.frames
    }

    /// Returns the number of frames that the sample was shown.
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

/// Makes a mixture of `num_gauss` Gaussians: means are different random frames, variances those of all frames, weights equal.
/// An error if there are fewer than ten frames for each Gaussian, or if a dimension has no variance.
pub fn from_random_frames(
    frames: &DenseMatrix<f32>,
    num_gauss: usize,
    chance: &mut dyn Chance,
) -> Result<DiagGmm> {
    if num_gauss == 0 || frames.rows / num_gauss < FRAMES_PER_GAUSSIAN {
        return Err(Error::data(format!(
            "Too few frames to train on: {} for {num_gauss} Gaussians, expected at least {FRAMES_PER_GAUSSIAN} for each",
            frames.rows
        )));
    }
    let mut global = GlobalMean::new(frames.cols);
    for t in 0..frames.rows {
        global.add(&frames.row(t).iter().map(|&x| x.into()).collect::<Vec<f64>>())?;
    }
    let global = global.gaussian()?;
    let inv_var: Vec<f32> = global.inv_vars().row(0).collect();
    let (mut used, mut means) = (HashSet::new(), Vec::new());
    while means.len() < num_gauss {
        let t = chance.int(0, frames.rows as i32 - 1) as usize;
        if used.insert(t) {
            means.push(
                frames.row(t).iter().zip(&inv_var).map(|(x, inv_var)| x * inv_var).collect::<Vec<f32>>(),
            );
        }
    }
    let inv_vars = vec![inv_var; num_gauss];
    let weights = vec![(1.0 / num_gauss as f64) as f32; num_gauss];
    DiagGmm::new(weights, DenseMatrix::from_rows(&means), DenseMatrix::from_rows(&inv_vars))
}

/// Computes the statistics of frames on so many threads.
fn statistics(
    gmm: &DiagGmm,
    frames: &DenseMatrix<f32>,
    threads: NonZero<usize>,
) -> Result<(GmmStats, Total)> {
    let scorer = Scorer::from(gmm);
    let new = || GmmStats::new(gmm.num_gauss(), gmm.dim(), Parts::ALL);
    let piece = |first: usize| -> Result<(GmmStats, Total)> {
        let rows = PIECE.min(frames.rows - first);
        let part = frames.block(first, rows, 0, frames.cols);
        let mut stats = new();
        let all = Frames { features: &part, added: &part, lists: None, weights: None };
        let total = accumulate(&scorer, all, &mut stats)?;
        Ok((stats, total))
    };
    let (mut sum, mut total) = (new(), Total::default());
    let firsts: Vec<usize> = (0..frames.rows).step_by(PIECE).collect();
    for round in firsts.chunks(threads.get()) {
        let results: Vec<Result<(GmmStats, Total)>> = std::thread::scope(|scope| {
            let start = |&first| threads::start_in_or_return(scope, "statistics", first, piece);
            // The last piece is for this thread, and so is each whose thread does not start.
            let (last, others) = round.split_last().unwrap_or((&0, &[]));
            let started: Vec<_> = others.iter().map(start).collect();
            let last = piece(*last);
            let joined =
                started.into_iter().map(|thread| thread.map_or_else(piece, threads::ScopedThread::join));
            joined.chain([last]).collect()
        });
        for result in results {
            let (stats, of_piece) = result?;
            sum.merge(&stats)?;
            total.log_likelihood += of_piece.log_likelihood;
            total.weight += of_piece.weight;
        }
    }
    Ok((sum, total))
}

/// Settings of [`train`].
#[derive(Debug, Clone)]
pub struct TrainOptions {
    /// Gaussians at the end.
    pub num_gauss: usize,
    /// Gaussians at the beginning; as many as at the end if 0 or more than these.
    pub num_gauss_init: usize,
    /// At least 2.
    pub num_iters: usize,
    pub threads: NonZero<usize>,
    pub update: UpdateOptions,
}

impl TrainOptions {
    /// An error if there are too few iterations.
    pub fn check(&self) -> Result<()> {
        match self.num_iters {
            0 | 1 => {
                Err(Error::options(format!("`num-iters`={}: expected at least 2 iterations", self.num_iters)))
            }
            _ => Ok(()),
        }
    }
}

/// Log lines of a training.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    Log(String),
    Warning(String),
}

/// Trains a mixture on frames: random frames as means, then EM. In the first half of the iterations Gaussians are split in equal
/// steps up to `num_gauss`. Gaussians that were removed are split back after every iteration, also after the last. An error if
/// there are too few iterations or frames.
pub fn train(
    frames: &DenseMatrix<f32>,
    options: &TrainOptions,
    chance: &mut dyn Chance,
    log: &mut dyn FnMut(Line),
) -> Result<DiagGmm> {
    options.check()?;
    let first = match options.num_gauss_init {
        0 => options.num_gauss,
        first => first.min(options.num_gauss),
    };
    log(Line::Log(format!("Initializing GMM means from random frames to {first} Gaussians.")));
    let mut gmm = from_random_frames(frames, first, chance)?;
    let step = (options.num_gauss - first) / (options.num_iters / 2);
    let mut current = first;
    for iteration in 0..options.num_iters {
        let (stats, total) = statistics(&gmm, frames, options.threads)?;
        log(Line::Log(format!(
            "Likelihood per frame on iteration {iteration} was {} over {} frames.",
            ratio(total.log_likelihood, total.weight),
            frames.rows
        )));
        let mut report = UpdateReport::default();
        let warn = &mut |text| log(Line::Warning(text));
        update(&mut gmm, &stats, Parts::ALL, &options.update, &mut report, warn)?;
        log(Line::Log(format!(
            "Objective-function change on iteration {iteration} was {} over {} frames.",
            ratio(report.improvement, report.count),
            num(report.count)
        )));
        let next = options.num_gauss.min(current + step);
        if next > gmm.num_gauss() {
            log(Line::Log(format!("Splitting to {next} Gaussians.")));
            gmm.split(next, PERTURB_FACTOR, &mut || chance.rand())?;
            current = next;
        }
    }
    Ok(gmm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_models::{Dice, features};

    fn dice() -> Dice {
        Dice(fastrand::Rng::with_seed(11))
    }

    fn options(threads: usize) -> TrainOptions {
        let update = UpdateOptions {
            min_gaussian_weight: 1e-5,
            min_gaussian_occupancy: 10.0,
            min_variance: 0.001,
            remove_low_count_gaussians: true,
        };
        let threads = NonZero::new(threads).unwrap();
        TrainOptions { num_gauss: 7, num_gauss_init: 3, num_iters: 6, threads, update }
    }

    #[test]
    fn samples() {
        let mut sample = Sample::new(50).unwrap();
        let column: Vec<[f32; 1]> = (0..2000).map(|t| [t as f32]).collect();
        sample.add(&DenseMatrix::from_rows(&column[..30]), &mut dice()).unwrap();
        assert_eq!(sample.frames().data, column[..30].concat());
        sample.add(&DenseMatrix::from_rows(&column[30..]), &mut dice()).unwrap();
        assert_eq!((sample.frames().rows, sample.seen()), (50, 2000));
        // 50 of 2000 equally probable ones: the mean is 1000 ± 82.
        let mean = sample.frames().data.iter().sum::<f32>() / 50.0;
        assert!((mean - 1000.0).abs() < 330.0, "{mean}");
        let error = sample.add(&DenseMatrix::new(1, 2), &mut dice()).unwrap_err().to_string();
        assert!(error.contains("dims 2 vs. 1"), "{error}");
        assert!(Sample::new(0).is_err() && Sample::new(i64::MAX).is_err());
    }

    #[test]
    fn training() {
        let frames = features(9000, 2, 3);
        let run = |threads| {
            let mut lines = Vec::new();
            (train(&frames, &options(threads), &mut dice(), &mut |line| lines.push(line)).unwrap(), lines)
        };
        let (gmm, lines) = run(1);
        assert_eq!(gmm.num_gauss(), 7);
        assert_eq!((gmm.clone(), lines.clone()), run(3), "threads change nothing");
        let texts = |word: &str| -> Vec<String> {
            let text = |line: &Line| match line {
                Line::Log(text) | Line::Warning(text) => text.clone(),
            };
            lines.iter().map(text).filter(|text| text.contains(word)).collect()
        };
        // Steps of (7 − 3) / 3 = 1 in each iteration until there are 7.
        let splits = [
            "Splitting to 4 Gaussians.",
            "Splitting to 5 Gaussians.",
            "Splitting to 6 Gaussians.",
            "Splitting to 7 Gaussians.",
        ];
        assert_eq!(texts("Splitting"), splits);
        let value = |text: &String| {
            text.split(" was ").nth(1).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap()
        };
        let likelihoods: Vec<f64> = texts("Likelihood").iter().map(value).collect();
        assert!(likelihoods.len() == 6 && likelihoods[5] > likelihoods[0], "{likelihoods:?}");
    }

    #[test]
    fn too_little() {
        let frames = features(29, 2, 3);
        let error = |options: &TrainOptions| {
            train(&frames, options, &mut dice(), &mut |_| ()).unwrap_err().to_string()
        };
        assert!(error(&options(1)).contains("Too few frames to train on: 29 for 3 Gaussians"));
        assert!(error(&TrainOptions { num_iters: 1, ..options(1) }).contains("`num-iters`=1"));
        let mut same = features(100, 2, 3);
        (0..100).for_each(|t| same.row_mut(t)[1] = 4.0);
        let error = from_random_frames(&same, 2, &mut dice()).unwrap_err().to_string();
        assert!(error.contains("dimension 1"), "{error}");
    }
}
