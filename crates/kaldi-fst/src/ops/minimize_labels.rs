//! Minimization of deterministic FSTs, also of transducers and of those with cycles.

use super::push::{Push, labels, push_weights};
use super::{Semiring, connect, minimize_encoded, sort_arcs};
use crate::error::{Error, Result};
use crate::fst::Fst;
use crate::ops::Side;

/// Joins states from which the same can be done, after costs and output labels have been pushed to the start. No input label
/// counts as a label.
///
/// With `allow_nondeterministic` a state may have several arcs with one input label; then not all that could be joined is.
/// Otherwise this is an error, and so is a cycle of negative cost. Costs are rounded to multiples of `delta`.
///
/// The output labels that a state has in common with all its continuations are joined to strings meanwhile, and are written by
/// the arcs that follow.
pub fn minimize_labels(
    mut fst: Fst,
    semiring: Semiring,
    delta: f32,
    allow_nondeterministic: bool,
) -> Result<Fst> {
    connect(&mut fst);
    if !allow_nondeterministic {
        check_deterministic(&fst)?;
    }
    let is_acceptor = fst.check_acceptor().is_ok();
    push_weights(&mut fst, Push { semiring, ..Push::default() })?;
    if is_acceptor {
        sort_arcs(&mut fst, Side::Input);
        minimize_encoded(&mut fst, delta);
        return Ok(fst);
    }
    let (mut fst, strings) = labels::push_to_start(fst, false);
    sort_arcs(&mut fst, Side::Input);
    minimize_encoded(&mut fst, delta);
    Ok(labels::write(&fst, &strings, &[]))
}

fn check_deterministic(fst: &Fst) -> Result<()> {
    for (state, data) in fst.numbered() {
        let mut labels: Vec<i32> = data.arcs.iter().map(|arc| arc.ilabel).collect();
        labels.sort_unstable();
        if let Some(same) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Nondeterministic { state, label: same[0] });
        }
    }
    Ok(())
}
