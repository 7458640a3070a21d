//! The search: tasks in the order of the cost of the best path through them, or states with the last found first.
//!
//! Sets and their algebra are those of [`kaldi_fst::subsets`]. The loop is not one of `kaldi_fst::ops`: it makes arcs in the
//! order of whole paths, not all arcs of a state at once, and it counts memory as the reference does. A set is known by its
//! elements before the closure and, without those that are only passed through, after it.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::convert::Infallible;

use kaldi_fst::strings::{StringId, Strings};
use kaldi_fst::subsets::{Subsets, Tolerance, Vacant, by_label, merge, take_common};
use kaldi_fst::{Algebra, Arc, EPSILON, State, StateId};

use super::tasks::{self, Tasks};
use super::{Event, Options};
use crate::error::{Error, Result};
use crate::lattice::{CompactLattice, Lattice};
use crate::path::costs_to_end;
use crate::weight::{CompactLatticeWeight, LatticeWeight, compare_strings};

/// An arc of the result.
struct OutArc {
    word: i32,
    string: StringId,
    weight: LatticeWeight,
    next: StateId,
}

/// An element of a subset: a state, its residual weight, and the transition-ids not yet on an arc.
type Element = kaldi_fst::subsets::Element<LatticeWeight>;

/// Weights are the same if their sums of costs differ by at most this.
#[derive(Clone, Copy)]
struct NearInSum(f32);

impl Tolerance<LatticeWeight> for NearInSum {
    fn is_same(&self, a: &LatticeWeight, b: &LatticeWeight) -> bool {
        a.approx_equal(b, self.0)
    }
}

/// A state of the result.
struct OutState {
    arcs: Vec<OutArc>,
    end: Option<(StringId, LatticeWeight)>,
    /// The cost of the best way here.
    forward: f64,
}

/// An arc of the result that is still to be made.
struct Task {
    /// The cost of the best path through it.
    priority: f64,
    /// The number of the task, in order of making.
    number: usize,
    state: StateId,
    word: i32,
    subset: Vec<Element>,
}

impl tasks::Task for Task {
    fn priority(&self) -> f64 {
        self.priority
    }
}

/// The input, arcs without words apart from the others.
struct Input {
    arcs: Vec<Arc<LatticeWeight>>,
    /// For each state: the first of its arcs without words, the first with words, and the end.
    ranges: Vec<[u32; 3]>,
    finals: Vec<LatticeWeight>,
}

impl Input {
    fn of(lattice: &Lattice) -> Input {
        let count = lattice.states.len();
        let mut input = Input {
            arcs: Vec::with_capacity(lattice.num_arcs()),
            ranges: Vec::with_capacity(count),
            finals: Vec::with_capacity(count),
        };
        for state in &lattice.states {
            let possible = || state.arcs.iter().filter(|arc| !arc.weight.is_zero());
            let begin = input.arcs.len() as u32;
            input.arcs.extend(possible().filter(|arc| arc.olabel == EPSILON));
            let middle = input.arcs.len() as u32;
            input.arcs.extend(possible().filter(|arc| arc.olabel != EPSILON));
            input.ranges.push([begin, middle, input.arcs.len() as u32]);
            input.finals.push(state.final_weight);
        }
        input
    }

    fn without_word(&self, state: StateId) -> &[Arc<LatticeWeight>] {
        let [begin, middle, _] = self.ranges[state as usize];
        &self.arcs[begin as usize..middle as usize]
    }

    fn with_word(&self, state: StateId) -> &[Arc<LatticeWeight>] {
        let [_, middle, end] = self.ranges[state as usize];
        &self.arcs[middle as usize..end as usize]
    }

    /// True if a path can end here, or has an arc with a word. Other states are only passed through.
    fn counts(&self, state: StateId) -> bool {
        !self.with_word(state).is_empty() || !self.finals[state as usize].is_zero()
    }
}

pub struct Outcome {
    pub complete: bool,
    pub effective_beam: f64,
}

