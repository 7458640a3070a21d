//! Compares operations with the figures of OpenFst's programs (`tests/data/openfst`), and with all strings of small
//! random FSTs.

use std::path::Path;

use kaldi_fst::draw::{self, Look};
use kaldi_fst::openfst_text::{self, Format};
use kaldi_fst::ops::{self, Ambiguity, Determinize, Push, RandomComparison, Semiring};
use kaldi_fst::store::{self, FlatOrNgrams};
use kaldi_fst::{Arc, EPSILON, Error, Fst, text};
use kaldi_io::{KaldiReader, KaldiWriter};

use super::rustfst_oracle::{Language, assert_same, language, random};

fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/openfst");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// An FST as `fstcompile` reads it.
fn compiled(name: &str) -> Fst {
    let mut r = KaldiReader::from_bytes(name, data(name).into_bytes());
    openfst_text::read(&mut r, &Format::default()).unwrap()
}

fn rule(name: &str) -> Fst {
    compiled(name)
}

#[track_caller]
fn assert_figure(ours: &Fst, name: &str) {
    assert_same(ours, &compiled(name));
}

const WEIGHTS: Push = Push {
    weights: true,
    labels: false,
    to_final: false,
    remove_total_weight: false,
    remove_common_affix: false,
    semiring: Semiring::Tropical,
};

#[test]
fn figures_of_acyclic_results() {
    let (a, b, t) = (compiled("a.txt"), compiled("b.txt"), compiled("t.txt"));
    assert_figure(&ops::concatenate([&a, &b]), "concat.out");
    assert_figure(&ops::union([&a, &b]), "union.out");
    assert_figure(&ops::reverse(&t), "reverse.out");
    let determinized = |fst: &Fst, how| ops::determinize_labels(fst.clone(), how).unwrap();
    let plain = Determinize::default();
    assert_figure(&determinized(&a, plain), "determinize.out");
    assert_figure(&determinized(&b, plain), "determinize.eps.out");
    let disambiguate = Determinize { ambiguity: Ambiguity::Cheapest, delta: 0.01, ..plain };
    assert_figure(&determinized(&t, disambiguate), "determinize.disambig.out");
    assert_eq!(
        ops::determinize_labels(t.clone(), plain),
        Err(Error::NotFunctional { first: vec![2], second: vec![4] })
    );
    let minimized = |fst, all| ops::minimize_labels(fst, Semiring::Tropical, 1e-6, all).unwrap();
    assert_figure(&minimized(determinized(&a, plain), false), "minimize.out");
    assert_figure(&minimized(b.clone(), false), "minimize.eps.out");
    assert_figure(&minimized(t.clone(), true), "minimize.nondet.out");
    assert_eq!(minimized(determinized(&a, plain), false).states.len(), compiled("minimize.out").states.len());
    let pushed = |fst: &Fst, how| ops::push(fst.clone(), how).unwrap();
    assert_figure(&pushed(&a, WEIGHTS), "push.weights.out");
    assert_figure(&pushed(&a, Push { remove_total_weight: true, ..WEIGHTS }), "push.total.out");
    assert_figure(&pushed(&a, Push { to_final: true, ..WEIGHTS }), "push.final.out");
    assert_figure(&pushed(&t, Push { labels: true, ..Push::default() }), "push.labels.out");
    let mut pruned = a.clone();
    ops::prune(&mut pruned, 1.0, None).unwrap();
    assert_figure(&pruned, "prune.out");
    let paths =
        |fst: &Fst, count| ops::union_of_paths(&ops::shortest_paths(fst, count, f32::INFINITY).unwrap());
    assert_figure(&paths(&t, 1), "shortestpath.out");
    assert_figure(&paths(&a, 3), "shortestpath.n.out");
    let mut without = b.clone();
    ops::remove_epsilons(&mut without).unwrap();
    assert_figure(&without, "rmepsilon.out");
}

