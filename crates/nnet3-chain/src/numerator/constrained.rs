//! Supervision with times: one FST without cycles for all sequences, one after the other.

use kaldi_fst::{Fst, ops};
use kaldi_numerics::log_sums::log_add;
use nnet3_train::{Error, Result};

use crate::supervision::Supervision;

#[derive(Default)]
pub(super) struct Scratch {
    /// States by the number of labels on the path from the start. Unreachable states are left out.
    order: Vec<u32>,
    times: Vec<u32>,
    /// For each arc its place in the list of places, in the order of the arcs of the states in `order`.
    arc_places: Vec<u32>,
    /// For each pdf the place of its last mention, and 1 plus the time of that mention.
    mentions: Vec<[u32; 2]>,
    alpha: Vec<f64>,
    beta: Vec<f64>,
}

const UNREACHED: u32 = u32::MAX;

impl Scratch {
    /// Lists the elements of the output that are read: row t · N + n and column p for label p + 1 at time t of sequence n.
    pub fn arrange(
        &mut self,
        fst: &Fst,
        supervision: &Supervision,
        places: &mut Vec<[u32; 2]>,
    ) -> Result<()> {
        self.sort(fst, supervision.num_frames())?;
        let (sequences, frames) = (supervision.num_sequences as u32, supervision.frames_per_sequence as u32);
        self.mentions.clear();
        self.mentions.resize(fst.largest_label() as usize, [0; 2]);
        self.arc_places.clear();
        for &s in &self.order {
            let time = self.times[s as usize];
            for arc in &fst.state(s).arcs {
                let pdf = (arc.ilabel - 1) as u32;
                let mention = &mut self.mentions[pdf as usize];
                if mention[1] != time + 1 {
                    *mention = [places.len() as u32, time + 1];
                    places.push([time % frames * sequences + time / frames, pdf]);
                }
                self.arc_places.push(mention[0]);
            }
        }
        Ok(())
    }

    /// Finds the times of states and their order.
    fn sort(&mut self, fst: &Fst, length: usize) -> Result<()> {
        if !self.sorted_already(fst) {
            let (times, _) =
                ops::state_times(fst).map_err(|e| Error::data(format!("supervision FST: {e}")))?;
            self.times.clear();
            self.times.extend(times.iter().map(|time| time.map_or(UNREACHED, |time| time as u32)));
            self.order.clear();
            self.order.extend((0..fst.states.len() as u32).filter(|&s| self.times[s as usize] != UNREACHED));
            self.order.sort_by_key(|&s| self.times[s as usize]);
        }
        for &s in &self.order {
            let (state, time) = (fst.state(s), self.times[s as usize] as usize);
            if (state.is_final() && time != length) || (time >= length && !state.arcs.is_empty()) {
                return Err(Error::data(format!(
                    "supervision FST: {time} labels lead to state {s}, expected paths of {length} labels"
                )));
            }
        }
        Ok(())
    }

    /// Finds the times if the states are in the order of time, as programs write them. Returns false if they are not.
    fn sorted_already(&mut self, fst: &Fst) -> bool {
        let Scratch { order, times, .. } = self;
        times.clear();
        times.resize(fst.states.len(), UNREACHED);
        times[fst.start.unwrap_or(0) as usize] = 0;
        order.clear();
        let mut latest = 0;
        for (s, state) in fst.numbered() {
            let time = times[s as usize];
            if time == UNREACHED {
                // A later arc may still lead here.
                return false;
            }
            if time < latest {
                return false;
            }
            latest = time;
            order.push(s);
            for arc in &state.arcs {
                let known = times[arc.next as usize];
                if arc.next <= s || (known != UNREACHED && known != time + 1) {
                    return false;
                }
                times[arc.next as usize] = time + 1;
            }
        }
        true
    }

    /// Sets `posteriors` of the places and returns the log-probability.
    pub fn forward_backward(&mut self, fst: &Fst, scores: &[f32], posteriors: &mut [f32]) -> f64 {
        let Scratch { order, arc_places, alpha, beta, .. } = self;
        for log in [&mut *alpha, &mut *beta] {
            log.clear();
            log.resize(fst.states.len(), f64::NEG_INFINITY);
        }
        alpha[fst.start.unwrap_or(0) as usize] = 0.0;
        let mut total = f64::NEG_INFINITY;
        let mut arc = 0;
        for &s in order.iter() {
            let (state, here) = (fst.state(s), alpha[s as usize]);
            for a in &state.arcs {
                let next = &mut alpha[a.next as usize];
                *next = log_add(*next, here + value(a.weight, scores, arc_places[arc]));
                arc += 1;
            }
            if state.is_final() {
                total = log_add(total, here - f64::from(state.final_weight));
            }
        }
        if !total.is_finite() {
            return total;
        }
        for &s in order.iter().rev() {
            let (state, here) = (fst.state(s), alpha[s as usize]);
            let mut sum = if state.is_final() { -f64::from(state.final_weight) } else { f64::NEG_INFINITY };
            for a in state.arcs.iter().rev() {
                arc -= 1;
                let place = arc_places[arc];
                let onwards = value(a.weight, scores, place) + beta[a.next as usize];
                sum = log_add(sum, onwards);
                posteriors[place as usize] += (here + onwards - total).exp() as f32;
            }
            beta[s as usize] = sum;
        }
        total
    }
}

fn value(cost: f32, scores: &[f32], place: u32) -> f64 {
    f64::from(scores[place as usize]) - f64::from(cost)
}
