//! The operations that graphs are made with, on random transducers, against costs that are counted path by path.

use std::collections::BTreeMap;

use kaldi_fst::ops::{self, DeterminizeStar, Semiring, Side};
use kaldi_fst::{Arc, EPSILON, Error, Fst, text};

/// Inputs and outputs of a path.
type Pair = (Vec<i32>, Vec<i32>);

/// The cost of every pair of strings. The FST must be acyclic.
fn relation(fst: &Fst, semiring: Semiring) -> BTreeMap<Pair, f32> {
    fn visit(fst: &Fst, state: u32, pair: &mut Pair, cost: f32, found: &mut impl FnMut(&Pair, f32)) {
        let data = fst.state(state);
        if data.is_final() {
            found(pair, cost + data.final_weight);
        }
        for arc in &data.arcs {
            let lengths = (pair.0.len(), pair.1.len());
            pair.0.extend((arc.ilabel != EPSILON).then_some(arc.ilabel));
            pair.1.extend((arc.olabel != EPSILON).then_some(arc.olabel));
            visit(fst, arc.next, pair, cost + arc.weight, found);
            pair.0.truncate(lengths.0);
            pair.1.truncate(lengths.1);
        }
    }
    let mut out = BTreeMap::new();
    let mut found = |pair: &Pair, cost: f32| {
        let known = out.entry(pair.clone()).or_insert(f32::INFINITY);
        *known = semiring.plus(*known, cost);
    };
    if let Some(start) = fst.start {
        visit(fst, start, &mut Pair::default(), 0.0, &mut found);
    }
    out
}

fn assert_same(a: &BTreeMap<Pair, f32>, b: &BTreeMap<Pair, f32>, tolerance: f32) {
    assert!(a.keys().eq(b.keys()), "{a:?}\n{b:?}");
    for (pair, cost) in a {
        assert!((cost - b[pair]).abs() <= tolerance, "{pair:?}: {cost} and {}", b[pair]);
    }
}

/// Acyclic. Labels up to `labels`, empty with this probability.
fn random(rng: &mut fastrand::Rng, labels: i32, empty: f64) -> Fst {
    let states = rng.u32(1..8);
    let mut fst = Fst { start: Some(0), ..Fst::default() };
    for s in 0..states {
        fst.add_state();
        for next in s + 1..states {
            while rng.f64() < 0.4 {
                let mut label = || if rng.f64() < empty { EPSILON } else { rng.i32(1..=labels) };
                let (ilabel, olabel) = (label(), label());
                fst.state_mut(s).arcs.push(Arc { ilabel, olabel, weight: rng.i32(-4..8) as f32 / 4.0, next });
            }
        }
        if s + 1 == states || rng.f64() < 0.2 {
            fst.state_mut(s).final_weight = rng.i32(-4..8) as f32 / 4.0;
        }
    }
    fst
}

fn same_labels(mut fst: Fst) -> Fst {
    fst.states.iter_mut().flat_map(|state| &mut state.arcs).for_each(|arc| arc.olabel = arc.ilabel);
    fst
}

#[test]
fn composition() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut nonempty = 0;
    for round in 0..500 {
        let (mut a, mut b) = (random(&mut rng, 2, 0.4), random(&mut rng, 2, 0.4));
        // The search runs over the first side, the second, or the side with more arcs.
        if round % 3 != 0 {
            ops::sort_arcs(&mut a, Side::Output);
        }
        if round % 3 != 1 {
            ops::sort_arcs(&mut b, Side::Input);
        }
        let Some(composed) = ops::compose_transducers(&a, &b, true) else { continue };
        for semiring in [Semiring::Tropical, Semiring::Log] {
            let mut expected: BTreeMap<Pair, f32> = BTreeMap::new();
            for ((input, between), cost) in relation(&a, semiring) {
                for ((other, output), more) in relation(&b, semiring) {
                    if between == other {
                        let pair = (input.clone(), output);
                        let known = expected.entry(pair).or_insert(f32::INFINITY);
                        *known = semiring.plus(*known, cost + more);
                    }
                }
            }
            nonempty += usize::from(!expected.is_empty());
            // The logarithmic sums show that the same path does not occur twice.
            assert_same(&relation(&composed, semiring), &expected, 1e-5);
        }
    }
    assert!(nonempty > 300, "{nonempty}");
    let unsorted = text::parse("0 1 2 2\n0 1 1 1\n1\n").unwrap();
    assert_eq!(ops::compose_transducers(&unsorted, &unsorted, true), None);
    assert_eq!(ops::compose_transducers(&Fst::default(), &unsorted, true), Some(Fst::default()));
}

#[test]
fn unconnected_composition() {
    let a = text::parse("0 1 1 1\n0 2 1 2\n1\n2\n").unwrap();
    let b = text::parse("0 1 1 5\n0 2 2 6\n1\n").unwrap();
    assert_eq!(ops::compose_transducers(&a, &b, false).unwrap().states.len(), 3);
    assert_eq!(ops::compose_transducers(&a, &b, true).unwrap(), text::parse("0 1 1 5\n1\n").unwrap());
}

