//! Cuts pronunciations into graphones: expectation maximisation of graphone probabilities over all ways to cut, then the best way.
//!
//! A way to cut is a path through a grid of letters and phones ([`grid`]). Each step is a graphone. The first
//! probabilities give all ways of a pronunciation the same probability; so they do not prefer a few long graphones.

pub mod grid;

use std::num::NonZero;

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::graphone::Graphone;
use crate::parallel;
use grid::{Grid, NONE, Shape, Workspace};

/// Probability of graphones that are pruned: they are used where a pronunciation has no other way.
const FLOOR: f64 = 1e-30;
/// The largest number of letters or phones of a graphone.
pub const MOST_PIECE: usize = 8;
/// Parts of the lexicon with sums of their own.
const PARTS: usize = 16;

/// Limits of graphones and of the estimation.
#[derive(Debug, Clone, PartialEq)]
pub struct AlignOptions {
    /// Largest number of letters of a graphone, at most [`MOST_PIECE`].
    pub max_letters: usize,
    /// Largest number of phones of a graphone, at most [`MOST_PIECE`]; `None`: [`phones_needed`].
    pub max_phones: Option<usize>,
    /// Allows graphones of several letters with several phones.
    pub many_to_many: bool,
    /// Allows a phone without a letter.
    pub insertions: bool,
    /// Largest number of iterations.
    pub iterations: usize,
    /// Graphones with a smaller expected number of occurrences are pruned.
    pub prune: f64,
    /// Threads that share the work; results do not depend on them.
    pub threads: NonZero<usize>,
}

impl Default for AlignOptions {
    fn default() -> Self {
        AlignOptions {
            max_letters: 1,
            max_phones: None,
            many_to_many: false,
            insertions: false,
            iterations: 12,
            prune: 1.0,
            threads: NonZero::<usize>::MIN,
        }
    }
}

impl AlignOptions {
    /// Returns the allowed numbers of letters and phones of a graphone; insertions come first.
    pub fn shapes(&self, max_phones: usize) -> Vec<Shape> {
        let mut shapes = Vec::new();
        if self.insertions {
            shapes.push(Shape { letters: 0, phones: 1 });
        }
        for letters in 1..=self.max_letters {
            for phones in 0..=max_phones {
                let silent = phones == 0 && letters > 1;
                let many = letters > 1 && phones > 1 && !self.many_to_many;
                if !silent && !many {
                    shapes.push(Shape { letters, phones });
                }
            }
        }
        shapes
    }
}

/// A pronunciation in numbers of letters and phones.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Numbers of letters.
    pub letters: Vec<u32>,
    /// Numbers of phones.
    pub phones: Vec<u32>,
}

/// Returns the least number of phones for a graphone, from 2 to [`MOST_PIECE`], with which at most one pronunciation in a hundred has
/// too many phones for its letters.
pub fn phones_needed(pairs: &[Pair]) -> usize {
    let too_long =
        |phones: usize| pairs.iter().filter(|pair| pair.phones.len() > phones * pair.letters.len()).count();
    (2..MOST_PIECE).find(|&phones| too_long(phones) * 100 <= pairs.len()).unwrap_or(MOST_PIECE)
}

/// Pronunciations as sequences of graphones.
#[derive(Debug, Clone, PartialEq)]
pub struct Aligned {
    /// All graphones that some way to cut has.
    pub graphones: Vec<Graphone>,
    /// The probability of each graphone.
    pub probabilities: Vec<f64>,
    /// Graphones of each pronunciation; `None` if it cannot be cut.
    pub paths: Vec<Option<Vec<u32>>>,
    /// Logarithm of the probability of all pronunciations, for each iteration.
    pub log_likelihoods: Vec<f64>,
    /// The largest number of phones that a graphone might have.
    pub max_phones: usize,
}

