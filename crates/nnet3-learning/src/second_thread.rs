//! Computes changes of parameters on a second thread while the backward pass goes on.
//!
//! The change of a layer's parameters depends on the layer's input and on the derivative of its output. No step of the
//! backward pass depends on the change. So a second thread can compute it beside the derivatives of the layers below.
//! It gets copies of both matrices (the arena reuses their places), the rule, and the matrices that collect the
//! changes. After the pass the executor's own thread computes the changes that the second one has not begun. The result
//! is the same.
//!
//! If no changes are waiting, as in the forward pass, a [`Helper`] takes halves of large products and of row-by-row
//! operations.

use super::idle::idle_processors;
use super::{Affine, Delta, Rule, Rules};
use kaldi_io::threads::{self, Thread};
use nnet3_base::index::ComponentId;
use nnet3_base::random::Random;
use nnet3_component::convolution_plan::Plan;
use nnet3_component::gradient::{GradientSink, Products, RowProducts, Rows};
use nnet3_component::target::{linear_and_bias, rate};
use nnet3_component::winograd::Taps;
use nnet3_component::{Component, Context};
use nnet3_matrix::{Device, Helper, InHalves, Matrix, View, ViewMut, Workspace};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Policy for computing changes of parameters on a second thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecondThread {
    #[default]
    Never,
    /// The thread is used while a processor of the machine is idle. Taking a processor from another process, and then
    /// waiting for the unfinished change, would cost time.
    WhereIdle,
    Always,
}

/// Changes that the other thread has not begun, at most: each has copies of two matrices. One more is in its hands.
const MOST_WAITING: usize = 2;

/// One change: [`Rule::products`] with all that it needs.
struct Change {
    id: ComponentId,
    rule: Box<dyn Rule>,
    linear: Matrix,
    bias: Matrix,
    rate: f32,
    input: Kept,
    deriv: Kept,
    terms: Terms,
}

/// A copy of a matrix in the workspace's memory. If there were gaps between rows, there are some in the copy: without gaps some sums
/// are rounded in another order.
struct Kept {
    matrix: Matrix,
    cols: usize,
}

impl Kept {
    /// Columns of a gap.
    const GAP: usize = 16;

    fn of(view: View<'_>, workspace: &Workspace) -> Kept {
        let cols = view.cols();
        let gap = if view.is_contiguous() { 0 } else { Kept::GAP };
        let mut matrix = workspace.hand_out(view.rows(), cols + gap);
        workspace.device().copy(matrix.view_mut().col_range(0..cols), view);
        Kept { matrix, cols }
    }

    fn view(&self) -> View<'_> {
        self.matrix.view().col_range(0..self.cols)
    }
}

/// A copy of [`Products`] without views.
enum Terms {
    Rows { first: SmallVec<[usize; 8]>, stride: usize, taps: Option<Taps> },
    Patches(Plan),
}

impl Change {
    fn work(&mut self, context: Context<'_>) {
        let (input, deriv) = (self.input.view(), self.deriv.view());
        let products = match &self.terms {
            Terms::Rows { first, stride, taps } => Products::Rows(RowProducts {
                input,
                deriv,
                first,
                stride: *stride,
                taps: *taps,
                of_input: None,
            }),
            Terms::Patches(plan) => Products::Patches { plan, input, deriv },
        };
        let bias = (!self.bias.is_empty()).then(|| self.bias.view_mut());
        let to = Affine { linear: self.linear.view_mut(), bias, rate: self.rate };
        self.rule.products(context, to, &products);
    }

    /// Puts the changes and the rule back, and scratch memory.
    fn put_back(self, workspace: &Workspace, target: &mut dyn Component, rules: &mut Rules) {
        let (linear, bias) = linear_and_bias(target);
        *linear = self.linear;
        if let Some(bias) = bias {
            *bias = self.bias;
        }
        *rules = Rules::One(Some(self.rule));
        workspace.take_back(self.input.matrix);
        workspace.take_back(self.deriv.matrix);
    }
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Change>,
    done: Vec<Change>,
    /// The thread has one in its hands.
    busy: bool,
    /// The thread is to end.
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<Queue>,
    changed: Condvar,
    /// Number of unfinished changes: waiting ones, and the one in progress.
    pending: AtomicUsize,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    fn wait<'s>(&self, state: MutexGuard<'s, Queue>) -> MutexGuard<'s, Queue> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread, its queue and its results.
