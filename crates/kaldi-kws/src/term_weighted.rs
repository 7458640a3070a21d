//! Term-weighted values: hits of keywords against a reference (`kws/kws-scoring.cc`).

use std::collections::{BTreeMap, HashMap};

/// An occurrence of a keyword, in a reference or as a hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    pub keyword: String,
    pub utterance: i32,
    /// The first frame, and the one behind the last.
    pub begin: i32,
    pub end: i32,
    /// The probability of a hit.
    pub score: f32,
}

impl Term {
    /// `None` if there are not exactly utterance, begin, end and score.
    pub fn new(keyword: &str, values: &[f64]) -> Option<Term> {
        let &[utterance, begin, end, score] = values else { return None };
        let [utterance, begin, end] = [utterance, begin, end].map(|value| value as i32);
        Some(Term { keyword: keyword.to_owned(), utterance, begin, end, score: score as f32 })
    }

    fn center(&self) -> i32 {
        self.begin.wrapping_add(self.end) / 2
    }

    /// Frames in common for each frame of either.
    fn overlap(&self, other: &Term) -> f32 {
        let common = self.end.min(other.end).saturating_sub(self.begin.max(other.begin));
        let all = self.end.max(other.end).saturating_sub(self.begin.min(other.begin));
        common as f32 / all as f32
    }
}

/// A hit with the reference that it belongs to; one of the two may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Aligned<'t> {
    pub reference: Option<&'t Term>,
    pub hit: Option<&'t Term>,
}

/// The alignment of hits with references: first all hits in their order, then references without hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment<'t> {
    pub pairs: Vec<Aligned<'t>>,
    /// Pairs with a hit.
    pub hits: usize,
}

/// Gives each hit the free reference of the same utterance and keyword with which it overlaps most. Centers may be at most
/// `max_distance` frames apart.
pub fn align<'t>(references: &'t [Term], hits: &'t [Term], max_distance: i32) -> Alignment<'t> {
    let mut places: HashMap<(i32, &str), Vec<usize>> = HashMap::new();
    for (i, term) in references.iter().enumerate() {
        places.entry((term.utterance, &term.keyword)).or_default().push(i);
    }
    let mut taken = vec![false; references.len()];
    let mut pairs = Vec::with_capacity(hits.len());
    for hit in hits {
        let candidates = places.get(&(hit.utterance, hit.keyword.as_str()));
        let (mut best, mut most) = (None, f32::NEG_INFINITY);
        for &i in candidates.into_iter().flatten() {
            let is_near = i64::from(references[i].center()).abs_diff(hit.center().into())
                <= u64::try_from(max_distance).unwrap_or(0)
                && max_distance >= 0;
            let overlap = references[i].overlap(hit);
            if is_near && overlap > most && !taken[i] {
                (best, most) = (Some(i), overlap);
            }
        }
        if let Some(i) = best {
            taken[i] = true;
        }
        pairs.push(Aligned { reference: best.map(|i| &references[i]), hit: Some(hit) });
    }
    let left = references.iter().zip(taken).filter(|(_, taken)| !taken);
    pairs.extend(left.map(|(term, _)| Aligned { reference: Some(term), hit: None }));
    Alignment { pairs, hits: hits.len() }
}

/// A hit counts as found from this score on, in lists.
const DECISION: f32 = 0.5;

impl Aligned<'_> {
    fn decision(&self) -> &'static str {
        let is_found = self.hit.is_some_and(|hit| hit.score >= DECISION);
        match (self.reference, is_found) {
            (Some(_), true) => "CORR",
            (Some(_), false) => "MISS",
            (None, true) => "FA",
            (None, false) => "CORR!DET",
        }
    }

    /// The line of a list, with times in seconds.
    pub fn line(&self, frames_per_second: f32, number: impl Fn(f32) -> String) -> String {
        let Some(term) = self.reference.or(self.hit) else { return String::new() };
        let times = |term: Option<&Term>| match term {
            Some(term) => {
                [term.begin, term.end].map(|frame| number(frame as f32 / frames_per_second)).join(",")
            }
            None => ",".to_owned(),
        };
        let score = match self.hit {
            Some(hit) => {
                format!("{},{}", number(hit.score), if hit.score >= DECISION { "YES" } else { "NO" })
            }
            None => ",".to_owned(),
        };
        let Term { keyword, utterance, .. } = term;
        let (reference, hit) = (times(self.reference), times(self.hit));
        format!(",{utterance},1,{keyword},{keyword},{reference},{hit},{score},{}", self.decision())
    }
}

