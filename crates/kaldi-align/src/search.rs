//! Paths through networks: the best one, and one with equally long states.

use crate::network::Network;
use crate::random::Numbers;

/// A path through a network, frame by frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub nodes: Vec<u32>,
    /// Transition-ids.
    pub ids: Vec<i32>,
    /// The sum of the log-likelihoods of all frames, not scaled.
    pub acoustic: f64,
    /// The cost of transitions, pronunciations and silence.
    pub graph: f64,
}

/// A token that led to an active node.
#[derive(Debug, Clone, Copy)]
struct Token {
    node: u32,
    before: u32,
}

const NONE: u32 = u32::MAX;

/// Memory of a search, for use by the next one.
#[derive(Debug, Default)]
pub struct Search {
    tokens: Vec<Token>,
    /// For each node: its cost in the next frame, its token, and the frame for which these hold.
    cost: Vec<f64>,
    token: Vec<u32>,
    stamp: Vec<u32>,
    active: Vec<u32>,
    next: Vec<u32>,
}

impl Search {
    /// Finds the best path of `frames` frames. Log-likelihoods of a frame and a pdf are multiplied by `scale`. Nodes whose costs
    /// exceed the best by more than `beam` are dropped. `None` if no path reaches the end.
    pub fn best_path(
        &mut self,
        network: &Network,
        frames: usize,
        log_likelihood: impl Fn(usize, i32) -> f32,
        scale: f32,
        beam: f32,
    ) -> Option<Path> {
        let count = network.nodes.len();
        if frames == 0 || count == 0 {
            return None;
        }
        self.tokens.clear();
        self.cost.clear();
        self.cost.resize(count, f64::INFINITY);
        self.token.clear();
        self.token.resize(count, NONE);
        self.stamp.clear();
        self.stamp.resize(count, NONE);
        self.active.clear();
        let (scale, beam) = (f64::from(scale), f64::from(beam));
        let local = |frame: usize, pdf: i32| -scale * f64::from(log_likelihood(frame, pdf));
        let mut best = f64::INFINITY;
        for &(node, cost) in &network.starts {
            let to = &network.nodes[node as usize];
            let cost = f64::from(cost) + f64::from(to.first_cost) + local(0, to.first_pdf);
            best = best.min(cost);
            self.reach(node, cost, NONE, 0);
        }
        for frame in 1..frames {
            let mut active = std::mem::take(&mut self.next);
            std::mem::swap(&mut active, &mut self.active);
            let limit = best + beam;
            best = f64::INFINITY;
            // Costs and tokens of this frame; `reach` overwrites those in the arrays.
            let from: Vec<(u32, f64, u32)> = active
                .iter()
                .map(|&node| (node, self.cost[node as usize], self.token[node as usize]))
                .filter(|&(_, cost, _)| cost <= limit)
                .collect();
            active.clear();
            self.next = active;
            for &(node, cost, token) in &from {
                let at = &network.nodes[node as usize];
                if at.loop_id != 0 {
                    let cost = cost + f64::from(at.loop_cost) + local(frame, at.loop_pdf);
                    if cost <= best + beam {
                        best = best.min(cost);
                        self.reach(node, cost, token, frame);
                    }
                }
                for &(to, step) in network.arcs(node) {
                    let next = &network.nodes[to as usize];
                    let cost = cost + f64::from(step) + f64::from(next.first_cost);
                    let cost = cost + local(frame, next.first_pdf);
                    if cost <= best + beam {
                        best = best.min(cost);
                        self.reach(to, cost, token, frame);
                    }
                }
            }
            if self.active.is_empty() {
                return None;
            }
        }
        let ending = |&node: &u32| (node, self.cost[node as usize] + f64::from(network.finals[node as usize]));
        let ends = self.active.iter().map(ending).filter(|(_, cost)| cost.is_finite());
        let (last, cost) = ends.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(self.trace(network, last, cost, &log_likelihood, scale))
    }

