//! Strongly connected components (Tarjan's algorithm), and which states paths from the start to a final state use.

use crate::fst::{Fst, StateId};
use crate::weight::Algebra;

/// Results of the search for strongly connected components, for each state.
pub struct Components {
    /// The component; arcs between components lead to lower numbers.
    pub number: Vec<u32>,
    /// True if the state can be reached from the start.
    pub accessible: Vec<bool>,
    /// True if a final state can be reached from the state.
    pub coaccessible: Vec<bool>,
}

const UNSEEN: u32 = u32::MAX;

impl Components {
    pub fn of<W: Algebra>(fst: &Fst<W>) -> Components {
        Components {
            number: Search::over(fst),
            accessible: reached(fst.start.into_iter().collect(), &|s| arcs_of(fst, s), fst.states.len()),
            coaccessible: coaccessible(fst),
        }
    }

    /// True if two states lie in the same component. Arcs between such states are parts of a cycle.
    pub fn same(&self, a: usize, b: usize) -> bool {
        self.number[a] == self.number[b]
    }

    /// True if the state can be reached from itself.
    pub fn cyclic<W: Algebra>(&self, fst: &Fst<W>, state: usize) -> bool {
        fst.states[state].arcs.iter().any(|arc| self.same(state, arc.next as usize))
    }
}

fn arcs_of<W: Algebra>(fst: &Fst<W>, state: StateId) -> impl Iterator<Item = StateId> {
    fst.state(state).arcs.iter().map(|arc| arc.next)
}

/// Returns for each of `count` states whether it can be reached from `from`.
fn reached<I: Iterator<Item = StateId>>(
    from: Vec<StateId>,
    next: &impl Fn(StateId) -> I,
    count: usize,
) -> Vec<bool> {
    let mut seen = vec![false; count];
    let mut waiting = from;
    waiting.iter().for_each(|&s| seen[s as usize] = true);
    while let Some(state) = waiting.pop() {
        for next in next(state) {
            if !seen[next as usize] {
                seen[next as usize] = true;
                waiting.push(next);
            }
        }
    }
    seen
}

fn coaccessible<W: Algebra>(fst: &Fst<W>) -> Vec<bool> {
    let mut before: Vec<Vec<StateId>> = vec![Vec::new(); fst.states.len()];
    for (s, state) in fst.numbered() {
        state.arcs.iter().for_each(|arc| before[arc.next as usize].push(s));
    }
    let ends = fst.numbered().filter(|(_, state)| state.is_final()).map(|(s, _)| s).collect();
    reached(ends, &|s| before[s as usize].iter().copied(), fst.states.len())
}

/// Depth-first search with an explicit stack: FSTs may be deeper than the program's stack.
struct Search<'f, W> {
    fst: &'f Fst<W>,
    order: Vec<u32>,
    low: Vec<u32>,
    number: Vec<u32>,
    /// States without a component so far.
    open: Vec<StateId>,
    orders: u32,
    components: u32,
}

impl<W: Algebra> Search<'_, W> {
    fn over(fst: &Fst<W>) -> Vec<u32> {
        let unseen = vec![UNSEEN; fst.states.len()];
        let mut search = Search {
            fst,
            order: unseen.clone(),
            low: unseen.clone(),
            number: unseen,
            open: Vec::new(),
            orders: 0,
            components: 0,
        };
        for state in 0..fst.states.len() as StateId {
            if search.order[state as usize] == UNSEEN {
                search.visit(state);
            }
        }
        search.number
    }

    fn visit(&mut self, root: StateId) {
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((state, position)) = path.last_mut() {
            let (s, at) = (*state as usize, *position);
            *position += 1;
            if let Some(arc) = self.fst.states[s].arcs.get(at) {
                let next = arc.next as usize;
                if self.order[next] == UNSEEN {
                    self.enter(arc.next);
                    path.push((arc.next, 0));
                } else if self.number[next] == UNSEEN {
                    self.low[s] = self.low[s].min(self.order[next]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.low[parent as usize] = self.low[parent as usize].min(self.low[s]);
            }
            if self.low[s] == self.order[s] {
                self.close(s);
            }
        }
    }

    fn enter(&mut self, state: StateId) {
        self.order[state as usize] = self.orders;
        self.low[state as usize] = self.orders;
        self.orders += 1;
        self.open.push(state);
    }

    /// The open states down to this one are a component.
    fn close(&mut self, state: usize) {
        while let Some(member) = self.open.pop() {
            self.number[member as usize] = self.components;
            if member as usize == state {
                break;
            }
        }
        self.components += 1;
    }
}
