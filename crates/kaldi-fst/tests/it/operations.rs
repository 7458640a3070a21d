//! Operations on random FSTs must keep the cost of every sequence of labels, counted path by path.

use std::collections::{BTreeMap, BTreeSet};

use kaldi_fst::{Arc, EPSILON, Error, Fst, ops, text};

/// The least cost of every sequence of labels. The FST must be acyclic.
fn language(fst: &Fst) -> BTreeMap<Vec<i32>, f32> {
    fn visit(fst: &Fst, state: u32, labels: &mut Vec<i32>, cost: f32, out: &mut BTreeMap<Vec<i32>, f32>) {
        let data = fst.state(state);
        if data.is_final() {
            let known = out.entry(labels.clone()).or_insert(f32::INFINITY);
            *known = known.min(cost + data.final_weight);
        }
        for arc in &data.arcs {
            let length = labels.len();
            labels.extend((arc.ilabel != EPSILON).then_some(arc.ilabel));
            visit(fst, arc.next, labels, cost + arc.weight, out);
            labels.truncate(length);
        }
    }
    let mut out = BTreeMap::new();
    if let Some(start) = fst.start {
        visit(fst, start, &mut Vec::new(), 0.0, &mut out);
    }
    out
}

/// Acyclic, with weights that add up without rounding.
fn random(rng: &mut fastrand::Rng, epsilons: f64) -> Fst {
    let states = rng.u32(1..8);
    let mut fst = Fst { start: Some(0), ..Fst::default() };
    for s in 0..states {
        fst.add_state();
        for next in s + 1..states {
            while rng.f64() < 0.4 {
                let label = if rng.f64() < epsilons { EPSILON } else { rng.i32(1..4) };
                fst.state_mut(s).arcs.push(Arc::new(label, rng.i32(-4..8) as f32 / 4.0, next));
            }
        }
        if rng.f64() < 0.3 {
            fst.state_mut(s).final_weight = rng.i32(-4..8) as f32 / 4.0;
        }
    }
    fst
}

#[test]
fn removing_epsilons_and_states() {
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..500 {
        let fst = random(&mut rng, 0.4);
        let expected = language(&fst);
        let mut smaller = fst.clone();
        ops::connect(&mut smaller);
        assert_eq!(language(&smaller), expected);
        assert_eq!(smaller.states.is_empty(), expected.is_empty());
        ops::remove_epsilons(&mut smaller).unwrap();
        assert_eq!(language(&smaller), expected);
        assert!(smaller.states.iter().flat_map(|s| &s.arcs).all(|arc| !arc.is_epsilon()));
        if smaller.start.is_some() {
            ops::breadth_first(&mut smaller).unwrap();
            assert_eq!((language(&smaller), smaller.start), (expected, Some(0)));
        }
    }
}

#[test]
fn concatenation() {
    let mut rng = fastrand::Rng::with_seed(2);
    for _ in 0..200 {
        let fsts = [(); 3].map(|()| random(&mut rng, 0.2));
        let mut expected = BTreeMap::from([(Vec::new(), 0.0)]);
        for fst in &fsts {
            let own = language(fst);
            let mut longer = BTreeMap::new();
            for (first, cost) in &expected {
                for (second, more) in &own {
                    let known = longer.entry([&first[..], &second[..]].concat()).or_insert(f32::INFINITY);
                    *known = f32::min(*known, cost + more);
                }
            }
            expected = longer;
        }
        assert_eq!(language(&ops::concatenate(&fsts)), expected);
    }
    assert_eq!(ops::concatenate([&random(&mut rng, 0.0), &Fst::default()]), Fst::default());
}

fn is_deterministic(fst: &Fst) -> bool {
    fst.states.iter().all(|state| {
        let labels: BTreeSet<i32> = state.arcs.iter().map(|arc| arc.ilabel).collect();
        labels.len() == state.arcs.len()
    })
}

/// Returns the number of states of a minimal FST: the number of different languages that prefixes leave, with their
/// costs beyond the cheapest.
fn needed_states(language: &BTreeMap<Vec<i32>, f32>) -> usize {
    let mut rests: BTreeMap<&[i32], Vec<(&[i32], f32)>> = BTreeMap::new();
    for (labels, cost) in language {
        for at in 0..=labels.len() {
            rests.entry(&labels[..at]).or_default().push((&labels[at..], *cost));
        }
    }
    let normal = |(prefix, mut rest): (&[i32], Vec<(&[i32], f32)>)| {
        let least = rest.iter().map(|(_, cost)| *cost).fold(f32::INFINITY, f32::min);
        // The start keeps the cost that all have in common, so that it may differ from other states by that alone.
        let common = if prefix.is_empty() { 0.0 } else { least };
        rest.iter_mut().for_each(|(_, cost)| *cost -= common);
        rest.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        format!("{rest:?}")
    };
    rests.into_iter().map(normal).collect::<BTreeSet<_>>().len()
}

