//! Operations on random small lattices, compared with an enumeration of all paths.

use std::collections::{BTreeMap, BTreeSet};

use kaldi_fst::{Arc, Fst, State};
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3_decode::accuracy::{Boosting, Criterion, FrameAccuracy, boost, expected_accuracy};
use nnet3_decode::combine::{Weights, normalize, unite};
use nnet3_decode::cover::path_cover;
use nnet3_decode::determinize::{Failure, Options, Reduction, determinize, determinize_reduced};
use nnet3_decode::difference::difference;
use nnet3_decode::equivalence::{are_equivalent, weight_of};
use nnet3_decode::expansion::{expand_ngrams, expand_probable};
use nnet3_decode::lattice::{compact, expand, word_fst, word_lattice};
use nnet3_decode::lm::deterministic::{BackOffFst, DeterministicLm, Replacement};
use nnet3_decode::posterior::arc_posteriors;
use nnet3_decode::rescore_pruned::{PrunedOptions, compose_pruned};
use nnet3_decode::{CompactLattice, Error, Lattice, LatticeWeight, order, path, prune, push};

use crate::composition::random_fst;
use crate::lattices::{Paths, all_compact, all_paths, assert_same, random_lattice, sorted};

const INFINITY: f32 = f32::INFINITY;

#[test]
fn united_lattices_have_the_paths_of_both_with_their_weights() {
    let mut rng = fastrand::Rng::with_seed(23);
    let probability = |paths: &Paths| paths.iter().map(|path| (-path.2).exp()).sum::<f64>();
    for case in 0..100 {
        let [mut a, mut b] = [random_lattice(&mut rng), random_lattice(&mut rng)].map(|l| compact(&l));
        let mut expected = all_compact(&a);
        expected.extend(all_compact(&b));
        let mut both = a.clone();
        unite(&mut both, b.clone());
        assert_same(all_compact(&both), expected, case);
        normalize(&mut a, 0.25).unwrap();
        normalize(&mut b, 0.75).unwrap();
        assert!((probability(&all_compact(&a)) - 0.25).abs() < 1e-4);
        unite(&mut a, b);
        assert!((probability(&all_compact(&a)) - 1.0).abs() < 1e-4);
    }
    let mut empty = CompactLattice::default();
    assert_eq!(normalize(&mut empty, 1.0), Err(Error::Empty));
    // A start that is entered again: the loop may not lead to the second FST.
    let looping =
        Fst { start: Some(0), states: vec![State { final_weight: 0.0, arcs: vec![Arc::new(1, 0.0, 0)] }] };
    let mut united = looping.clone();
    unite(&mut united, Fst { start: Some(0), states: vec![State { final_weight: 1.0, arcs: vec![] }] });
    assert_eq!(united.start, Some(2));
    assert_eq!(united.state(2).arcs.len(), 2);
}

#[test]
fn weights_of_systems() {
    let weights = |given: &[f32], count| Weights::new(given, count);
    assert_eq!(weights(&[], 4).weights, [0.25; 4]);
    let given = weights(&[0.25, 0.75], 2);
    assert_eq!((given.weights, given.renormalized, given.ignored), (vec![0.25, 0.75], None, false));
    let given = weights(&[1.0, 3.0], 2);
    assert_eq!((given.weights, given.renormalized), (vec![0.25, 0.75], Some(4.0)));
    for wrong in [&[1.0][..], &[-0.5, 1.5], &[0.0, 0.0]] {
        let given = weights(wrong, 2);
        assert_eq!((given.weights, given.ignored), (vec![0.5, 0.5], true));
    }
}

