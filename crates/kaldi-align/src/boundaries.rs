//! Boundaries between phones, finer than frames.
//!
//! The best path has the most likely boundaries, all of them together. Here, the phones of the best path stay, and each boundary
//! gets the median of its distribution over all paths with these phones, by the forward-backward algorithm.

use kaldi_numerics::log_sums::log_add;

use crate::network::Network;
use crate::search::Path;

/// Settings of the distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundarySettings {
    /// Factor of log-likelihoods.
    pub acoustic_scale: f32,
    /// Factor of the costs of transitions.
    pub graph_scale: f32,
    /// A phone may begin and end so many frames before or after the path's.
    pub window: usize,
}

impl Default for BoundarySettings {
    fn default() -> BoundarySettings {
        BoundarySettings { acoustic_scale: 0.05, graph_scale: 0.1, window: 25 }
    }
}

/// A phone of the path: its nodes, and the frames in which they may be.
struct Slot {
    first_node: usize,
    nodes: usize,
    begin: usize,
    end: usize,
}

/// The frames at which the phones of a path begin, and the end of the last one. In frames, with fractions.
pub fn medians(
    network: &Network,
    path: &Path,
    log_likelihood: impl Fn(usize, i32) -> f32,
    settings: &BoundarySettings,
) -> Vec<f64> {
    let frames = path.nodes.len();
    let slots = slots(network, path, settings.window);
    let lattice = Lattice { network, slots: &slots, frames, settings };
    let scores = lattice.scores(&log_likelihood);
    let forward = lattice.forward(&scores);
    let backward = lattice.backward(&scores);
    // For each frame, the probability that it is in each of its slots.
    let mut later = vec![Vec::new(); slots.len()];
    for t in 0..frames {
        let mut weights = Vec::new();
        for (number, slot) in lattice.at(t) {
            let place = t - slot.begin;
            let row = place * slot.nodes..(place + 1) * slot.nodes;
            let both = forward[number][row.clone()].iter().zip(&backward[number][row]).map(|(a, b)| a + b);
            weights.push((number, both.fold(f64::NEG_INFINITY, log_add)));
        }
        let all = weights.iter().map(|weight| weight.1).fold(f64::NEG_INFINITY, log_add);
        let mut sum = 0.0;
        for (number, weight) in weights.into_iter().rev() {
            sum += (weight - all).exp();
            later[number].push((t, sum));
        }
    }
    let mut boundaries = vec![0.0];
    for (number, slot) in slots.iter().enumerate().skip(1) {
        boundaries.push(median(&later[number]).unwrap_or((slot.begin + settings.window) as f64));
    }
    boundaries.push(frames as f64);
    keep_apart(&mut boundaries);
    boundaries
}

/// Keeps boundaries one frame apart, so that those rounded to frames differ. The first and the last one stay.
fn keep_apart(boundaries: &mut [f64]) {
    // (More than rounding of sums.)
    const LEAST: f64 = 1.0 + 1e-9;
    for i in 1..boundaries.len().saturating_sub(1) {
        boundaries[i] = boundaries[i].max(boundaries[i - 1] + LEAST);
    }
    for i in (1..boundaries.len().saturating_sub(1)).rev() {
        boundaries[i] = boundaries[i].min(boundaries[i + 1] - LEAST).max(0.0);
    }
}

/// The median of a boundary that is at a frame or before it with these probabilities. The probability of a frame is spread evenly
/// from half a frame before it to half a frame behind it.
fn median(cumulative: &[(usize, f64)]) -> Option<f64> {
    let mut before = 0.0;
    for &(t, sum) in cumulative {
        if sum >= 0.5 {
            let share = if sum > before { (0.5 - before) / (sum - before) } else { 0.5 };
            return Some((t as f64 - 0.5 + share).max(0.0));
        }
        before = sum;
    }
    None
}

fn slots(network: &Network, path: &Path, window: usize) -> Vec<Slot> {
    let frames = path.nodes.len();
    let mut slots: Vec<Slot> = Vec::new();
    let mut last = None;
    for (t, &node) in path.nodes.iter().enumerate() {
        let instance = network.nodes[node as usize].instance;
        if last == Some(instance) {
            if let Some(slot) = slots.last_mut() {
                slot.end = t + 1;
            }
            continue;
        }
        last = Some(instance);
        // The nodes of an instance are neighbours.
        let of_instance = |node: usize| network.nodes.get(node).is_some_and(|node| node.instance == instance);
        let first_node =
            (0..=node as usize).rev().take_while(|&node| of_instance(node)).last().unwrap_or(node as usize);
        let nodes = (first_node..).take_while(|&node| of_instance(node)).count();
        slots.push(Slot { first_node, nodes, begin: t, end: t + 1 });
    }
    for slot in &mut slots {
        slot.begin = slot.begin.saturating_sub(window);
        slot.end = (slot.end + window).min(frames);
    }
    slots
}

/// The frames and nodes that are summed over.
struct Lattice<'a> {
    network: &'a Network,
    slots: &'a [Slot],
    frames: usize,
    settings: &'a BoundarySettings,
}

