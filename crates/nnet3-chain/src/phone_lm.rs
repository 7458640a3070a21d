//! The phone language model of denominator graphs. It is an n-gram model without smoothing. Some of its histories are
//! replaced by their shorter form ("hard back-off"), so it has few arcs.

use std::collections::{BTreeMap, BinaryHeap, HashMap};

use kaldi_fst::{Arc, Fst, ops};
use nnet3_train::{Error, Result};

/// Size of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhoneLmOptions {
    /// A phone depends on at most one phone less than this before it.
    pub ngram_order: usize,
    /// States besides those with histories of `no_prune_ngram_order` - 1 phones.
    pub num_extra_lm_states: usize,
    /// Histories shorter than this always stay apart.
    pub no_prune_ngram_order: usize,
}

impl Default for PhoneLmOptions {
    fn default() -> PhoneLmOptions {
        PhoneLmOptions { ngram_order: 4, num_extra_lm_states: 1000, no_prune_ngram_order: 3 }
    }
}

impl PhoneLmOptions {
    /// Fails if the orders make no sense.
    pub fn check(&self) -> Result<()> {
        let PhoneLmOptions { ngram_order, no_prune_ngram_order, .. } = *self;
        if ngram_order < 2 {
            return Err(Error::options(format!("`ngram-order`={ngram_order}: expected 2 or more")));
        }
        if no_prune_ngram_order < 1 || ngram_order < no_prune_ngram_order {
            return Err(Error::options(format!(
                "`no-prune-ngram-order`={no_prune_ngram_order}: expected 1 to `ngram-order`={ngram_order}"
            )));
        }
        Ok(())
    }
}

/// Statistics of the estimation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhoneLmStats {
    /// Number of states with histories one phone shorter than the histories that may be pruned.
    pub basic: usize,
    /// States before and after some were merged.
    pub before: usize,
    pub after: usize,
    /// Phones and ends of sequences.
    pub phones: u64,
    /// The perplexity on the training data.
    pub perplexity: f64,
}

/// The symbol at the beginning and the end of a sequence.
const BOUNDARY: i32 = 0;

/// Rounds of merging. Each round does a part of the merging, and then the candidates are found again.
const ROUNDS: i64 = 4;

/// Largest deviation of a change of the likelihood from its value in the queue; larger ones are queued again.
const TOLERANCE: f64 = 1e-3;

/// Counts the phones after each history, and makes a model of the counts.
pub struct PhoneLmEstimator {
    options: PhoneLmOptions,
    states: Vec<LmState>,
    by_history: HashMap<Vec<i32>, usize>,
}

#[derive(Default)]
struct LmState {
    history: Vec<i32>,
    counts: BTreeMap<i32, u64>,
    /// The sum of `counts`.
    total: u64,
    /// The total with the counts of all states that could still be merged into this one.
    total_with_parents: u64,
    backoff: Option<usize>,
    backoff_allowed: bool,
}

/// Σ c ln(c / Σ c).
fn log_likelihood(counts: impl Iterator<Item = u64>, total: u64) -> f64 {
    counts.map(|count| count as f64 * (count as f64 / total as f64).ln()).sum()
}

/// A candidate for merging; the least loss is the greatest.
#[derive(PartialEq)]
struct Candidate {
    change: f64,
    state: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> std::cmp::Ordering {
        self.change.total_cmp(&other.change).then(self.state.cmp(&other.state))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= TOLERANCE * (a.abs() + b.abs())
}

impl PhoneLmEstimator {
    pub fn new(options: PhoneLmOptions) -> Result<PhoneLmEstimator> {
        options.check()?;
        Ok(PhoneLmEstimator { options, states: Vec::new(), by_history: HashMap::new() })
    }

    /// Counts the phones of one utterance, which are above 0.
    pub fn add(&mut self, phones: &[i32]) -> Result<()> {
        if let Some(phone) = phones.iter().find(|&&phone| phone <= BOUNDARY) {
            return Err(Error::data(format!("found phone {phone}, expected numbers above 0")));
        }
        let mut history = vec![BOUNDARY];
        for &phone in phones {
            self.count(&history, phone);
            history.push(phone);
            if history.len() >= self.options.ngram_order {
                history.remove(0);
            }
        }
        self.count(&history, BOUNDARY);
        Ok(())
    }

    fn count(&mut self, history: &[i32], phone: i32) {
        let state = self.state(history);
        let state = &mut self.states[state];
        *state.counts.entry(phone).or_default() += 1;
        state.total += 1;
    }

    /// Returns the number of the state with this history. If it does not exist, it is made.
    fn state(&mut self, history: &[i32]) -> usize {
        if let Some(&state) = self.by_history.get(history) {
            return state;
        }
        let state = self.states.len();
        self.states.push(LmState { history: history.to_vec(), ..Default::default() });
        self.by_history.insert(history.to_vec(), state);
        if history.len() >= self.options.no_prune_ngram_order {
            self.states[state].backoff = Some(self.state(&history[1..]));
        }
        state
    }

    /// Returns the model as an acceptor. A final cost is the cost of the utterance's end. Without counts, it is an
    /// error.
    pub fn estimate(mut self) -> Result<(Fst, PhoneLmStats)> {
        if self.states.is_empty() {
            return Err(Error::data("there are no phone sequences to estimate a language model from"));
        }
        self.prepare();
        let basic_length = self.options.no_prune_ngram_order - 1;
        let basic = self.states.iter().filter(|state| state.history.len() == basic_length).count();
        let before = self.num_active();
        let after = self.merge(before, basic + self.options.num_extra_lm_states);
        let phones = self.states.iter().map(|state| state.total).sum();
        let likelihood: f64 = self.states.iter().map(LmState::log_likelihood).sum();
        let perplexity = (-likelihood / phones as f64).exp();
        Ok((self.fst()?, PhoneLmStats { basic, before, after, phones, perplexity }))
    }