    /// Puts a cost on a node for a frame, if it is less than the present one.
    fn reach(&mut self, node: u32, cost: f64, before: u32, frame: usize) {
        let at = node as usize;
        let known = self.stamp[at] == frame as u32;
        if known && self.cost[at] <= cost {
            return;
        }
        if !known {
            self.stamp[at] = frame as u32;
            self.active.push(node);
        }
        self.cost[at] = cost;
        self.token[at] = self.tokens.len() as u32;
        self.tokens.push(Token { node, before });
    }

    fn trace(
        &self,
        network: &Network,
        last: u32,
        cost: f64,
        log_likelihood: &impl Fn(usize, i32) -> f32,
        scale: f64,
    ) -> Path {
        let mut nodes = Vec::new();
        let mut token = self.token[last as usize];
        while token != NONE {
            let Token { node, before } = self.tokens[token as usize];
            nodes.push(node);
            token = before;
        }
        nodes.reverse();
        let mut path = Path { ids: Vec::with_capacity(nodes.len()), nodes, acoustic: 0.0, graph: 0.0 };
        for (frame, &node) in path.nodes.iter().enumerate() {
            let at = &network.nodes[node as usize];
            let stays = frame > 0 && path.nodes[frame - 1] == node;
            let (id, pdf) = if stays { (at.loop_id, at.loop_pdf) } else { (at.first_id, at.first_pdf) };
            path.ids.push(id);
            path.acoustic += f64::from(log_likelihood(frame, pdf));
        }
        path.graph = cost + scale * path.acoustic;
        path
    }
}

/// Random paths that are tried before the shortest one is taken.
const TRIES: usize = 10;

/// Draws a path, and spreads frames equally over its states. The draw depends on `key` only. `None` if all paths are too long.
pub fn equal_path(network: &Network, frames: usize, key: &str) -> Option<Vec<i32>> {
    let mut numbers = Numbers::of_key(key);
    let drawn = (0..TRIES).find_map(|_| random_nodes(network, frames, &mut numbers));
    let nodes = drawn.or_else(|| shortest_nodes(network).filter(|nodes| nodes.len() <= frames))?;
    let can_stay = nodes.iter().filter(|&&node| network.nodes[node as usize].loop_id != 0).count();
    let missing = frames - nodes.len();
    if can_stay == 0 && missing > 0 {
        return None;
    }
    let (mut ids, mut number) = (Vec::with_capacity(frames), 0);
    for node in nodes {
        let node = &network.nodes[node as usize];
        ids.push(node.first_id);
        if node.loop_id != 0 {
            let stays = missing / can_stay + usize::from(number < missing % can_stay);
            number += 1;
            ids.extend(std::iter::repeat_n(node.loop_id, stays));
        }
    }
    Some(ids)
}

/// Draws one arc after the other. `None` if the path becomes longer than `most`.
fn random_nodes(network: &Network, most: usize, numbers: &mut Numbers) -> Option<Vec<u32>> {
    if network.starts.is_empty() {
        return None;
    }
    let mut nodes = vec![network.starts[numbers.below(network.starts.len())].0];
    while let Some(&last) = nodes.last() {
        let arcs = network.arcs(last);
        let ends = network.finals[last as usize].is_finite();
        let choice = numbers.below(arcs.len() + usize::from(ends));
        match arcs.get(choice) {
            None => return Some(nodes),
            Some(_) if nodes.len() >= most => return None,
            Some(&(next, _)) => nodes.push(next),
        }
    }
    None
}

/// The path with the fewest nodes.
fn shortest_nodes(network: &Network) -> Option<Vec<u32>> {
    let mut before: Vec<Option<u32>> = vec![None; network.nodes.len()];
    let mut queue: std::collections::VecDeque<u32> = network.starts.iter().map(|start| start.0).collect();
    queue.iter().for_each(|&node| before[node as usize] = Some(NONE));
    while let Some(node) = queue.pop_front() {
        if network.finals[node as usize].is_finite() {
            let earlier = |&node: &u32| before[node as usize].filter(|&before| before != NONE);
            let mut nodes: Vec<u32> = std::iter::successors(Some(node), earlier).collect();
            nodes.reverse();
            return Some(nodes);
        }
        for &(next, _) in network.arcs(node) {
            if before[next as usize].is_none() {
                before[next as usize] = Some(node);
                queue.push_back(next);
            }
        }
    }
    None
}