#[test]
fn differences_are_paths_with_other_words() {
    let mut rng = fastrand::Rng::with_seed(24);
    for case in 0..200 {
        let (first, second) = (random_lattice(&mut rng), random_lattice(&mut rng));
        let words: BTreeSet<Vec<i32>> = all_paths(&second).into_iter().map(|path| path.0).collect();
        let expected = all_paths(&first).into_iter().filter(|path| !words.contains(&path.0)).collect();
        assert_same(all_paths(&difference(&first, &second).unwrap()), expected, case);
    }
    assert_eq!(difference(&Lattice::default(), &Lattice::default()), Ok(Lattice::default()));
}

/// The last words, without epsilons, of all paths to each state.
fn histories(lattice: &CompactLattice, most: usize) -> BTreeMap<u32, BTreeSet<Vec<i32>>> {
    let mut out = BTreeMap::new();
    let mut waiting = vec![(lattice.start.unwrap(), Vec::new())];
    while let Some((s, words)) = waiting.pop() {
        for arc in &lattice.state(s).arcs {
            let mut words: Vec<i32> = [&words[..], &[arc.ilabel]].concat();
            words.retain(|&word| word != 0);
            waiting.push((arc.next, words.split_off(words.len().saturating_sub(most))));
        }
        out.entry(s).or_insert_with(BTreeSet::new).insert(words);
    }
    out
}

#[test]
fn expansions_keep_paths() {
    let mut rng = fastrand::Rng::with_seed(25);
    for case in 0..150 {
        let mut lattice = compact(&random_lattice(&mut rng));
        let expected = all_compact(&lattice);
        for least in [0.0, 0.2, 1.0] {
            let out = expand_probable(&mut lattice, least).unwrap();
            assert_same(all_compact(&out), expected.clone(), case);
            let mut entered = vec![0; out.states.len()];
            out.states.iter().flat_map(|state| &state.arcs).for_each(|arc| entered[arc.next as usize] += 1);
            // With 0, each arc has its own target: the lattice is a tree. With 1, the lattice does not change.
            assert!(least > 0.0 || entered.iter().all(|&count| count <= 1));
            assert!(least < 1.0 || out.states.len() == lattice.states.len());
        }
        for n in [1, 2, 3] {
            let out = expand_ngrams(&lattice, n);
            assert_same(all_compact(&out), expected.clone(), case);
            assert!(histories(&out, n - 1).values().all(|words| words.len() == 1), "case {case}, n {n}");
        }
    }
}

#[test]
fn limited_depth() {
    let mut rng = fastrand::Rng::with_seed(26);
    for case in 0..150 {
        let lattice = compact(&random_lattice(&mut rng));
        let lowest = |paths: &Paths| paths.iter().map(|path| path.2).fold(f64::INFINITY, f64::min);
        let all = all_compact(&lattice);
        for most in [1, 2, 100] {
            let mut limited = lattice.clone();
            prune::limit_depth(&mut limited, most).unwrap();
            assert!(
                prune::depth_per_frame(&limited).unwrap().iter().all(|&depth| depth as usize <= most + 1)
            );
            let kept = all_compact(&limited);
            assert!((lowest(&kept) - lowest(&all)).abs() < 1e-3, "case {case}");
            assert!(most < 100 || kept.len() == all.len());
            assert!(kept.iter().all(|path| all.iter().any(|other| other.0 == path.0 && other.1 == path.1)));
        }
    }
}

#[test]
fn covers_go_through_every_arc() {
    let mut rng = fastrand::Rng::with_seed(27);
    for case in 0..150 {
        let mut lattice = compact(&random_lattice(&mut rng));
        kaldi_fst::ops::connect(&mut lattice);
        let paths = path_cover(&mut lattice).unwrap();
        let steps: BTreeSet<(u32, u32)> =
            paths.iter().flat_map(|path| path.states.windows(2).map(|pair| (pair[0], pair[1]))).collect();
        let arcs = lattice.numbered().flat_map(|(s, state)| state.arcs.iter().map(move |arc| (s, arc.next)));
        assert!(arcs.into_iter().all(|arc| steps.contains(&arc)), "case {case}");
        assert!(paths.is_sorted_by(|a, b| a.cost <= b.cost));
        let lowest = all_compact(&lattice).iter().map(|path| path.2).fold(f64::INFINITY, f64::min);
        let first = paths.first().map_or(lowest, |path| path.cost);
        assert!((first - lowest).abs() < 1e-3, "case {case}");
    }
    assert_eq!(path_cover(&mut CompactLattice::default()), Err(Error::Empty));
}

