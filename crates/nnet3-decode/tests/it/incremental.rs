//! Determinization in chunks, against all paths and against determinization of the whole.

use kaldi_fst::{Arc, EPSILON};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::read_object;
use nnet3_decode::decoder::{
    ChunkOptions, Decodable, IncrementalLattice, LatticeDecoder, MatrixDecodable, Pruning, SearchOptions,
};
use nnet3_decode::determinize::{Incremental, PhoneOptions, determinize_phones};
use nnet3_decode::lattice::expand;
use nnet3_decode::{CompactLattice, Lattice, path};

use crate::decoder::{file, graph_and_pdfs, table};
use crate::lattices::{all_paths, by_words, random_lattice};

fn model() -> TransitionModel {
    read_object(&file("mono.mdl")).unwrap()
}

/// The frame of each state of a lattice that is sorted.
fn frames(lattice: &Lattice) -> Vec<Option<usize>> {
    let mut frames = vec![None; lattice.states.len()];
    frames[0] = Some(0);
    for (s, state) in lattice.states.iter().enumerate() {
        let Some(frame) = frames[s] else { continue };
        for arc in &state.arcs {
            frames[arc.next as usize] = Some(frame + usize::from(arc.ilabel != EPSILON));
        }
    }
    frames
}

/// The cost of the best path from each state.
fn costs_to_end(lattice: &Lattice) -> Vec<f64> {
    let mut costs = vec![f64::INFINITY; lattice.states.len()];
    for (s, state) in lattice.states.iter().enumerate().rev() {
        let on = state.arcs.iter().map(|arc| arc.weight.cost() + costs[arc.next as usize]);
        costs[s] = on.fold(state.final_weight.cost(), f64::min);
    }
    costs
}

/// Determinizes the lattice in chunks that end at these frames, the last of them the last frame.
fn in_chunks(lattice: &Lattice, beam: f64, ends: &[usize]) -> (CompactLattice, usize) {
    let (frames, rest) = (frames(lattice), costs_to_end(lattice));
    let mut determinizer = Incremental::new(beam, PhoneOptions::default()).unwrap();
    let (mut before, mut joined) = (0, 0);
    for &end in ends {
        let mut chunk = determinizer.begin_chunk();
        let continued = chunk.is_continued();
        joined += usize::from(continued);
        let begin = if continued { before } else { 0 };
        let within = |frame: Option<usize>| frame.is_some_and(|frame| (begin..=end).contains(&frame));
        let states: Vec<Option<u32>> = (0..lattice.states.len())
            .map(|s| {
                within(frames[s]).then(|| match frames[s] {
                    Some(frame) if frame == end && rest[s].is_finite() => chunk.end(s as u32, rest[s] as f32),
                    Some(frame) if frame == begin && continued => chunk.begin(s as u32),
                    _ => chunk.lattice.add_state(),
                })
            })
            .collect();
        if !continued {
            chunk.lattice.start = states[0];
        }
        for (s, state) in lattice.states.iter().enumerate() {
            let Some(from) = states[s] else { continue };
            for &arc in &state.arcs {
                let Some(next) = states[arc.next as usize] else { continue };
                chunk.lattice.state_mut(from).arcs.push(Arc { next, ..arc });
            }
        }
        determinizer.append(&model(), chunk).unwrap();
        before = end;
    }
    assert!(determinizer.report().complete);
    let ending = |s: u32| Some(lattice.state(s).final_weight.cost() as f32).filter(|cost| cost.is_finite());
    (determinizer.take_lattice(ending), joined)
}

/// The result has one path for each sequence of words, the cheapest. Paths outside the beam may be missing.
#[test]
fn random_lattices_in_random_chunks() {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut joined = [0; 6];
    for case in 0..400 {
        let lattice = random_lattice(&mut rng);
        let expected = by_words(all_paths(&lattice));
        let lowest = expected.values().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
        let last = frames(&lattice).into_iter().flatten().max().unwrap();
        let mut ends: Vec<usize> = (1..last).filter(|_| rng.u8(..3) > 0).collect();
        ends.push(last);
        for beam in [1e4, 5.0] {
            let (out, count) = in_chunks(&lattice, beam, &ends);
            joined[count] += 1;
            for state in &out.states {
                let mut words: Vec<i32> = state.arcs.iter().map(|arc| arc.ilabel).collect();
                words.sort_unstable();
                assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "case {case}: {words:?}");
                assert!(words.iter().all(|&word| word > 0), "case {case}: {words:?}");
            }
            let found = all_paths(&expand(&out));
            let unique = by_words(found.clone());
            assert_eq!(found.len(), unique.len(), "case {case}");
            for (words, (ids, cost)) in &expected {
                match unique.get(words) {
                    None => assert!(*cost > lowest + beam - 1e-3, "case {case}: {words:?} is missing"),
                    Some((found_ids, found_cost)) => {
                        assert!((cost - found_cost).abs() < 1e-3, "case {case}: {words:?}");
                        assert_eq!(found_ids.len(), ids.len());
                    }
                }
            }
            assert!(unique.keys().all(|words| expected.contains_key(words)), "case {case}");
        }
    }
    // Many lattices had chunks that were joined to others.
    assert!(joined[1] > 100 && joined[2] > 50 && joined[3] > 20, "{joined:?}");
}