pub struct Search {
    input: Input,
    start: Option<StateId>,
    options: Options,
    beam: f64,
    /// The cost of the best way from each state of the input to its end.
    backward: Vec<f64>,
    /// States of a higher cost are not expanded.
    cutoff: f64,
    strings: Strings,
    states: Vec<OutState>,
    /// The subsets of the states of the result.
    minimal: Subsets<LatticeWeight, NearInSum>,
    /// Subsets before their epsilon closure.
    initial: Subsets<LatticeWeight, NearInSum>,
    /// For each of those: the state, and the common weight of the way there.
    ways: Vec<(StateId, StringId, LatticeWeight)>,
    queue: Tasks<Task>,
    /// States to be expanded, in a depth-first search.
    stack: Vec<StateId>,
    tasks: usize,
    num_arcs: usize,
    num_elements: usize,
    /// True after an epsilon closure beyond the limit `max_loop`: its subset is not whole.
    looped: bool,
    scratch: Scratch,
}

/// Memory that is used again and again.
#[derive(Default)]
struct Scratch {
    by_word: Vec<(i32, Element)>,
    closure: Vec<Element>,
    waiting: BinaryHeap<std::cmp::Reverse<StateId>>,
    /// For each state of the input, its place in `closure` plus one.
    places: Vec<u32>,
}

/// Bytes that the reference takes for a sequence, an arc and an element of a set: its limits of memory count in these.
const STRING_BYTES: usize = 32;
const ARC_BYTES: usize = 32;
const ELEMENT_BYTES: usize = 24;

/// Number of new states between checks of the memory.
const MEMORY_INTERVAL: usize = 10;

/// The larger weight and, if they are the same, the better string counts.
fn compare(strings: &Strings, a: (LatticeWeight, StringId), b: (LatticeWeight, StringId)) -> Ordering {
    a.0.compare(&b.0).then_with(|| match a.1 == b.1 {
        true => Ordering::Equal,
        false => compare_strings(&strings.to_vec(a.1), &strings.to_vec(b.1)),
    })
}

impl Search {
    /// The lattice is sorted topologically.
    pub fn new(lattice: &Lattice, beam: f64, options: &Options) -> Search {
        let backward = costs_to_end(lattice);
        let best = lattice.start.map_or(0.0, |start| backward[start as usize]);
        let mut search = Search {
            input: Input::of(lattice),
            start: lattice.start,
            options: *options,
            beam,
            backward,
            cutoff: best + beam,
            strings: Strings::default(),
            states: Vec::new(),
            minimal: Subsets::new(NearInSum(options.delta)),
            initial: Subsets::new(NearInSum(options.delta)),
            ways: Vec::new(),
            queue: Tasks::default(),
            stack: Vec::new(),
            tasks: 0,
            num_arcs: 0,
            num_elements: 0,
            looped: false,
            scratch: Scratch { places: vec![0; lattice.states.len()], ..Scratch::default() },
        };
        if let Some(start) = lattice.start {
            let mut subset =
                vec![Element { state: start, string: Strings::EMPTY, weight: LatticeWeight::ONE }];
            search.close(&mut subset);
            subset.retain(|element| search.input.counts(element.state));
            search.state_after(&subset, 0.0);
            if search.options.depth_first {
                // (The estimates of the reference do not count the first set here.)
                search.num_elements = 0;
            }
        }
        search
    }

    /// Does all tasks, or stops at a limit.
    ///
    /// # Errors
    /// [`Error::Looped`].
    pub fn run(&mut self, events: &mut Vec<Event>) -> Result<Outcome> {
        self.check_loops()?;
        while let Some(state) = self.stack.pop() {
            self.expand_state(state);
            self.check_loops()?;
            if self.out_of_memory(self.beam, events) {
                return Ok(Outcome { complete: false, effective_beam: self.beam });
            }
        }
        let best = self.start.map_or(0.0, |start| self.backward[start as usize]);
        while let Some(task) = self.queue.first() {
            let effective_beam = task.priority - best;
            if self.at_limit(effective_beam, events) {
                return Ok(Outcome { complete: false, effective_beam });
            }
            let task = self.queue.pop().expect("there is one");
            self.expand(task);
            self.check_loops()?;
        }
        Ok(Outcome { complete: true, effective_beam: self.beam })
    }