#[test]
fn equivalence() {
    let mut rng = fastrand::Rng::with_seed(28);
    let mut different = 0;
    for case in 0..100 {
        let lattice = random_lattice(&mut rng);
        for (words, ids, _) in all_paths(&lattice) {
            let same = all_paths(&lattice).into_iter().filter(|path| path.0 == words && path.1 == ids);
            let best = same.map(|path| path.2).fold(f64::INFINITY, f64::min);
            assert!((weight_of(&lattice, &ids, &words).cost() - best).abs() < 1e-3, "case {case}");
        }
        let mut pushed = compact(&lattice);
        kaldi_fst::ops::connect(&mut pushed);
        push::push_strings(&mut pushed).unwrap();
        push::push_weights(&mut pushed).unwrap();
        let mut choose = |count: usize| rng.usize(..count);
        assert!(are_equivalent(lattice.clone(), expand(&pushed), 20, 0.1, &mut choose).unwrap());
        let mut other = lattice.clone();
        let last = other.states.len() - 1;
        other.states[last].final_weight.graph += 1.0;
        different += usize::from(!are_equivalent(lattice, other, 20, 0.1, &mut choose).unwrap());
    }
    assert!(different > 50, "{different}");
    let none = Lattice::default;
    assert!(are_equivalent(none(), none(), 5, 0.1, |_| 0).unwrap());
    assert!(!are_equivalent(none(), random_lattice(&mut rng), 5, 0.1, |_| 0).unwrap());
}

#[test]
fn posteriors_of_arcs_and_confidence() {
    let mut rng = fastrand::Rng::with_seed(29);
    for case in 0..100 {
        let mut lattice = compact(&random_lattice(&mut rng));
        order::sort(&mut lattice).unwrap();
        let paths = sorted(all_compact(&lattice));
        let mut costs: Vec<f64> = paths.iter().map(|path| path.2).collect();
        costs.sort_by(f64::total_cmp);
        let found = path::confidence(&expand(&lattice)).unwrap();
        match (found, costs.get(1)) {
            (Some(found), Some(second)) => assert!((found - (second - costs[0])).abs() < 1e-3, "case {case}"),
            (found, second) => assert!(found.is_none() && second.is_none(), "case {case}"),
        }
        let arcs = arc_posteriors(&lattice, 0.0).unwrap();
        // Frames and words that are expected, by arcs and by paths. (Ends may have some frames.)
        let words: f64 = arcs.iter().filter(|arc| arc.word != 0).map(|arc| f64::from(arc.posterior)).sum();
        let total: f64 = costs.iter().map(|cost| (-cost).exp()).sum();
        let expected: f64 = paths.iter().map(|path| path.0.len() as f64 * (-path.2).exp() / total).sum();
        assert!((words - expected).abs() < 1e-3, "case {case}: {words} {expected}");
        assert!(arc_posteriors(&lattice, 0.5).unwrap().iter().all(|arc| arc.posterior > 0.5));
    }
    assert_eq!(path::confidence(&Lattice::default()), Err(Error::NoPath));
}

/// The cost of words in a model, if it has them.
fn lm_cost(lm: &mut impl DeterministicLm, words: &[i32]) -> Option<f64> {
    let (mut state, mut cost) = (lm.start(), 0.0);
    for &word in words {
        let (more, next) = lm.arc(state, word)?;
        (state, cost) = (next, cost + f64::from(more));
    }
    let end = lm.final_cost(state);
    (end < INFINITY).then_some(cost + f64::from(end))
}

