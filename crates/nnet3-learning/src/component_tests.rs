//! Natural gradient of components that need more than an affine function: against the dense form, and against the
//! plain gradient.

use crate::Rules;
use crate::both_sides::tests::{by_rows, col_sums, follows};
use crate::natural_gradient::oracle::Dense;
use nalgebra::DMatrix;
use nnet3_base::index::Index;
use nnet3_base::random::Random;
use nnet3_component::testing::{Harness, assert_near, component, random_matrix, relative_difference};
use nnet3_component::{Component, PrecomputedIndexes, Update};
use nnet3_matrix::Matrix;

/// Shows that the preconditioner sees the rows of each minibatch's gradient.
#[test]
fn repeated_affine() {
    let mut rows = Dense::new(2, 6, 4, 2000.0, 4.0);
    let blocks = |m: &DMatrix<f64>| DMatrix::from_row_slice(m.nrows() * 3, m.ncols() / 3, &by_rows(m));
    let config = "type=NaturalGradientRepeatedAffineComponent input-dim=15 output-dim=24 num-repeats=3";
    follows(config, 3e-6, &mut |x, e| {
        let x = blocks(x).insert_column(5, 1.0);
        let gradient = rows.precondition(&(blocks(e).transpose() * x), false);
        let linear = by_rows(&gradient.columns(0, 5).into_owned());
        linear.into_iter().chain(gradient.column(5).iter().copied()).collect()
    });
}

#[test]
fn per_element_scale() {
    let mut rows = Dense::new(4, 7, 3, 2000.0, 4.0);
    let config = "type=NaturalGradientPerElementScaleComponent dim=7 rank=4 update-period=3";
    follows(config, 3e-6, &mut |x, e| col_sums(&rows.precondition(&x.component_mul(e), false)));
}

#[test]
fn per_element_offset() {
    let mut rows = Dense::new(3, 4, 4, 2000.0, 4.0);
    follows("type=PerElementOffsetComponent dim=8 block-dim=4", 3e-6, &mut |_, e| {
        let e = DMatrix::from_row_slice(e.nrows() * 2, 4, &by_rows(e));
        col_sums(&rows.precondition(&e, false))
    });
}

#[test]
fn scale_and_offset() {
    let [mut scales, mut offsets] = [0, 1].map(|_| Dense::new(3, 7, 4, 2000.0, 4.0));
    follows("type=ScaleAndOffsetComponent dim=7 rank=3", 3e-6, &mut |x, e| {
        let mut step = col_sums(&scales.precondition(&x.component_mul(e), false));
        step.extend(col_sums(&offsets.precondition(e, false)));
        step
    });
}

#[test]
fn constant_function() {
    // Rank 40 becomes 6.
    let mut rows = Dense::new(6, 7, 1, 2000.0, 4.0);
    let config = "type=ConstantFunctionComponent input-dim=2 output-dim=7";
    follows(config, 3e-6, &mut |_, e| col_sums(&rows.precondition(e, false)));
}

/// Turns the plain gradient, keeps its half space, and is in proportion to the rate.
#[test]
fn recurrent_cells() {
    let random = Random::new(2);
    for config in [
        "GruNonlinearityComponent cell-dim=4 recurrent-dim=3",
        "OutputGruNonlinearityComponent cell-dim=4",
        "LstmNonlinearityComponent cell-dim=4",
    ] {
        let new = component(&format!("type={config} self-repair-scale=0"));
        let (input, deriv) = (random_matrix(&random, 30, new.input_dim()), random_matrix(&random, 30, 8));
        let harness = Harness::new();
        let forward = harness.forward(&*new, None, &input, 30);
        let change = |gradient: bool, learning_rate: f32| {
            let mut delta = new.clone_box();
            delta.scale(0.0);
            let updatable = delta.as_updatable_mut().unwrap();
            updatable.settings_mut().is_gradient = gradient;
            updatable.settings_mut().learning_rate = learning_rate;
            let mut rules = Rules::of(&*delta);
            harness.backward(
                &mut *new.clone_box(),
                None,
                &input,
                &forward,
                &deriv,
                Update::to(&mut *delta, &mut rules),
            );
            delta.as_updatable().unwrap().vectorize()
        };
        let (plain, natural) = (change(true, 1.0), change(false, 1.0));
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let cosine = dot(&plain, &natural) / (dot(&plain, &plain) * dot(&natural, &natural)).sqrt();
        assert!(cosine > 0.3 && cosine < 0.9999, "{config}: {cosine}");
        let twice: Vec<f32> = natural.iter().map(|v| 2.0 * v).collect();
        assert_near(&change(false, 2.0), &twice, 1e-5, "rate");
    }
}

