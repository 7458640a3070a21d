//! Determinization in two passes, phones first. This is faster, since most common parts are common within phones.

use kaldi_fst::{Arc, EPSILON, ops};
use kaldi_hmm::TransitionModel;

use super::{Options, Report, prepare, with_retries};
use crate::error::{Error, Result};
use crate::lattice::{CompactLattice, Lattice, compact, expand};
use crate::order;
use crate::push;
use crate::weight::{DELTA, LatticeWeight};

use super::search::Search;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhoneOptions {
    /// Weights that differ by at most this are equal in comparisons of subsets.
    pub delta: f32,
    /// Approximate limit of memory, in bytes; none if it is not positive.
    pub max_mem: i32,
    /// Do a first pass on phones and words.
    pub phone_determinize: bool,
    /// Do a pass on words.
    pub word_determinize: bool,
    /// Push and minimize afterwards.
    pub minimize: bool,
}

impl Default for PhoneOptions {
    fn default() -> PhoneOptions {
        PhoneOptions {
            delta: DELTA,
            max_mem: 50_000_000,
            phone_determinize: true,
            word_determinize: true,
            minimize: false,
        }
    }
}

/// Determinizes a lattice in two passes, and removes states without a path to an end. Afterwards `lattice` holds the
/// result of the first pass.
pub fn determinize_phones(
    model: &TransitionModel,
    lattice: &mut Lattice,
    beam: f64,
    options: &PhoneOptions,
) -> Result<(CompactLattice, Report)> {
    prepare(lattice)?;
    let limits = Options { delta: options.delta, max_mem: options.max_mem, ..Options::default() };
    let mut report = Report { complete: true, events: Vec::new() };
    if options.phone_determinize {
        let first_phone = insert_phones(model, lattice)?;
        order::sort(lattice)?;
        let (mut out, first) = with_retries(lattice, beam, &limits, |search| expand(&search.compact()))?;
        for arc in out.states.iter_mut().flat_map(|state| &mut state.arcs) {
            arc.olabel = if arc.olabel >= first_phone { EPSILON } else { arc.olabel };
        }
        order::sort(&mut out)?;
        *lattice = out;
        report = first;
    }
    let mut out = if options.word_determinize {
        let (out, second) = with_retries(lattice, beam, &limits, Search::compact)?;
        report.complete &= second.complete;
        report.events.extend(second.events);
        out
    } else {
        compact(lattice)
    };
    if options.minimize && options.word_determinize {
        push::minimize_pushed(&mut out)?;
    }
    ops::connect(&mut out);
    Ok((out, report))
}

/// Inserts labels at the beginnings of phones, and returns the lowest of these labels.
fn insert_phones(model: &TransitionModel, lattice: &mut Lattice) -> Result<i32> {
    let words = lattice.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.olabel);
    let first_phone = words.max().unwrap_or(0).saturating_add(1);
    let last = model.num_transition_ids();
    for s in 0..lattice.states.len() {
        if Some(s as u32) == lattice.start {
            continue;
        }
        for position in 0..lattice.states[s].arcs.len() {
            let Arc { ilabel, olabel, next, .. } = lattice.states[s].arcs[position];
            if ilabel == EPSILON {
                continue;
            }
            let id = model.transition_id(ilabel).map_err(|_| Error::TransitionId { found: ilabel, last })?;
            if model.state(id).hmm_state != 0 || model.is_self_loop(id) {
                continue;
            }
            let label = first_phone.checked_add(model.phone(id)).ok_or_else(|| {
                Error::Data(format!(
                    "word number {} is too large: no numbers are free for phones",
                    first_phone - 1
                ))
            })?;
            if olabel == EPSILON {
                lattice.states[s].arcs[position].olabel = label;
                continue;
            }
            let between = lattice.add_state();
            lattice.states[s].arcs[position].next = between;
            let arc = Arc { ilabel: EPSILON, olabel: label, weight: LatticeWeight::ONE, next };
            lattice.state_mut(between).arcs.push(arc);
        }
    }
    Ok(first_phone)
}
