//! The search for the cheapest sequence of lags.

/// A number of a lag.
pub(super) type State = u16;

/// Costs of the best sequences, by their last lag.
///
/// A step from lag j to lag i costs (i − j)² times a factor F. So the least costs of all lags are the lower envelope of
/// parabolas (Felzenszwalb and Huttenlocher, 2012). The parabola of lag j is below that of lag k < j from (cⱼ −
/// cₖ)/(2F(j − k)) + (j + k)/2 on. Most lags are ruled out by their neighbours alone.
#[derive(Debug)]
pub(super) struct Viterbi {
    /// F d² for distances d from −(states − 1) to states − 1.
    distances: Vec<f32>,
    /// 1/(2F d) for distances d of 0 and more; empty if F is 0.
    inverses: Vec<f64>,
    costs: Vec<f32>,
    next: Vec<f32>,
    /// Subtracted from all costs so far.
    subtracted: f64,
    /// The points from which on a lag's successor is better.
    ends: Vec<f32>,
    /// Lags that may be on the envelope.
    candidates: Vec<State>,
    envelope: Vec<Parabola>,
}

/// The cheapest previous lag after some point.
#[derive(Debug, Clone, Copy)]
struct Parabola {
    lag: usize,
    after: f64,
}

impl Parabola {
    /// The first lag that it is for. At the point itself the previous parabola counts.
    fn first(&self) -> usize {
        if self.after < 0.0 { 0 } else { self.after as usize + 1 }
    }
}

impl Viterbi {
    /// Begins a search over `states` lags.
    pub fn new(states: usize, factor: f32) -> Viterbi {
        let distance = |d: usize| {
            let d = d as f32 - (states - 1) as f32;
            d * d * factor
        };
        let inverse = |d: usize| 0.5 / (f64::from(factor) * d as f64);
        Viterbi {
            distances: (0..2 * states - 1).map(distance).collect(),
            inverses: if factor > 0.0 { (0..states).map(inverse).collect() } else { Vec::new() },
            costs: vec![0.0; states],
            next: vec![0.0; states],
            subtracted: 0.0,
            ends: vec![0.0; states],
            candidates: vec![0; states],
            envelope: Vec::new(),
        }
    }

    /// Begins again.
    pub fn restart(&mut self) {
        self.costs.fill(0.0);
        self.subtracted = 0.0;
    }

    /// The number of lags.
    pub fn states(&self) -> usize {
        self.costs.len()
    }

    /// Goes on by a frame with these costs of its lags, which are overwritten. Writes the best previous lag of each
    /// lag; of equal ones the first.
    pub fn step(&mut self, local: &[f32], back: &mut [State]) {
        self.make_envelope();
        let n = self.costs.len();
        for (k, parabola) in self.envelope.iter().enumerate() {
            let (lag, from) = (parabola.lag, parabola.first());
            let end = self.envelope.get(k + 1).map_or(n, Parabola::first);
            let (cost, ways) = (self.costs[lag], &self.distances[n - 1 - lag + from..]);
            back[from..end].fill(lag as State);
            let next = self.next[from..end].iter_mut();
            for ((next, local), way) in next.zip(&local[from..end]).zip(ways) {
                *next = way + cost + local;
            }
        }
        std::mem::swap(&mut self.costs, &mut self.next);
        let least = least(&self.costs);
        self.costs.iter_mut().for_each(|cost| *cost -= least);
        self.subtracted += f64::from(least);
    }

    fn make_envelope(&mut self) {
        let n = self.costs.len();
        let count = self.find_candidates();
        let (costs, inverses) = (&self.costs, &self.inverses);
        self.envelope.clear();
        for &lag in &self.candidates[..count] {
            let lag = usize::from(lag);
            let after = loop {
                let Some(&Parabola { lag: other, after }) = self.envelope.last() else { break -1.0 };
                let rise = f64::from(costs[lag]) - f64::from(costs[other]);
                let crossing = rise * inverses[lag - other] + 0.5 * (lag + other) as f64;
                if crossing > after {
                    break crossing;
                }
                self.envelope.pop();
            };
            if after < (n - 1) as f64 {
                self.envelope.push(Parabola { lag, after });
            }
        }
        if self.envelope.is_empty() {
            // Without a factor, or if all costs are NaN.
            self.envelope.push(Parabola { lag: best(costs), after: -1.0 });
        }
    }

