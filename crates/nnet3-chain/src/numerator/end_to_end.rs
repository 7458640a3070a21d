//! Supervision without times: an FST for each sequence, which may have cycles.

use std::ops::Range;

use kaldi_fst::Fst;
use kaldi_io::threads;
use kaldi_numerics::log_sums::log_add;

#[derive(Default)]
pub(super) struct Scratch {
    sequences: Vec<Sequence>,
    /// For each pdf, its number in the sequence, and 1 + the number of the sequence that mentioned it last.
    mentions: Vec<[u32; 2]>,
    workers: Vec<Worker>,
}

/// The part of the output that a sequence reads.
#[derive(Default)]
struct Sequence {
    /// The part of the list of places that belongs to the sequence: the places of the first frame, of the second, and
    /// so on.
    places: Range<usize>,
    /// The number of each arc's pdf, in the order of states and arcs.
    arc_pdfs: Vec<u32>,
    pdfs: Vec<u32>,
}

/// Memory of one thread.
#[derive(Default)]
struct Worker {
    /// The forward log-probabilities of each frame and state.
    alpha: Vec<f64>,
    beta: Vec<f64>,
    beta_next: Vec<f64>,
}

impl Scratch {
    /// Lists the elements of the output that are read.
    pub fn arrange(&mut self, fsts: &[Fst], frames: usize, places: &mut Vec<[u32; 2]>) {
        self.sequences.resize_with(fsts.len().max(self.sequences.len()), Sequence::default);
        let largest = fsts.iter().map(Fst::largest_label).max().unwrap_or(0);
        self.mentions.clear();
        self.mentions.resize(largest as usize, [0; 2]);
        for (n, (fst, sequence)) in fsts.iter().zip(&mut self.sequences).enumerate() {
            sequence.pdfs.clear();
            sequence.arc_pdfs.clear();
            for arc in fst.states.iter().flat_map(|state| &state.arcs) {
                let pdf = (arc.ilabel - 1) as u32;
                let mention = &mut self.mentions[pdf as usize];
                if mention[1] != n as u32 + 1 {
                    *mention = [sequence.pdfs.len() as u32, n as u32 + 1];
                    sequence.pdfs.push(pdf);
                }
                sequence.arc_pdfs.push(mention[0]);
            }
            let start = places.len();
            for frame in 0..frames {
                let row = (frame * fsts.len() + n) as u32;
                places.extend(sequence.pdfs.iter().map(|&pdf| [row, pdf]));
            }
            sequence.places = start..places.len();
        }
    }

    /// Sets `posteriors` of the places and returns the log-probability, summed over sequences. No sum depends on the
    /// number of threads.
    pub fn forward_backward(
        &mut self,
        fsts: &[Fst],
        frames: usize,
        scores: &[f32],
        posteriors: &mut [f32],
        threads: usize,
    ) -> f64 {
        let threads = threads.clamp(1, fsts.len().max(1));
        self.workers.resize_with(threads.max(self.workers.len()), Worker::default);
        let share = fsts.len().div_ceil(threads).max(1);
        let mut totals = vec![0.0; fsts.len()];
        let mut rest = posteriors;
        let mut jobs = Vec::with_capacity(threads);
        let parts = fsts.chunks(share).zip(self.sequences.chunks(share)).zip(totals.chunks_mut(share));
        for (worker, ((fsts, sequences), totals)) in self.workers.iter_mut().zip(parts) {
            let sequences = &sequences[..fsts.len()];
            let first = sequences.first().map_or(0, |sequence| sequence.places.start);
            let end = sequences.last().map_or(0, |sequence| sequence.places.end);
            let (own, others) = rest.split_at_mut(end - first);
            rest = others;
            jobs.push(move || {
                let mut own = own;
                for ((fst, sequence), total) in fsts.iter().zip(sequences).zip(totals) {
                    let (posteriors, later) = own.split_at_mut(sequence.places.len());
                    own = later;
                    let scores = &scores[sequence.places.clone()];
                    *total = worker.forward_backward(fst, sequence, frames, scores, posteriors);
                }
            });
        }
        match jobs.len() {
            0 | 1 => jobs.into_iter().for_each(|job| job()),
            _ => std::thread::scope(|scope| {
                let own = jobs.pop();
                for job in jobs {
                    if let Err(job) = threads::start_in_or_return(scope, "numerators", job, |job| job()) {
                        job();
                    }
                }
                own.into_iter().for_each(|job| job());
            }),
        }
        totals.iter().sum()
    }
}

impl Worker {
    fn forward_backward(
        &mut self,
        fst: &Fst,
        sequence: &Sequence,
        frames: usize,
        scores: &[f32],
        posteriors: &mut [f32],
    ) -> f64 {
        let (states, pdfs) = (fst.states.len(), sequence.pdfs.len());
        let Worker { alpha, beta, beta_next } = self;
        alpha.clear();
        alpha.resize((frames + 1) * states, f64::NEG_INFINITY);
        alpha[fst.start.unwrap_or(0) as usize] = 0.0;
        for frame in 0..frames {
            let (now, later) = alpha[frame * states..].split_at_mut(states);
            let scores = &scores[frame * pdfs..(frame + 1) * pdfs];
            let mut arcs = sequence.arc_pdfs.iter();
            for (state, &here) in fst.states.iter().zip(now.iter()) {
                for (arc, &pdf) in state.arcs.iter().zip(&mut arcs) {
                    if here != f64::NEG_INFINITY {
                        let next = &mut later[arc.next as usize];
                        *next = log_add(*next, here + value(arc.weight, scores, pdf));
                    }
                }
            }
        }
        beta.clear();
        beta.extend(fst.states.iter().map(|state| -f64::from(state.final_weight)));
        let last = &alpha[frames * states..];
        let total = last.iter().zip(beta.iter()).map(|(a, b)| a + b).fold(f64::NEG_INFINITY, log_add);
        if !total.is_finite() {
            return total;
        }
        for frame in (0..frames).rev() {
            std::mem::swap(beta, beta_next);
            beta.clear();
            let here = &alpha[frame * states..(frame + 1) * states];
            let scores = &scores[frame * pdfs..(frame + 1) * pdfs];
            let posteriors = &mut posteriors[frame * pdfs..(frame + 1) * pdfs];
            let mut arcs = sequence.arc_pdfs.iter();
            for (state, here) in fst.states.iter().zip(here) {
                let mut sum = f64::NEG_INFINITY;
                for (arc, &pdf) in state.arcs.iter().zip(&mut arcs) {
                    let onwards = value(arc.weight, scores, pdf) + beta_next[arc.next as usize];
                    if onwards != f64::NEG_INFINITY {
                        sum = log_add(sum, onwards);
                        posteriors[pdf as usize] += (here + onwards - total).exp() as f32;
                    }
                }
                beta.push(sum);
            }
        }
        total
    }
}

fn value(cost: f32, scores: &[f32], pdf: u32) -> f64 {
    f64::from(scores[pdf as usize]) - f64::from(cost)
}
