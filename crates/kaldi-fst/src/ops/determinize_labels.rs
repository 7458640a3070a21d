//! Determinization that treats arcs without input like arcs with a label, as OpenFst does.

use super::{Ambiguity, DELTA, DeterminizeStar, Side, determinize_rounded, determinize_star, relabel};
use crate::error::Result;
use crate::fst::{EPSILON, Fst};

/// Options of determinization.
#[derive(Debug, Clone, Copy)]
pub struct Determinize {
    /// Subsets with costs that differ by at most this are one. (For acceptors, costs are rounded to its multiples.)
    pub delta: f32,
    /// Transducers that have several outputs for one input.
    pub ambiguity: Ambiguity,
    /// The input label of the arcs that write the residual output at the end of a path.
    pub end_label: i32,
    /// If this is given, more states are an error.
    pub most_states: Option<usize>,
}

impl Default for Determinize {
    fn default() -> Determinize {
        Determinize { delta: DELTA, ambiguity: Ambiguity::Refuse, end_label: EPSILON, most_states: None }
    }
}

/// Returns the FST with at most one arc of each input label from each state; no input label counts as a label.
///
/// Arcs without input are added only if several output labels are written at once. If one input has several outputs, it
/// is an error, unless the options allow that. If the FST has no deterministic equivalent, the algorithm stops only at
/// the limit on the number of states.
pub fn determinize_labels(mut fst: Fst, options: Determinize) -> Result<Fst> {
    let stand_in = match fst.largest_label() {
        i32::MAX => return Err(crate::Error::NoLabelLeft),
        largest => largest + 1,
    };
    let exchange = |fst: &mut Fst, side: Side, from: i32, to: i32| {
        relabel(fst, side, &rustc_hash::FxHashMap::from_iter([(from, to)]));
    };
    exchange(&mut fst, Side::Input, EPSILON, stand_in);
    let is_acceptor = fst
        .states
        .iter()
        .flat_map(|state| &state.arcs)
        .all(|arc| arc.ilabel == arc.olabel || (arc.ilabel == stand_in && arc.olabel == EPSILON));
    let mut out = if is_acceptor {
        exchange(&mut fst, Side::Output, EPSILON, stand_in);
        let mut out = determinize_rounded(&fst, options.delta, options.most_states.unwrap_or(usize::MAX))?;
        exchange(&mut out, Side::Output, stand_in, EPSILON);
        out
    } else {
        let star = DeterminizeStar {
            delta: options.delta,
            ambiguity: options.ambiguity,
            end_label: options.end_label,
            most_states: options.most_states,
            ..DeterminizeStar::default()
        };
        determinize_star(fst, star)?
    };
    exchange(&mut out, Side::Input, stand_in, EPSILON);
    Ok(out)
}
