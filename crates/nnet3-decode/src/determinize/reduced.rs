//! Determinization without a beam, and with the input pruned more and more if memory does not suffice.

use kaldi_fst::ops;

use super::{Event, Options, determinize_connected};
use crate::error::{Error, Result};
use crate::lattice::{CompactLattice, Lattice};
use crate::prune::prune;

/// Pruning of an input that cannot be determinized.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reduction {
    /// The first beam is this times `ratio`.
    pub beam: f32,
    /// Ratio of each beam to the previous one.
    pub ratio: f32,
    /// The number of tries.
    pub tries: usize,
    /// True if the result is pruned to the beam, too.
    pub prune: bool,
}

/// A try that did not succeed.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// Memory was running out.
    OutOfMemory(Event),
    /// An epsilon closure expanded more states than [`Options::max_loop`] allows.
    Looped(Error),
    /// The whole input could not be determinized; it is pruned with this beam.
    First { beam: f32 },
    /// Pruning removed no arcs; the new beam is this.
    NoEffect { beam: f32 },
    /// Again there was not enough memory; the beam is to be this.
    Again { beam: f32 },
}

/// Determinizes a lattice that is sorted. `None` if all tries fail.
///
/// # Errors
/// The lattice has a cycle.
pub fn determinize_reduced(
    lattice: &mut Lattice,
    options: &Options,
    reduction: &Reduction,
    mut report: impl FnMut(&Failure),
) -> Result<Option<CompactLattice>> {
    let Reduction { beam, ratio, tries, prune: prunes } = *reduction;
    let options = &Options { depth_first: true, ..*options };
    let attempt = |lattice: &mut Lattice, beam: f32, report: &mut dyn FnMut(&Failure)| -> Result<_> {
        let (mut out, outcome) = match determinize_connected(lattice, f64::INFINITY, options) {
            Err(error @ Error::Looped { .. }) => {
                report(&Failure::Looped(error));
                return Ok(None);
            }
            found => found?,
        };
        if !outcome.complete {
            let events = outcome.events.into_iter().filter(|event| !matches!(event, Event::Rebuilt));
            events.for_each(|event| report(&Failure::OutOfMemory(event)));
            return Ok(None);
        }
        if prunes {
            prune(&mut out, beam)?;
        }
        ops::connect(&mut out);
        Ok(Some(out))
    };
    if tries == 0 {
        return Ok(None);
    }
    if let Some(out) = attempt(lattice, beam, &mut report)? {
        return Ok(Some(out));
    }
    let mut beam = beam;
    report(&Failure::First { beam: beam * ratio });
    for _ in 0..tries {
        beam *= ratio;
        let mut pruned = lattice.clone();
        prune(&mut pruned, beam)?;
        if pruned.num_arcs() == lattice.num_arcs() {
            beam *= ratio;
            report(&Failure::NoEffect { beam });
            continue;
        }
        if let Some(out) = attempt(&mut pruned, beam, &mut report)? {
            return Ok(Some(out));
        }
        report(&Failure::Again { beam: beam * ratio });
    }
    Ok(None)
}