#[test]
fn determinization() {
    let mut rng = fastrand::Rng::with_seed(2);
    let (mut done, mut not_functional) = (0, 0);
    for round in 0..1500 {
        let mut fst = random(&mut rng, 2, 0.3);
        if round % 2 == 0 {
            fst = same_labels(fst);
        }
        let functional = {
            let pairs = relation(&fst, Semiring::Tropical);
            let mut inputs: Vec<_> = pairs.keys().map(|(input, _)| input).collect();
            let count = inputs.len();
            inputs.dedup();
            inputs.len() == count
        };
        for semiring in [Semiring::Tropical, Semiring::Log] {
            let options = DeterminizeStar { semiring, delta: 1e-6, ..DeterminizeStar::default() };
            let result = match ops::determinize_star(fst.clone(), options) {
                Ok(result) => result,
                Err(Error::NotFunctional { first, second }) => {
                    // This includes two outputs that lead to a state without a path to an end.
                    assert!(first != second);
                    not_functional += 1;
                    continue;
                }
                Err(other) => panic!("{other}"),
            };
            assert!(functional);
            done += 1;
            assert_same(&relation(&result, semiring), &relation(&fst, semiring), 1e-4);
            for state in &result.states {
                let labels: Vec<i32> = state.arcs.iter().map(|arc| arc.ilabel).collect();
                assert!(labels.is_sorted_by(|a, b| a < b));
            }
        }
    }
    assert!(done > 500 && not_functional > 500, "{done} {not_functional}");
}

#[test]
fn several_labels_at_once() {
    let fst = text::parse("0 1 1 5 0.5\n1 2 2 6 0.25\n2 3 0 7\n0 4 1 0 1\n4 5 3 8\n3 1\n5 2\n").unwrap();
    let result = ops::determinize_star(fst, DeterminizeStar::default()).unwrap();
    let expected = "0 1 1 0 0.5\n1 4 2 5 0.25\n4 2 0 6\n1 3 3 8 0.5\n2 5 0 7 1\n5\n3 2\n";
    assert_eq!(result, text::parse(expected).unwrap());
}

#[test]
fn more_states_than_allowed() {
    // Costs of the two cycles run apart: there are ever new sets.
    let fst = text::parse("0 1 1 1\n0 2 1 1\n1 1 2 2 1\n2 2 2 2 2\n1 3 3 3\n2 3 4 4\n3\n").unwrap();
    let options = DeterminizeStar { most_states: Some(20), ..DeterminizeStar::default() };
    assert_eq!(ops::determinize_star(fst, options), Err(Error::TooManyStates { limit: 20 }));
}

#[test]
fn cycles_without_input_of_negative_cost() {
    for (cycle, state) in [
        ("0 1 0 0 -1\n1 0 0 0 -1\n1\n", 0),
        ("0 0 0 0 -1\n0\n", 0),
        ("0 1 1 1\n1 2 0 5 1\n2 1 0 0 -2\n2\n", 1),
    ] {
        let fst = text::parse(cycle).unwrap();
        match ops::determinize_star(fst, DeterminizeStar::default()) {
            Err(Error::NegativeCycle { state: found }) => {
                assert!(found == state || found == state + 1, "{found}")
            }
            other => panic!("{other:?}"),
        }
    }
    // Cycles of cost zero, or of a cost below the tolerance.
    for cycle in ["0 1 0 0 -1\n1 0 0 0 1\n1\n", "0 1 0 0 -1\n1 0 0 0 0.99999\n1\n"] {
        let fst = ops::determinize_star(text::parse(cycle).unwrap(), DeterminizeStar::default()).unwrap();
        assert!((fst.state(0).final_weight + 1.0).abs() < 1e-3);
    }
}

/// Computes classes by repeated splitting until a round makes no split.
fn slow_class_count(fst: &Fst) -> usize {
    let mut classes = vec![0; fst.states.len()];
    loop {
        let signatures: Vec<_> = fst
            .states
            .iter()
            .enumerate()
            .map(|(s, state)| {
                let arcs = state.arcs.iter();
                let mut arcs: Vec<_> = arcs
                    .map(|arc| (arc.ilabel, arc.olabel, arc.weight.to_bits(), classes[arc.next as usize]))
                    .collect();
                arcs.sort_unstable();
                arcs.dedup();
                (classes[s], state.final_weight.to_bits(), arcs)
            })
            .collect();
        let mut sorted = signatures.clone();
        sorted.sort();
        sorted.dedup();
        let before = classes.iter().copied().max().map_or(0, |largest: usize| largest + 1);
        classes = signatures.iter().map(|signature| sorted.binary_search(signature).unwrap()).collect();
        if sorted.len() == before {
            return before;
        }
    }
}