    /// Finds the lags that are better than both neighbours somewhere. Returns their number.
    fn find_candidates(&mut self) -> usize {
        let n = self.costs.len();
        let Some(&inverse) = self.inverses.get(1) else { return 0 };
        let (inverse, last) = (inverse as f32, (n - 1) as f32);
        let pairs = self.costs.iter().zip(&self.costs[1..]);
        for (lag, (end, (cost, next))) in (0u32..).zip(self.ends.iter_mut().zip(pairs)) {
            *end = (next - cost) * inverse + (lag as f32 + 0.5);
        }
        self.ends[n - 1] = f32::INFINITY;
        let (mut count, mut begin) = (0, f32::NEG_INFINITY);
        for (lag, &end) in self.ends.iter().enumerate() {
            self.candidates[count] = lag as State;
            count += usize::from((begin < end) & (begin < last) & (end > 0.0));
            begin = end;
        }
        count
    }

    /// The lag at which the cheapest sequence ends.
    pub fn best(&self) -> State {
        best(&self.costs) as State
    }

    /// The cost of the cheapest sequence.
    pub fn cost(&self) -> f64 {
        self.subtracted + f64::from(least(&self.costs))
    }
}

fn best(costs: &[f32]) -> usize {
    (0..costs.len()).fold(0, |best, i| if costs[i] < costs[best] { i } else { best })
}

fn least(costs: &[f32]) -> f32 {
    let (parts, rest) = costs.as_chunks::<8>();
    let mut least = [f32::INFINITY; 8];
    for part in parts {
        (0..8).for_each(|k| least[k] = if part[k] < least[k] { part[k] } else { least[k] });
    }
    least.into_iter().chain(rest.iter().copied()).fold(f32::INFINITY, |a, b| if b < a { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbers;

    /// Steps against the minimum over all pairs of lags.
    #[test]
    fn all_pairs() {
        let mut numbers = Numbers(11);
        for (n, factor) in [(1, 0.1f32), (2, 0.3), (417, 2.5e-6), (300, 1e-3), (50, 0.5), (40, 0.0)] {
            let mut viterbi = Viterbi::new(n, factor);
            let mut costs = vec![0.0f64; n];
            for frame in 0..20 {
                let local: Vec<f32> = (0..n)
                    .map(|i| {
                        let wave = (i as f64 * 0.1 + f64::from(frame)).sin();
                        (1.0 - 0.5 * wave + 0.05 * numbers.next()) as f32
                    })
                    .collect();
                let ways = |i: usize| {
                    let costs = &costs;
                    (0..n).map(move |j| f64::from(factor) * (i as f64 - j as f64).powi(2) + costs[j])
                };
                let mut next: Vec<f64> =
                    (0..n).map(|i| ways(i).fold(f64::INFINITY, f64::min) + f64::from(local[i])).collect();
                let mut back = vec![0; n];
                viterbi.step(&local, &mut back);
                for (i, best) in next.iter().enumerate() {
                    let chosen = ways(i).nth(usize::from(back[i])).unwrap() + f64::from(local[i]);
                    assert!(chosen <= best + 1e-4, "{n} lags, frame {frame}, lag {i}");
                    assert!(i == 0 || back[i] >= back[i - 1]);
                }
                let least = next.iter().copied().fold(f64::INFINITY, f64::min);
                next.iter_mut().for_each(|x| *x -= least);
                for (i, expected) in next.iter().enumerate() {
                    assert!((f64::from(viterbi.costs[i]) - expected).abs() < 1e-4, "{n} lags, lag {i}");
                }
                costs = viterbi.costs.iter().map(|&x| f64::from(x)).collect();
            }
            assert!(viterbi.cost() > 20.0 * 0.4 && viterbi.states() == n);
            assert_eq!(viterbi.costs[usize::from(viterbi.best())], 0.0);
            viterbi.restart();
            assert_eq!(viterbi.cost(), 0.0);
        }
    }

    #[test]
    fn costs_that_are_no_numbers() {
        let mut viterbi = Viterbi::new(9, 0.1);
        let mut back = [0; 9];
        for _ in 0..3 {
            viterbi.step(&[f32::NAN; 9], &mut back);
        }
        assert!(back.iter().all(|&lag| lag < 9));
    }
}
