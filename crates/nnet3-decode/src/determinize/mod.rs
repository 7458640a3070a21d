//! Determinization of lattices with pruning (Povey and others, "Generating exact lattices in the WFST framework", 2012;
//! `lat/determinize-lattice-pruned.cc`).
//!
//! For each sequence of words only the best path is kept, with its transition-ids. A state of the result is a set of
//! (input state, residual weight) pairs. Only states within the beam are expanded.

pub mod incremental;
mod phones;
mod reduced;
mod search;
mod tasks;

use kaldi_fst::ops;

use crate::error::Result;
use crate::lattice::{CompactLattice, Lattice};
use crate::order;
use crate::prune::prune;
use crate::weight::DELTA;

pub use incremental::Incremental;
pub use phones::{PhoneOptions, determinize_phones};
pub use reduced::{Failure, Reduction, determinize_reduced};
use search::Search;

/// Limits. A value below 1 is no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Weights that differ by at most this are equal in comparisons of subsets.
    pub delta: f32,
    /// Approximate limit of memory, in bytes.
    pub max_mem: i32,
    pub max_arcs: i32,
    pub max_states: i32,
    /// Limit of expanded input states in one epsilon closure, less one ([`crate::Error::Looped`]).
    pub max_loop: i32,
    /// If the search stops with an effective beam below this share of the beam, the input is pruned and the search is
    /// done again.
    pub retry_cutoff: f64,
    /// True for depth first: states are expanded one at a time, the last found first, and memory is checked after each.
    /// Only without a beam. The result has the same paths.
    pub depth_first: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            delta: DELTA,
            max_mem: 50_000_000,
            max_arcs: -1,
            max_states: -1,
            max_loop: -1,
            retry_cutoff: 0.5,
            depth_first: false,
        }
    }
}

/// Events during the work, for log lines.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Memory was short, and unused sequences were dropped.
    Rebuilt,
    /// Dropping them did not help, so the search ended.
    OutOfMemory {
        limit: i32,
        /// Estimates in bytes: sequences, arcs, elements of sets; sequences after dropping some.
        strings: usize,
        arcs: usize,
        elements: usize,
        kept_strings: usize,
        effective_beam: f64,
        beam: f64,
    },
    /// The input was pruned with this beam, to try again.
    Retrying { beam: f64 },
}

/// Results of a determinization beside the lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// False if a limit stopped the search: the result is pruned more than by the beam.
    pub complete: bool,
    pub events: Vec<Event>,
}

/// Largest number of attempts, with pruning of the input in between.
const MOST_TRIES: usize = 10;

/// Returns the deterministic lattice with the paths that cost at most `beam` more than the best. The arcs of a state
/// have different words, and every arc has a word. Sorts the input topologically, and its arcs by word. States of the
/// result are in the order of their discovery; some may be dead ends.
pub fn determinize(lattice: &mut Lattice, beam: f64, options: &Options) -> Result<(CompactLattice, Report)> {
    prepare(lattice)?;
    with_retries(lattice, beam, options, Search::compact)
}

/// Sorts states topologically and arcs by word.
fn prepare(lattice: &mut Lattice) -> Result<()> {
    order::sort(lattice)?;
    for state in &mut lattice.states {
        state.arcs.sort_by_key(|arc| arc.olabel);
    }
    Ok(())
}

/// Searches, with a smaller beam if the search stopped far from the requested one. Sorts the lattice.
fn with_retries<T>(
    lattice: &Lattice,
    mut beam: f64,
    options: &Options,
    output: impl Fn(Search) -> T,
) -> Result<(T, Report)> {
    let mut pruned: Option<Lattice> = None;
    let mut events = Vec::new();
    for left in (0..MOST_TRIES).rev() {
        let mut search = Search::new(pruned.as_ref().unwrap_or(lattice), beam, options);
        let outcome = search.run(&mut events)?;
        let effective = outcome.effective_beam;
        if outcome.complete || left == 0 || beam == f64::INFINITY || effective >= beam * options.retry_cutoff
        {
            return Ok((output(search), Report { complete: outcome.complete, events }));
        }
        beam *= (effective.max(0.0) / beam).sqrt().max(0.5);
        drop(search);
        prune(pruned.get_or_insert_with(|| lattice.clone()), beam as f32)?;
        events.push(Event::Retrying { beam });
    }
    unreachable!("the last try returns")
}

/// Determinizes the lattice of words, and removes dead ends.
pub fn determinize_connected(
    lattice: &mut Lattice,
    beam: f64,
    options: &Options,
) -> Result<(CompactLattice, Report)> {
    let (mut out, report) = determinize(lattice, beam, options)?;
    ops::connect(&mut out);
    Ok((out, report))
}
