//! Proxies: known words that sound like unknown ones (`kwsbin/generate-proxy-keywords.cc`).
//!
//! A keyword is spelt in phones, phones are confused with others by an edit transducer, and the result is spelt in known words.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use kaldi_fst::ops::{self, Determinize, Side};
use kaldi_fst::{Arc, EPSILON, Fst, State, StateId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Result};

/// Costs left to pay are rounded to multiples of this while the best strings are searched (`kShortestDelta` of OpenFst; plain
/// determinization rounds to 1/1024).
const SHORTEST_DELTA: f32 = 1e-6;
/// Most states of an FST of proxies.
const MOST_STATES: usize = 1 << 20;

/// Options of proxies. A number that is not given is no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProxyOptions {
    /// Phone sequences that cost at most so much more than the best one.
    pub phone_beam: Option<f32>,
    pub phone_nbest: Option<usize>,
    /// The same for proxies.
    pub proxy_beam: Option<f32>,
    pub proxy_nbest: Option<usize>,
    /// Most states of the FST of proxies, if there is a beam.
    pub most_states: Option<usize>,
}

/// Returns the acceptor of the proxies of a keyword, deterministic and sorted; empty if it has none. `phones` is from unknown words to confused phones, `words` from
/// phones to known words; both are sorted on input.
pub fn proxies(keyword: &[i32], phones: &Fst, words: &Fst, options: ProxyOptions) -> Result<Fst> {
    let mut sounds = compose(&linear(keyword), phones)?;
    ops::project(&mut sounds, Side::Output);
    if let Some(beam) = options.phone_beam {
        ops::prune(&mut sounds, beam, None)?;
    }
    if let Some(count) = options.phone_nbest {
        sounds = best_strings(sounds, count)?;
    }
    ops::remove_epsilons(&mut sounds)?;
    ops::sort_arcs(&mut sounds, Side::Output);
    let mut proxies = match options.proxy_beam {
        Some(beam) => best_composed(&sounds, words, beam, options.most_states)?,
        None => {
            let mut all = compose(&sounds, words)?;
            ops::project(&mut all, Side::Output);
            all
        }
    };
    if let Some(count) = options.proxy_nbest {
        proxies = best_strings(proxies, count)?;
    }
    let mut proxies = deterministic(proxies)?;
    ops::sort_arcs(&mut proxies, Side::Output);
    Ok(proxies)
}

fn linear(labels: &[i32]) -> Fst {
    let state = |(i, &label): (usize, &i32)| State {
        arcs: vec![Arc::new(label, 0.0, i as StateId + 1)],
        ..State::default()
    };
    let mut states: Vec<State> = labels.iter().enumerate().map(state).collect();
    states.push(State { final_weight: 0.0, ..State::default() });
    Fst { start: Some(0), states }
}

fn compose(first: &Fst, second: &Fst) -> Result<Fst> {
    ops::compose_transducers(first, second, true)
        .ok_or_else(|| Error::data("expected an FST whose arcs are sorted on input (see fstarcsort)"))
}

fn deterministic(mut fst: Fst) -> Result<Fst> {
    ops::remove_epsilons(&mut fst)?;
    if fst.start.is_none() {
        return Ok(Fst::default());
    }
    // An acceptor without deterministic equivalent would never end.
    let options = Determinize { most_states: Some(MOST_STATES), ..Determinize::default() };
    Ok(ops::determinize_labels(fst, options)?)
}

/// The acceptor of the cheapest strings, at most `count`. Of paths with the same labels, the cheapest counts.
///
/// Paths are asked for until there are enough different ones: an acceptor in which phones are inserted freely has no
/// deterministic equivalent. Of very many paths with the same few strings, only so many are looked at.
pub fn best_strings(mut fst: Fst, count: usize) -> Result<Fst> {
    const MOST_PATHS: usize = 1 << 18;
    ops::remove_epsilons(&mut fst)?;
    let mut asked = count.max(1);
    let strings = loop {
        let paths = ops::shortest_paths(&fst, asked, f32::INFINITY)?;
        let found = paths.len();
        let mut seen: FxHashSet<Vec<(i32, i32)>> = FxHashSet::default();
        let mut strings = paths;
        strings.retain(|(arcs, _)| seen.insert(arcs.iter().map(|arc| (arc.ilabel, arc.olabel)).collect()));
        if strings.len() >= count || found < asked || asked >= MOST_PATHS {
            strings.truncate(count);
            break strings;
        }
        asked *= 2;
    };
    let strings: Vec<_> = strings.iter().map(|(arcs, _)| rounded(&fst, arcs)).collect();
    deterministic(ops::union_of_paths(&strings))
}

/// Gives a path the costs that it has in the reference. The reference makes the acceptor deterministic from its end to its start,
/// and rounds the residual cost before each label. The cost of ending is the lowest one of all strings.
fn rounded(fst: &Fst, path: &[Arc]) -> (Vec<Arc>, f32) {
    let lowest = |left: &BTreeMap<StateId, f32>| left.values().copied().fold(f32::INFINITY, f32::min);
    let round = |left: &mut BTreeMap<StateId, f32>, least: f32| {
        left.values_mut()
            .for_each(|cost| *cost = ((*cost - least) / SHORTEST_DELTA + 0.5).floor() * SHORTEST_DELTA);
    };
    let ends = fst.numbered().filter(|(_, state)| state.is_final());
    let mut left: BTreeMap<StateId, f32> = ends.map(|(s, state)| (s, state.final_weight)).collect();
    let ending = lowest(&left);
    round(&mut left, ending);
    let mut arcs = path.to_vec();
    for arc in arcs.iter_mut().rev() {
        let mut before: BTreeMap<StateId, f32> = BTreeMap::new();
        for (s, state) in fst.numbered() {
            for other in state.arcs.iter().filter(|other| other.ilabel == arc.ilabel) {
                if let Some(cost) = left.get(&other.next).map(|cost| cost + other.weight) {
                    before.entry(s).and_modify(|known| *known = known.min(cost)).or_insert(cost);
                }
            }
        }
        arc.weight = lowest(&before);
        round(&mut before, arc.weight);
        left = before;
    }
    let beginning = fst.start.and_then(|start| left.get(&start)).copied().unwrap_or(f32::INFINITY);
    match arcs.first_mut() {
        Some(first) => {
            first.weight += beginning;
            (arcs, ending)
        }
        None => (arcs, ending + beginning),
    }
}

