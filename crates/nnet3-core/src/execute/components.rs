//! The operations that run components, or products of their parameters.

use super::{Executor, Model, Program};
use nnet3_base::index::ComponentId;
use nnet3_base::random::Random;
use nnet3_compiler::computation::{self, PrecomputedId, SubmatrixId};
use nnet3_compiler::lower::{self, Affine, FilterProduct, InputDerivative, Mode, Share};
use nnet3_component::{Backprop, Component, Context, PrecomputedIndexes, Update, Weights};
use nnet3_learning::Plain;
use nnet3_learning::second_thread::Handover;
use nnet3_matrix::{Gemm, Start, View, ViewMut};
use nnet3_network::Nnet;
use std::ops::Range;
use std::sync::Arc;

impl Executor {
    pub(super) fn context<'c>(&'c self, random: &'c Random) -> Context<'c> {
        Context { backend: &*self.device, workspace: &self.workspace, random }
    }

    pub(super) fn propagate(
        &self,
        program: &Program,
        command: usize,
        &lower::Propagate { args, mode }: &lower::Propagate,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let computation::Propagate { component, precomputed, input, output, store_stats, .. } = args;
        let context = self.context(random);
        if let Some(input) = input
            && self.propagate_sparse(program, (input, output), model.nnet().component(component), mode)
        {
            return;
        }
        let indexes = program.precomputed(precomputed);
        let in_value = input.map_or(View::empty(), |i| self.view(program, i).as_view());
        let out_value = self.view(program, output);
        let memo = self.memo(program, command);
        let run = model.nnet().component(component);
        match mode {
            Mode::Ordinary | Mode::Sets => {
                let sets = mode == Mode::Sets;
                let args =
                    nnet3_component::Propagate { indexes, input: in_value, output: out_value, memo, sets };
                run.propagate(context, args)
            }
            Mode::Summed { windows } => {
                let windows = self.windows(program, windows);
                nnet3_component::summed::propagate(run, context, indexes, windows, in_value, out_value)
            }
        }
        if store_stats {
            self.store(program, command, &args, model, random);
        }
    }

    /// Returns the network that receives statistics of propagates.
    pub(super) fn receiver_of_statistics<'m>(&self, model: &'m mut Model<'_>) -> Option<&'m mut Nnet> {
        match model {
            Model::Frozen(_) => None,
            Model::Train { delta, .. } if delta.collects_statistics() => Some(delta.nnet_mut()),
            Model::Statistics(nnet) | Model::Train { nnet, .. } => Some(nnet),
            Model::Gradient { gradient, .. } => Some(gradient),
        }
    }

    /// Stores statistics after a propagate.
    pub(super) fn store(
        &self,
        program: &Program,
        command: usize,
        args: &computation::Propagate,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let Some(target) = self.receiver_of_statistics(model) else { return };
        let in_place = args.input == Some(args.output);
        let input =
            args.input.filter(|_| !in_place).map_or(View::empty(), |i| self.view(program, i).as_view());
        let (output, memo) =
            (self.view(program, args.output).as_view(), self.memo(program, command).as_view());
        target.component_mut(args.component).store_stats(self.context(random), input, output, memo);
    }

