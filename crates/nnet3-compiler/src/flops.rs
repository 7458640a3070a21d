//! Floating-point operations of the matrix products in a computation.

use crate::computation::{Backprop, Command, Computation, Propagate};
use nnet3_component::Component;
use nnet3_component::affine::Affine;
use nnet3_component::affine::arranged::Arranged;
use nnet3_component::linear::Linear;
use nnet3_component::tdnn::Tdnn;
use nnet3_network::Nnet;

/// Multiplications and additions in the products of affine, linear and TDNN components, as the formulas have them: filters
/// (see [`nnet3_component::winograd`]) do with fewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flops {
    pub forward: u64,
    pub backward: u64,
}

/// Elements of the matrix that each output row is multiplied with; 0 for other types.
fn linear_elements(component: &dyn Component) -> usize {
    if let Some(affine) = component.downcast_ref::<Affine>() {
        affine.linear_params().len()
    } else if let Some(linear) = component.downcast_ref::<Linear>() {
        linear.linear_params().len()
    } else if let Some(tdnn) = component.downcast_ref::<Tdnn>() {
        tdnn.linear_params().len()
    } else if let Some(arranged) = component.downcast_ref::<Arranged>() {
        arranged.elements()
    } else {
        0
    }
}

/// Operations of one command. Each element of a product takes two. A propagate is one product; a backprop is one for the
/// input's derivative and one for the parameters'.
pub fn of_command(nnet: &Nnet, computation: &Computation, command: &Command) -> u64 {
    let product = |component, rows| 2 * (rows * linear_elements(nnet.component(component))) as u64;
    match *command {
        Command::Propagate(Propagate { component, output, .. }) => {
            product(component, computation.submatrix(output).rows)
        }
        Command::Backprop(Backprop { component, out_deriv, in_deriv, update_model, .. }) => {
            let products =
                u64::from(in_deriv.is_some()) + u64::from(update_model && computation.need_model_derivative);
            products * product(component, computation.submatrix(out_deriv).rows)
        }
        _ => 0,
    }
}

/// The sums over all commands.
pub fn count(nnet: &Nnet, computation: &Computation) -> Flops {
    let mut flops = Flops::default();
    for command in &computation.commands {
        let sum = match command {
            Command::Backprop(_) => &mut flops.backward,
            _ => &mut flops.forward,
        };
        *sum += of_command(nnet, computation, command);
    }
    flops
}