#[test]
fn pruned_rescoring_keeps_what_is_within_the_beam() {
    let mut rng = fastrand::Rng::with_seed(30);
    let mut found_some = 0;
    for case in 0..200 {
        let mut lattice = compact(&random_lattice(&mut rng));
        // One arc for each word, so that the models are deterministic.
        let lm = |rng: &mut fastrand::Rng, complete: bool| {
            let mut fst = random_fst(rng, Some(0), false);
            for (s, state) in (0u32..).zip(&mut fst.states) {
                if complete {
                    let labels = if s == 0 { 1..4 } else { 0..1 };
                    state.arcs.extend(labels.map(|label| Arc::new(label, rng.f32(), 0)));
                }
                state.arcs.sort_by_key(|arc| arc.ilabel);
                state.arcs.dedup_by_key(|arc| arc.ilabel);
                state.arcs.iter_mut().for_each(|arc| arc.olabel = arc.ilabel);
            }
            BackOffFst::new(fst).unwrap()
        };
        // Models that have all words, and change costs little.
        let mut slight = Replacement::new(lm(&mut rng, true), lm(&mut rng, true), 0.03);
        let mut lm = Replacement::new(lm(&mut rng, false), lm(&mut rng, false), 0.75);
        let mut expected = Vec::new();
        for (words, ids, cost) in all_compact(&lattice) {
            if let Some(more) = lm_cost(&mut lm, &words) {
                expected.push((words, ids, cost + more));
            }
        }
        let wide = PrunedOptions { beam: 1e4, ..PrunedOptions::default() };
        let all = compose_pruned(&mut lattice, &mut lm, &wide).unwrap();
        assert_same(all_compact(&all), expected.clone(), case);
        let narrow = PrunedOptions { beam: 2.0, initial_arcs: 3, growth: 1.2, max_arcs: 1000 };
        let some = all_compact(&compose_pruned(&mut lattice, &mut lm, &narrow).unwrap());
        let lowest = |paths: &Paths| paths.iter().map(|path| path.2).fold(f64::INFINITY, f64::min);
        assert_eq!(some.is_empty(), expected.is_empty(), "case {case}");
        found_some += usize::from(some.len() < expected.len());
        for path in &some {
            let same = |other: &&(Vec<i32>, Vec<i32>, f64)| other.0 == path.0 && other.1 == path.1;
            assert!(expected.iter().filter(same).any(|other| (other.2 - path.2).abs() < 1e-3), "case {case}");
        }
        // With the other models estimates are good, and the best path is found.
        let mut best = f64::INFINITY;
        for (words, _, cost) in all_compact(&lattice) {
            best = best.min(lm_cost(&mut slight, &words).map_or(f64::INFINITY, |more| cost + more));
        }
        let within = PrunedOptions { initial_arcs: 3, ..PrunedOptions::default() };
        let some = all_compact(&compose_pruned(&mut lattice, &mut slight, &within).unwrap());
        assert!(
            some.is_empty() && best == f64::INFINITY || (lowest(&some) - best).abs() < 1e-3,
            "case {case}"
        );
    }
    assert!(found_some > 20, "{found_some}");
    let mut lm = BackOffFst::new(random_fst(&mut rng, None, false)).unwrap();
    let empty = compose_pruned(&mut CompactLattice::default(), &mut lm, &PrunedOptions::default());
    assert_eq!(empty, Err(Error::Empty));
}

