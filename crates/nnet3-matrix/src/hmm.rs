//! A hidden Markov model that emits on its arcs, arranged for the sums of its forward and backward recursions over
//! several sequences side by side.
//!
//! Arcs that lead to the same state and emit the same symbol form an *entry*. The arrivals of an entry, Σ q · α(from),
//! are summed first and then multiplied by the likelihood of the symbol. So an arc costs one multiplication and
//! addition in each direction. The model may leak from every state to the states of a fixed distribution π, without an
//! emission. The leak is `leak` times the sum of all α, in proportion to π. The leak's share in an entry is known
//! beforehand: `leak` · Σ q · π(from) of the sum of all α.
//!
//! Most models stay in a state by an arc that emits a symbol of its own. An entry with only such an arc is a *loop*.
//! Its contribution to the backward recursion concerns its state alone, so other states need not look it up.

use crate::memory::Remote;
use crate::view::{View, ViewMut};

/// An arc of a hidden Markov model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HmmArc {
    pub from: u32,
    pub to: u32,
    /// The symbol that it emits, from 0.
    pub emission: u32,
    pub probability: f32,
}

/// One term of a sum: a row of a matrix, and its factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Term {
    pub row: u32,
    pub factor: f32,
}

/// Sums of terms: those of sum number k are `terms[starts[k] .. starts[k + 1]]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sums {
    pub starts: Vec<u32>,
    pub terms: Vec<Term>,
}

impl Sums {
    /// Terms of a sum are in the order of their rows.
    fn new(count: usize, mut list: Vec<(u32, Term)>) -> Sums {
        list.sort_by_key(|(sum, term)| (*sum, term.row));
        let mut starts = vec![0; count + 1];
        list.iter().for_each(|(sum, _)| starts[*sum as usize + 1] += 1);
        (0..count).for_each(|k| starts[k + 1] += starts[k]);
        Sums { starts, terms: list.into_iter().map(|(_, term)| term).collect() }
    }

    #[inline(always)]
    pub fn of(&self, k: usize) -> &[Term] {
        &self.terms[self.starts[k] as usize..self.starts[k + 1] as usize]
    }

    /// True if sum number k has one term, of this row.
    fn is_only(&self, k: usize, row: u32) -> bool {
        matches!(self.of(k), [term] if term.row == row)
    }
}

/// The model. Entry k below the number of states is the *main* entry of state k: the entry with most arcs. If no arc
/// leads to the state, it has no arcs. All other entries follow, in the order of their states.
pub struct Hmm {
    states: usize,
    emissions: usize,
    /// The symbol of each entry.
    pub(crate) entry_emissions: Vec<u32>,
    /// Σ q · π(from) of each entry.
    pub(crate) entry_leaks: Vec<f32>,
    /// Further entries of state k are numbers `others[k] .. others[k + 1]`.
    pub(crate) others: Vec<u32>,
    /// For each entry, the source states of its arcs.
    pub(crate) into: Sums,
    /// For each state, the entries that its arcs lead into, loops (beyond main entries) last.
    pub(crate) out: Sums,
    /// First position in `out` of the loops of each state.
    pub(crate) out_loops: Vec<u32>,
    /// Order of the states: those that lead to the same entries are adjacent, so that their data stay in the nearest
    /// cache.
    pub(crate) backward_order: Vec<u32>,
    /// Copies on devices.
    pub(crate) remote: Remote,
}

