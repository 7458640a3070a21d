//! Files of lattices, and operations against trying all paths.

use std::collections::BTreeMap;

use kaldi_fst::{Algebra, Arc, Divisible};
use kaldi_io::holder::Holder;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_decode::determinize::{Options, determinize_connected};
use nnet3_decode::lattice::{compact, expand};
use nnet3_decode::posterior::transition_posteriors;
use nnet3_decode::{
    CompactLattice, CompactLatticeHolder, CompactLatticeWeight, Lattice, LatticeHolder, LatticeWeight,
    edit_distance, oracle, order, path, prune, push,
};

/// The bytes after the key in an archive that the reference wrote: `0 1 5 1.5,-2.25,1_2_3`, `1 2 0 0,0,4`, `2 0.5,0,`.
const COMPACT: &[u8] = b"\xD6\xFD\xB2\x7E\x06\0\0\0vector\x10\0\0\0compactlattice44\x02\0\0\0\0\0\0\0\
    \x03\0\x41\x55\x69\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\x80\x7F\0\0\x80\x7F\0\0\0\0\x01\0\0\0\0\0\0\0\
    \x05\0\0\0\x05\0\0\0\0\0\xC0\x3F\0\0\x10\xC0\x03\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x01\0\0\0\
    \0\0\x80\x7F\0\0\x80\x7F\0\0\0\0\x01\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x04\0\0\0\x02\0\0\0\
    \0\0\0\x3F\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

const COMPACT_TEXT: &str = "\n0\t1\t5\t1.5,-2.25,1_2_3\n1\t2\t0\t0,0,4\n2\t0.5,0,\n\n";
const TEXT: &str = "\n0\t3\t1\t5\t1.5,-2.25\n1\t2\t4\t0\n2\t0.5,0\n3\t4\t2\t0\n4\t1\t3\t0\n\n";

fn read<H: Holder>(bytes: &[u8]) -> kaldi_io::Result<H::T> {
    H::read(&mut KaldiReader::from_bytes("lattice", bytes.to_vec()))
}

fn written<H: Holder>(binary: bool, lattice: &H::T) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    H::write(&mut w, lattice).unwrap();
    w.into_bytes()
}

#[test]
fn both_kinds_in_both_forms() {
    let lattice = read::<CompactLatticeHolder>(COMPACT).unwrap();
    let binary = written::<CompactLatticeHolder>(true, &lattice);
    // The bytes of properties are any truth.
    let end_of_type = 4 + 10 + 20 + 8;
    assert_eq!(binary[..end_of_type], COMPACT[..end_of_type]);
    assert_eq!(binary[end_of_type + 8..], COMPACT[end_of_type + 8..]);
    let text = String::from_utf8(written::<CompactLatticeHolder>(false, &lattice)).unwrap();
    assert_eq!(text, COMPACT_TEXT);
    assert_eq!(read::<CompactLatticeHolder>(text.as_bytes()).unwrap(), lattice);
    let plain = read::<LatticeHolder>(COMPACT).unwrap();
    assert_eq!(String::from_utf8(written::<LatticeHolder>(false, &plain)).unwrap(), TEXT);
    assert_eq!(read::<LatticeHolder>(TEXT.as_bytes()).unwrap(), plain);
    assert_eq!(read::<LatticeHolder>(COMPACT_TEXT.as_bytes()).unwrap(), plain);
    assert_eq!(read::<LatticeHolder>(&written::<LatticeHolder>(true, &plain)).unwrap(), plain);
    let merged = read::<CompactLatticeHolder>(TEXT.as_bytes()).unwrap();
    assert_eq!((merged.states.len(), merged.num_arcs()), (2, 1));
    assert_eq!(merged.state(0).arcs[0].weight.string, [1, 2, 3, 4]);
}

