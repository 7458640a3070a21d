//! One product for the derivatives of the layer below a recurrence.

use super::compare;
use super::networks::{WIDE_BYPASSED, WIDE_OUTPUT, lstm_on_wide};
use nnet3_compiler::lower::{InputDerivative, Lowered, Op};
use nnet3_core::execute::Program;

fn products(lowered: &Lowered) -> Vec<&InputDerivative> {
    let all = lowered.ops().iter();
    all.filter_map(|op| if let Op::InputDerivative(product) = op { Some(product) } else { None }).collect()
}

#[test]
fn columns_for_the_layer_below_are_one_product() {
    for input in ["a, IfDefined(Offset(r, -1))", "IfDefined(Offset(r, -1)), a"] {
        for output in [WIDE_OUTPUT, WIDE_BYPASSED] {
            compare(&lstm_on_wide(input, output), 3, 7, |program: &Program| {
                let found = products(program.lowered());
                // The first step has nothing before it.
                found.iter().map(|product| product.columns.len()).eq([4, 4, 4, 4, 4, 4, 40])
            });
        }
    }
}