#[test]
fn determinization_and_minimization() {
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..500 {
        let fst = random(&mut rng, 0.0);
        let expected = language(&fst);
        let mut result = ops::determinize(&fst, 1000).unwrap();
        assert!(is_deterministic(&result));
        assert_eq!(language(&result), expected);
        ops::minimize(&mut result).unwrap();
        assert!(is_deterministic(&result));
        let close = |found: BTreeMap<Vec<i32>, f32>| {
            found.len() == expected.len()
                && found.iter().zip(&expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-4)
        };
        assert!(close(language(&result)));
        assert_eq!(result.states.len(), needed_states(&expected));
    }
}

#[test]
fn composition() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..500 {
        let (first, second) = (random(&mut rng, 0.0), random(&mut rng, 0.0));
        let other = language(&second);
        let expected: BTreeMap<_, _> = language(&first)
            .into_iter()
            .filter_map(|(labels, cost)| other.get(&labels).map(|more| (labels.clone(), cost + more)))
            .collect();
        let composed = ops::compose(&first, &ops::SortedAcceptor::new(second).unwrap()).unwrap();
        assert_eq!(language(&composed), expected);
        assert_eq!(composed.states.is_empty(), expected.is_empty());
    }
}

#[test]
fn times_of_states() {
    let fst = text::parse("0 1 0 0\n0 2 7 7\n1 2 5 5\n2 3 0 0\n2 4 1 1\n3 4 2 2\n4\n9 9 1 1\n").unwrap();
    let error = ops::state_times(&fst).unwrap_err();
    assert!(matches!(error, Error::Cyclic { state: 9 }), "{error}");
    let fst = text::parse("0 1 0 0\n0 2 7 7\n1 2 5 5\n2 3 0 0\n2 4 1 1\n3 4 2 2\n4\n5\n").unwrap();
    let (times, length) = ops::state_times(&fst).unwrap();
    assert_eq!((times, length), (vec![Some(0), Some(0), Some(1), Some(1), Some(2), None], 2));
}

#[test]
fn what_is_refused() {
    let times = |text: &str| ops::state_times(&text::parse(text).unwrap()).unwrap_err().to_string();
    assert_eq!(
        times("0 1 1 1\n0 2 1 1\n1 2 1 1\n2\n"),
        "state 2 is reached after 1 and after 2 labels; expected the same number on all paths"
    );
    assert_eq!(
        times("0 1 1 1\n1 2 1 1\n1\n2\n"),
        "final states are reached after 1 and after 2 labels; expected the same number on all paths"
    );
    assert_eq!(times("0 1 1 1\n"), "state 0 cannot be reached, or leads to no final state");
    assert_eq!(ops::state_times(&Fst::<f32>::default()), Err(Error::Empty));
    let mut cycle = text::parse("0 1 1 1\n1 2 0 0 -1\n2 1 0 0\n2\n").unwrap();
    assert_eq!(ops::remove_epsilons(&mut cycle), Err(Error::EpsilonCycle { state: 1 }));
    assert_eq!(ops::topological_order(&cycle), Err(Error::Cyclic { state: 1 }));
    let mut apart = text::parse("0 1 1 1\n1\n2\n").unwrap();
    assert_eq!(ops::breadth_first(&mut apart), Err(Error::NotConnected { state: 2 }));
    let two = text::parse("0 1 1 1\n0 2 1 1\n1\n2\n").unwrap();
    assert_eq!(ops::minimize(&mut two.clone()), Err(Error::Nondeterministic { state: 0, label: 1 }));
    assert_eq!(ops::determinize(&two, 1), Err(Error::TooManyStates { limit: 1 }));
    let empty = text::parse("0 1 0 0\n1\n").unwrap();
    assert_eq!(ops::determinize(&empty, 10), Err(Error::Epsilon { state: 0 }));
    assert_eq!(ops::SortedAcceptor::new(empty).unwrap_err(), Error::Epsilon { state: 0 });
    let transducer = text::parse("0 1 1 2\n1\n").unwrap();
    assert_eq!(transducer.check_acceptor(), Err(Error::NotAcceptor { state: 0, ilabel: 1, olabel: 2 }));
}