/// Costs of double precision are narrowed.
#[test]
fn double_precision() {
    let mut file = b"\xD6\xFD\xB2\x7E\x06\0\0\0vector\x08\0\0\0lattice8\x02\0\0\0\0\0\0\0".to_vec();
    file.extend([0; 8]); // properties
    for number in [0_i64, 1, 0] {
        file.extend(number.to_le_bytes());
    }
    for cost in [0.5_f64, -0.25] {
        file.extend(cost.to_le_bytes());
    }
    file.extend(0_i64.to_le_bytes());
    let lattice = read::<LatticeHolder>(&file).unwrap();
    assert_eq!(lattice.state(0).final_weight, LatticeWeight::new(0.5, -0.25));
}

#[test]
fn what_is_refused() {
    for (text, why) in [
        ("\n0 1 5 ,,4\n", "',,4' is not a possible weight"),
        ("\n0 1 5 1,nan,4\n", "is not a possible weight"),
        ("\n0 1 2 3 4 5\n", "expected 1, 2, 4 or 5 columns, found 6"),
        ("\n0 1 5 Infinity,0,1\n", "is not a possible weight"),
        ("\n0 -1 5 1,1,1\n", "state -1 is negative"),
        ("\n0 1 5 1,1,1\n0 1 5 5 1,1\n", "'5 5'"),
        ("key", "expected a lattice, which begins with"),
        ("", "end of the file"),
    ] {
        let error = read::<CompactLatticeHolder>(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why) || why == "'5 5'" && error.contains("line 3"), "{text}: {error}");
    }
    let mut other = COMPACT.to_vec();
    other[18..34].copy_from_slice(b"compactlattice99");
    let error = read::<CompactLatticeHolder>(&other).unwrap_err().to_string();
    assert!(error.contains("'compactlattice99'"), "{error}");
    assert!(read::<CompactLatticeHolder>(&COMPACT[..150]).is_err());
}

/// A random lattice: its states are in topological order, each arc has a word or none.
fn random_compact_lattice(rng: &mut fastrand::Rng) -> CompactLattice {
    let count = rng.u32(2..12);
    let weight = |rng: &mut fastrand::Rng| {
        let costs = LatticeWeight::new(rng.i32(-20..20) as f32 / 4.0, rng.i32(-20..20) as f32 / 4.0);
        CompactLatticeWeight::new(costs, (0..rng.usize(0..4)).map(|_| rng.i32(1..50)).collect())
    };
    let mut lattice = CompactLattice { start: Some(0), ..CompactLattice::default() };
    for s in 0..count {
        lattice.add_state();
        for next in s + 1..count {
            if rng.f64() < 0.5 {
                let arc = Arc::new(rng.i32(0..5), weight(rng), next);
                lattice.state_mut(s).arcs.push(arc);
            }
        }
        if rng.f64() < 0.3 {
            lattice.state_mut(s).final_weight = weight(rng);
        }
    }
    lattice
}

/// States in another order, in all forms and both kinds.
#[test]
fn state_numbers_in_any_order() {
    let mut rng = fastrand::Rng::with_seed(8);
    for _ in 0..200 {
        let lattice = random_compact_lattice(&mut rng);
        let mut places: Vec<u32> = (0..lattice.states.len() as u32).collect();
        rng.shuffle(&mut places);
        let mut moved = CompactLattice { start: Some(places[0]), states: lattice.states.clone() };
        for (state, &place) in lattice.states.iter().zip(&places) {
            *moved.state_mut(place) = state.clone();
            moved.state_mut(place).arcs.iter_mut().for_each(|arc| arc.next = places[arc.next as usize]);
        }
        let plain = expand(&moved);
        for binary in [false, true] {
            let file = written::<CompactLatticeHolder>(binary, &moved);
            assert_eq!(read::<CompactLatticeHolder>(&file).unwrap(), moved);
            assert_eq!(read::<LatticeHolder>(&file).unwrap(), plain);
            let file = written::<LatticeHolder>(binary, &plain);
            assert_eq!(read::<LatticeHolder>(&file).unwrap(), plain);
        }
        // The same with other numbers, far apart, in the same order.
        let text = String::from_utf8(written::<CompactLatticeHolder>(false, &moved)).unwrap();
        let far = |number: &str| format!("{}", number.parse::<u32>().unwrap() * 150_000_000 + 7);
        let numbered = |line: &str| {
            let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
            columns[0] = far(&columns[0]);
            if columns.len() > 2 {
                columns[1] = far(&columns[1]);
            }
            columns.join("\t")
        };
        let lines = text.lines().map(|line| if line.is_empty() { String::new() } else { numbered(line) });
        let text = lines.map(|line| line + "\n").collect::<String>();
        assert_eq!(read::<CompactLatticeHolder>(text.as_bytes()).unwrap(), moved);
    }
}