    fn check_loops(&self) -> Result<()> {
        match self.looped {
            true => Err(Error::Looped { max_loop: self.options.max_loop }),
            false => Ok(()),
        }
    }

    /// Most states of the input that an epsilon closure may expand.
    fn most_expanded(&self) -> usize {
        match usize::try_from(self.options.max_loop) {
            Ok(most @ 1..) => most + 1,
            _ => usize::MAX,
        }
    }

    fn at_limit(&mut self, effective_beam: f64, events: &mut Vec<Event>) -> bool {
        let above = |count: usize, most: i32| most > 0 && count > most as usize;
        above(self.states.len(), self.options.max_states)
            || above(self.num_arcs, self.options.max_arcs)
            || self.states.len().is_multiple_of(MEMORY_INTERVAL) && self.out_of_memory(effective_beam, events)
    }

    fn out_of_memory(&mut self, effective_beam: f64, events: &mut Vec<Event>) -> bool {
        let limit = self.options.max_mem;
        let strings = self.strings.len() * STRING_BYTES;
        let (arcs, elements) = (self.num_arcs * ARC_BYTES, self.num_elements * ELEMENT_BYTES);
        if limit <= 0 || strings + arcs + elements <= limit as usize {
            return false;
        }
        self.drop_strings();
        events.push(Event::Rebuilt);
        let kept_strings = self.strings.len() * STRING_BYTES;
        if ((kept_strings + arcs + elements) as f64) <= f64::from(limit) * 0.8 {
            return false;
        }
        let beam = self.beam;
        events.push(Event::OutOfMemory {
            limit,
            strings,
            arcs,
            elements,
            kept_strings,
            effective_beam,
            beam,
        });
        true
    }

    /// Drops unused sequences.
    fn drop_strings(&mut self) {
        let mut marks = self.strings.marks();
        let mut tasks = std::mem::take(&mut self.queue);
        let all = |search: &mut Search, tasks: &mut Tasks<Task>, f: &mut dyn FnMut(&mut StringId)| {
            let in_tasks = tasks.iter_mut().flat_map(|task| &mut task.subset);
            in_tasks.for_each(|element| f(&mut element.string));
            search.minimal.strings_mut().chain(search.initial.strings_mut()).for_each(&mut *f);
            for state in &mut search.states {
                state.arcs.iter_mut().for_each(|arc| f(&mut arc.string));
                state.end.iter_mut().for_each(|(string, _)| f(string));
            }
            search.ways.iter_mut().for_each(|(_, string, _)| f(string));
        };
        all(self, &mut tasks, &mut |string| marks[*string as usize] = true);
        let numbers = self.strings.keep(marks);
        all(self, &mut tasks, &mut |string| *string = numbers[*string as usize]);
        self.minimal.rehash();
        self.initial.rehash();
        self.queue = tasks;
    }

    /// Makes all arcs of a state.
    fn expand_state(&mut self, state: StateId) {
        let OutState { forward, ref end, .. } = self.states[state as usize];
        self.num_arcs += usize::from(end.is_some());
        self.add_tasks(state, forward);
        let mut tasks = self.queue.take();
        tasks.sort_unstable_by_key(|task| task.number);
        tasks.into_iter().for_each(|task| self.expand(task));
    }

    /// Makes the arc of a task, and the state that it leads to.
    fn expand(&mut self, task: Task) {
        let mut subset = task.subset;
        let (string, weight) = self.normalize(&mut subset);
        let forward = self.states[task.state as usize].forward + weight.cost();
        let (next, further, more) = self.state_of(&subset, forward);
        let string = self.strings.concatenate(string, further);
        let arc = OutArc { word: task.word, string, weight: weight.times(&more), next };
        self.states[task.state as usize].arcs.push(arc);
        self.num_arcs += 1;
    }

