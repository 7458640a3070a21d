//! Changes of parameters, worked out on a thread of their own while the backward pass goes on.
//!
//! What a layer's parameters change by depends on its input and on the derivative of its output, and nothing in the backward
//! pass depends on it. So a second thread can do it beside the derivatives of the layers below. It gets copies of both
//! matrices, as the arena puts others in their place, and the component of the network that gathers the changes. What it
//! has not begun when the pass is over, the executor's own thread does; the result is the same.

use super::Program;
use crate::component::{Backprop, Component, Context, PrecomputedIndexes, Properties, Update};
use crate::error::Result;
use crate::index::ComponentId;
use crate::nnet::Nnet;
use crate::random::Random;
use kaldi_io::writer::KaldiWriter;
use nnet3_matrix::{Device, Matrix, View, ViewMut, Workspace, idle_processors};
use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// When changes of parameters are worked out on a second thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecondThread {
    #[default]
    Never,
    /// While a processor of the machine has nothing else to do. To take the processor of others, and to wait for what has been
    /// begun there, would be lost labour.
    WhereIdle,
    Always,
}

/// Changes that the other thread has not begun, at most: each has copies of two matrices. One more is in its hands.
const MOST_WAITING: usize = 2;

/// One change.
struct Change {
    id: ComponentId,
    /// Of the network that gathers changes.
    component: Box<dyn Component>,
    program: Arc<Program>,
    /// The backprop.
    command: usize,
    in_value: Matrix,
    out_deriv: Matrix,
}

impl Change {
    fn work(&mut self, context: Context<'_>) {
        let args = Backprop {
            name: "",
            indexes: self.program.indexes_of(self.command),
            in_value: self.in_value.view(),
            out_value: View::empty(),
            out_deriv: self.out_deriv.view(),
            memo: View::empty(),
            in_deriv: None,
            sets: false,
            taps: self.program.shortcuts.taps(self.command),
        };
        self.component.backprop(context, args, Update::Own);
    }
}

#[derive(Default)]
struct State {
    waiting: Vec<Change>,
    done: Vec<Change>,
    /// The thread has one in its hands.
    busy: bool,
    /// The thread is to end, or has.
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread, what it is to do and what it has done.
pub(super) struct Updates {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Of the components that are not in their place.
    away: RefCell<Vec<ComponentId>>,
    always: bool,
}

impl Updates {
    /// None if it is never wanted, or if there can be no thread.
    pub fn start(device: &Device, when: SecondThread) -> Option<Updates> {
        if when == SecondThread::Never {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let most = MOST_WAITING + 1;
        shared.state().waiting.reserve(most);
        shared.state().done.reserve(most);
        let (theirs, device) = (shared.clone(), device.clone());
        let thread =
            std::thread::Builder::new().name("updates".into()).spawn(move || work(&theirs, &device)).ok()?;
        let away = RefCell::new(Vec::with_capacity(most));
        Some(Updates { shared, thread: Some(thread), away, always: when == SecondThread::Always })
    }

    /// Gives a change of `component` away, that of a backprop, with copies of these matrices, unless too many are waiting or no processor is
    /// idle.
    pub fn give(
        &self,
        workspace: &Workspace,
        changes: &mut Nnet,
        component: ComponentId,
        (program, command): (&Arc<Program>, usize),
        [in_value, out_deriv]: [View<'_>; 2],
    ) -> bool {
        self.bring_back(workspace, changes, component);
        let mut state = self.shared.state();
        self.put_back(&mut state, workspace, changes);
        let has_processor = self.always || state.busy || !state.waiting.is_empty();
        if state.waiting.len() >= MOST_WAITING || !has_processor && idle_processors() == Some(0) {
            return false;
        }
        drop(state);
        let copy = |view: View<'_>| {
            let mut copy = workspace.hand_out(view.rows(), view.cols());
            workspace.device().copy(copy.view_mut(), view);
            copy
        };
        let change = Change {
            id: component,
            component: changes.replace_component(component, Box::new(Away)),
            program: program.clone(),
            command,
            in_value: copy(in_value),
            out_deriv: copy(out_deriv),
        };
        self.away.borrow_mut().push(component);
        self.shared.state().waiting.push(change);
        self.shared.changed.notify_one();
        true
    }

    /// Waits until a component is in its place again.
    pub fn bring_back(&self, workspace: &Workspace, changes: &mut Nnet, component: ComponentId) {
        let mut state = self.shared.state();
        while self.away.borrow().contains(&component) {
            state = self.wait_for_any(state);
            self.put_back(&mut state, workspace, changes);
        }
    }

    /// Does what is waiting, and returns when all components are in their places.
    pub fn finish(&self, context: Context<'_>, changes: &mut Nnet) {
        let mut state = self.shared.state();
        loop {
            if let Some(mut change) = state.waiting.pop() {
                drop(state);
                change.work(context);
                state = self.shared.state();
                state.done.push(change);
            }
            self.put_back(&mut state, context.workspace, changes);
            if self.away.borrow().is_empty() {
                return;
            }
            if state.waiting.is_empty() {
                state = self.wait_for_any(state);
            }
        }
    }

    /// Returns when a change is done.
    fn wait_for_any<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        while state.done.is_empty() {
            assert!(!state.closed, "the thread that works out changes of parameters has failed");
            state = self.shared.wait(state);
        }
        state
    }