pub struct UpdateThread {
    shared: Arc<Shared>,
    thread: Option<Thread<()>>,
    /// Components whose parameters have been moved to the thread.
    away: RefCell<Vec<ComponentId>>,
    always: bool,
    helper: Option<Helper>,
}

impl UpdateThread {
    /// Starts the thread. `None` if it is never wanted, or if there can be no thread.
    pub fn start(device: &Device, when: SecondThread) -> Option<UpdateThread> {
        if when == SecondThread::Never {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let most = MOST_WAITING + 1;
        shared.state().waiting.reserve(most);
        shared.state().done.reserve(most);
        let theirs = (shared.clone(), device.clone());
        let thread =
            threads::start_or_return("updates", theirs, |(shared, device)| work(&shared, &device)).ok()?;
        let away = RefCell::new(Vec::with_capacity(most));
        let (theirs, always) = (shared.clone(), when == SecondThread::Always);
        let has_time = move |awake: bool| {
            theirs.pending.load(Ordering::Relaxed) == 0 && (awake || always || idle_processors() != Some(0))
        };
        let helper = Helper::start(has_time);
        Some(UpdateThread { shared, thread: Some(thread), away, always, helper })
    }

    /// The thread that takes halves of large products while no changes are waiting.
    pub fn helper(&self) -> Option<&Helper> {
        self.helper.as_ref()
    }

    /// Puts finished changes back.
    pub fn collect(&self, workspace: &Workspace, delta: &mut Delta) {
        self.put_back(&mut self.shared.state(), workspace, delta);
    }

    /// Does the waiting work, and returns when all changes are back in place.
    pub fn finish(&self, context: Context<'_>, delta: &mut Delta) {
        let mut state = self.shared.state();
        loop {
            if let Some(mut change) = state.waiting.pop() {
                self.shared.pending.fetch_sub(1, Ordering::Relaxed);
                drop(state);
                change.work(context);
                state = self.shared.state();
                state.done.push(change);
            }
            self.put_back(&mut state, context.workspace, delta);
            if self.away.borrow().is_empty() {
                return;
            }
            while state.waiting.is_empty() && state.done.is_empty() {
                state = self.shared.wait(state);
            }
        }
    }

    fn put_back(&self, state: &mut Queue, workspace: &Workspace, delta: &mut Delta) {
        for change in state.done.drain(..) {
            self.away.borrow_mut().retain(|&id| id != change.id);
            let (target, rules) = delta.component(change.id);
            change.put_back(workspace, target, rules);
        }
    }
}

/// Gives the changes of one component away, unless too many are waiting or no processor is idle.
pub struct Handover<'a> {
    pub thread: &'a UpdateThread,
    pub workspace: &'a Workspace,
    pub id: ComponentId,
    pub rules: &'a mut Rules,
}

impl Handover<'_> {
    /// Waits until the component's parameters are in their place.
    fn bring_back(&mut self, target: &mut dyn Component) {
        let thread = self.thread;
        if !thread.away.borrow().contains(&self.id) {
            return;
        }
        let mut state = thread.shared.state();
        let change = loop {
            match state.done.iter().position(|change| change.id == self.id) {
                Some(k) => break state.done.remove(k),
                None => state = thread.shared.wait(state),
            }
        };
        drop(state);
        thread.away.borrow_mut().retain(|&id| id != self.id);
        change.put_back(self.workspace, target, self.rules);
    }

    fn give(&mut self, target: &mut dyn Component, products: &Products<'_>) -> bool {
        let Some(rate) = rate(target) else { return false };
        let (input, deriv, terms) = match *products {
            Products::Rows(RowProducts { input, deriv, first, stride, taps, of_input: _ }) => {
                (input, deriv, Terms::Rows { first: first.into(), stride, taps })
            }
            Products::Patches { plan, input, deriv } => (input, deriv, Terms::Patches(plan.clone())),
            Products::Blocks { .. } | Products::Pieces { .. } => return false,
        };
        let state = self.thread.shared.state();
        let has_processor = self.thread.always || state.busy || !state.waiting.is_empty();
        if state.waiting.len() >= MOST_WAITING || !has_processor && idle_processors() == Some(0) {
            return false;
        }
        drop(state);
        let Rules::One(rule) = &mut *self.rules else { return false };
        let Some(rule) = rule.take() else { return false };
        let (linear, bias) = linear_and_bias(target);
        let change = Change {
            id: self.id,
            rule,
            linear: std::mem::replace(linear, Matrix::empty()),
            bias: bias.map_or(Matrix::empty(), |bias| std::mem::replace(bias, Matrix::empty())),
            rate,
            input: Kept::of(input, self.workspace),
            deriv: Kept::of(deriv, self.workspace),
            terms,
        };
        self.thread.away.borrow_mut().push(self.id);
        self.thread.shared.state().waiting.push(change);
        self.thread.shared.pending.fetch_add(1, Ordering::Relaxed);
        self.thread.shared.changed.notify_one();
        true
    }
}

