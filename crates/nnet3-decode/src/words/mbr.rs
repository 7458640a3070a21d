//! Decoding for the smallest expected number of word errors (`lat/sausages.cc`). (Xu, Povey, Mangu and Zhu, "Minimum Bayes
//! Risk decoding and system combination based on a recursion for edit distance", 2011.)

use std::collections::BTreeMap;

use kaldi_fst::{EPSILON, ops};
use kaldi_numerics::log_sums::log_add;

use crate::align::with_one_end;
use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::order;
use crate::path;
use crate::times::state_times;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// True to change words to lower the risk; if false, only confidences and times are computed.
    pub decode: bool,
    /// True to keep silences as words.
    pub keep_silence: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { decode: true, keep_silence: false }
    }
}

/// Words with their probabilities at a position.
pub(crate) type Bin = Vec<(i32, f32)>;

/// Begin and end, in frames.
pub type Times = (f32, f32);

#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub words: Vec<i32>,
    /// Begin and end of each word.
    pub times: Vec<Times>,
    /// The confidence of each word.
    pub confidences: Vec<f32>,
    /// The expected number of errors.
    pub risk: f64,
    /// Alternatives, the likeliest first: before the first word, for it, after it, and so on.
    pub bins: Vec<Bin>,
    /// Begin and end of each bin.
    pub bin_times: Vec<Times>,
    /// Unexpected results, for warnings.
    pub problems: Vec<String>,
}

/// Costs of leaving out a word of the lattice are a little higher, so that ties go the right way.
const DELETION: f64 = 1.0 + 1e-5_f32 as f64;

/// Rounds after which there is no hope.
const MOST_ROUNDS: usize = 100;

/// Works out the words with the least risk, beginning with `words` or with the best path.
pub fn decode(lattice: &CompactLattice, words: Option<&[i32]>, options: Options) -> Result<Outcome> {
    let (graph, best) = Graph::of(lattice)?;
    let mut current: Vec<i32> = words.map_or(best, <[i32]>::to_vec);
    let mut risk = 0.0;
    let mut problems = Vec::new();
    for round in 0.. {
        current = with_gaps(&current);
        let statistics = graph.statistics(&current);
        if round > 0 && statistics.risk > risk {
            problems.push(format!("Edit distance increased: {} > {risk}", statistics.risk));
        }
        risk = statistics.risk;
        let mut change = 0.0;
        for (word, bin) in current.iter_mut().zip(&statistics.bins) {
            if let (true, Some(&(likeliest, probability))) = (options.decode, bin.first()) {
                let before = bin.iter().find(|(other, _)| other == word).map_or(0.0, |&(_, p)| p);
                change += f64::from(before) - f64::from(probability);
                *word = likeliest;
            }
        }
        if round > MOST_ROUNDS {
            problems.push("Iterating too many times in MbrDecode; stopping.".to_owned());
        }
        if change == 0.0 || round > MOST_ROUNDS {
            return Ok(outcome(&current, statistics, options, problems));
        }
    }
    unreachable!("the rounds are limited")
}

/// ε w1 ε w2 … ε.
fn with_gaps(words: &[i32]) -> Vec<i32> {
    let words = words.iter().filter(|&&word| word != EPSILON);
    [EPSILON].into_iter().chain(words.flat_map(|&word| [word, EPSILON])).collect()
}

fn outcome(current: &[i32], statistics: Statistics, options: Options, problems: Vec<String>) -> Outcome {
    let mut out = Outcome {
        words: Vec::new(),
        times: Vec::new(),
        confidences: Vec::new(),
        risk: statistics.risk,
        bins: statistics.bins,
        bin_times: statistics.bin_times,
        problems,
    };
    for (q, &word) in current.iter().enumerate() {
        if word == EPSILON && !options.keep_silence {
            continue;
        }
        let place = out.bins[q].iter().position(|&(other, _)| other == word);
        out.words.push(word);
        out.times.push(statistics.times[q].get(place.unwrap_or(0)).copied().unwrap_or_default());
        out.confidences.push(place.map_or(0.0, |place| out.bins[q][place].1));
        separate_last(&mut out.times);
    }
    out
}