/// As lattice-lmrescore-const-arpa writes lattices: the first state has an arc to a state that comes far below.
#[test]
fn a_far_state_in_the_first_line() {
    let mut text = String::from("\n0\t1999\t7\t1,2,3_4\n");
    (1..1999).for_each(|s| text += &format!("{s}\t{}\t7\t1,2,3_4\n", s + 1));
    text += "0\t1\t7\t1,2,3_4\n1999\t0,0,\n\n";
    let lattice = read::<CompactLatticeHolder>(text.as_bytes()).unwrap();
    assert_eq!((lattice.states.len(), lattice.num_arcs()), (2000, 2000));
    assert_eq!(lattice.state(0).arcs.iter().map(|arc| arc.next).collect::<Vec<_>>(), [1999, 1]);
}

#[test]
fn texts_that_are_cut_short() {
    for text in [COMPACT_TEXT, TEXT] {
        for end in 0..text.len() {
            let error = read::<CompactLatticeHolder>(&text.as_bytes()[..end]).unwrap_err().to_string();
            assert!(error.starts_with("lattice, line "), "{end}: {error}");
        }
    }
}

#[test]
fn orders_of_weights() {
    let weight = LatticeWeight::new;
    assert!(weight(1.0, 2.0).compare(&weight(2.0, 2.0)).is_gt());
    assert!(weight(1.0, 2.0).compare(&weight(2.0, 1.0)).is_gt());
    assert_eq!(weight(1.0, 2.0).plus(&LatticeWeight::ZERO), weight(1.0, 2.0));
    assert_eq!(LatticeWeight::ZERO.divide(&weight(1.0, 1.0)), LatticeWeight::ZERO);
    let string = |ids: &[i32]| CompactLatticeWeight::new(LatticeWeight::ONE, ids.to_vec());
    assert!(string(&[9]).compare(&string(&[1, 1])).is_gt());
    assert!(string(&[2, 1]).compare(&string(&[1, 9])).is_gt());
    assert!(string(&[1]).times(&CompactLatticeWeight::zero()).is_zero());
}

/// States in layers, a layer a frame; some arcs without words, some without transition-ids.
pub fn random_lattice(rng: &mut fastrand::Rng) -> Lattice {
    let (frames, width) = (rng.usize(1..6), rng.usize(1..4));
    let mut out = Lattice::default();
    out.start = Some(out.add_state());
    let mut layer = vec![0];
    for _ in 0..frames {
        let next: Vec<_> = (0..width).map(|_| out.add_state()).collect();
        for &from in &layer {
            for _ in 0..rng.usize(1..4) {
                let weight = LatticeWeight::new(rng.i32(-3..9) as f32, rng.i32(-9..9) as f32 + rng.f32());
                let olabel = if rng.bool() { 0 } else { rng.i32(1..4) };
                let next = next[rng.usize(..width)];
                out.state_mut(from).arcs.push(Arc { ilabel: rng.i32(1..4), olabel, weight, next });
            }
        }
        if rng.bool() {
            let weight = LatticeWeight::new(rng.f32(), 0.0);
            let (from, next) = (next[0], next[width - 1]);
            if from != next {
                out.state_mut(from).arcs.push(Arc { ilabel: 0, olabel: rng.i32(0..3), weight, next });
            }
        }
        layer = next;
    }
    for s in layer {
        out.state_mut(s).final_weight = LatticeWeight::new(rng.f32(), rng.f32());
    }
    out
}

pub type Paths = Vec<(Vec<i32>, Vec<i32>, f64)>;

