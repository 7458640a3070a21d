//! The suite of primitives on the twin.

use nnet3_matrix::suite;

macro_rules! suite_tests {
    ($($module:ident { $($name:ident)* })*) => {
        mod primitive {
            $($(#[test]
            fn $name() {
                let (_, check) = super::suite::ALL.iter().find(|(name, _)| *name == stringify!($name)).expect("a check");
                check(&nnet3_cuda_twin::device());
            })*)*
        }
    };
}

nnet3_matrix::each_primitive!(suite_tests);