    fn num_active(&self) -> usize {
        self.states.iter().filter(|state| state.total > 0).count()
    }

    fn prepare(&mut self) {
        for s in 0..self.states.len() {
            let total = self.states[s].total;
            let mut up = Some(s);
            while let Some(state) = up {
                self.states[state].total_with_parents += total;
                up = self.states[state].backoff;
            }
        }
    }

    /// True if a state may be merged into the state of the shorter history: all longer histories have been merged, and
    /// its successors do not need it.
    fn may_back_off(&self, s: usize) -> bool {
        let state = &self.states[s];
        if state.backoff.is_none() || state.total == 0 || state.total != state.total_with_parents {
            return false;
        }
        if state.history.len() == self.options.ngram_order - 1 {
            return true;
        }
        let mut longer = state.history.clone();
        longer.push(BOUNDARY);
        state.counts.keys().filter(|&&phone| phone != BOUNDARY).all(|&phone| {
            *longer.last_mut().expect("not empty") = phone;
            self.by_history.get(&longer).is_none_or(|&next| self.states[next].total_with_parents == 0)
        })
    }

    /// Returns the change of the data's likelihood after a state is merged into the state of the shorter history. It is
    /// at most 0.
    fn change(&self, s: usize) -> f64 {
        let state = &self.states[s];
        let Some(backoff) = state.backoff.map(|backoff| &self.states[backoff]) else { return 0.0 };
        if backoff.total == 0 {
            return -1e-15 * state.total as f64;
        }
        let mut sum = backoff.counts.clone();
        state.counts.iter().for_each(|(phone, count)| *sum.entry(*phone).or_default() += count);
        let together = log_likelihood(sum.into_values(), state.total + backoff.total);
        (together - state.log_likelihood() - backoff.log_likelihood()).min(0.0)
    }

    /// Merges states until `target` are left or none may be merged; returns how many are left.
    fn merge(&mut self, before: usize, target: usize) -> usize {
        let mut active = before;
        for round in 1..=ROUNDS {
            let target = before as i64 + (target as i64 - before as i64) * round / ROUNDS;
            for s in 0..self.states.len() {
                self.states[s].backoff_allowed = self.may_back_off(s);
            }
            let candidate = |state| Candidate { change: self.change(state), state };
            let allowed = (0..self.states.len()).filter(|&s| self.states[s].backoff_allowed);
            let mut queue: BinaryHeap<Candidate> = allowed.map(candidate).collect();
            while active as i64 > target {
                let Some(Candidate { change, state }) = queue.pop() else { break };
                let now = self.change(state);
                if !close(change, now) {
                    queue.push(Candidate { change: now, state });
                    continue;
                }
                let Some(backoff) = self.states[state].backoff else { continue };
                if self.states[backoff].total > 0 {
                    active -= 1;
                }
                let merged = &mut self.states[state];
                let counts = std::mem::take(&mut merged.counts);
                let total = std::mem::take(&mut merged.total);
                (merged.total_with_parents, merged.backoff_allowed) = (0, false);
                let into = &mut self.states[backoff];
                counts.into_iter().for_each(|(phone, count)| *into.counts.entry(phone).or_default() += count);
                into.total += total;
                if !self.states[backoff].backoff_allowed && self.may_back_off(backoff) {
                    self.states[backoff].backoff_allowed = true;
                    queue.push(Candidate { change: self.change(backoff), state: backoff });
                }
            }
        }
        active
    }

    /// The state with the longest end of this history that has counts; the empty history is an end of all.
    fn longest(&self, history: &[i32]) -> Result<usize> {
        let ends = (0..=history.len()).map(|skipped| &history[skipped..]);
        let mut known = ends.filter_map(|end| self.by_history.get(end).copied());
        known.find(|&state| self.states[state].total > 0).ok_or_else(|| {
            Error::data(format!(
                "the language model has no state for the history {history:?} or a shorter one"
            ))
        })
    }

    fn fst(&self) -> Result<Fst> {
        let mut numbers = vec![0; self.states.len()];
        let active: Vec<usize> = (0..self.states.len()).filter(|&s| self.states[s].total > 0).collect();
        active.iter().enumerate().for_each(|(number, &s)| numbers[s] = number as u32);
        let mut fst = Fst { start: Some(numbers[self.longest(&[BOUNDARY])?]), ..Fst::default() };
        for &s in &active {
            let LmState { history, counts, total, .. } = &self.states[s];
            let id = fst.add_state();
            for (&phone, &count) in counts {
                let cost = -(count as f64 / *total as f64).ln() as f32;
                if phone == BOUNDARY {
                    fst.state_mut(id).final_weight = cost;
                } else {
                    let longer: Vec<i32> = history.iter().copied().chain([phone]).collect();
                    let next = numbers[self.longest(&longer)?];
                    fst.state_mut(id).arcs.push(Arc::new(phone, cost, next));
                }
            }
        }
        let states = fst.states.len();
        ops::connect(&mut fst);
        if fst.states.len() != states {
            return Err(Error::data(format!(
                "only {} of the language model's {states} states can be reached and left",
                fst.states.len()
            )));
        }
        Ok(fst)
    }
}

impl LmState {
    fn log_likelihood(&self) -> f64 {
        log_likelihood(self.counts.values().copied(), self.total)
    }
}