pub fn all_paths(lattice: &Lattice) -> Paths {
    fn go(lattice: &Lattice, s: u32, words: &[i32], ids: &[i32], cost: f64, out: &mut Paths) {
        let state = lattice.state(s);
        if state.is_final() {
            out.push((words.to_vec(), ids.to_vec(), cost + state.final_weight.cost()));
        }
        for arc in &state.arcs {
            let more = |labels: &[i32], label: i32| [labels, &[label]].concat();
            let (mut words, mut ids) = (more(words, arc.olabel), more(ids, arc.ilabel));
            words.retain(|&word| word != 0);
            ids.retain(|&id| id != 0);
            go(lattice, arc.next, &words, &ids, cost + arc.weight.cost(), out);
        }
    }
    let mut out = Vec::new();
    if let Some(start) = lattice.start {
        go(lattice, start, &[], &[], 0.0, &mut out);
    }
    out
}

/// The cheapest path of each sequence of words.
pub fn by_words(paths: Paths) -> BTreeMap<Vec<i32>, (Vec<i32>, f64)> {
    let mut best: BTreeMap<Vec<i32>, (Vec<i32>, f64)> = BTreeMap::new();
    for (words, ids, cost) in paths {
        let entry = best.entry(words).or_insert_with(|| (ids.clone(), cost));
        if cost < entry.1 {
            *entry = (ids, cost);
        }
    }
    best
}

#[test]
fn determinization_keeps_the_best_path_of_each_sequence() {
    let mut rng = fastrand::Rng::with_seed(3);
    for case in 0..400 {
        let lattice = random_lattice(&mut rng);
        let expected = by_words(all_paths(&lattice));
        let lowest = expected.values().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
        for beam in [f64::INFINITY, 5.0] {
            let (out, report) =
                determinize_connected(&mut lattice.clone(), beam, &Options::default()).unwrap();
            assert!(report.complete);
            for state in &out.states {
                let mut words: Vec<i32> = state.arcs.iter().map(|arc| arc.ilabel).collect();
                words.sort_unstable();
                assert!(words.windows(2).all(|pair| pair[0] != pair[1]) && !words.contains(&0));
            }
            for minimized in [false, true] {
                let mut out = out.clone();
                if minimized {
                    push::minimize_pushed(&mut out).unwrap();
                }
                let found = all_paths(&expand(&out));
                let unique = by_words(found.clone());
                assert_eq!(found.len(), unique.len(), "case {case}");
                for (words, (ids, cost)) in &expected {
                    match unique.get(words) {
                        None => assert!(*cost > lowest + beam - 1e-3, "case {case}: {words:?} is missing"),
                        Some((found, found_cost)) => {
                            assert!((cost - found_cost).abs() < 1e-2, "case {case}: {words:?}");
                            assert_eq!(found.len(), ids.len());
                        }
                    }
                }
                assert!(unique.keys().all(|words| expected.contains_key(words)));
            }
        }
    }
}

#[test]
fn conversions_and_pruning_keep_paths() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..200 {
        let lattice = random_lattice(&mut rng);
        let mut expected = all_paths(&lattice);
        let sort = |paths: &mut Paths| paths.sort_by(|a, b| a.partial_cmp(b).unwrap());
        sort(&mut expected);
        let merged = compact(&lattice);
        let mut found = all_paths(&expand(&merged));
        sort(&mut found);
        let labels = |paths: &Paths| paths.iter().map(|p| (p.0.clone(), p.1.clone())).collect::<Vec<_>>();
        assert_eq!(labels(&found), labels(&expected));
        let lowest = expected.iter().map(|path| path.2).fold(f64::INFINITY, f64::min);
        let mut pruned = merged.clone();
        prune::prune(&mut pruned, 3.0).unwrap();
        let kept = all_paths(&expand(&pruned));
        let within = |beam: f64| expected.iter().filter(|path| path.2 <= lowest + beam).count();
        assert!(kept.len() >= within(2.999) && kept.len() <= expected.len());
        let best = path::best_linear(&merged).unwrap();
        assert!((best.weight.cost() - lowest).abs() < 1e-3);
    }
}

