//! Natural gradient with estimates that the device updates itself, compared with the host's.

use nnet3_core::component::Context;
use nnet3_core::component::gradient::{DerivsOfInput, GradientSink, Products, RowProducts};
use nnet3_core::component::preconditioners::NaturalGradientSettings;
use nnet3_core::config::parse_config;
use nnet3_core::learning::Rules;
use nnet3_core::natural_gradient::NaturalGradient;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_cuda_twin::Twin;
use nnet3_matrix::cuda::{GpuBackend, GpuMath};
use nnet3_matrix::{Device, Matrix, Workspace, cpu};
use std::sync::Arc;

/// Rows with a spectrum that falls off, and a mean.
fn rows(random: &Random, n: usize, dim: usize) -> Vec<f32> {
    let mix = Random::new(7).normal_vec(dim * dim, 0.0, 1.0);
    let mut out = vec![0.0; n * dim];
    for row in out.chunks_exact_mut(dim) {
        for k in 0..dim {
            let amount = random.normal() / (1.0 + k as f32);
            row.iter_mut().zip(&mix[k * dim..]).for_each(|(o, m)| *o += amount * m);
        }
        row[0] += 0.5;
    }
    out
}

/// The preconditioned rows of each minibatch, factor included.
fn preconditioned(device: &Device, rank: usize, minibatches: &[(usize, usize, Vec<f32>)]) -> Vec<Vec<f32>> {
    let workspace = Workspace::new(device);
    let random = Random::new(1);
    let context = Context { backend: &**device, workspace: &workspace, random: &random };
    let mut natural = NaturalGradient::new(NaturalGradientSettings {
        rank,
        update_period: 2,
        num_samples_history: 500.0,
        num_minibatches_history: 0.0,
        alpha: 4.0,
    });
    let run = |(n, dim, x): &(usize, usize, Vec<f32>)| {
        let mut x = Matrix::from_slice(device, *n, *dim, x);
        let factor = natural.precondition(context, x.view_mut());
        x.to_vec().into_iter().map(|v| v * factor).collect()
    };
    minibatches.iter().map(run).collect()
}

fn compare(rank: usize, minibatches: &[(usize, usize, Vec<f32>)], tolerance: f64) {
    let expected = preconditioned(&cpu(), rank, minibatches);
    let found = preconditioned(&nnet3_cuda_twin::device(), rank, minibatches);
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let size = norm(&mut expected.iter().map(|&v| v as f64));
        let error = norm(&mut found.iter().zip(expected).map(|(f, e)| (f - e) as f64));
        assert!(error <= tolerance * size, "rank {rank}, minibatch {k}: {error} of {size}");
    }
}

#[test]
fn follows_the_host() {
    let random = Random::new(3);
    for (rank, n, dim) in [(4, 60, 12), (4, 9, 12), (20, 150, 41), (1, 30, 2), (7, 30, 50)] {
        let minibatches: Vec<_> = (0..30).map(|_| (n, dim, rows(&random, n, dim))).collect();
        compare(rank, &minibatches, 1e-5);
    }
}

/// Rows of one direction, of none, and not finite ones: orthogonality is lost and made again.
#[test]
fn degenerate_rows() {
    let random = Random::new(5);
    let (n, dim) = (3, 24);
    let minibatch = |k: usize| match k % 4 {
        0 => vec![0.0; n * dim],
        1 => vec![1.0; n * dim],
        2 => rows(&random, n, dim),
        _ => (0..n * dim).map(|k| if k % dim == 2 { 1e-6 } else { 0.0 }).collect(),
    };
    let mut minibatches: Vec<_> = (0..30).map(|k| (n, dim, minibatch(k))).collect();
    minibatches[17].2[5] = f32::NAN;
    let found = preconditioned(&nnet3_cuda_twin::device(), 10, &minibatches);
    for (k, ((_, _, x), found)) in minibatches.iter().zip(&found).enumerate() {
        let norm = |values: &[f32]| values.iter().map(|&v| (v as f64).powi(2)).sum::<f64>().sqrt();
        let (before, after) = (norm(x), norm(found));
        let kept = (before - after).abs() <= 1e-4 * before;
        assert!(kept || k == 17 && after.is_nan(), "minibatch {k}: {before} {after}");
    }
}

/// A component with natural gradient on both sides, and its rows: N, and the first row of each time of the input.
struct Layer {
    config: &'static str,
    rows: usize,
    first: &'static [usize],
}