/// A cost as a key of a heap.
#[derive(PartialEq)]
struct Cost(f32);

impl Eq for Cost {}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Cost) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Cost) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A state of a composition: states of both, and a flag. The flag is true if the second one has moved without input; then the
/// first one may not move without output.
type Pair = (StateId, StateId);

/// The outputs of a composition as far as they cost at most `beam` more than the cheapest, or until there are `most_states`. States
/// are worked out in the order of their costs (`fstext/prune-special.h`). No cost is negative.
fn best_composed(first: &Fst, second: &Fst, beam: f32, most_states: Option<usize>) -> Result<Fst> {
    let (Some(a), Some(b)) = (first.start, second.start) else { return Ok(Fst::default()) };
    if first
        .states
        .iter()
        .chain(&second.states)
        .any(|state| state.final_weight < 0.0 || state.arcs.iter().any(|arc| arc.weight < 0.0))
    {
        return Err(Error::data("expected costs that are not negative, as `proxy-beam` needs them"));
    }
    let sorted = second.states.iter().all(|state| state.arcs.is_sorted_by_key(|arc| arc.ilabel));
    if !sorted {
        return Err(Error::data("expected an FST whose arcs are sorted on input (see fstarcsort)"));
    }
    let mut out = Fst { start: Some(0), states: vec![State::default()] };
    let mut numbers: FxHashMap<Pair, StateId> = FxHashMap::from_iter([((a, b), 0)]);
    // Arcs that wait to be added: the cost of paths with them, the state that they leave, label, own cost and target; `None` is the end.
    let mut heap = BinaryHeap::new();
    let mut made = 0usize;
    let mut expand = |(a, b): Pair, from: StateId, cost: f32, heap: &mut BinaryHeap<_>| {
        let (x, y) = (first.state(a), second.state(b));
        let mut add = |label: i32, weight: f32, next: Option<Pair>| {
            made += 1;
            heap.push((
                Reverse(Cost(cost + weight)),
                Reverse(made),
                from,
                label,
                Reverse(Cost(weight)),
                next,
            ));
        };
        for arc in y.arcs.iter().take_while(|arc| arc.ilabel == EPSILON) {
            add(arc.olabel, arc.weight, Some((a, arc.next)));
        }
        // The first FST has no arcs without labels.
        for arc in &x.arcs {
            let begin = y.arcs.partition_point(|other| other.ilabel < arc.olabel);
            for other in y.arcs[begin..].iter().take_while(|other| other.ilabel == arc.olabel) {
                add(other.olabel, arc.weight + other.weight, Some((arc.next, other.next)));
            }
        }
        let ending = x.final_weight + y.final_weight;
        if ending != f32::INFINITY {
            add(EPSILON, ending, None);
        }
    };
    expand((a, b), 0, 0.0, &mut heap);
    let mut best: Option<f32> = None;
    while let Some((Reverse(Cost(cost)), _, from, label, Reverse(Cost(weight)), next)) = heap.pop() {
        let is_done = best.is_some_and(|best| cost > best + beam);
        if is_done || most_states.is_some_and(|most| out.states.len() > most) {
            break;
        }
        let Some(pair) = next else {
            out.state_mut(from).final_weight = weight;
            best.get_or_insert(cost);
            continue;
        };
        let next = match numbers.get(&pair) {
            Some(&known) => known,
            None => {
                let number = out.add_state();
                numbers.insert(pair, number);
                expand(pair, number, cost, &mut heap);
                number
            }
        };
        out.state_mut(from).arcs.push(Arc::new(label, weight, next));
    }
    ops::connect(&mut out);
    ops::prune(&mut out, beam, None)?;
    Ok(out)
}

/// Strings that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strings {
    All,
    /// Those that do not begin with another one, as generate-proxy-keywords lists them.
    Shortest,
}

/// Calls `visit` with each string of an acceptor without cycles, and its cost. The cost of a string that continues another one contains
/// the cost of ending of that one, as in the reference. An error if there are cycles.
pub fn each_string(
    fst: &Fst,
    strings: Strings,
    mut visit: impl FnMut(&[i32], f32) -> Result<()>,
) -> Result<()> {
    let Some(start) = fst.start else { return Ok(()) };
    ops::topological_order(fst)?;
    let mut path = vec![(start, 0.0, None)];
    let mut labels = Vec::new();
    while let Some((state, cost, position)) = path.last_mut() {
        let data = fst.state(*state);
        let Some(i) = *position else {
            *position = Some(0);
            if data.final_weight != f32::INFINITY {
                *cost += data.final_weight;
                visit(&labels, *cost)?;
                if strings == Strings::Shortest {
                    *position = Some(data.arcs.len());
                }
            }
            continue;
        };
        let Some(arc) = data.arcs.get(i) else {
            path.pop();
            labels.pop();
            continue;
        };
        *position = Some(i + 1);
        labels.push(arc.ilabel);
        let cost = *cost + arc.weight;
        path.push((arc.next, cost, None));
    }
    Ok(())
}