#[test]
fn encoded_minimization() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut smaller = 0;
    for round in 0..600 {
        let mut fst = same_labels(random(&mut rng, 1, 0.0));
        let cyclic = round % 2 == 0;
        if cyclic {
            for _ in 0..3 {
                let count = fst.states.len() as u32;
                let arc = Arc::new(rng.i32(1..3), rng.i32(0..2) as f32 / 4.0, rng.u32(0..count));
                fst.state_mut(rng.u32(0..count)).arcs.push(arc);
            }
        }
        for state in &mut fst.states {
            state.arcs.iter_mut().for_each(|arc| arc.weight = f32::from(arc.weight > 1.0));
            if state.is_final() {
                state.final_weight = 0.0;
            }
        }
        let mut connected = fst.clone();
        ops::connect(&mut connected);
        let mut minimal = fst.clone();
        ops::minimize_encoded(&mut minimal, 0.25);
        if connected.states.is_empty() {
            assert!(minimal.states.is_empty());
            continue;
        }
        assert_eq!(minimal.states.len(), slow_class_count(&connected));
        smaller += usize::from(minimal.states.len() < connected.states.len());
        assert_eq!(slow_class_count(&minimal), minimal.states.len());
        if !cyclic {
            assert_same(&relation(&minimal, Semiring::Tropical), &relation(&fst, Semiring::Tropical), 0.0);
        }
    }
    assert!(smaller > 20, "{smaller}");
}

#[test]
fn rounding_before_minimization() {
    let mut fst = text::parse("0 1 1 1 0.3\n0 2 2 1 0.2\n1 3 1 1 1.01\n2 3 1 1 0.99\n3 0.1\n").unwrap();
    ops::minimize_encoded(&mut fst, 0.25);
    assert_eq!(fst, text::parse("0 1 1 1 0.25\n0 1 2 1 0.25\n1 2 1 1 1\n2 0\n").unwrap());
}

#[test]
fn local_removal_of_epsilons() {
    let mut rng = fastrand::Rng::with_seed(4);
    let mut smaller = 0;
    for round in 0..1000 {
        let fst = random(&mut rng, 3, 0.6);
        let (alternatives, sums) = match round % 3 {
            0 => (Semiring::Tropical, Semiring::Tropical),
            1 => (Semiring::Tropical, Semiring::Log),
            _ => (Semiring::Log, Semiring::Log),
        };
        let mut result = fst.clone();
        ops::remove_epsilons_locally(&mut result, alternatives, sums);
        assert_same(&relation(&result, alternatives), &relation(&fst, alternatives), 1e-5);
        let mut connected = fst.clone();
        ops::connect(&mut connected);
        let size = |fst: &Fst| fst.num_arcs() + fst.states.len();
        assert!(size(&result) <= size(&connected));
        smaller += usize::from(size(&result) < size(&connected));
    }
    assert!(smaller > 300, "{smaller}");
}

#[test]
fn what_leaves_each_state_is_made_equal() {
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..200 {
        let mut fst = same_labels(random(&mut rng, 3, 0.0));
        ops::connect(&mut fst);
        let expected = relation(&fst, Semiring::Log);
        let converged = ops::push_special(&mut fst, 1e-4);
        if fst.states.is_empty() {
            continue;
        }
        assert!(converged);
        // Going through the start again and again, all strings get the same factor: none.
        assert_same(&relation(&fst, Semiring::Log), &expected, 1e-4);
        let total = |state: &kaldi_fst::State| {
            let weights = state.arcs.iter().map(|arc| arc.weight).chain([state.final_weight]);
            weights.fold(f32::INFINITY, |a, b| Semiring::Log.plus(a, b))
        };
        let totals: Vec<f32> = fst.states.iter().map(total).collect();
        let spread = totals.iter().fold(0.0f32, |spread, total| spread.max((total - totals[0]).abs()));
        assert!(spread < 3e-4, "{totals:?}");
    }
}

#[test]
fn reversal() {
    let mut rng = fastrand::Rng::with_seed(6);
    for _ in 0..200 {
        let fst = random(&mut rng, 3, 0.3);
        let backwards = relation(&fst, Semiring::Log).into_iter().map(|((mut input, mut output), cost)| {
            input.reverse();
            output.reverse();
            ((input, output), cost)
        });
        assert_same(&relation(&ops::reverse(&fst), Semiring::Log), &backwards.collect(), 1e-5);
    }
}

/// Circles of empty arcs that lead to no final state: an arc into one was joined with its arcs again and again.
#[test]
fn circles_that_lead_nowhere() {
    for circle in ["0 0 0 0\n1 0 0 0\n2\n", "0 1 1 1\n0 4 2 2\n1 2 0 0\n2 3 0 0\n3 2 0 0\n4\n"] {
        let mut fst = text::parse(circle).unwrap();
        ops::remove_epsilons_locally(&mut fst, Semiring::Tropical, Semiring::Log);
        assert!(fst.states.iter().all(|state| state.arcs.iter().all(|arc| arc.ilabel == 2)), "{fst:?}");
    }
}