    fn windows<'p>(&self, program: &'p Program, id: PrecomputedId) -> &'p dyn PrecomputedIndexes {
        program.precomputed(Some(id)).unwrap_or_else(|| unreachable!("the pass has looked at the windows"))
    }

    pub(super) fn backprop(
        &self,
        program: &Arc<Program>,
        command: usize,
        &lower::Backprop { args, mode, taps }: &lower::Backprop,
        model: &mut Model<'_>,
        random: &Random,
    ) {
        let computation::Backprop { precomputed, in_value, out_value, out_deriv, in_deriv, .. } = args;
        let context = self.context(random);
        let optional =
            |id: Option<SubmatrixId>| id.map_or(View::empty(), |i| self.view(program, i).as_view());
        let out_deriv = self.view(program, out_deriv).as_view();
        self.with_update(program, &args, model, |own, name, mut update| {
            let done = match in_value.filter(|_| update.wants_gradients()) {
                None => false,
                Some(input) => self.update_sparse(program, (input, out_deriv), context, &mut update),
            };
            // Without gradients, the input is not read.
            let (in_value, update) = if done { (None, Update::None) } else { (in_value, update) };
            let args = Backprop {
                name,
                indexes: program.precomputed(precomputed),
                in_value: optional(in_value),
                out_value: optional(out_value),
                out_deriv,
                memo: self.memo(program, command).as_view(),
                in_deriv: in_deriv.map(|d| self.view(program, d)),
                sets: mode == Mode::Sets,
                taps,
            };
            match mode {
                Mode::Ordinary | Mode::Sets => own.backprop(context, args, update),
                Mode::Summed { windows } => {
                    let windows = self.windows(program, windows);
                    nnet3_component::summed::backprop(own, context, args, windows)
                }
            }
        });
    }

    /// Calls `f` with the component of a backprop, its name, and the receiver of its gradients and statistics.
    pub(super) fn with_update(
        &self,
        program: &Program,
        &computation::Backprop { component, update_model, .. }: &computation::Backprop,
        model: &mut Model<'_>,
        f: impl FnOnce(&mut dyn Component, &str, Update<'_>),
    ) {
        let second_thread = self.second_thread();
        let mut own_statistics = true;
        let (nnet, target, rules) = match model {
            Model::Frozen(nnet) => no_backward_pass(nnet, component),
            Model::Statistics(nnet) => no_backward_pass(nnet, component),
            Model::Train { nnet, delta } => {
                if let Some(thread) = second_thread {
                    thread.collect(&self.workspace, delta);
                }
                own_statistics = !delta.collects_statistics();
                let (target, rules) = delta.component(component);
                (nnet, target, Some(rules))
            }
            Model::Gradient { nnet, gradient } => (nnet, gradient.component_mut(component), None),
        };
        let (own, name) = nnet.component_and_name(component);
        let updatable = own.as_updatable().is_some();
        let wanted = update_model && (!updatable || program.computation().need_model_derivative);
        let (mut plain, mut handover) = (Plain, None);
        let update = match (rules, second_thread) {
            _ if !wanted => Update::None,
            (Some(_), _) if !updatable && own_statistics => Update::Own,
            (Some(rules), _) if !updatable => Update::to(target, rules),
            (Some(rules), None) => Update::to(target, rules),
            (Some(rules), Some(thread)) => {
                let workspace = &self.workspace;
                Update::to(target, handover.insert(Handover { thread, workspace, id: component, rules }))
            }
            (None, _) => Update::to(target, &mut plain),
        };
        f(own, name, update)
    }

    pub(super) fn affine(&self, program: &Program, product: &Affine, nnet: &Nnet) {
        let (weights, bias) = parameters(nnet, product.component);
        self.make_dense(program, product.input);
        let (input, output) =
            (self.view(program, product.input).as_view(), self.view(program, product.output));
        let start = if product.adds { Start::Output } else { Start::Row(bias) };
        let weights = weights.term_range(product.columns.clone());
        weights.multiply(&*self.device, output, start, std::iter::once(input));
    }

    pub(super) fn input_derivative(&self, program: &Program, product: &InputDerivative, nnet: &Nnet) {
        let Weights::Plain(linear) = parameters(nnet, product.component).0 else {
            unreachable!("the pass has looked at the parameters")
        };
        let linear = linear.col_range(product.columns.clone());
        let in_deriv = self.view(program, product.in_deriv);
        let out_deriv = self.view(program, product.out_deriv).as_view();
        let beta = if product.adds { 1.0 } else { 0.0 };
        match product.rows {
            None => self.device.gemm(Gemm { beta, ..Gemm::set(in_deriv, out_deriv, linear) }),
            Some(lists) => {
                let mut all = self.workspace.take(out_deriv.rows(), linear.cols());
                self.device.gemm(Gemm::set(all.view_mut(), out_deriv, linear));
                let lists = &self.list(program).row_lists()[lists];
                self.device.sum_row_lists(in_deriv, 1.0, all.view(), lists, product.adds);
            }
        }
    }

    pub(super) fn filter(&self, program: &Program, product: &FilterProduct, nnet: &Nnet, random: &Random) {
        let (weights, bias) = parameters(nnet, product.component);
        let mut taps = [View::empty(); 3];
        for (tap, &source) in taps.iter_mut().zip(&product.sources) {
            self.make_dense(program, source);
            *tap = self.view(program, source).as_view();
        }
        let output = self.view(program, product.output);
        product.filter.forward(self.context(random), output, &taps, weights, Start::Row(bias));
    }

    pub(super) fn share(&self, program: &Program, share: &Share, nnet: &Nnet) {
        let (weights, bias) = parameters(nnet, share.component);
        self.make_dense(program, share.source);
        let source = self.view(program, share.source).as_view();
        let mut result = self.workspace.hand_out(source.rows(), weights.outputs());
        let weights = weights.term_range(share.columns.clone());
        weights.multiply(&*self.device, result.view_mut(), Start::Row(bias), std::iter::once(source));
        self.shares.borrow_mut().push((share.share, result));
    }

    pub(super) fn copy_share(&self, share: usize, rows: Range<usize>, dest: ViewMut<'_>, last: bool) {
        let mut shares = self.shares.borrow_mut();
        let Some(place) = shares.iter().position(|&(n, _)| n == share) else {
            unreachable!("share {share} is worked out before it is copied")
        };
        self.device.copy(dest, shares[place].1.view().row_range(rows));
        if last {
            self.workspace.take_back(shares.swap_remove(place).1);
        }
    }
}

fn no_backward_pass(nnet: &Nnet, component: ComponentId) -> ! {
    unreachable!(
        "backward pass of {} with a model that collects no gradients",
        nnet.component_name(component)
    )
}

pub(super) fn parameters(nnet: &Nnet, component: ComponentId) -> (Weights<'_>, View<'_>) {
    let component = nnet.component(component);
    component.as_affine().unwrap_or_else(|| unreachable!("these are products of affine components"))
}
