//! The best path through a network.

use crate::interrupt;
use crate::network::Network;

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

/// Tokens that are kept before those without an active node are removed the first time.
const FEW_TOKENS: usize = 1 << 20;

/// Nodes that are followed in a frame, at most. (Texts of minutes have fewer. The time of a search grows with the frames alone then,
/// even if the text of an hour is wrong.)
const MOST_ACTIVE: usize = 5_000;

/// Frames between two questions whether the path is still wanted.
const FRAMES_UNASKED: usize = 32;

/// Memory of a search, for use by the next one.
#[derive(Debug)]
pub struct Search {
    tokens: Vec<Token>,
    /// For each node: its cost in the next frame, its token, and the frame for which these hold.
    cost: Vec<f64>,
    token: Vec<u32>,
    stamp: Vec<u32>,
    active: Vec<u32>,
    next: Vec<u32>,
    /// The number of tokens at which those that lead nowhere are removed.
    most_tokens: usize,
    /// See [`MOST_ACTIVE`].
    most_active: usize,
    /// Costs of active nodes.
    costs: Vec<f64>,
    /// Frames of the last search, and those in which nodes were dropped because of [`MOST_ACTIVE`].
    frames: usize,
    crowded: usize,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            tokens: Vec::new(),
            cost: Vec::new(),
            token: Vec::new(),
            stamp: Vec::new(),
            active: Vec::new(),
            next: Vec::new(),
            most_tokens: FEW_TOKENS,
            most_active: MOST_ACTIVE,
            costs: Vec::new(),
            frames: 0,
            crowded: 0,
        }
    }
}

impl Search {
    /// Finds the best path of `frames` frames. Log-likelihoods of a frame and a pdf are multiplied by `scale`. Nodes whose costs
    /// exceed the best by more than `beam` are dropped, and so are the worst of very many. `None` if no path reaches the end.
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
        (self.frames, self.crowded) = (frames, 0);
        self.tokens.clear();
        self.most_tokens = FEW_TOKENS;
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
            if frame % FRAMES_UNASKED == 0 && interrupt::is_over() {
                return None;
            }
            let mut active = std::mem::take(&mut self.next);
            std::mem::swap(&mut active, &mut self.active);
            let limit = best + beam;
            best = f64::INFINITY;
            // Costs and tokens of this frame; `reach` overwrites those in the arrays.
            let mut from: Vec<(u32, f64, u32)> = active
                .iter()
                .map(|&node| (node, self.cost[node as usize], self.token[node as usize]))
                .filter(|&(_, cost, _)| cost <= limit)
                .collect();
            if from.len() > self.most_active {
                self.crowded += 1;
                self.costs.clear();
                self.costs.extend(from.iter().map(|&(_, cost, _)| cost));
                let (_, &mut most, _) =
                    self.costs.select_nth_unstable_by(self.most_active - 1, f64::total_cmp);
                from.retain(|&(_, cost, _)| cost <= most);
            }
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
            if self.tokens.len() >= self.most_tokens {
                self.remove_dead_tokens();
            }
        }
        let ending =
            |&node: &u32| (node, self.cost[node as usize] + f64::from(network.finals[node as usize]));
        let ends = self.active.iter().map(ending).filter(|(_, cost)| cost.is_finite());
        let (last, cost) = ends.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(self.trace(network, last, cost, &log_likelihood, scale))
    }

    /// True if the last search dropped nodes in most frames because there were too many, so that a wider beam would change little.
    pub fn was_crowded(&self) -> bool {
        2 * self.crowded > self.frames
    }

    /// Removes tokens that lead to no active node. At most half of the room is in use then, or it grows.
    fn remove_dead_tokens(&mut self) {
        let mut numbers = vec![NONE; self.tokens.len()];
        for &node in &self.active {
            let mut token = self.token[node as usize];
            while token != NONE && numbers[token as usize] == NONE {
                numbers[token as usize] = 0;
                token = self.tokens[token as usize].before;
            }
        }
        let number = |numbers: &[u32], token: u32| if token == NONE { NONE } else { numbers[token as usize] };
        let mut kept = 0;
        for token in 0..self.tokens.len() {
            if numbers[token] != NONE {
                numbers[token] = kept as u32;
                // (The token before has its number already.)
                let Token { node, before } = self.tokens[token];
                self.tokens[kept] = Token { node, before: number(&numbers, before) };
                kept += 1;
            }
        }
        self.tokens.truncate(kept);
        for &node in &self.active {
            self.token[node as usize] = number(&numbers, self.token[node as usize]);
        }
        self.most_tokens = self.most_tokens.max(2 * kept);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_very_many_nodes_are_dropped_and_the_best_is_not() {
        let network = Network::parallel(50);
        // Node 7 is good throughout; node 9 is bad at first and then the best.
        let likelihood = |frame: usize, pdf: i32| match pdf {
            7 => -1.0,
            9 => {
                if frame < 3 {
                    -9.0
                } else {
                    0.0
                }
            }
            other => -5.0 - other as f32 / 100.0,
        };
        let ids = |most_active: usize, frames: usize| {
            let mut search = Search { most_active, ..Search::default() };
            search.best_path(&network, frames, likelihood, 1.0, 1e6).unwrap().ids
        };
        for most_active in [1, 3, 49, MOST_ACTIVE] {
            assert_eq!(ids(most_active, 4), [8; 4], "{most_active}");
        }
        assert_eq!(ids(MOST_ACTIVE, 40), [10; 40]);
        assert_eq!(ids(3, 40), [8; 40]);
        // (Equal nodes stay or go together.)
        let mut search = Search { most_active: 2, ..Search::default() };
        assert!(search.best_path(&network, 5, |_, _| -1.0, 1.0, 10.0).is_some());
        assert!(search.was_crowded());
        let mut search = Search::default();
        assert!(search.best_path(&network, 5, likelihood, 1.0, 10.0).is_some() && !search.was_crowded());
    }
}