/// The common prefix of a start state within a cycle has an arc of its own. The arc stays when the prefix is removed. Pushing towards
/// the ends moves labels behind the cycle.
#[test]
fn pushed_labels_of_cycles() {
    for (to_final, remove_common_affix, figure) in [
        (false, false, "push.labels.cyclic.out"),
        (false, true, "push.labels.cyclic.removed.out"),
        (true, false, "push.labels.cyclic.final.out"),
        (true, true, "push.labels.cyclic.final.removed.out"),
    ] {
        let push = Push { labels: true, to_final, remove_common_affix, ..Push::default() };
        // A final state that no path leads to changes nothing.
        let mut with_more = compiled("cyclic.txt");
        let unreached = with_more.add_state();
        with_more.state_mut(unreached).final_weight = 0.0;
        for fst in [compiled("cyclic.txt"), with_more] {
            let pushed = ops::push(fst, push).unwrap();
            assert!(ops::isomorphic(&pushed, &compiled(figure), 1e-6).unwrap(), "{figure}");
        }
    }
}

/// Sums of these costs from both ends differ in the last digit, so that OpenFst's program leaves no path with a beam of 0.
#[test]
fn pruning_keeps_the_only_path() {
    let mut fst = Fst { start: Some(0), ..Fst::default() };
    for (state, weight) in (1..).zip([0.103, 0.191, 0.645, 0.742, 0.881]) {
        fst.add_state();
        fst.state_mut(state - 1).arcs.push(Arc::new(state as i32, weight, state));
    }
    let end = fst.add_state();
    fst.state_mut(end).final_weight = 0.0;
    let mut pruned = fst.clone();
    ops::prune(&mut pruned, 0.0, None).unwrap();
    assert!(ops::isomorphic(&pruned, &fst, 0.0).unwrap());
    // No state can be kept, and no cost is below the least one.
    for (beam, most_states) in [(0.0, Some(0)), (-1.0, None)] {
        let mut pruned = fst.clone();
        ops::prune(&mut pruned, beam, most_states).unwrap();
        assert_eq!(pruned, Fst::default());
    }
}

/// Costs are at the same places as in the reference. The arcs of a state are compared in the order of their labels.
#[test]
fn figures_of_pushed_costs() {
    for (how, name) in
        [(WEIGHTS, "push.weights.out"), (Push { remove_total_weight: true, ..WEIGHTS }, "push.total.out")]
    {
        let costs = |mut fst: Fst| {
            ops::connect(&mut fst);
            let mut costs: Vec<(i32, f32)> =
                fst.states.iter().flat_map(|state| &state.arcs).map(|arc| (arc.ilabel, arc.weight)).collect();
            costs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            costs
        };
        assert_eq!(costs(ops::push(compiled("a.txt"), how).unwrap()), costs(compiled(name)));
    }
}

#[test]
fn figures_of_replacing_and_repeating() {
    let (root, rule1, rule2) = (rule("root.txt"), rule("rule1.txt"), rule("rule2.txt"));
    let compare = RandomComparison { paths: 200, longest: 60, delta: 1e-3, seed: 5 };
    let replaced = ops::replace((&root, 99), &[(&rule1, 90), (&rule2, 91)], true).unwrap();
    assert!(ops::randomly_equivalent(&replaced, &compiled("replace.eps.out"), compare).unwrap());
    let replaced = ops::replace((&root, 99), &[(&rule1, 90)], false).unwrap();
    assert!(ops::randomly_equivalent(&replaced, &compiled("replace.stdin.out"), compare).unwrap());
    assert!(!ops::randomly_equivalent(&replaced, &compiled("replace.eps.out"), compare).unwrap());
    for (plus, name) in [(false, "closure.out"), (true, "closure.plus.out")] {
        let mut fst = compiled("a.txt");
        ops::closure(&mut fst, plus);
        assert!(ops::randomly_equivalent(&fst, &compiled(name), compare).unwrap(), "{name}");
    }
    // Rules that call each other.
    let calls = |label: i32| text::parse(&format!("0 1 1 {label}\n1\n")).unwrap();
    assert_eq!(
        ops::replace((&root, 99), &[(&calls(91), 90), (&calls(90), 91)], false).map_err(
            |error| match error {
                Error::Recursive { label } => label == 90 || label == 91,
                _ => false,
            }
        ),
        Err(true)
    );
}