/// The change of a delta that `keys` and a learning rate set up, from one minibatch of `new`.
fn change_of(new: &dyn Component, delta: &str, rate: f32, minibatch: &Minibatch<'_>) -> Vec<f32> {
    let mut delta = component(delta);
    delta.scale(0.0);
    delta.as_updatable_mut().unwrap().settings_mut().learning_rate = rate;
    let mut rules = Rules::of(&*delta);
    let Minibatch { harness, indexes, input, deriv } = minibatch;
    let forward = harness.forward(new, *indexes, input, deriv.rows());
    let update = Update::to(&mut *delta, &mut rules);
    harness.backward(&mut *new.clone_box(), *indexes, input, &forward, deriv, update);
    delta.as_updatable().unwrap().vectorize()
}

/// The arguments of a backprop.
struct Minibatch<'a> {
    harness: &'a Harness,
    indexes: Option<&'a dyn PrecomputedIndexes>,
    input: &'a Matrix,
    deriv: &'a Matrix,
}

fn at_times(times: &[i32]) -> Vec<Index> {
    times.iter().map(|&t| Index::new(0, t, 0)).collect()
}

#[test]
fn time_height_convolution() {
    let config = "type=TimeHeightConvolutionComponent num-filters-in=2 num-filters-out=3 height-in=4 height-out=4 \
                  time-offsets=0,1 height-offsets=0";
    let new = component(config);
    let plan = new.precompute_indexes(&at_times(&[0, 1, 2]), &at_times(&[0, 1]), true).unwrap();
    let (random, harness) = (Random::new(1), Harness::new());
    let (input, deriv) = (random_matrix(&random, 3, 8), random_matrix(&random, 2, 12));
    let minibatch = Minibatch { harness: &harness, indexes: plan.as_deref(), input: &input, deriv: &deriv };
    let change = |keys: &str, rate: f32| change_of(&*new, &format!("{config} {keys}"), rate, &minibatch);
    let plain = change("use-natural-gradient=false", 1.0);
    let natural = change("", 1.0);
    let norm = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
    assert!((norm(&plain) - norm(&natural)).abs() < 1e-3 * norm(&plain), "the norm is kept");
    assert!(relative_difference(&natural, &plain) > 1e-2, "the direction changes");
    assert_eq!(change("", 0.0), vec![0.0; plain.len()]);
    let smooth = change("alpha-in=1e8 alpha-out=1e8", 1.0);
    assert_near(&smooth, &plain, 1e-3, "much smoothing gives the plain gradient");
}

/// With a frozen identity (a zero gradient first, then nothing learnt) the natural gradient is the plain one. In
/// general it keeps the product of norms of a single row.
#[test]
fn tdnn_of_few_rows() {
    let config = "type=TdnnComponent input-dim=3 output-dim=4 time-offsets=-1,1";
    let new = component(config);
    let indexes = new.precompute_indexes(&at_times(&[-1, 0, 1, 2, 3]), &at_times(&[0, 1, 2]), true).unwrap();
    let (random, harness) = (Random::new(1), Harness::new());
    let (input, deriv) = (random_matrix(&random, 5, 3), random_matrix(&random, 3, 4));
    let minibatch =
        Minibatch { harness: &harness, indexes: indexes.as_deref(), input: &input, deriv: &deriv };
    let change = |keys: &str, rate: f32| change_of(&*new, &format!("{config} {keys}"), rate, &minibatch);
    let plain = change("use-natural-gradient=false", 0.5);
    let natural = change("", 0.5);
    let cosine: f32 = plain.iter().zip(&natural).map(|(a, b)| a * b).sum();
    let norms: f32 = [&plain, &natural].iter().map(|v| v.iter().map(|p| p * p).sum::<f32>().sqrt()).product();
    assert!(cosine / norms > 0.3 && cosine / norms < 0.9999, "cosine {}", cosine / norms);
    assert_eq!(change("", 0.0), vec![0.0; plain.len()]);
    let wide = change("alpha-in=1e8 alpha-out=1e8", 0.5);
    assert_near(&wide, &plain, 1e-3, "much smoothing gives the plain gradient");
}