impl Hmm {
    /// `distribution` is π, a number for each state. Panics if an arc's states or symbol are out of range.
    pub fn new(emissions: usize, distribution: &[f32], arcs: &[HmmArc]) -> Hmm {
        let states = distribution.len();
        for arc in arcs {
            let inside = (arc.from.max(arc.to) as usize) < states && (arc.emission as usize) < emissions;
            assert!(inside, "{arc:?} of a model of {states} states and {emissions} symbols");
        }
        let mut sorted: Vec<&HmmArc> = arcs.iter().collect();
        sorted.sort_by_key(|arc| (arc.to, arc.emission));
        let groups: Vec<&[&HmmArc]> =
            sorted.chunk_by(|a, b| (a.to, a.emission) == (b.to, b.emission)).collect();
        let mut main: Vec<&[&HmmArc]> = vec![&[]; states];
        let mut others = Vec::new();
        for group in groups {
            let best = &mut main[group[0].to as usize];
            match group.len() > best.len() {
                true => others.push(std::mem::replace(best, group)),
                false => others.push(group),
            }
        }
        others.retain(|group| !group.is_empty());
        // Entries of one state are already in the order of symbols, except the one that gave its place to a longer one.
        others.sort_by_key(|group| (group[0].to, group[0].emission));
        let mut other_starts = vec![states as u32; states + 1];
        for group in &others {
            other_starts[group[0].to as usize + 1] += 1;
        }
        for k in 0..states {
            other_starts[k + 1] += other_starts[k] - states as u32;
        }
        let entries: Vec<&[&HmmArc]> = main.into_iter().chain(others).collect();
        let (mut into, mut out) = (Vec::with_capacity(arcs.len()), Vec::with_capacity(arcs.len()));
        for (entry, group) in entries.iter().enumerate() {
            for arc in *group {
                into.push((entry as u32, Term { row: arc.from, factor: arc.probability }));
                out.push((arc.from, Term { row: entry as u32, factor: arc.probability }));
            }
        }
        let leak = |group: &&[&HmmArc]| {
            let term =
                |arc: &&HmmArc| f64::from(arc.probability) * f64::from(distribution[arc.from as usize]);
            group.iter().map(term).sum::<f64>() as f32
        };
        let (into, mut out) = (Sums::new(entries.len(), into), Sums::new(states, out));
        let mut out_loops = Vec::with_capacity(states);
        for state in 0..states {
            let range = out.starts[state] as usize..out.starts[state + 1] as usize;
            let others = other_starts[state]..other_starts[state + 1];
            let is_loop =
                |term: &Term| others.contains(&term.row) && into.is_only(term.row as usize, state as u32);
            out.terms[range.clone()].sort_by_key(is_loop);
            out_loops
                .push((range.start + out.terms[range].iter().filter(|term| !is_loop(term)).count()) as u32);
        }
        let mut backward_order: Vec<u32> = (0..states as u32).collect();
        let rows = |&state: &u32| {
            let kept = out.starts[state as usize] as usize..out_loops[state as usize] as usize;
            out.terms[kept].iter().map(|term| term.row)
        };
        backward_order.sort_by(|a, b| rows(a).cmp(rows(b)));
        Hmm {
            states,
            emissions,
            entry_emissions: entries
                .iter()
                .map(|group| group.first().map_or(0, |arc| arc.emission))
                .collect(),
            entry_leaks: entries.iter().map(leak).collect(),
            others: other_starts,
            backward_order,
            into,
            out,
            out_loops,
            remote: Remote::default(),
        }
    }

    pub fn states(&self) -> usize {
        self.states
    }
    /// Number of symbols.
    pub fn emissions(&self) -> usize {
        self.emissions
    }
    pub fn entries(&self) -> usize {
        self.entry_emissions.len()
    }
    pub fn arcs(&self) -> usize {
        self.out.terms.len()
    }
}

/// Inputs of one step of the recursions, with a column for each sequence.
#[derive(Clone, Copy, Debug)]
pub struct HmmStep<'a> {
    /// α before the step: states × n.
    pub alpha: View<'a>,
    /// Likelihoods of the symbols: emissions × n.
    pub likelihoods: View<'a>,
    /// 1 / Σ α: 1 × n.
    pub scale: View<'a>,
    pub leak: f32,
}

impl HmmStep<'_> {
    /// Panics unless all shapes fit. Returns the number of sequences.
    #[track_caller]
    pub(crate) fn check(&self, hmm: &Hmm) -> usize {
        let n = self.alpha.cols();
        shape(&self.alpha, hmm.states(), n);
        shape(&self.likelihoods, hmm.emissions(), n);
        shape(&self.scale, 1, n);
        n
    }
}

/// State of the backward recursion between steps, with a column for each sequence.
#[derive(Clone, Copy, Debug)]
pub struct HmmWayBack<'a> {
    /// β: states × n.
    pub beta: ViewMut<'a>,
    /// leak · Σ π β: 1 × n.
    pub shared: ViewMut<'a>,
    /// π: states × 1.
    pub initial: View<'a>,
    /// Scratch memory for a step: entries × n. Its contents after the step are undefined.
    pub entries: ViewMut<'a>,
}

impl HmmWayBack<'_> {
    /// Panics unless all shapes fit `n` sequences.
    #[track_caller]
    pub(crate) fn check(&self, hmm: &Hmm, n: usize) {
        shape(&self.beta.as_view(), hmm.states(), n);
        shape(&self.shared.as_view(), 1, n);
        shape(&self.initial, hmm.states(), 1);
        shape(&self.entries.as_view(), hmm.entries(), n);
    }
}

/// The result of a step of the backward recursion.
#[derive(Clone, Copy, Debug)]
pub struct HmmPosteriors<'a> {
    /// Becomes the posteriors of the symbols times `factor`: emissions × n.
    pub values: ViewMut<'a>,
    pub factor: f32,
}

/// Panics unless the view has this shape.
#[track_caller]
pub(crate) fn shape(view: &View<'_>, rows: usize, cols: usize) {
    assert!(
        view.rows() == rows && view.cols() == cols,
        "{} x {} where {rows} x {cols} is expected",
        view.rows(),
        view.cols()
    );
}