/// Words and costs of the best paths, which all cost at most `beam` more than the first.
fn best_paths(lattice: &CompactLattice, beam: f64) -> Vec<(Vec<i32>, usize, f64)> {
    let paths = path::best_paths(&expand(lattice), 200).unwrap();
    let mut out = Vec::new();
    for path in paths {
        let linear = path::read_linear(&path).unwrap();
        out.push((linear.words, linear.ids.len(), linear.weight.cost()));
    }
    let lowest = out[0].2;
    out.retain(|path| path.2 <= lowest + beam);
    out
}

/// Searches with chunks of several sizes have the lattice that determinization at the end gives, within the beam.
#[test]
fn searches_in_chunks() {
    let ((graph, pdfs), model) = (graph_and_pdfs(), model());
    let search = SearchOptions {
        pruning: Pruning { beam: 13.0, ..Pruning::lattice() },
        lattice_beam: 7.0,
        prune_interval: 5,
        prune_scale: IncrementalLattice::PRUNE_SCALE,
    };
    let determinization = PhoneOptions::default();
    let mut joined = 0;
    for (key, loglikes) in table::<MatrixHolder>("decode/loglikes.ark") {
        let decodable = MatrixDecodable::new(&loglikes, &pdfs, 0.3).unwrap();
        let mut decoder = LatticeDecoder::new(graph.unvisited(), search).unwrap();
        assert!(decoder.decode(&decodable).unwrap());
        let mut raw = decoder.raw_lattice().unwrap();
        let (whole, _) = determinize_phones(&model, &mut raw, 7.0, &determinization).unwrap();
        let expected = best_paths(&whole, 6.5);
        for (max_delay, min_size, max_active) in
            [(60, 20, 200), (8, 3, 200), (2, 1, 200), (30, 5, 100), (4, 1, 0)]
        {
            let options = ChunkOptions { max_delay, min_size, max_active };
            let mut lattice = IncrementalLattice::new(options, &search, determinization).unwrap();
            decoder.begin().unwrap();
            for frame in 0..loglikes.rows {
                lattice.update(&mut decoder, &model).unwrap();
                joined += usize::from(lattice.frames() > 0);
                decoder.advance(decodable.frame(frame)).unwrap();
            }
            assert_eq!(max_active == 0, lattice.frames() == 0);
            assert!(decoder.finish().unwrap());
            let found = lattice.finish(&decoder, &model).unwrap();
            let found = best_paths(&found, 6.5);
            assert_eq!(found.len(), expected.len(), "{key}, {options:?}");
            // The lattice has been taken: now all frames are one chunk.
            assert_eq!(lattice.frames(), 0);
            let again = best_paths(&lattice.finish(&decoder, &model).unwrap(), 6.5);
            assert_eq!(again.len(), expected.len(), "{key}, {options:?}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found.2 - expected.2).abs() < 1e-2, "{key}, {options:?}: {found:?}, {expected:?}");
            }
            let sorted = |mut paths: Vec<(Vec<i32>, usize, f64)>| {
                paths.sort_by(|a, b| a.0.cmp(&b.0));
                paths.into_iter().map(|(words, frames, _)| (words, frames)).collect::<Vec<_>>()
            };
            assert_eq!(sorted(found), sorted(expected.clone()), "{key}, {options:?}");
        }
    }
    assert!(joined > 100, "{joined}");
}

/// The last frame may end a chunk before the search ends; the costs of ending come afterwards.
#[test]
fn a_chunk_that_ends_with_the_sound() {
    let ((graph, pdfs), model) = (graph_and_pdfs(), model());
    let search = SearchOptions { prune_scale: IncrementalLattice::PRUNE_SCALE, ..SearchOptions::default() };
    let (_, loglikes) = table::<MatrixHolder>("decode/loglikes.ark").swap_remove(0);
    let decodable = MatrixDecodable::new(&loglikes, &pdfs, 1.0).unwrap();
    let mut decoder = LatticeDecoder::new(graph.unvisited(), search).unwrap();
    assert!(decoder.decode(&decodable).unwrap() && decoder.reached_final());
    let best = path::read_linear(&path::best_path(&decoder.raw_lattice().unwrap())).unwrap();
    let options = ChunkOptions { max_delay: loglikes.rows, min_size: loglikes.rows - 1, max_active: 100_000 };
    let mut lattice = IncrementalLattice::new(options, &search, PhoneOptions::default()).unwrap();
    let options = ChunkOptions { max_delay: loglikes.rows, min_size: loglikes.rows, max_active: 1 };
    assert!(IncrementalLattice::new(options, &search, PhoneOptions::default()).is_err());
    decoder.begin().unwrap();
    for frame in 0..loglikes.rows {
        decoder.advance(decodable.frame(frame)).unwrap();
    }
    lattice.update(&mut decoder, &model).unwrap();
    assert!(lattice.frames() >= loglikes.rows - 1, "{} of {}", lattice.frames(), loglikes.rows);
    assert!(decoder.finish().unwrap());
    let found = path::best_linear(&lattice.finish(&decoder, &model).unwrap()).unwrap();
    assert_eq!((&found.words, &found.ids), (&best.words, &best.ids));
    assert!((found.weight.cost() - best.weight.cost()).abs() < 1e-2);
}
