//! Beams and limits of searches.

use crate::error::{Error, Result};

/// The pruning of the hypotheses of one frame, which both searches have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pruning {
    /// Hypotheses that cost this much more than the best one of the frame are dropped.
    pub beam: f32,
    /// Not more hypotheses than these are followed.
    pub max_active: usize,
    /// Smallest number of hypotheses that are followed, for any beam.
    pub min_active: usize,
    /// Added to the next frame's beam if the number of hypotheses determines it.
    pub beam_delta: f32,
    /// Number of hash buckets for each hypothesis. It affects the order of hypotheses.
    pub hash_ratio: f32,
}

impl Pruning {
    /// The defaults of the search for lattices.
    pub fn lattice() -> Pruning {
        Pruning {
            beam: 16.0,
            max_active: i32::MAX as usize,
            min_active: 200,
            beam_delta: 0.5,
            hash_ratio: 2.0,
        }
    }

    /// The defaults of the search for one path.
    pub fn viterbi() -> Pruning {
        Pruning { min_active: 20, ..Pruning::lattice() }
    }

    /// Checks the ranges of all options. A beam of 0 is valid.
    pub fn check(&self) -> Result<()> {
        let at_least = |name, value: f32, least: f32| match value >= least {
            true => Ok(()),
            false => Err(Error::option(name, value, format!("at least {least}"))),
        };
        at_least("beam", self.beam, 0.0)?;
        at_least("hash-ratio", self.hash_ratio, 1.0)?;
        if self.hash_ratio > 1000.0 {
            return Err(Error::option("hash-ratio", self.hash_ratio, "at most 1000"));
        }
        check_positive("beam-delta", self.beam_delta)?;
        if self.max_active < 2 {
            return Err(Error::option("max-active", self.max_active, "at least 2"));
        }
        if self.min_active > self.max_active {
            let expected = format!("at most max-active={}", self.max_active);
            return Err(Error::option("min-active", self.min_active, expected));
        }
        Ok(())
    }
}

/// Checks that a value is above 0.
fn check_positive(name: &'static str, value: f32) -> Result<()> {
    if value > 0.0 { Ok(()) } else { Err(Error::option(name, value, "a number above 0")) }
}

/// Pruning of the search for lattices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    pub pruning: Pruning,
    /// Arcs that are on no path within this beam of the best one are not in the lattice.
    pub lattice_beam: f32,
    /// Number of frames between prunings of earlier frames.
    pub prune_interval: usize,
    /// Costs relative to the best path may be wrong by this share of the lattice beam until the end.
    pub prune_scale: f32,
}

impl Default for SearchOptions {
    fn default() -> SearchOptions {
        SearchOptions {
            pruning: Pruning::lattice(),
            lattice_beam: 10.0,
            prune_interval: 25,
            prune_scale: 0.1,
        }
    }
}

impl SearchOptions {
    pub fn check(&self) -> Result<()> {
        self.pruning.check()?;
        check_positive("lattice-beam", self.lattice_beam)?;
        check_positive("prune-scale", self.prune_scale)?;
        match self.prune_interval {
            0 => Err(Error::option("prune-interval", 0, "at least 1")),
            _ => Ok(()),
        }
    }
}