/// Shares the time between the last two words, if they overlap.
fn separate_last(times: &mut [Times]) {
    let [before @ .., first, second] = times else { return };
    if first.1 <= second.0 {
        return;
    }
    let earlier = before.last().map_or(0.0, |word| word.1);
    let left = earlier.max(first.0.min(second.0));
    let right = first.1.max(second.1);
    let (first_length, second_length) = (first.1 - first.0, second.1 - second.0);
    let middle = match first_length > 0.0 {
        true => left + (right - left) * first_length / (first_length + second_length),
        false => left,
    };
    (*first, *second) = ((left, middle), (middle, right));
}

/// An arc: its source, word, log-likelihood.
struct ArcIn {
    from: usize,
    word: i32,
    log_like: f64,
}

/// The lattice: for each state the arcs that lead there. The first state is the start, the last one the end.
struct Graph {
    incoming: Vec<Vec<ArcIn>>,
    times: Vec<f64>,
    /// The log-likelihood of all ways to each state.
    alpha: Vec<f64>,
}

/// Statistics of the words at each position.
struct Statistics {
    risk: f64,
    bins: Vec<Bin>,
    /// Begin and end of each entry of the bins.
    times: Vec<Vec<Times>>,
    bin_times: Vec<Times>,
}

/// Sums for a word: probability, and its multiples of begin and end.
type Sums = BTreeMap<i32, [f64; 3]>;

fn add(sums: &mut Sums, word: i32, probability: f64, begin: f64, end: f64) {
    if probability != 0.0 {
        let sum = sums.entry(word).or_default();
        sum[0] += probability;
        sum[1] += probability * begin;
        sum[2] += probability * end;
    }
}

/// One step of an arc's best alignment.
#[derive(Clone, Copy)]
enum Edit {
    /// The arc's word stands for the word at this position.
    Match,
    /// The arc's word is left out.
    Delete,
    /// The word at this position is missing.
    Insert,
}

fn cost(a: i32, b: i32) -> f64 {
    if a == b { 0.0 } else { 1.0 }
}

fn deletion(word: i32) -> f64 {
    if word == EPSILON { 0.0 } else { DELETION }
}

impl Graph {
    /// The graph, and the words of its best path.
    fn of(lattice: &CompactLattice) -> Result<(Graph, Vec<i32>)> {
        let mut lattice = lattice.clone();
        ops::connect(&mut lattice);
        if lattice.start.is_none() {
            return Err(Error::NoPath);
        }
        let mut lattice = with_one_end(&lattice);
        order::sort(&mut lattice)?;
        let (times, _) = state_times(&lattice)?;
        let mut incoming: Vec<Vec<ArcIn>> = Vec::new();
        incoming.resize_with(lattice.states.len(), Vec::new);
        for (s, state) in lattice.numbered() {
            for arc in &state.arcs {
                let weight = arc.weight.weight;
                let log_like = f64::from(-(weight.graph + weight.acoustic));
                incoming[arc.next as usize].push(ArcIn { from: s as usize, word: arc.ilabel, log_like });
            }
        }
        let mut alpha = vec![0.0; incoming.len()];
        for n in 1..incoming.len() {
            let ways = incoming[n].iter().map(|arc| alpha[arc.from] + arc.log_like);
            alpha[n] = ways.fold(f64::NEG_INFINITY, log_add);
        }
        let best = path::best_linear(&lattice)?.words;
        let times = times.into_iter().map(|time| time.unwrap_or(0) as f64).collect();
        Ok((Graph { incoming, times, alpha }, best))
    }

    /// The probability of coming to a state by an arc.
    fn share(&self, n: usize, arc: &ArcIn) -> f64 {
        (self.alpha[arc.from] + arc.log_like - self.alpha[n]).exp()
    }

