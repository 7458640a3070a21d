//! The search for the cheapest sequence of lags.

/// A number of a lag.
pub(super) type State = u16;

/// Costs of the best sequences that end at each lag.
///
/// Going from lag j to lag i costs (i − j)² times a factor. So the cheapest way to all lags is the lower envelope of parabolas
/// (Felzenszwalb and Huttenlocher, 2012); few lags are on it.
#[derive(Debug)]
pub(super) struct Viterbi {
    factor: f32,
    costs: Vec<f32>,
    next: Vec<f32>,
    /// Subtracted from all costs so far.
    subtracted: f64,
    /// Differences of costs of neighbours above which a lag is on the envelope nowhere.
    above_next: Vec<f32>,
    above_last: Vec<f32>,
    envelope: Vec<Parabola>,
}

/// The cheapest previous lag from some lag on.
#[derive(Debug, Clone, Copy)]
struct Parabola {
    lag: usize,
    from: usize,
}

impl Viterbi {
    /// Begins a search over `states` lags.
    pub fn new(states: usize, factor: f32) -> Viterbi {
        let distance = |steps: usize| factor * (2 * steps + 1) as f32;
        Viterbi {
            factor,
            costs: vec![0.0; states],
            next: vec![0.0; states],
            subtracted: 0.0,
            above_next: (0..states).map(distance).collect(),
            above_last: (0..states).rev().map(distance).collect(),
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

    /// Goes on by a frame with these costs of its lags, which are overwritten. Writes the best previous lag of each lag; of equal ones the
    /// first.
    pub fn step(&mut self, local: &[f32], back: &mut [State]) {
        self.make_envelope();
        let n = self.costs.len();
        for (k, &Parabola { lag, from }) in self.envelope.iter().enumerate() {
            let end = self.envelope.get(k + 1).map_or(n, |next| next.from);
            let (cost, factor) = (self.costs[lag], self.factor);
            back[from..end].fill(lag as State);
            let first = from as f32 - lag as f32;
            for (i, (next, local)) in self.next[from..end].iter_mut().zip(&local[from..end]).enumerate() {
                let steps = first + i as u32 as f32;
                *next = steps * steps * factor + cost + local;
            }
        }
        std::mem::swap(&mut self.costs, &mut self.next);
        let least = least(&self.costs);
        self.costs.iter_mut().for_each(|cost| *cost -= least);
        self.subtracted += f64::from(least);
    }

    fn make_envelope(&mut self) {
        let (costs, n) = (&self.costs, self.costs.len());
        self.envelope.clear();
        for lag in 0..n {
            let cost = costs[lag];
            let beaten = (lag + 1 < n && cost - costs[lag + 1] > self.above_next[lag])
                || (lag > 0 && cost - costs[lag - 1] > self.above_last[lag]);
            if beaten {
                continue;
            }
            let from = loop {
                let Some(&Parabola { lag: other, from }) = self.envelope.last() else { break 0 };
                let crossing = crossing((other, costs[other]), (lag, cost), self.factor);
                // At the crossing itself the first one counts.
                let begin = if crossing < 0.0 { 0 } else { (crossing.min(n as f64)) as usize + 1 };
                if begin > from {
                    break begin;
                }
                self.envelope.pop();
            };
            if from < n {
                self.envelope.push(Parabola { lag, from });
            }
        }
        if self.envelope.is_empty() {
            // All costs are NaN, or there is no factor and rounding beats all.
            self.envelope.push(Parabola { lag: best(costs), from: 0 });
        }
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

/// The point from which on the parabola of the second lag (with its cost) is below that of the first one.
fn crossing((i, a): (usize, f32), (j, b): (usize, f32), factor: f32) -> f64 {
    let (x, y) = (i as f64, j as f64);
    let rise = f64::from(b) - f64::from(a);
    match factor {
        0.0 if rise < 0.0 => -1.0,
        0.0 => f64::INFINITY,
        factor => 0.5 * (rise / (f64::from(factor) * (y - x)) + x + y),
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
                for i in 0..n {
                    let chosen = ways(i).nth(usize::from(back[i])).unwrap() + f64::from(local[i]);
                    assert!(chosen <= next[i] + 1e-4, "{n} lags, frame {frame}, lag {i}");
                    assert!(i == 0 || back[i] >= back[i - 1]);
                }
                let least = next.iter().copied().fold(f64::INFINITY, f64::min);
                next.iter_mut().for_each(|x| *x -= least);
                for i in 0..n {
                    assert!((f64::from(viterbi.costs[i]) - next[i]).abs() < 1e-4, "{n} lags, lag {i}");
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
