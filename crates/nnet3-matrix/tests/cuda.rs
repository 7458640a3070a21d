//! The suite of primitives on a CUDA device. Without a device it is skipped with a message; `NNET3_REQUIRE_GPU` makes
//! that a failure.

use nnet3_matrix::cuda::driver::{self, Activity, Debug, Settings};
use nnet3_matrix::{Device, Gemm, GemmBlocks, Matrix};
use nnet3_primitives_suite::{primitive_tests, run_all, with_both_forms};
use std::sync::{Arc, OnceLock};

/// Switches in the environment, as the programs have them.
fn debug() -> Debug {
    std::env::var("NNET3_GPU_DEBUG").map_or(Debug::default(), |text| Debug::parse(&text).unwrap())
}

fn device() -> Option<Device> {
    opened().map(|(device, _)| device)
}

fn opened() -> Option<(Device, Arc<Activity>)> {
    static DEVICE: OnceLock<Option<(Device, Arc<Activity>)>> = OnceLock::new();
    let settings = Settings { debug: debug(), warn: Some(|why| println!("{why}")), ..Default::default() };
    let open = || match driver::open(&settings) {
        Ok((device, found)) => {
            println!("on {}, cuBLASLt {:?}, {}", found.name, found.cublas_lt, found.kernels);
            Some((device, found.activity))
        }
        Err(why) => {
            assert!(std::env::var_os("NNET3_REQUIRE_GPU").is_none(), "{why}");
            println!("skipped: {why}");
            None
        }
    };
    DEVICE.get_or_init(open).clone()
}

nnet3_primitives_suite::each_primitive!(primitive_tests);

/// Matrices in floats and in halves, side by side.
#[test]
fn operands_in_both_forms() {
    if let Some(device) = device() {
        with_both_forms(|| run_all(&device));
    }
}

/// Products and sums give the same bytes each time, replayed or not, and the test checks that they were replayed.
#[test]
fn the_same_bytes_each_time() {
    let Some((device, activity)) = opened() else { return };
    let (captured, replayed) = (activity.captured(), activity.replayed());
    let mut results = Vec::new();
    for _ in 0..4 {
        let (mut a, mut c) = (Matrix::zeros(&device, 1500, 700), Matrix::zeros(&device, 700, 700));
        let mut row = Matrix::zeros(&device, 1, 700);
        // A gradient that is summed in parts, and two side by side.
        let (mut x, mut gradient) = (Matrix::zeros(&device, 6400, 160), Matrix::zeros(&device, 700, 128));
        let (mut pair, mut biased) = (Matrix::zeros(&device, 40, 64), Matrix::zeros(&device, 700, 700));
        device.fill_normal(a.view_mut(), 7);
        device.fill_normal(x.view_mut(), 8);
        for _ in 0..4 {
            device.mark();
            device.gemm(Gemm::set(c.view_mut(), a.view().transposed(), a.view()));
            let products = c.view_mut();
            device.softmax(products, products.as_view());
            device.col_sums(row.view_mut(), 1.0, a.view(), 0.0);
            device.add_to_rows(c.view_mut(), 1.0, row.view());
            let deriv = x.view().sub(0..1500, 0..128);
            device.gemm(Gemm::set(gradient.view_mut(), a.view().transposed(), deriv).times(0.5));
            device.gemm_with_bias(
                Gemm::set(biased.view_mut(), a.view().transposed(), a.view()).with_bias(row.view()),
            );
            let blocks = x.view().blocks((6400, 32), 1, (0, 32), 2);
            let rows = x.view().blocks((6400, 40), 1, (0, 0), 2);
            device.gemm_blocks(GemmBlocks::set(
                pair.view_mut().blocks((40, 32), 1, (0, 32), 2),
                rows.transposed(),
                blocks,
            ));
            device.mark();
            let values = [&c, &gradient, &pair, &biased].into_iter().flat_map(Matrix::to_vec);
            let bits: Vec<u32> = values.map(f32::to_bits).collect();
            results.push((bits, device.dot(a.view(), a.view()).to_bits()));
        }
    }
    assert!(results.iter().all(|result| *result == results[0]));
    println!("{} products without an algorithm of cuBLASLt", activity.unplanned());
    if !debug().no_graphs && !debug().synchronous {
        assert!(activity.captured() > captured && activity.replayed() > replayed, "{activity:?}");
        assert_eq!(activity.refused(), 0, "{activity:?}");
    }
}
