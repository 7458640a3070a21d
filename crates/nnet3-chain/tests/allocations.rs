//! Checks that the objective allocates no memory after the first minibatch, in the whole process.

use kaldi_fst::{Arc, Fst, State};
use nnet3_allocator::CountingAllocator;
use nnet3_chain::{ChainOptions, ChainScratch, DenominatorGraph, Graph, Supervision, evaluate};
use nnet3_matrix::{Matrix, cpu};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

const PDFS: usize = 6;
const SEQUENCES: usize = 40;
const FRAMES: usize = 7;

/// A graph with arcs from every state to the next two and to itself; each state has a pdf for loops and one for arcs
/// into it.
fn denominator() -> DenominatorGraph {
    let states = PDFS / 2;
    let arcs = |s: usize| {
        (0..states).map(move |k| {
            let next = (s + k) % states;
            Arc::new(1 + (2 * next + usize::from(k == 0)) as i32, 1.0 + k as f32, next as u32)
        })
    };
    let states = (0..states).map(|s| State { final_weight: 0.0, arcs: arcs(s).collect() }).collect();
    DenominatorGraph::new(&Fst { start: Some(0), states }, PDFS).unwrap()
}

/// Two paths everywhere, for all sequences one after the other.
fn supervision() -> Supervision {
    let length = SEQUENCES * FRAMES;
    let arcs = |s: usize| {
        let labels = [s % PDFS, (s + 2) % PDFS].into_iter().filter(move |_| s < length);
        labels.map(move |pdf| Arc::new(1 + pdf as i32, 0.7, s as u32 + 1)).collect()
    };
    let state = |s| State { final_weight: if s == length { 0.0 } else { f32::INFINITY }, arcs: arcs(s) };
    Supervision {
        weight: 1.0,
        num_sequences: SEQUENCES,
        frames_per_sequence: FRAMES,
        label_dim: PDFS as i32,
        graph: Graph::Constrained(Fst { start: Some(0), states: (0..=length).map(state).collect() }),
        alignment_pdfs: Vec::new(),
    }
}

#[test]
fn nothing_is_allocated_after_the_first_minibatch() {
    let (graph, supervision) = (denominator(), supervision());
    let options = ChainOptions { l2_regularize: 1e-4, ..ChainOptions::default() };
    let (device, rows) = (cpu(), supervision.num_frames());
    let values = (0..rows * PDFS).map(|k| (k as f32).sin()).collect();
    let output = Matrix::from_vec(rows, PDFS, values);
    let [mut deriv, mut xent] = [(), ()].map(|()| Matrix::zeros(&device, rows, PDFS));
    let mut scratch = ChainScratch::new(&device);
    let mut first = None;
    for minibatch in 0..4 {
        let before = ALLOCATOR.allocations();
        let (d, x) = (Some(deriv.view_mut()), Some(xent.view_mut()));
        let found = evaluate(&options, &graph, &supervision, output.view(), true, d, x, &mut scratch);
        let count = ALLOCATOR.allocations() - before;
        assert_eq!(count == 0, minibatch > 0, "{count} allocations in minibatch {minibatch}");
        let found = found.unwrap();
        assert!(found.failed.is_none() && found.doubtful.is_none(), "{found:?}");
        assert_eq!(*first.get_or_insert(found), found);
    }
}