#[test]
fn figures_of_distances_and_drawings() {
    let t = compiled("t.txt");
    let written = |distances: Vec<f32>| {
        let mut w = KaldiWriter::in_memory(false);
        openfst_text::write_potentials(&mut w, &distances).unwrap();
        let mut lines: Vec<String> = String::from_utf8(w.into_bytes())
            .unwrap()
            .lines()
            .map(|line| line.split('\t').nth(1).unwrap().to_owned())
            .collect();
        lines.sort();
        lines
    };
    let figure = |name: &str| {
        let mut lines: Vec<String> =
            data(name).lines().map(|line| line.split('\t').nth(1).unwrap().to_owned()).collect();
        lines.sort();
        lines
    };
    assert_eq!(written(ops::distances_from_start(&t).unwrap()), figure("distance.out"));
    assert_eq!(written(ops::distances_to_end(&t).unwrap()), figure("distance.reverse.out"));
    let look = Look {
        acceptor: false,
        labels: [None, None],
        states: None,
        missing: None,
        zero_costs: false,
        title: "",
        portrait: true,
        vertical: false,
        font_size: 14,
        size: [8.5, 11.0],
        node_distance: 0.25,
        rank_distance: 0.4,
        precision: 5,
    };
    let mut w = KaldiWriter::in_memory(false);
    draw::write(&mut w, &compiled("a.txt"), &look).unwrap();
    assert_eq!(String::from_utf8(w.into_bytes()).unwrap(), data("draw.out"));
}

/// Returns the pairs of strings of both languages, and of one of them.
fn united(a: &Language, b: &Language) -> Language {
    let mut all = a.clone();
    for (labels, &cost) in b {
        let known = all.entry(labels.clone()).or_insert(f32::INFINITY);
        *known = known.min(cost);
    }
    all
}