#[test]
fn reduced_determinization_stays_within_memory_or_gives_up() {
    let mut rng = fastrand::Rng::with_seed(31);
    let reduction = Reduction { beam: 8.0, ratio: 0.5, tries: 8, prune: false };
    let mut failures = 0;
    for case in 0..60 {
        let mut lattice = random_lattice(&mut rng);
        order::sort(&mut lattice).unwrap();
        let words: BTreeSet<Vec<i32>> = all_paths(&lattice).into_iter().map(|path| path.0).collect();
        let mut reports = Vec::new();
        let mut report = |failure: &Failure| reports.push(failure.clone());
        let tight = Options { max_mem: 600, ..Options::default() };
        if let Some(out) = determinize_reduced(&mut lattice, &tight, &reduction, &mut report).unwrap() {
            assert!(all_compact(&out).iter().all(|path| words.contains(&path.0)), "case {case}");
        }
        failures += usize::from(!reports.is_empty());
        let whole = determinize_reduced(&mut lattice, &Options::default(), &reduction, |failure| {
            panic!("case {case}: {failure:?}")
        });
        let cheapest = |paths: Paths| {
            let mut costs: BTreeMap<Vec<i32>, f64> = BTreeMap::new();
            for (words, _, cost) in paths {
                let known = costs.entry(words).or_insert(f64::INFINITY);
                *known = known.min(cost);
            }
            costs
        };
        let found = all_compact(&whole.unwrap().unwrap());
        assert_eq!(found.len(), words.len(), "case {case}");
        let (found, expected) = (cheapest(found), cheapest(all_paths(&lattice)));
        assert!(found.keys().eq(&words), "case {case}");
        assert!(found.iter().all(|(words, cost)| (cost - expected[words]).abs() < 1e-2), "case {case}");
        let none = Reduction { tries: 0, ..reduction };
        assert_eq!(determinize_reduced(&mut lattice, &tight, &none, |_| ()).unwrap(), None);
    }
    assert!(failures > 5, "{failures}");
}

/// Three arcs without words, then one with a word: the closure of the start expands four states, the limit and one more.
#[test]
fn closures_beyond_the_limit_are_errors() {
    let mut lattice = Lattice::default();
    lattice.start = Some(lattice.add_state());
    for olabel in [0, 0, 0, 5] {
        let next = lattice.add_state();
        lattice.state_mut(next - 1).arcs.push(Arc { ilabel: 1, olabel, weight: LatticeWeight::ONE, next });
    }
    lattice.state_mut(4).final_weight = LatticeWeight::ONE;
    let reduction = Reduction { beam: 8.0, ratio: 0.5, tries: 2, prune: false };
    for (max_loop, fails) in [(-1, false), (0, false), (3, false), (2, true), (1, true)] {
        let options = Options { max_loop, ..Options::default() };
        let found = determinize(&mut lattice, 8.0, &options).map(|(out, _)| all_compact(&out).len());
        assert_eq!(found, if fails { Err(Error::Looped { max_loop }) } else { Ok(1) });
        let mut loops = 0;
        let reduced = determinize_reduced(&mut lattice, &options, &reduction, |failure| {
            loops += usize::from(*failure == Failure::Looped(Error::Looped { max_loop }));
        });
        assert_eq!((reduced.unwrap().is_none(), loops), (fails, usize::from(fails)), "{max_loop}");
    }
}