    /// Puts the components of all changes that are done back into their places.
    fn put_back(&self, state: &mut State, workspace: &Workspace, changes: &mut Nnet) {
        for change in state.done.drain(..) {
            changes.replace_component(change.id, change.component);
            self.away.borrow_mut().retain(|&id| id != change.id);
            workspace.take_back(change.in_value);
            workspace.take_back(change.out_deriv);
        }
    }
}

impl Drop for Updates {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(thread) = self.thread.take() {
            // A panic there has been seen where it was waited for.
            let _ = thread.join();
        }
    }
}

/// What the thread does, first come first served.
fn work(shared: &Shared, device: &Device) {
    /// For those who wait, should this thread panic.
    struct Ends<'a>(&'a Shared);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }
    let _ends = Ends(shared);
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
        state.done.push(change);
        shared.changed.notify_one();
    }
}

/// In the place of a component that is with the other thread. Nobody may ask it for anything.
#[derive(Clone)]
struct Away;

impl Component for Away {
    fn type_name(&self) -> &'static str {
        "a component that is being updated"
    }
    fn input_dim(&self) -> usize {
        unreachable!()
    }
    fn output_dim(&self) -> usize {
        unreachable!()
    }
    fn properties(&self) -> Properties {
        unreachable!()
    }
    fn write(&self, _: &mut KaldiWriter) -> Result<()> {
        unreachable!()
    }
    fn propagate(
        &self,
        _: Context<'_>,
        _: Option<&dyn PrecomputedIndexes>,
        _: View<'_>,
        _: ViewMut<'_>,
        _: ViewMut<'_>,
    ) {
        unreachable!()
    }
    fn backprop(&mut self, _: Context<'_>, _: Backprop<'_>, _: Update<'_>) {
        unreachable!()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Executor, Model};
    use super::*;
    use crate::compile::compile;
    use crate::component::testing::filled;
    use crate::config::parse_config;
    use crate::optimize::{OptimizeOptions, optimize};

    /// All types that work out their changes by themselves, one of them twice, and others.
    const CONFIG: &str = "
        input-node name=input dim=12
        component name=a type=NaturalGradientAffineComponent input-dim=12 output-dim=16
        component name=b type=TdnnComponent input-dim=16 output-dim=16 time-offsets=-1,0
        component name=c type=LinearComponent input-dim=16 output-dim=16
        component name=d type=TimeHeightConvolutionComponent num-filters-in=4 num-filters-out=4 height-in=4 \
            height-out=4 height-offsets=-1,0,1 time-offsets=0,1
        component name=e type=NaturalGradientPerElementScaleComponent dim=16
        component name=f type=SigmoidComponent dim=16
        component name=g type=AffineComponent input-dim=32 output-dim=3
        component-node name=a component=a input=input
        component-node name=b component=b input=a
        component-node name=c component=c input=Sum(b, Offset(a, 1))
        component-node name=c2 component=c input=Offset(b, 1)
        component-node name=d component=d input=c
        component-node name=e component=e input=d
        component-node name=f component=f input=e
        component-node name=g component=g input=Append(f, c2)
        output-node name=output input=g";

    fn nnet() -> Nnet {
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("test", CONFIG.lines()).unwrap(), &Random::new(1)).unwrap();
        nnet
    }

    fn parameters(nnet: &Nnet) -> Vec<Vec<f32>> {
        nnet.components().filter_map(|c| c.as_updatable()).map(|c| c.vectorize()).collect()
    }

    /// What twelve minibatches change, and the derivatives of their inputs.
    fn changes(nnet: &Nnet, program: &Arc<Program>, second_thread: bool) -> (Vec<Vec<f32>>, Vec<f32>) {
        let (mut nnet, mut delta, random) = (nnet.clone(), nnet.clone(), Random::new(3));
        delta.scale(0.0);
        let device = nnet3_matrix::cpu();
        let mut executor = Executor::new(&device);
        if second_thread {
            executor.update_on_second_thread(SecondThread::Always);
            assert!(executor.updates.is_some());
        }
        let mut derivs = Vec::new();
        for minibatch in 0..12 {
            executor.start(program).unwrap();
            device.fill_normal(executor.input(&nnet, "input").unwrap(), minibatch);
            let mut model = Model::Train { nnet: &mut nnet, delta: &mut delta };
            executor.run(&mut model, &random).unwrap();
            device.fill_normal(executor.input(&nnet, "output").unwrap(), 100 + minibatch);
            executor.run(&mut Model::Train { nnet: &mut nnet, delta: &mut delta }, &random).unwrap();
            derivs.extend(device.download(executor.output(&nnet, "input").unwrap()));
        }
        (parameters(&delta), derivs)
    }

    #[test]
    fn results_are_those_of_one_thread() {
        let nnet = nnet();
        let mut request = nnet.ordinary_request(8, 12, 1, true).unwrap();
        request.inputs[0].has_deriv = true;
        let compiled = compile(&nnet, std::slice::from_ref(&request)).unwrap();
        let mut optimized = compiled.clone();
        optimize(&OptimizeOptions::default(), &nnet, 2, &mut optimized).unwrap();
        for computation in [compiled, optimized] {
            let program = Arc::new(Program::new(&nnet, computation).unwrap());
            let expected = changes(&nnet, &program, false);
            assert!(expected.0.iter().all(|change| change.iter().any(|&x| x != 0.0)));
            for _ in 0..4 {
                assert!(changes(&nnet, &program, true) == expected);
            }
        }
    }

    fn program(nnet: &Nnet) -> Arc<Program> {
        let request = nnet.ordinary_request(1, 3, 1, true).unwrap();
        let computation = compile(nnet, std::slice::from_ref(&request)).unwrap();
        Arc::new(Program::new(nnet, computation).unwrap())
    }

    #[test]
    fn a_component_is_away_until_its_change_is_there() {
        let device = nnet3_matrix::cpu();
        let (nnet, workspace) = (nnet(), Workspace::new(&device));
        let (updates, program) = (Updates::start(&device, SecondThread::Always).unwrap(), program(&nnet));
        let (id, mut changes) = (ComponentId::from(0), nnet.clone());
        changes.scale(0.0);
        let (input, deriv) = (filled(5, 12, 1.0), filled(5, 16, 0.5));
        let views = [input.view(), deriv.view()];
        assert!(updates.give(&workspace, &mut changes, id, (&program, 0), views));
        assert!(changes.component(id).is::<Away>());
        updates.bring_back(&workspace, &mut changes, id);
        let change = parameters(&changes);
        assert!(change[0].iter().all(|&x| x != 0.0) && change[1..].iter().flatten().all(|&x| x == 0.0));
    }

    #[test]
    #[should_panic(expected = "has failed")]
    fn a_failure_is_not_waited_for_forever() {
        let device = nnet3_matrix::cpu();
        let (mut nnet, workspace) = (nnet(), Workspace::new(&device));
        let (updates, program) = (Updates::start(&device, SecondThread::Always).unwrap(), program(&nnet));
        let (id, wrong) = (ComponentId::from(0), filled(5, 7, 1.0));
        assert!(updates.give(&workspace, &mut nnet, id, (&program, 0), [wrong.view(), wrong.view()]));
        updates.bring_back(&workspace, &mut nnet, id);
    }
}