#[track_caller]
fn assert_languages(ours: &Language, expected: &Language) {
    assert_eq!(ours.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    assert!(ours.iter().zip(expected).all(|((_, a), (_, b))| (a - b).abs() < 2e-3), "{ours:?} {expected:?}");
}

#[test]
fn all_strings_keep_their_costs() {
    let mut rng = fastrand::Rng::with_seed(43);
    for round in 0..300 {
        let (fst, other) = (random(&mut rng, 0.2, true), random(&mut rng, 0.2, true));
        let strings = language(&fst);
        for (labels, to_final) in [(false, false), (true, false), (true, true), (false, true)] {
            let how = Push { weights: round % 2 == 0, labels, to_final, ..Push::default() };
            assert_languages(&language(&ops::push(fst.clone(), how).unwrap()), &strings);
        }
        assert_languages(&language(&ops::union([&fst, &other])), &united(&strings, &language(&other)));
        assert_languages(
            &language(&ops::minimize_labels(fst.clone(), Semiring::Tropical, 1e-6, true).unwrap()),
            &strings,
        );
        // Every input once: the output of the cheapest path, up to ties.
        let cheapest = Determinize { ambiguity: Ambiguity::Cheapest, delta: 1e-6, ..Determinize::default() };
        let mut acceptor = fst.clone();
        ops::project(&mut acceptor, ops::Side::Input);
        let deterministic = ops::determinize_labels(acceptor.clone(), cheapest).unwrap();
        assert_languages(&language(&deterministic), &language(&acceptor));
        assert!(deterministic.states.iter().all(|state| {
            let mut labels: Vec<i32> = state.arcs.iter().map(|arc| arc.ilabel).collect();
            labels.sort_unstable();
            labels.windows(2).all(|pair| pair[0] != pair[1])
        }));
        assert_languages(
            &language(&ops::joined(&[acceptor.clone(), acceptor.clone()]).unwrap()),
            &language(&acceptor),
        );
        // The cheapest paths, and the paths that pruning keeps.
        let mut costs: Vec<f32> = Vec::new();
        all_costs(&fst, fst.start.unwrap(), 0.0, &mut costs);
        costs.sort_by(f32::total_cmp);
        let found = ops::shortest_paths(&fst, 5, f32::INFINITY).unwrap();
        let found: Vec<f32> =
            found.iter().map(|(arcs, end)| arcs.iter().map(|arc| arc.weight).sum::<f32>() + end).collect();
        assert_eq!(found, costs[..costs.len().min(5)]);
        let mut pruned = fst.clone();
        ops::prune(&mut pruned, 1.5, None).unwrap();
        let mut left = Vec::new();
        pruned.start.into_iter().for_each(|start| all_costs(&pruned, start, 0.0, &mut left));
        let within = costs.iter().filter(|&&cost| cost <= costs[0] + 1.5).count();
        assert!(left.len() >= within && pruned.num_arcs() <= fst.num_arcs());
        let compare = RandomComparison { paths: 10, longest: 100, delta: 1e-3, seed: round };
        assert!(ops::randomly_equivalent(&fst, &ops::push(fst.clone(), WEIGHTS).unwrap(), compare).unwrap());
    }
}

/// The costs of all paths to an end.
fn all_costs(fst: &Fst, state: u32, cost: f32, out: &mut Vec<f32>) {
    let data = fst.state(state);
    out.extend(data.is_final().then_some(cost + data.final_weight));
    data.arcs.iter().for_each(|arc| all_costs(fst, arc.next, cost + arc.weight, out));
}

#[test]
fn equivalence() {
    let equal = |a: &str, b: &str| ops::equivalent(&text::parse(a).unwrap(), &text::parse(b).unwrap(), 1e-3);
    let loops = "0 1 1 1 0.5\n1 0 2 2 0.5\n1 0.25\n";
    assert_eq!(equal(loops, loops), Ok(true));
    // The same, with costs elsewhere and the loop unrolled once.
    assert_eq!(equal(loops, "0 1 1 1 0.75\n1 2 2 2 0.75\n2 3 1 1 0.25\n3 2 2 2 0.75\n1 0\n3 0\n"), Ok(true));
    assert_eq!(equal(loops, "0 1 1 1 0.5\n1 0 2 2 0.6\n1 0.25\n"), Ok(false));
    assert_eq!(equal(loops, "0 1 1 1 0.6\n1 0 2 2 0.4\n1 0.25\n"), Ok(false));
    assert_eq!(equal(loops, "0 1 1 1 0.5\n1 0.25\n"), Ok(false));
    assert_eq!(equal("0 1 1 1\n1 Infinity\n", "0 Infinity\n"), Ok(true));
    assert_eq!(equal(loops, "0 1 0 0\n1\n"), Err(Error::Epsilon { state: 0 }));
    assert_eq!(equal(loops, "0 1 3 3\n0 0 3 3\n1\n"), Err(Error::Nondeterministic { state: 0, label: 3 }));
}

#[test]
fn cycles_of_negative_cost() {
    let fst = text::parse("0 1 1 1\n1 2 2 2 -2\n2 1 3 3 1.5\n2\n").unwrap();
    for error in [
        ops::distances_from_start(&fst).map(|_| ()),
        ops::distances_to_end(&fst).map(|_| ()),
        ops::shortest_paths(&fst, 1, f32::INFINITY).map(|_| ()),
        ops::push(fst.clone(), WEIGHTS).map(|_| ()),
    ] {
        assert!(matches!(error, Err(Error::NegativeCycle { state: 0..=2 })), "{error:?}");
    }
    let fst = text::parse("0 1 1 1\n1 2 2 2 -2\n2 1 3 3 2\n2\n").unwrap();
    assert_eq!(ops::distances_from_start(&fst).unwrap(), [0.0, 0.0, -2.0]);
}

/// Labels that a state can reach, found by walking; labels are numbered from 1 without gaps.
#[test]
fn labels_that_can_come_next() {
    let mut rng = fastrand::Rng::with_seed(44);
    for _ in 0..300 {
        let mut fst = random(&mut rng, 0.5, true);
        let count = fst.states.len() as u32;
        for _ in 0..rng.usize(0..4) {
            // Cycles, also with labels.
            let (s, next) = (rng.u32(0..count), rng.u32(0..count));
            let arc = kaldi_fst::Arc { ilabel: 7, olabel: rng.i32(0..3), weight: 0.5, next };
            fst.state_mut(s).arcs.push(arc);
        }
        let made = ops::look_ahead(fst.clone());
        let new = |old: i32| made.pairs.iter().find(|pair| pair.0 == old).map_or(old, |pair| pair.1);
        let mut all: Vec<i32> =
            fst.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.olabel).collect();
        all.retain(|&label| label != EPSILON);
        all.sort_unstable();
        all.dedup();
        for s in 0..count {
            let (mut seen, mut waiting) = (vec![false; count as usize], vec![s]);
            let (mut labels, mut ends) = (Vec::new(), false);
            while let Some(at) = waiting.pop() {
                if std::mem::replace(&mut seen[at as usize], true) {
                    continue;
                }
                ends |= fst.state(at).is_final();
                for arc in &fst.state(at).arcs {
                    if arc.olabel == EPSILON { waiting.push(arc.next) } else { labels.push(arc.olabel) }
                }
            }
            for &label in &all {
                assert_eq!(made.fst.reach.contains(s, new(label)), labels.contains(&label));
            }
            assert_eq!(made.fst.reach.reaches_end(s), ends);
        }
        let mut numbers: Vec<i32> = all.iter().map(|&label| new(label)).collect();
        numbers
            .extend(fst.states.iter().any(|state| state.is_final()).then_some(made.fst.reach.final_label()));
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=numbers.len() as i32).collect::<Vec<_>>());
        // The transducer differs only in its labels and the order of its arcs.
        let mut w = KaldiWriter::in_memory(true);
        store::write_look_ahead(&mut w, &made.fst).unwrap();
        let mut r = KaldiReader::from_bytes("file", w.into_bytes());
        r.set_binary(true);
        let mut back = store::read::<f32>(&mut r).unwrap();
        let old = |new_label: i32| all.iter().copied().find(|&label| new(label) == new_label).unwrap_or(0);
        for arc in back.states.iter_mut().flat_map(|state| &mut state.arcs) {
            arc.olabel = old(arc.olabel);
        }
        let sorted = |mut fst: Fst| {
            for state in &mut fst.states {
                state.arcs.sort_by(|a, b| {
                    (a.ilabel, a.olabel, a.next)
                        .cmp(&(b.ilabel, b.olabel, b.next))
                        .then(a.weight.total_cmp(&b.weight))
                });
            }
            fst
        };
        assert_eq!(sorted(back), sorted(fst));
    }
}

