//! Work waiting to be sent to a device, in segments that are captured as graphs when they come again.
//!
//! The backend pushes work; a mark of the executor ([`crate::backend::Storage::mark`]), a transfer or a change of memory ends a
//! segment. A segment is sent as it is the first time, and remembered. When the same work comes a second time (the same
//! kernels with the same arguments, compared in full), it is captured as a graph, and from then on replayed with one
//! call. So a graph can never do anything else than the calls that it stands for, whatever changed in the program, and a
//! device that cannot capture does the same work one by one.

use super::engine::Engine;
use super::op::Op;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};

/// Shorter segments are sent as they are: a graph saves nothing.
const SHORTEST: usize = 4;
/// A segment is cut here, so that the device has work while the rest is prepared.
const LONGEST: usize = 256;
/// Segments that are remembered; beyond this the one that was used longest ago is forgotten.
const REMEMBERED: usize = 1024;
/// Operations in all graphs together, at most: a driver keeps some ten kilobytes for each, of memory that is counted nowhere. Work
/// for which there is no room is sent call by call until graphs that nothing uses have been forgotten.
const MOST_IN_GRAPHS: usize = 30_000;

/// A device's work in order. Clones share it.
pub struct Queue<E: Engine> {
    /// Is dropped before the engine, which made its graphs.
    state: Arc<Mutex<State<E>>>,
    engine: Arc<E>,
}

impl<E: Engine> Clone for Queue<E> {
    fn clone(&self) -> Self {
        Queue { engine: self.engine.clone(), state: self.state.clone() }
    }
}

struct State<E: Engine> {
    pending: Vec<Op>,
    segments: HashMap<u64, Segment<E::Graph>>,
    /// Operations in graphs.
    in_graphs: usize,
    clock: u64,
}

struct Segment<G> {
    ops: Vec<Op>,
    graph: Stage<G>,
    last_used: u64,
}

enum Stage<G> {
    /// The segment was seen once.
    New,
    Captured(G),
    /// The device could not capture it.
    Refused,
}

impl<E: Engine> Queue<E> {
    pub fn new(engine: Arc<E>) -> Queue<E> {
        let state = State { pending: Vec::new(), segments: HashMap::new(), in_graphs: 0, clock: 0 };
        Queue { engine, state: Arc::new(Mutex::new(state)) }
    }

    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// Exclusive use, so that what one thread pushes stays together.
    pub fn lock(&self) -> Locked<'_, E> {
        // A panic of another thread leaves at worst work that is not sent.
        let state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Locked { engine: &self.engine, state }
    }
}

/// A queue in use by one thread.
pub struct Locked<'q, E: Engine> {
    engine: &'q E,
    state: MutexGuard<'q, State<E>>,
}

impl<E: Engine> Locked<'_, E> {
    pub fn push(&mut self, op: Op) {
        self.state.pending.push(op);
        if self.state.pending.len() >= LONGEST {
            self.mark();
        }
    }

    /// Sends work that will not come again with the same arguments; it is in no segment.
    pub(crate) fn push_once(&mut self, op: Op) {
        self.mark();
        self.engine.run(&op);
    }

    /// Ends a segment and sends it.
    pub fn mark(&mut self) {
        let state = &mut *self.state;
        if state.pending.len() < SHORTEST {
            state.pending.drain(..).for_each(|op| self.engine.run(&op));
            return;
        }
        state.clock += 1;
        let key = hash(&state.pending);
        let known = state.segments.get_mut(&key).filter(|segment| segment.ops == state.pending);
        let Some(segment) = known else {
            state.pending.iter().for_each(|op| self.engine.run(op));
            let ops = std::mem::take(&mut state.pending);
            state.segments.insert(key, Segment { ops, graph: Stage::New, last_used: state.clock });
            return self.forget();
        };
        segment.last_used = state.clock;
        if let Stage::New = segment.graph
            && state.in_graphs + segment.ops.len() <= MOST_IN_GRAPHS
        {
            segment.graph = self.engine.capture(&segment.ops).map_or(Stage::Refused, Stage::Captured);
            if let Stage::Captured(_) = segment.graph {
                state.in_graphs += segment.ops.len();
            }
        }
        match &segment.graph {
            Stage::Captured(graph) => self.engine.replay(graph),
            _ => segment.ops.iter().for_each(|op| self.engine.run(op)),
        }
        state.pending.clear();
    }

    fn forget(&mut self) {
        if self.state.segments.len() <= REMEMBERED {
            return;
        }
        let oldest =
            self.state.segments.iter().min_by_key(|(_, segment)| segment.last_used).map(|(&key, _)| key);
        let forgotten = oldest.and_then(|key| self.state.segments.remove(&key));
        if let Some(Segment { graph: Stage::Captured(_), ops, .. }) = &forgotten {
            self.state.in_graphs -= ops.len();
            // A graph that is still running must not go away.
            self.engine.synchronize();
        }
    }

    /// The engine, all work so far having been sent.
    pub fn settled(&mut self) -> &E {
        self.mark();
        self.engine
    }
}

fn hash(ops: &[Op]) -> u64 {
    let mut hasher = DefaultHasher::new();
    ops.hash(&mut hasher);
    hasher.finish()
}
