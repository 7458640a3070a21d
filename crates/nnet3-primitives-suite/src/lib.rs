//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! One check for each primitive, for any device. It compares the primitive with a slow and obvious version in `f64`.
//! Cases are empty matrices, single rows and columns, odd sizes, sub-matrices of larger matrices, and operations in
//! place if allowed.
//!
//! If the device is wrong, a check panics. Three users run [`ALL`]: the tests of the CPU, the tests of the kernels on
//! the twin, and a program for a machine with a GPU (`dev/gpu-check.sh`).

mod banded;
mod broadcast;
mod columns;
mod elementwise;
mod hmm;
mod learning;
mod low_rank;
mod lstm;
mod memory;
mod normalized;
mod operand;
mod products;
mod random;
mod rows;
mod rowwise;
mod scalars;
mod sums;

use nnet3_matrix::Device;
pub use operand::with_both_forms;
use operand::{Case, Operand, cases};

/// Calls the given macro with all checks, by module. It has the only list of checks.
#[macro_export]
macro_rules! each_primitive {
    ($callback:ident) => {
        $callback! {
            memory { transfers set copy scale add copy_scaled weighted_sum copy_transposed neighbours }
            products { gemm gemm_with_bias gemm_edge_cases gemm_of_few_rows gemm_blocks gram products_with_panels products_with_weights_of_eight_bits }
            rows { copy_rows add_rows multiply_rows add_to_picked_rows copy_rows_multi add_rows_multi copy_to_rows_multi add_to_rows_multi add_row_ranges sum_row_lists interleave_rows sum_interleaved }
            columns { copy_cols add_cols add_to_cols sum_col_ranges }
            elementwise {
                map activate activate_extremes activate_backward product multiply divide add_product multiply_by_ratio add_where_equal max_with
                many_elements
            }
            broadcast { set_rows add_to_rows scale_cols scale_rows add_scaled_rows add_scaled_cols affine_cols normalize_cols normalize_cols_and_add }
            normalized { normalized_sum rectified_moments normalized_deriv_sums normalized_deriv }
            sums { sum dot col_sums col_dots col_sums_and_dots col_sums_and_square moments row_sums row_dots accumulate }
            scalars { accumulate_dot accumulate_row decide compare_averages compare_averages_by_sum proportion_above root_of_ratio ratio_of_sums scale_by add_by sums_by_a_factor sums_on_the_device }
            low_rank { low_rank_update low_rank_updates_together low_rank_correction low_rank_factor }
            rowwise {
                softmax log_softmax softmax_extremes softmax_backward log_softmax_backward group_norm group_norm_backward
            }
            lstm { lstm_cell lstm_cell_backward }
            banded { banded_dots banded_apply banded_scatter }
            hmm { hmm_forward hmm_backward fetch_elements add_elements exp_within add_excess }
            learning { learn }
            random { fill_uniform fill_normal }
        }
    };
}

/// For [`each_primitive`]: makes a test of each check, on the result of `fn device() -> Option<Device>` beside it.
/// Without a device the tests pass.
#[macro_export]
macro_rules! primitive_tests {
    ($($module:ident { $($name:ident)* })*) => {
        mod primitive {
            $($(#[test]
            fn $name() {
                let Some(device) = super::device() else { return };
                let (_, check) = $crate::ALL.iter().find(|(name, _)| *name == stringify!($name)).expect("a check");
                check(&device);
            })*)*
        }
    };
}

/// A primitive's name and its check.
pub type Check = (&'static str, fn(&Device));

macro_rules! checks {
    ($($module:ident { $($name:ident)* })*) => {
        /// Every check, named as the primitive.
        pub const ALL: &[Check] = &[$($((stringify!($name), $module::$name)),*),*];
    };
}

each_primitive!(checks);

/// Runs every check, in order; for devices that are tested as a whole.
pub fn run_all(device: &Device) {
    for (name, check) in ALL {
        println!("{name} on {}", device.name());
        check(device);
    }
}