/// A trigram model: 0 is the empty history, 1 the begin of sentences, 2 `a`, 3 `b`, 4 `a b`.
const TRIGRAM: &str = "1 0 0 0 0.5\n1 2 1 1 0.25\n0 2 1 1 1\n0 3 2 2 1.5\n0 0 3 3 2\n0 1\n2 0 0 0 0.75\n2 4 2 2 0.5\n\
                       3 0 0 0 0.25\n3 2 1 1 0.5\n4 3 0 0 0.125\n4 0 3 3 0.5\n3 2\n";

#[test]
fn models_of_words() {
    let fst = text::parse(TRIGRAM).unwrap();
    let ngrams = ops::ngrams(&fst).unwrap();
    assert_eq!((ngrams.num_states(), ngrams.words.len()), (5, 7));
    let mut w = KaldiWriter::in_memory(true);
    store::write_ngrams(&mut w, &ngrams, [None, None]).unwrap();
    let bytes = w.into_bytes();
    let reader = || {
        let mut r = KaldiReader::from_bytes("file", bytes.clone());
        r.set_binary(true);
        r
    };
    assert_eq!(store::read_with_names(&mut reader()).unwrap().0, FlatOrNgrams::Ngrams(ngrams));
    let read = store::read::<f32>(&mut reader()).unwrap();
    let compare = RandomComparison { paths: 200, longest: 40, delta: 1e-4, seed: 6 };
    assert!(ops::randomly_equivalent(&fst, &read, compare).unwrap());
    assert_eq!((read.states.len(), read.num_arcs()), (fst.states.len(), fst.num_arcs()));
    for (old, new, why) in [
        ("4 3 0 0 0.125\n", "", "state 4: no arc without label leads to a shorter history"),
        ("4 3 0 0 0.125\n", "4 2 0 0\n", "state 4: the words before it, from the latest back, are [2, 1]"),
        ("2 4 2 2 0.5\n", "2 3 2 2 0.5\n", "state 4: no word leads to it"),
        ("3 2 1 1 0.5\n", "3 3 1 1 0.5\n", "word 1 leads to state 3, but state 2 has the longest history"),
        ("0 1\n", "0 1 0 0\n0 1\n", "without label form a cycle"),
        ("2 0 0 0 0.75\n", "2 0 0 0\n2 0 0 0\n", "state 2: two of its arcs have no label"),
    ] {
        let broken = text::parse(&TRIGRAM.replace(old, new)).unwrap();
        let error = ops::ngrams(&broken).unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
    }
}