/// The last two do without corrections: one output has no estimate, and few rows are copied.
const LAYERS: [Layer; 7] = [
    Layer {
        config: "type=NaturalGradientAffineComponent input-dim=30 output-dim=20 rank-in=5 rank-out=4",
        rows: 150,
        first: &[0],
    },
    Layer {
        config: "type=LinearComponent input-dim=9 output-dim=40 rank-in=5 rank-out=12",
        rows: 70,
        first: &[0],
    },
    Layer {
        config: "type=TdnnComponent input-dim=11 output-dim=24 time-offsets=-1,0",
        rows: 80,
        first: &[0, 6],
    },
    Layer {
        config: "type=TdnnComponent input-dim=16 output-dim=9 time-offsets=-1,0,2 use-bias=false",
        rows: 80,
        first: &[0, 4, 20],
    },
    Layer {
        config: "type=TdnnComponent input-dim=7 output-dim=9 time-offsets=-1,0 use-bias=false",
        rows: 80,
        first: &[0, 4],
    },
    Layer { config: "type=NaturalGradientAffineComponent input-dim=12 output-dim=1", rows: 50, first: &[0] },
    Layer {
        config: "type=NaturalGradientAffineComponent input-dim=60 output-dim=70 rank-in=2 rank-out=2",
        rows: 12,
        first: &[0],
    },
];

/// Minibatches of a training: ordinary ones, derivatives of zero, rows almost in one direction, and one that is not a number.
const MINIBATCHES: usize = 24;
const BAD: usize = 15;

/// The change of the component after each minibatch.
fn changes(device: &Device, layer: &Layer) -> Vec<Vec<f32>> {
    let mut nnet = Nnet::default();
    let input_dim = layer.config.split("input-dim=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let config = format!(
        "component name=a {}\ninput-node name=input dim={input_dim}\ncomponent-node name=a component=a input=input\n\
         output-node name=output input=a",
        layer.config
    );
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(17)).unwrap();
    nnet.to_device(device);
    nnet.scale(0.0);
    let id = nnet.find_component("a").unwrap();
    let component = nnet.component_mut(id);
    let mut rules = Rules::of(component);
    let (workspace, random) = (Workspace::new(device), Random::new(1));
    let context = Context { backend: &**device, workspace: &workspace, random: &random };
    let (n, dims) = (layer.rows, (component.input_dim(), component.output_dim()));
    let inputs = n + layer.first.last().unwrap();
    let data = Random::new(5);
    let change = |minibatch: usize| {
        let mut input = rows(&data, inputs, dims.0);
        let mut deriv = rows(&data, n, dims.1);
        match minibatch {
            BAD => deriv[1] = f32::NAN,
            6 => deriv.fill(0.0),
            7.. if minibatch.is_multiple_of(3) => {
                let sizes = data.normal_vec(inputs, 0.0, 30.0);
                let along = sizes.iter().flat_map(|size| (0..dims.0).map(move |k| size * (k as f32).sin()));
                input.iter_mut().zip(along).for_each(|(x, more)| *x += more);
            }
            _ => {}
        }
        let input = Matrix::from_slice(device, inputs, dims.0, &input);
        let deriv = Matrix::from_slice(device, n, dims.1, &deriv);
        let times = layer.first.len();
        let mut interleaved = Matrix::zeros(device, inputs, times * dims.1);
        device.interleave_rows(interleaved.view_mut(), deriv.view(), layer.first);
        let of_input = DerivsOfInput { derivs: interleaved.view(), top: 0 };
        let products = RowProducts {
            input: input.view(),
            deriv: deriv.view(),
            first: layer.first,
            stride: 1,
            taps: None,
            of_input: (times > 1).then_some(of_input),
        };
        component.scale(0.0);
        rules.products(context, component, &Products::Rows(products));
        component.as_updatable().unwrap().vectorize()
    };
    (0..MINIBATCHES).map(change).collect()
}

fn compare_changes(device: &Device, tolerance: f64) {
    for layer in &LAYERS {
        let (expected, found) = (changes(&cpu(), layer), changes(device, layer));
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            if k == BAD {
                assert!(found.iter().any(|x| x.is_nan()), "{}", layer.config);
                continue;
            }
            let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
            let size = norm(&mut expected.iter().map(|&v| v as f64));
            let error = norm(&mut found.iter().zip(expected).map(|(f, e)| (f - e) as f64));
            assert!(error <= tolerance * size, "{}, minibatch {k}: {error} of {size}", layer.config);
        }
    }
}

/// A corrected gradient is that of the host, whatever way the host chooses.
#[test]
fn changes_are_the_hosts() {
    compare_changes(&nnet3_cuda_twin::device(), 2e-5);
}

/// Rounded factors of products leave the changes finite and near.
#[test]
fn changes_with_rounded_factors() {
    for (math, tolerance) in [(GpuMath::Tf32, 1e-2), (GpuMath::Bf16, 1e-1)] {
        compare_changes(&(Arc::new(GpuBackend::new(Twin::with_math(math)).unwrap()) as Device), tolerance);
    }
}