/// The first line of a list.
pub const HEADER: &str =
    "language,file,channel,termid,term,ref_bt,ref_et,sys_bt,sys_et,sys_score,sys_decision,alignment";

/// Costs and values of decisions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreOptions {
    pub cost_fa: f32,
    pub value_corr: f32,
    pub prior_kw_probability: f32,
    pub score_threshold: f32,
    pub sweep_step: f32,
    /// Trials; about the seconds of speech.
    pub trials: f32,
}

/// Term-weighted values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Values {
    /// At the threshold.
    pub actual: f32,
    /// Share of references that were found at any threshold.
    pub supremum: f32,
    /// At the best threshold, and this threshold.
    pub maximum: f32,
    pub maximum_threshold: f32,
    /// At the best threshold of each keyword.
    pub optimum: f32,
}

/// Counts of a keyword.
#[derive(Default)]
struct Counts {
    references: usize,
    unseen: usize,
    /// Scores of hits with and without a reference.
    correct: Vec<f32>,
    false_alarms: Vec<f32>,
}

/// Computes the values: means over keywords with references of 1 − misses/references − β false alarms/(trials − references), with β =
/// cost-fa/value-corr · (1/prior − 1). Thresholds are sums of `sweep_step` in 32 bits, up to 1.
pub fn values(alignment: &Alignment<'_>, options: ScoreOptions) -> Values {
    let mut keywords: BTreeMap<&str, Counts> = BTreeMap::new();
    for Aligned { reference, hit } in &alignment.pairs {
        let Some(term) = reference.or(*hit) else { continue };
        let counts = keywords.entry(&term.keyword).or_default();
        match (reference, hit) {
            (Some(_), Some(hit)) => counts.correct.push(hit.score),
            (None, Some(hit)) => counts.false_alarms.push(hit.score),
            _ => counts.unseen += 1,
        }
        counts.references += usize::from(reference.is_some());
    }
    keywords.retain(|_, counts| counts.references > 0);
    if keywords.is_empty() {
        return Values::default();
    }
    let beta = f64::from(options.cost_fa) / f64::from(options.value_corr)
        * (1.0 / f64::from(options.prior_kw_probability) - 1.0);
    let value = |counts: &Counts, threshold: f32| {
        let from = |scores: &[f32]| scores.iter().filter(|&&score| score >= threshold).count() as f64;
        let references = counts.references as f64;
        let false_alarms = from(&counts.false_alarms) / (f64::from(options.trials) - references);
        from(&counts.correct) / references - beta * false_alarms
    };
    let mean =
        |of: &dyn Fn(&Counts) -> f64| (keywords.values().map(of).sum::<f64>() / keywords.len() as f64) as f32;
    let step = options.sweep_step;
    let more = |&threshold: &f32| Some(threshold + step).filter(|next| *next <= 1.0 && *next > threshold);
    let thresholds: Vec<f32> = std::iter::successors(Some(0.0), more).collect();
    let best = |of: &dyn Fn(f32) -> f64| {
        let first = (f64::NEG_INFINITY, 0.0);
        thresholds.iter().fold(first, |best, &threshold| {
            let value = of(threshold);
            if value > best.0 { (value, threshold) } else { best }
        })
    };
    let (maximum, maximum_threshold) = best(&|threshold| f64::from(mean(&|counts| value(counts, threshold))));
    Values {
        actual: mean(&|counts| value(counts, options.score_threshold)),
        supremum: mean(&|counts| 1.0 - counts.unseen as f64 / counts.references as f64),
        maximum: maximum as f32,
        maximum_threshold,
        optimum: mean(&|counts| best(&|threshold| value(counts, threshold)).0),
    }
}