    /// Returns the state for a subset before its epsilon closure, and the common weight of the way there.
    fn state_of(&mut self, initial: &[Element], forward: f64) -> (StateId, StringId, LatticeWeight) {
        let vacant = match self.initial.find(initial) {
            Ok(known) => return self.ways[known as usize],
            Err(vacant) => vacant,
        };
        let mut subset = initial.to_vec();
        self.close(&mut subset);
        subset.retain(|element| self.input.counts(element.state));
        let (string, weight) = self.normalize(&mut subset);
        let state = self.state_after(&subset, forward + weight.cost());
        self.initial.add(initial, vacant);
        self.num_elements += initial.len();
        self.ways.push((state, string, weight));
        (state, string, weight)
    }

    /// Returns the state for a subset after its epsilon closure. `forward` is the cost of the way there, if the state is new.
    fn state_after(&mut self, subset: &[Element], forward: f64) -> StateId {
        self.minimal.find(subset).unwrap_or_else(|vacant| self.add_state(subset, vacant, forward))
    }

    fn add_state(&mut self, subset: &[Element], vacant: Vacant, forward: f64) -> StateId {
        let state = self.minimal.add(subset, vacant);
        self.num_elements += subset.len();
        let end = self.end_of(subset).filter(|(_, weight)| weight.cost() + forward <= self.cutoff);
        let has_end = end.is_some();
        self.states.push(OutState { arcs: Vec::new(), end, forward });
        if self.options.depth_first {
            self.stack.push(state);
        } else {
            self.num_arcs += usize::from(has_end);
            self.add_tasks(state, forward);
        }
        state
    }

    /// The best way to end in one of the states.
    fn end_of(&self, subset: &[Element]) -> Option<(StringId, LatticeWeight)> {
        let ends = subset.iter().map(|element| {
            (element.string, element.weight.times(&self.input.finals[element.state as usize]))
        });
        let better = |a: (StringId, LatticeWeight), b: (StringId, LatticeWeight)| {
            if compare(&self.strings, (b.1, b.0), (a.1, a.0)).is_gt() { b } else { a }
        };
        ends.filter(|(_, weight)| !weight.is_zero()).reduce(better)
    }

    /// Queues a task for each next word of a subset's states.
    fn add_tasks(&mut self, state: StateId, forward: f64) {
        let mut by_word = std::mem::take(&mut self.scratch.by_word);
        by_word.clear();
        for element in self.minimal.get(state) {
            for arc in self.input.with_word(element.state) {
                let string = self.strings.append(element.string, arc.ilabel);
                let weight = element.weight.times(&arc.weight);
                by_word.push((arc.olabel, Element { state: arc.next, string, weight }));
            }
        }
        for (word, group) in by_label(&mut by_word) {
            let path =
                |(_, element): &(i32, Element)| element.weight.cost() + self.backward[element.state as usize];
            let priority = forward + group.iter().map(path).fold(f64::INFINITY, f64::min);
            if priority > self.cutoff {
                continue;
            }
            let mut subset: Vec<Element> = Vec::with_capacity(group.len());
            let Ok(()) = merge(group, &mut subset, |known, other| {
                let (new, old) = ((other.weight, other.string), (known.weight, known.string));
                if compare(&self.strings, new, old).is_gt() {
                    *known = *other;
                }
                Ok::<(), Infallible>(())
            });
            self.queue.push(Task { priority, number: self.tasks, state, word, subset });
            self.tasks += 1;
        }
        self.scratch.by_word = by_word;
    }

    /// Removes the common part of all elements: the prefix of their strings, and the best weight.
    fn normalize(&mut self, subset: &mut [Element]) -> (StringId, LatticeWeight) {
        take_common(subset, &mut self.strings, LatticeWeight::plus)
    }