#[test]
fn posteriors_are_shares_of_paths() {
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..100 {
        let mut lattice = random_lattice(&mut rng);
        let paths = all_paths(&lattice);
        let total: f64 = paths.iter().map(|path| (-path.2).exp()).sum();
        let frames = transition_posteriors(&mut lattice).unwrap();
        assert!((frames.log_like - total.ln()).abs() < 1e-4);
        for (t, frame) in frames.posterior.iter().enumerate() {
            for &(id, probability) in frame {
                let share: f64 =
                    paths.iter().filter(|path| path.1[t] == id).map(|path| (-path.2).exp()).sum();
                assert!((share / total - f64::from(probability)).abs() < 1e-4);
            }
        }
    }
}

#[test]
fn cycles_are_errors() {
    let mut lattice: CompactLattice = read::<CompactLatticeHolder>(b"\n0 1 1\n1 0 2\n1\n\n").unwrap();
    assert!(!order::top_sort(&mut lattice));
    assert!(prune::prune(&mut lattice, 1.0).is_err());
    assert!(determinize_connected(&mut expand(&lattice), 1.0, &Options::default()).is_err());
    assert!(path::best_paths(&expand(&lattice), 2).is_err());
}

#[test]
fn the_oracle_has_the_fewest_errors_and_its_path_costs_least() {
    let mut rng = fastrand::Rng::with_seed(11);
    for case in 0..300 {
        let lattice = random_lattice(&mut rng);
        let reference: Vec<i32> = (0..rng.usize(..6)).map(|_| rng.i32(1..5)).collect();
        let wildcards: Vec<i32> = if rng.bool() { vec![rng.i32(1..4)] } else { Vec::new() };
        let counted = |words: &[i32]| -> Vec<i32> {
            words.iter().copied().filter(|word| !wildcards.contains(word)).collect()
        };
        let paths: Vec<(Vec<i32>, f64)> =
            all_paths(&lattice).iter().map(|(words, _, cost)| (counted(words), *cost)).collect();
        let expected = counted(&reference);
        let errors_of = |words: &[i32]| edit_distance::errors(&expected, words).total();
        let fewest = paths.iter().map(|(words, _)| errors_of(words)).min();
        let found = oracle::oracle(&lattice, &reference, &wildcards).unwrap();
        assert_eq!(found.as_ref().map(|found| found.errors.total()), fewest, "case {case}");
        let Some(found) = found else { continue };
        assert_eq!((Some(errors_of(&found.words)), found.num_words), (fewest, expected.len()), "case {case}");
        let same = paths.iter().filter(|(words, _)| *words == found.words).map(|(_, cost)| *cost);
        let cheapest = same.fold(f64::INFINITY, f64::min);
        let path = oracle::path_with_words(&lattice, &found.words, &wildcards).unwrap();
        let [(words, _, cost)] = &all_paths(&expand(&path))[..] else { panic!("case {case}: not one path") };
        assert_eq!(counted(words), found.words, "case {case}");
        assert!((cost - cheapest).abs() < 1e-4, "case {case}: {cost}, expected {cheapest}");
    }
}

/// The paths in one order.
pub fn sorted(mut paths: Paths) -> Paths {
    paths.sort_by(|a, b| a.partial_cmp(b).unwrap());
    paths
}

/// Fails unless both have the same paths, with costs that differ by less than 0.001.
#[track_caller]
pub fn assert_same(found: Paths, expected: Paths, case: usize) {
    let (found, expected) = (sorted(found), sorted(expected));
    let labels = |paths: &Paths| paths.iter().map(|p| (p.0.clone(), p.1.clone())).collect::<Vec<_>>();
    assert_eq!(labels(&found), labels(&expected), "case {case}");
    for (a, b) in found.iter().zip(&expected) {
        assert!((a.2 - b.2).abs() < 1e-3, "case {case}: {a:?} instead of {b:?}");
    }
}

/// The paths of a compact lattice, as of [`all_paths`].
pub fn all_compact(lattice: &CompactLattice) -> Paths {
    all_paths(&expand(lattice))
}