/// Aligns the pronunciations. The result does not depend on the number of threads.
///
/// # Errors
/// There are too many graphones for their numbers.
pub fn align(pairs: &[Pair], options: &AlignOptions) -> Result<Aligned> {
    let max_phones = options.max_phones.unwrap_or_else(|| phones_needed(pairs));
    let shapes = options.shapes(max_phones);
    let (graphones, edges, starts) = grids(pairs, &shapes)?;
    let grid = |place: usize| Grid {
        letters: pairs[place].letters.len(),
        phones: pairs[place].phones.len(),
        edges: &edges[starts[place]..starts[place + 1]],
        shapes: &shapes,
    };
    // All ways of a pronunciation have the same number of letters and phones, so they start equally likely.
    let unit: f64 = 0.1;
    let mut probabilities: Vec<f64> = graphones
        .iter()
        .map(|graphone| unit.powi((graphone.letters.len() + graphone.phones.len()) as i32))
        .collect();
    let mut log_likelihoods: Vec<f64> = Vec::new();
    for _ in 0..options.iterations {
        let (counts, log_likelihood) = expectations(pairs.len(), &grid, &probabilities, options.threads);
        maximise(&mut probabilities, &counts, options.prune);
        let gain = log_likelihoods.last().map_or(f64::INFINITY, |last| log_likelihood - last);
        log_likelihoods.push(log_likelihood);
        if log_likelihoods.len() > 2 && gain.abs() < 1e-4 * log_likelihood.abs() {
            break;
        }
    }
    let costs: Vec<f64> = probabilities.iter().map(|probability| -probability.ln()).collect();
    let paths = parallel::map(pairs.len(), PARTS, options.threads, |range| {
        let mut workspace = Workspace::default();
        range.map(|place| workspace.best_path(&grid(place), &costs)).collect::<Vec<_>>()
    });
    Ok(Aligned {
        graphones,
        probabilities,
        paths: paths.into_iter().flatten().collect(),
        log_likelihoods,
        max_phones,
    })
}

/// Expected numbers of graphones, and the logarithm of the probability of all pronunciations that can be cut.
fn expectations<'g>(
    pairs: usize,
    grid: &(impl Fn(usize) -> Grid<'g> + Sync),
    probabilities: &[f64],
    threads: NonZero<usize>,
) -> (Vec<f64>, f64) {
    let parts = parallel::map(pairs, PARTS, threads, |range| {
        let mut workspace = Workspace::default();
        let mut counts = vec![0.0; probabilities.len()];
        let mut log_likelihood = 0.0;
        for place in range {
            log_likelihood +=
                workspace.add_expectations(&grid(place), probabilities, &mut counts).unwrap_or(0.0);
        }
        (counts, log_likelihood)
    });
    let mut sum = (vec![0.0; probabilities.len()], 0.0);
    for (counts, log_likelihood) in parts {
        sum.0.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        sum.1 += log_likelihood;
    }
    sum
}

fn maximise(probabilities: &mut [f64], counts: &[f64], prune: f64) {
    let total: f64 = counts.iter().filter(|&&count| count >= prune).sum();
    for (probability, &count) in probabilities.iter_mut().zip(counts) {
        *probability = if count >= prune && count > 0.0 { (count / total).max(FLOOR) } else { FLOOR };
    }
}

type Grids = (Vec<Graphone>, Vec<u32>, Vec<usize>);

/// Returns all graphones, the edges of all grids one behind the other, and where each grid begins.
fn grids(pairs: &[Pair], shapes: &[Shape]) -> Result<Grids> {
    let mut numbers: FxHashMap<(u128, u128), u32> = FxHashMap::default();
    let (mut graphones, mut edges, mut starts) = (Vec::new(), Vec::new(), vec![0]);
    let mut reach = grid::Reach::default();
    for pair in pairs {
        if reach.find(pair, shapes) {
            reach.for_each_edge(pair, shapes, |edge| {
                let Some((letters, phones)) = edge else {
                    edges.push(NONE);
                    return Ok(());
                };
                let key = key(letters).zip(key(phones)).ok_or_else(|| {
                    Error::data("the lexicon has more than 65535 different letters or phones")
                })?;
                let number = *numbers.entry(key).or_insert_with(|| {
                    graphones.push(Graphone { letters: letters.to_vec(), phones: phones.to_vec() });
                    graphones.len() as u32 - 1
                });
                edges.push(number);
                Ok(())
            })?;
        }
        starts.push(edges.len());
    }
    Ok((graphones, edges, starts))
}

/// Returns up to [`MOST_PIECE`] numbers in one.
fn key(numbers: &[u32]) -> Option<u128> {
    numbers.iter().try_fold(0, |key, &number| (number < 0xffff).then(|| (key << 16) | u128::from(number + 1)))
}