    /// Adds the states that arcs without words lead to, each with the best way there, in the order of states.
    fn close(&mut self, subset: &mut Vec<Element>) {
        let most = self.most_expanded();
        if subset.iter().all(|element| self.input.without_word(element.state).is_empty()) {
            self.looped |= subset.len() > most;
            return;
        }
        if self.options.depth_first {
            return self.close_in_turn(subset, most);
        }
        let Scratch { closure, waiting, places, .. } = &mut self.scratch;
        closure.clear();
        for &element in subset.iter() {
            closure.push(element);
            places[element.state as usize] = closure.len() as u32;
            waiting.push(std::cmp::Reverse(element.state));
        }
        // The lattice is sorted, so all predecessors of a state have been done.
        let mut expanded = 0;
        while let Some(std::cmp::Reverse(state)) = waiting.pop() {
            expanded += 1;
            if expanded > most {
                self.looped = true;
                break;
            }
            let element = closure[places[state as usize] as usize - 1];
            for arc in self.input.without_word(state) {
                let weight = element.weight.times(&arc.weight);
                let place = &mut places[arc.next as usize];
                if *place != 0 {
                    let known = closure[*place as usize - 1];
                    let ordering = weight.compare(&known.weight);
                    if ordering.is_lt() {
                        continue;
                    }
                    let string = self.strings.append(element.string, arc.ilabel);
                    let better = ordering.is_gt()
                        || compare(&self.strings, (weight, string), (known.weight, known.string)).is_gt();
                    if better {
                        closure[*place as usize - 1] = Element { state: arc.next, string, weight };
                    }
                    continue;
                }
                let string = self.strings.append(element.string, arc.ilabel);
                closure.push(Element { state: arc.next, string, weight });
                *place = closure.len() as u32;
                waiting.push(std::cmp::Reverse(arc.next));
            }
        }
        closure.iter().for_each(|element| places[element.state as usize] = 0);
        closure.sort_unstable_by_key(|element| element.state);
        subset.clone_from(closure);
    }

    /// The same subset as [`Search::close`], found first in, first out. A state is expanded again if a better way to it
    /// appears, and each arc makes its sequence first. So the memory in use is that of the reference.
    fn close_in_turn(&mut self, subset: &mut Vec<Element>, most: usize) {
        let Scratch { closure, places, .. } = &mut self.scratch;
        closure.clear();
        for &element in subset.iter() {
            closure.push(element);
            places[element.state as usize] = closure.len() as u32;
        }
        let mut waiting = VecDeque::from_iter(subset.iter().copied());
        let mut expanded = 0;
        while let Some(element) = waiting.pop_front() {
            if closure[places[element.state as usize] as usize - 1] != element {
                continue;
            }
            expanded += 1;
            if expanded > most {
                self.looped = true;
                break;
            }
            for arc in self.input.without_word(element.state) {
                let weight = element.weight.times(&arc.weight);
                let string = self.strings.append(element.string, arc.ilabel);
                let next = Element { state: arc.next, string, weight };
                let place = &mut places[arc.next as usize];
                if *place == 0 {
                    closure.push(next);
                    *place = closure.len() as u32;
                } else {
                    let known = &mut closure[*place as usize - 1];
                    if !compare(&self.strings, (weight, string), (known.weight, known.string)).is_gt() {
                        continue;
                    }
                    *known = next;
                }
                waiting.push_back(next);
            }
        }
        closure.iter().for_each(|element| places[element.state as usize] = 0);
        closure.sort_unstable_by_key(|element| element.state);
        subset.clone_from(closure);
    }

    /// The result as a compact lattice.
    pub fn compact(self) -> CompactLattice {
        let start = if self.states.is_empty() { None } else { Some(0) };
        let weight = |string: StringId, weight: LatticeWeight| {
            CompactLatticeWeight::new(weight, self.strings.to_vec(string))
        };
        let state = |state: &OutState| State {
            final_weight: state.end.map_or_else(CompactLatticeWeight::zero, |(s, w)| weight(s, w)),
            arcs: state.arcs.iter().map(|a| Arc::new(a.word, weight(a.string, a.weight), a.next)).collect(),
        };
        CompactLattice { start, states: self.states.iter().map(state).collect() }
    }
}
