//! Work waiting to be sent to a device, in segments. Repeated segments are captured as graphs.
//!
//! The backend pushes work; a mark of the executor ([`crate::backend::Storage::mark`]), a transfer or a change of
//! memory ends a segment. The first time, a segment is sent call by call, and remembered. If the same work comes a
//! second time (the same kernels with the same arguments, compared in full), it is captured as a graph. From then on it
//! is replayed with one call. So a graph always does exactly the calls that it replaces, even if the program changes. A
//! device that cannot capture makes the same calls one by one.
//!
//! The queue keeps the first failure of the engine, and sends no work to it afterwards. Then work is dropped, new
//! memory has the address [`NOWHERE`], and values read are zero.

use super::engine::{Engine, Outcome};
use super::op::Op;
use crate::fault::DeviceFault;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};

/// Shortest segment that becomes a graph; shorter ones gain no time.
const SHORTEST: usize = 4;
/// A segment is cut here, so that the device has work while the rest is prepared.
const LONGEST: usize = 256;
/// Number of remembered segments; above it the least recently used one is dropped.
const REMEMBERED: usize = 1024;
/// Largest number of operations in all graphs together: a driver keeps some ten kilobytes for each, in memory that is
/// not counted. Work beyond that is sent call by call until unused graphs have been dropped.
const MOST_IN_GRAPHS: usize = 30_000;

/// Address of memory on a failed device. It is never sent to a device.
pub(super) const NOWHERE: u64 = 4096;

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
    /// The first failure of the engine.
    fault: Option<DeviceFault>,
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
        let state =
            State { pending: Vec::new(), segments: HashMap::new(), in_graphs: 0, clock: 0, fault: None };
        Queue { engine, state: Arc::new(Mutex::new(state)) }
    }

    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// Locks the queue, so that the work of one thread stays together.
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
        self.call(|engine| engine.run(&op));
    }

    /// Ends a segment and sends it.
    pub fn mark(&mut self) {
        if self.state.fault.is_some() {
            return self.state.pending.clear();
        }
        let sent = self.send();
        self.keep(sent);
    }

    fn send(&mut self) -> Outcome {
        let state = &mut *self.state;
        let engine = self.engine;
        if state.pending.len() < SHORTEST {
            return state.pending.drain(..).try_for_each(|op| engine.run(&op));
        }
        state.clock += 1;
        let key = hash(&state.pending);
        let known = state.segments.get_mut(&key).filter(|segment| segment.ops == state.pending);
        let Some(segment) = known else {
            let ops = std::mem::take(&mut state.pending);
            ops.iter().try_for_each(|op| engine.run(op))?;
            state.segments.insert(key, Segment { ops, graph: Stage::New, last_used: state.clock });
            return self.forget();
        };
        segment.last_used = state.clock;
        if let Stage::New = segment.graph
            && state.in_graphs + segment.ops.len() <= MOST_IN_GRAPHS
        {
            segment.graph = engine.capture(&segment.ops).map_or(Stage::Refused, Stage::Captured);
            if let Stage::Captured(_) = segment.graph {
                state.in_graphs += segment.ops.len();
            }
        }
        state.pending.clear();
        match &segment.graph {
            Stage::Captured(graph) => engine.replay(graph),
            _ => segment.ops.iter().try_for_each(|op| engine.run(op)),
        }
    }

    fn forget(&mut self) -> Outcome {
        if self.state.segments.len() <= REMEMBERED {
            return Ok(());
        }
        let oldest =
            self.state.segments.iter().min_by_key(|(_, segment)| segment.last_used).map(|(&key, _)| key);
        let forgotten = oldest.and_then(|key| self.state.segments.remove(&key));
        if let Some(Segment { graph: Stage::Captured(_), ops, .. }) = &forgotten {
            self.state.in_graphs -= ops.len();
            // A graph that is still running must not go away.
            self.engine.synchronize()?;
        }
        Ok(())
    }

    /// The first failure of the engine.
    pub fn fault(&self) -> Option<DeviceFault> {
        self.state.fault.clone()
    }

    /// Calls the engine, unless it has failed. `None` if it has, or does now.
    fn call<T>(&mut self, call: impl FnOnce(&E) -> Outcome<T>) -> Option<T> {
        if self.state.fault.is_some() {
            return None;
        }
        let outcome = call(self.engine);
        self.keep(outcome)
    }

    fn keep<T>(&mut self, outcome: Outcome<T>) -> Option<T> {
        outcome.map_err(|fault| self.state.fault = Some(fault)).ok()
    }

    /// As [`Engine::allocate`], after all work so far; [`NOWHERE`] after a failure.
    pub(super) fn allocate(&mut self, bytes: u64) -> u64 {
        self.mark();
        self.call(|engine| engine.allocate(bytes)).unwrap_or(NOWHERE)
    }

    /// As [`Engine::free`], after all work so far. After a failure memory stays taken until the program ends.
    pub(super) fn free(&mut self, address: u64, bytes: u64) {
        self.mark();
        self.call(|engine| engine.free(address, bytes));
    }

    /// As [`Engine::upload`], after all work so far.
    pub(super) fn upload(&mut self, address: u64, data: &[u8]) {
        self.mark();
        self.call(|engine| engine.upload(address, data));
    }

    /// As [`Engine::download`], after all work so far; zeros after a failure.
    pub(super) fn download(&mut self, address: u64, out: &mut [u8]) {
        self.mark();
        if self.call(|engine| engine.download(address, out)).is_none() {
            out.fill(0);
        }
    }

    /// Waits for all work so far.
    pub(super) fn synchronize(&mut self) {
        self.mark();
        self.call(|engine| engine.synchronize());
    }
}

fn hash(ops: &[Op]) -> u64 {
    let mut hasher = DefaultHasher::new();
    ops.hash(&mut hasher);
    hasher.finish()
}