fn model() -> TransitionModel {
    read_object(&format!("{}/tests/data/mono.mdl", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn accuracies_and_their_derivatives() {
    let model = model();
    let ids: Vec<i32> = (1..=model.num_transition_ids() as i32).collect();
    let (pdf, phone) = (
        |id: i32| model.pdf(model.transition_id(id).unwrap()),
        |id: i32| model.phone(model.transition_id(id).unwrap()),
    );
    let mut rng = fastrand::Rng::with_seed(32);
    let silence = vec![phone(ids[0])];
    for case in 0..200 {
        let mut lattice = random_lattice(&mut rng);
        let arcs = lattice.states.iter_mut().flat_map(|state| &mut state.arcs);
        arcs.filter(|arc| arc.ilabel != 0).for_each(|arc| arc.ilabel = ids[rng.usize(..12.min(ids.len()))]);
        let paths = all_paths(&lattice);
        let frames = paths[0].1.len();
        let alignment: Vec<i32> = (0..frames).map(|_| ids[rng.usize(..12.min(ids.len()))]).collect();
        let criterion = if rng.bool() { Criterion::Smbr } else { Criterion::Mpfe };
        let one_silence_class = rng.bool();
        let right = |found: i32, expected: i32| -> bool {
            let same = match criterion {
                Criterion::Smbr => pdf(found) == pdf(expected),
                Criterion::Mpfe => phone(found) == phone(expected),
            };
            let silent = |id| silence.contains(&phone(id));
            if one_silence_class { same || silent(found) && silent(expected) } else { same && !silent(found) }
        };
        let accuracy_of =
            |path: &[i32]| path.iter().zip(&alignment).filter(|(a, b)| right(**a, **b)).count() as f64;
        let total: f64 = paths.iter().map(|path| (-path.2).exp()).sum();
        let mean: f64 = paths.iter().map(|path| accuracy_of(&path.1) * (-path.2).exp() / total).sum();
        let accuracy =
            FrameAccuracy { model: &model, criterion, silence_phones: silence.clone(), one_silence_class };
        let found = expected_accuracy(&mut lattice.clone(), &alignment, &accuracy).unwrap();
        assert!((found.accuracy - mean).abs() < 1e-4, "case {case}");
        for (t, frame) in found.posterior.iter().enumerate() {
            for &(id, value) in frame {
                let through = paths.iter().filter(|path| path.1[t] == id);
                let expected: f64 =
                    through.map(|path| (accuracy_of(&path.1) - mean) * (-path.2).exp() / total).sum();
                assert!((expected - f64::from(value)).abs() < 1e-4, "case {case}, frame {t}, {id}");
            }
        }
        let mut boosted = lattice.clone();
        let boosting =
            Boosting { model: &model, factor: 0.5, silence_phones: silence.clone(), max_silence_error: 0.25 };
        boost(&mut boosted, &alignment, &boosting).unwrap();
        let expected = paths.iter().map(|(words, ids, cost)| {
            let error = |(&a, &b): (&i32, &i32)| match () {
                () if phone(a) == phone(b) => 0.0,
                () if silence.contains(&phone(a)) => 0.25,
                () => 1.0,
            };
            let errors: f64 = ids.iter().zip(&alignment).map(error).sum();
            (words.clone(), ids.clone(), cost - 0.5 * errors)
        });
        assert_same(all_paths(&boosted), expected.collect(), case);
        let longer = [&alignment[..], &[ids[0]]].concat();
        let wrong = Error::AlignmentLength { found: frames, expected: frames + 1 };
        assert_eq!(expected_accuracy(&mut lattice.clone(), &longer, &accuracy).unwrap_err(), wrong);
        assert_eq!(boost(&mut lattice, &longer, &boosting), Err(wrong));
    }
}

#[test]
fn fsts_of_words() {
    let mut rng = fastrand::Rng::with_seed(33);
    for case in 0..50 {
        let lattice = compact(&random_lattice(&mut rng));
        let expected: Paths =
            all_compact(&lattice).into_iter().map(|path| (path.0.clone(), path.0, path.2)).collect();
        assert_same(all_paths(&word_lattice(lattice.clone())), expected.clone(), case);
        let fst = word_fst(&lattice);
        let costs: f64 = outputs_of_all(&fst).iter().sum();
        assert!((costs - expected.iter().map(|path| path.2).sum::<f64>()).abs() < 1e-2, "case {case}");
    }
}

/// The costs of all paths.
fn outputs_of_all(fst: &Fst) -> Vec<f64> {
    let (mut out, mut waiting) = (Vec::new(), vec![(fst.start.unwrap(), 0.0)]);
    while let Some((s, cost)) = waiting.pop() {
        let state = fst.state(s);
        if state.is_final() {
            out.push(cost + f64::from(state.final_weight));
        }
        waiting.extend(state.arcs.iter().map(|arc| (arc.next, cost + f64::from(arc.weight))));
    }
    out
}