/// Log-probabilities of a slot's nodes in its frames: of the first frame in a node, and of a further one.
struct Scores {
    first: Vec<f64>,
    stay: Vec<f64>,
}

impl Lattice<'_> {
    /// The slots that may be in a frame.
    fn at(&self, t: usize) -> impl Iterator<Item = (usize, &Slot)> {
        self.slots.iter().enumerate().filter(move |(_, slot)| (slot.begin..slot.end).contains(&t))
    }

    fn scores(&self, log_likelihood: &impl Fn(usize, i32) -> f32) -> Vec<Scores> {
        let (acoustic, graph) =
            (f64::from(self.settings.acoustic_scale), f64::from(self.settings.graph_scale));
        let of_slot = |slot: &Slot| {
            let mut scores = Scores { first: Vec::new(), stay: Vec::new() };
            for t in slot.begin..slot.end {
                for node in &self.network.nodes[slot.first_node..slot.first_node + slot.nodes] {
                    let first = f64::from(log_likelihood(t, node.first_pdf));
                    scores.first.push(acoustic * first - graph * f64::from(node.first_cost));
                    scores.stay.push(match node.loop_id {
                        0 => f64::NEG_INFINITY,
                        _ => {
                            let same = node.loop_pdf == node.first_pdf;
                            let stay = if same { first } else { f64::from(log_likelihood(t, node.loop_pdf)) };
                            acoustic * stay - graph * f64::from(node.loop_cost)
                        }
                    });
                }
            }
            scores
        };
        self.slots.iter().map(of_slot).collect()
    }

    /// The ways from a node of a slot to nodes of the same slot and of the next: slot, place of the node, log-probability.
    fn ways(&self, number: usize, node: usize) -> impl Iterator<Item = (usize, usize, f64)> {
        let graph = f64::from(self.settings.graph_scale);
        self.network.arcs((self.slots[number].first_node + node) as u32).iter().filter_map(
            move |&(to, cost)| {
                (number..=number + 1).find_map(|other| {
                    let slot = self.slots.get(other)?;
                    let place =
                        (to as usize).checked_sub(slot.first_node).filter(|&place| place < slot.nodes)?;
                    Some((other, place, -graph * f64::from(cost)))
                })
            },
        )
    }

    fn empty(&self) -> Vec<Vec<f64>> {
        self.slots.iter().map(|slot| vec![f64::NEG_INFINITY; (slot.end - slot.begin) * slot.nodes]).collect()
    }

    fn forward(&self, scores: &[Scores]) -> Vec<Vec<f64>> {
        let mut forward = self.empty();
        let first = &self.slots[0];
        for &(node, _) in &self.network.starts {
            if let Some(place) =
                (node as usize).checked_sub(first.first_node).filter(|&place| place < first.nodes)
            {
                forward[0][place] = scores[0].first[place];
            }
        }
        for t in 0..self.frames - 1 {
            for (number, slot) in self.at(t) {
                for node in 0..slot.nodes {
                    let from = forward[number][(t - slot.begin) * slot.nodes + node];
                    if from == f64::NEG_INFINITY {
                        continue;
                    }
                    if t + 1 < slot.end {
                        let to = (t + 1 - slot.begin) * slot.nodes + node;
                        add(&mut forward[number][to], from + scores[number].stay[to]);
                    }
                    for (other, place, weight) in self.ways(number, node) {
                        let next = &self.slots[other];
                        if (next.begin..next.end).contains(&(t + 1)) {
                            let to = (t + 1 - next.begin) * next.nodes + place;
                            add(&mut forward[other][to], from + weight + scores[other].first[to]);
                        }
                    }
                }
            }
        }
        forward
    }

    fn backward(&self, scores: &[Scores]) -> Vec<Vec<f64>> {
        let mut backward = self.empty();
        let last = self.slots.len() - 1;
        let slot = &self.slots[last];
        for place in 0..slot.nodes {
            if self.network.finals[slot.first_node + place].is_finite() {
                backward[last][(self.frames - 1 - slot.begin) * slot.nodes + place] = 0.0;
            }
        }
        for t in (0..self.frames - 1).rev() {
            for (number, slot) in self.at(t) {
                for node in 0..slot.nodes {
                    let mut sum = f64::NEG_INFINITY;
                    if t + 1 < slot.end {
                        let to = (t + 1 - slot.begin) * slot.nodes + node;
                        add(&mut sum, backward[number][to] + scores[number].stay[to]);
                    }
                    for (other, place, weight) in self.ways(number, node) {
                        let next = &self.slots[other];
                        if (next.begin..next.end).contains(&(t + 1)) {
                            let to = (t + 1 - next.begin) * next.nodes + place;
                            add(&mut sum, backward[other][to] + weight + scores[other].first[to]);
                        }
                    }
                    backward[number][(t - slot.begin) * slot.nodes + node] = sum;
                }
            }
        }
        backward
    }
}

/// Adds a probability to another one, both as logarithms.
fn add(sum: &mut f64, value: f64) {
    *sum = log_add(*sum, value);
}