impl GradientSink for Handover<'_> {
    fn products(&mut self, context: Context<'_>, target: &mut dyn Component, products: &Products<'_>) {
        self.bring_back(target);
        if !self.give(target, products) {
            self.rules.products(context, target, products);
        }
    }
    fn rows(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, rows: Rows<'_>) {
        self.bring_back(target);
        self.rules.rows(context, target, name, rows);
    }
    fn dense(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, gradient: ViewMut<'_>) {
        self.bring_back(target);
        self.rules.dense(context, target, name, gradient);
    }
    fn part(&mut self, i: usize) -> &mut dyn GradientSink {
        self.rules.part(i)
    }
}

impl Drop for UpdateThread {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(thread) = self.thread.take() {
            thread.join();
        }
    }
}

/// The work of the thread, first come first served.
fn work(shared: &Shared, device: &Device) {
    // As on the executor's thread.
    let _halves = InHalves::with(None);
    let (workspace, random) = (Workspace::new(device), Random::new(0));
    let context = Context { backend: &**device, workspace: &workspace, random: &random };
    let mut state = shared.state();
    while !state.closed {
        if state.waiting.is_empty() {
            state = shared.wait(state);
            continue;
        }
        let mut change = state.waiting.remove(0);
        state.busy = true;
        drop(state);
        change.work(context);
        state = shared.state();
        state.busy = false;
        shared.pending.fetch_sub(1, Ordering::Relaxed);
        state.done.push(change);
        shared.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_base::config::parse_config;
    use nnet3_component::testing::filled;
    use nnet3_network::Nnet;

    /// A network of all types that work out their changes by themselves, one of them twice, and of others.
    const CONFIG: &str = include_str!("../tests/it/second_thread.config");

    fn nnet() -> Nnet {
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("test", CONFIG.lines()).unwrap(), &Random::new(1)).unwrap();
        nnet
    }

    fn parameters(nnet: &Nnet) -> Vec<Vec<f32>> {
        nnet.components().filter_map(|c| c.as_updatable()).map(|c| c.vectorize()).collect()
    }

    /// The parameters of the affine component stay with the thread until its change is done.
    #[test]
    fn parameters_are_away_until_their_change_is_there() {
        let device = nnet3_matrix::cpu();
        let (nnet, workspace, random) = (nnet(), Workspace::new(&device), Random::new(1));
        let context = Context { backend: &*device, workspace: &workspace, random: &random };
        let thread = UpdateThread::start(&device, SecondThread::Always).unwrap();
        let (id, mut delta) = (ComponentId::from(0), Delta::new(&nnet));
        let (input, deriv) = (filled(5, 12, 1.0), filled(5, 16, 0.5));
        let products = Products::row_by_row(input.view(), deriv.view());
        let (target, rules) = delta.component(id);
        let mut handover = Handover { thread: &thread, workspace: &workspace, id, rules };
        handover.products(context, target, &products);
        assert!(target.parameters().iter().all(|p| p.value.is_empty()));
        handover.bring_back(target);
        let change = parameters(delta.nnet());
        assert!(change[0].iter().all(|&x| x != 0.0) && change[1..].iter().flatten().all(|&x| x == 0.0));
    }
}