    /// Edit distances along an arc, from those at its beginning, and the steps that were taken.
    fn along(&self, before: &[f64], word: i32, words: &[i32], out: &mut [f64], steps: &mut [Edit]) {
        out[0] = before[0] + deletion(word);
        for q in 1..=words.len() {
            let matched = before[q - 1] + cost(word, words[q - 1]);
            let deleted = before[q] + deletion(word);
            let inserted = out[q - 1] + cost(EPSILON, words[q - 1]);
            (out[q], steps[q]) = match () {
                () if matched <= deleted && matched <= inserted => (matched, Edit::Match),
                () if matched > deleted && deleted <= inserted => (deleted, Edit::Delete),
                () => (inserted, Edit::Insert),
            };
        }
    }

    fn statistics(&self, words: &[i32]) -> Statistics {
        let (count, width) = (self.incoming.len(), words.len() + 1);
        // Expected edit distances between the histories of a state and the first words.
        let mut distances = vec![vec![0.0; width]; count];
        for q in 1..width {
            distances[0][q] = distances[0][q - 1] + cost(EPSILON, words[q - 1]);
        }
        let (mut along, mut steps) = (vec![0.0; width], vec![Edit::Match; width]);
        for n in 1..count {
            let mut sums = vec![0.0; width];
            for arc in &self.incoming[n] {
                self.along(&distances[arc.from], arc.word, words, &mut along, &mut steps);
                let share = self.share(n, arc);
                sums.iter_mut().zip(&along).for_each(|(sum, distance)| *sum += share * distance);
            }
            distances[n] = sums;
        }
        let risk = distances[count - 1][words.len()];
        let mut occupancies = vec![vec![0.0; width]; count];
        occupancies[count - 1][words.len()] = 1.0;
        let mut sums: Vec<Sums> = vec![Sums::new(); width];
        let mut occupancy = vec![0.0; width];
        for n in (1..count).rev() {
            let here = std::mem::take(&mut occupancies[n]);
            for arc in &self.incoming[n] {
                self.along(&distances[arc.from], arc.word, words, &mut along, &mut steps);
                let share = self.share(n, arc);
                let (begin, end) = (self.times[arc.from], self.times[n]);
                occupancy.fill(0.0);
                for q in (1..width).rev() {
                    occupancy[q] += share * here[q];
                    match steps[q] {
                        Edit::Match => {
                            occupancies[arc.from][q - 1] += occupancy[q];
                            add(&mut sums[q], arc.word, occupancy[q], begin, end);
                        }
                        Edit::Delete => occupancies[arc.from][q] += occupancy[q],
                        Edit::Insert => {
                            occupancy[q - 1] += occupancy[q];
                            add(&mut sums[q], EPSILON, occupancy[q], end, end);
                        }
                    }
                }
                occupancies[arc.from][0] += occupancy[0] + share * here[0];
            }
        }
        // Remainder at the start: words without a counterpart.
        let mut left = 0.0;
        for q in (1..width).rev() {
            left += occupancies[0][q];
            add(&mut sums[q], EPSILON, left, self.times[0], self.times[0]);
        }
        let mut statistics = Statistics { risk, bins: Vec::new(), times: Vec::new(), bin_times: Vec::new() };
        sums[1..].iter().for_each(|sums| statistics.push_bin(sums));
        statistics
    }
}

impl Statistics {
    fn push_bin(&mut self, sums: &Sums) {
        let mut entries: Vec<(i32, [f64; 3])> = sums.iter().map(|(&word, &sum)| (word, sum)).collect();
        let key = |sum: &[f64; 3]| sum[0] as f32;
        entries.sort_by(|a, b| key(&b.1).total_cmp(&key(&a.1)).then(b.0.cmp(&a.0)));
        self.bins.push(entries.iter().map(|(word, sum)| (*word, key(sum))).collect());
        let mean = |sum: &[f64; 3], i: usize| (sum[i] / f64::from(key(sum))) as f32;
        self.times.push(entries.iter().map(|(_, sum)| (mean(sum, 1), mean(sum, 2))).collect());
        let total = |i: usize| entries.iter().map(|(_, sum)| sum[i]).sum::<f64>() as f32;
        let mut times = (total(1), total(2));
        if let Some(before) = self.bin_times.last_mut().filter(|before| before.1 > times.0) {
            let middle = (0.5 * (f64::from(before.1) + f64::from(times.0))) as f32;
            (before.1, times.0) = (middle, middle);
        }
        self.bin_times.push(times);
    }
}
