//! The property bits in the header of an OpenFst file (`fst/properties.h` of OpenFst). Readers trust them, so all bits
//! are computed: for each property, one bit says that it holds, another that it does not.

use std::collections::HashSet;

use crate::fst::{Arc, EPSILON, Fst, State};
use crate::ops::components::Components;
use crate::weight::Algebra;

pub(crate) const EXPANDED: u64 = 1;
pub(crate) const MUTABLE: u64 = 1 << 1;

/// Bits of properties: the first bit of a [`Pair`] means that the property holds, the second that it does not.
const ACCEPTOR: Pair = Pair(1 << 16, 1 << 17);
const I_DETERMINISTIC: Pair = Pair(1 << 18, 1 << 19);
const O_DETERMINISTIC: Pair = Pair(1 << 20, 1 << 21);
const EPSILONS: Pair = Pair(1 << 22, 1 << 23);
const I_EPSILONS: Pair = Pair(1 << 24, 1 << 25);
const O_EPSILONS: Pair = Pair(1 << 26, 1 << 27);
const I_SORTED: Pair = Pair(1 << 28, 1 << 29);
const O_SORTED: Pair = Pair(1 << 30, 1 << 31);
const WEIGHTED: Pair = Pair(1 << 32, 1 << 33);
const CYCLIC: Pair = Pair(1 << 34, 1 << 35);
const INITIAL_CYCLIC: Pair = Pair(1 << 36, 1 << 37);
const TOP_SORTED: Pair = Pair(1 << 38, 1 << 39);
const ACCESSIBLE: Pair = Pair(1 << 40, 1 << 41);
const COACCESSIBLE: Pair = Pair(1 << 42, 1 << 43);
const STRING: Pair = Pair(1 << 44, 1 << 45);
const WEIGHTED_CYCLES: Pair = Pair(1 << 46, 1 << 47);

/// Properties by name, as `fstinfo` of OpenFst shows them.
pub fn named(properties: u64) -> impl Iterator<Item = (&'static str, bool)> {
    const NAMES: [(&str, Pair); 16] = [
        ("acceptor", ACCEPTOR),
        ("input deterministic", I_DETERMINISTIC),
        ("output deterministic", O_DETERMINISTIC),
        ("input/output epsilons", EPSILONS),
        ("input epsilons", I_EPSILONS),
        ("output epsilons", O_EPSILONS),
        ("input label sorted", I_SORTED),
        ("output label sorted", O_SORTED),
        ("weighted", WEIGHTED),
        ("cyclic", CYCLIC),
        ("cyclic at initial state", INITIAL_CYCLIC),
        ("top sorted", TOP_SORTED),
        ("accessible", ACCESSIBLE),
        ("coaccessible", COACCESSIBLE),
        ("string", STRING),
        ("weighted cycles", WEIGHTED_CYCLES),
    ];
    NAMES.into_iter().map(move |(name, pair)| (name, properties & pair.0 != 0))
}

/// The bit for "it is so" and the bit for "it is not".
struct Pair(u64, u64);

impl Pair {
    fn bit(&self, holds: bool) -> u64 {
        if holds { self.0 } else { self.1 }
    }
}

/// All properties of the FST, without the two that describe the form it is stored in.
pub fn compute<W: Algebra>(fst: &Fst<W>) -> u64 {
    let labels: [fn(&Arc<W>) -> i32; 2] = [|arc| arc.ilabel, |arc| arc.olabel];
    let deterministic = labels.map(|label| fst.states.iter().all(|state| distinct(state, label)));
    let sorted = labels
        .map(|label| fst.states.iter().all(|state| state.arcs.is_sorted_by(|a, b| label(a) <= label(b))));
    let components = Components::of(fst);
    let in_cycle = |from: usize, arc: &Arc<W>| components.same(from, arc.next as usize);
    let cycle_arcs = || {
        let arcs =
            fst.states.iter().enumerate().flat_map(|(s, state)| state.arcs.iter().map(move |arc| (s, arc)));
        arcs.filter(|(s, arc)| in_cycle(*s, arc))
    };
    let top_sorted = fst.numbered().all(|(s, state)| state.arcs.iter().all(|arc| arc.next > s));
    of_arcs(fst)
        | I_DETERMINISTIC.bit(deterministic[0])
        | O_DETERMINISTIC.bit(deterministic[1])
        | I_SORTED.bit(sorted[0])
        | O_SORTED.bit(sorted[1])
        | CYCLIC.bit(cycle_arcs().next().is_some())
        | INITIAL_CYCLIC.bit(fst.start.is_some_and(|start| components.cyclic(fst, start as usize)))
        | TOP_SORTED.bit(top_sorted)
        | ACCESSIBLE.bit(components.accessible.iter().all(|&yes| yes))
        | COACCESSIBLE.bit(components.coaccessible.iter().all(|&yes| yes))
        | STRING.bit(is_string(fst))
        | WEIGHTED_CYCLES.bit(cycle_arcs().any(|(_, arc)| !arc.weight.is_one()))
}

/// Properties that arcs and final weights have one by one: of labels, and that there are weights.
pub fn of_arcs<W: Algebra>(fst: &Fst<W>) -> u64 {
    let arcs = || fst.states.iter().flat_map(|state| &state.arcs);
    let weighted = |weight: &W| !weight.is_one() && !weight.is_zero();
    ACCEPTOR.bit(arcs().all(|arc| arc.ilabel == arc.olabel))
        | EPSILONS.bit(arcs().any(|arc| arc.is_epsilon()))
        | I_EPSILONS.bit(arcs().any(|arc| arc.ilabel == EPSILON))
        | O_EPSILONS.bit(arcs().any(|arc| arc.olabel == EPSILON))
        | WEIGHTED.bit(
            arcs().any(|arc| weighted(&arc.weight)) || fst.states.iter().any(|s| weighted(&s.final_weight)),
        )
}

fn distinct<W>(state: &State<W>, label: fn(&Arc<W>) -> i32) -> bool {
    match &state.arcs[..] {
        [] | [_] => true,
        arcs if arcs.is_sorted_by(|a, b| label(a) < label(b)) => true,
        arcs => {
            let mut seen = HashSet::with_capacity(arcs.len());
            arcs.iter().all(|arc| seen.insert(label(arc)))
        }
    }
}

/// True if the states follow each other by single arcs, and only the last is final.
fn is_string<W: Algebra>(fst: &Fst<W>) -> bool {
    let last = fst.states.len().saturating_sub(1);
    let follows = |s: usize, state: &State<W>| match &state.arcs[..] {
        [] => s == last && state.is_final(),
        [arc] => !state.is_final() && arc.next as usize == s + 1,
        _ => false,
    };
    fst.start.is_none_or(|start| start == 0)
        && fst.states.iter().enumerate().all(|(s, state)| follows(s, state))
}
