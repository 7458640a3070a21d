use super::*;
use crate::testing::*;

const MAXPOOLING: &str = "MaxpoolingComponent";

const SMALL: &str = "type=ConvolutionComponent input-x-dim=5 input-y-dim=4 input-z-dim=2 filt-x-dim=3 filt-y-dim=2 \
                     filt-x-step=1 filt-y-step=2";

#[test]
fn derivatives_and_files() {
    check_component(&format!("{SMALL} num-filters=3"));
    check_component(&format!("{SMALL} num-filters=1 input-vectorization-order=yzx learning-rate-factor=3"));
    let pooling = "input-x-dim=5 input-y-dim=4 input-z-dim=2 pool-x-size=3 pool-y-size=2 pool-z-size=1 pool-x-step=1 \
                   pool-y-step=2 pool-z-step=1";
    // No two inputs closer than a step of the finite differences.
    check_component_with(&format!("type=MaxpoolingComponent {pooling}"), |input| {
        input.iter_mut().enumerate().for_each(|(i, v)| *v = ((i * 37) % input_size()) as f32 * 0.1)
    });
}

fn input_size() -> usize {
    5 * 40
}

/// Sums over (x, y, z), straight from the definition.
#[test]
fn convolution_by_the_formula() {
    let harness = Harness::new();
    for order in ["zyx", "yzx"] {
        let new = component(&format!("{SMALL} num-filters=2 input-vectorization-order={order}"));
        let input = random_matrix(&Random::new(1), 2, 40);
        let output = harness.forward(&*new, None, &input, 2).output.to_vec();
        let own = downcast::<Convolution>(&*new);
        let (filters, bias, input) = (own.filters.to_vec(), own.bias.to_vec(), input.to_vec());
        for row in 0..2 {
            for (p, [px, py, _]) in positions([3, 2, 1]).enumerate() {
                for f in 0..2 {
                    let mut y = bias[f] as f64;
                    for (k, [x, wy, z]) in positions([3, 2, 2]).enumerate() {
                        let (x, wy) = (px + x, 2 * py + wy);
                        let column = if order == "zyx" { x * 8 + wy * 2 + z } else { x * 8 + z * 4 + wy };
                        y += filters[f * 12 + k] as f64 * input[row * 40 + column] as f64;
                    }
                    let found = output[row * 12 + p * 2 + f] as f64;
                    assert!((found - y).abs() < 1e-5, "{found} {y}");
                }
            }
        }
    }
}

#[test]
fn ties_all_get_the_derivative() {
    let new = "type=MaxpoolingComponent input-x-dim=3 input-y-dim=1 input-z-dim=1 pool-x-size=2 pool-y-size=1 \
               pool-z-size=1 pool-x-step=1 pool-y-step=1 pool-z-step=1";
    let mut new = component(new);
    let harness = Harness::new();
    let input = Matrix::from_vec(1, 3, vec![2.0, 2.0, 1.0]);
    let forward = harness.forward(&*new, None, &input, 1);
    assert_eq!(forward.output.to_vec(), [2.0, 2.0]);
    let deriv = Matrix::from_vec(1, 2, vec![1.0, 10.0]);
    let found = harness.backward(&mut *new, None, &input, &forward, &deriv, Update::None);
    assert_eq!(found.to_vec(), [1.0, 11.0, 0.0]);
}

#[test]
fn matrix_from_a_file() {
    let path = std::env::temp_dir().join(format!("convolution-{}", std::process::id()));
    std::fs::write(&path, " [ 1 2 3 4 9\n 5 6 7 8 10 ]\n").unwrap();
    let config = "type=ConvolutionComponent input-x-dim=4 input-y-dim=2 input-z-dim=1 filt-x-dim=2 filt-y-dim=2 \
                  filt-x-step=5 filt-y-step=1";
    let new = component(&format!("{config} matrix={}", path.display()));
    assert_eq!(new.as_updatable().unwrap().vectorize(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
    assert_eq!(new.output_dim(), 2);
    refused(&format!("{config} matrix={} num-filters=2", path.display()), "num-filters=2");
    refused(&format!("{config} num-filters=2"), "filter step 5 does not divide 4 - 2");
    let other = config.replace("filt-y-dim=2", "filt-y-dim=1");
    refused(&format!("{other} matrix={}", path.display()), "expected 3 columns, found 2 x 5");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn wrong_configs_are_refused() {
    refused(SMALL, "'num-filters' is missing");
    refused(&format!("{SMALL} num-filters=1 input-vectorization-order=xyz"), "expected zyx or yzx");
    refused(&SMALL.replace("filt-x-dim=3", "filt-x-dim=6"), "windows of 6 on an x axis of 5");
    refused(&SMALL.replace("input-z-dim=2", "input-z-dim=2000000000"), "too many");
    refused(&SMALL.replace("filt-y-step=2", ""), "'filt-y-step' is missing");
    refused(&format!("{SMALL} num-filters=0"), "num-filters=0");
    let pooling = TYPES[1].example;
    refused(&format!("type={MAXPOOLING} {}", pooling.replace("step=2", "step=3")), "boxes of 2 with step 3");
    refused(
        &format!("type={MAXPOOLING} {}", pooling.replace("pool-x-size=2", "pool-x-size=3")),
        "must divide 4 - 3",
    );
    refused(&format!("type={MAXPOOLING} {pooling} learning-rate=1"), "learning-rate=1");
}

#[test]
fn older_and_broken_files() {
    let text = written_text(&*component(&format!("{SMALL} num-filters=1")));
    let older = from_text(&text.replace("<IsGradient> F ", ""));
    assert_eq!(written_text(&*older), text);
    for (what, instead, part) in [
        ("<InputVectorization> 1", "<InputVectorization> 2", "expected 0 or 1, found 2"),
        ("<FiltXStep> 1", "<FiltXStep> 0", "<FiltXStep>"),
        ("<FiltYDim> 2", "<FiltYDim> 3", "expected 1 x 18 elements, found 1 x 12"),
        ("<FiltXDim> 3", "<FiltXDim> -3", "<FiltXDim>"),
        ("<InputXDim> 5", "<InputXDim> 2000000000", "too many"),
    ] {
        read_refused(&text.replace(what, instead), part);
    }
    let text = written_text(&*component(&format!("type={MAXPOOLING} {}", TYPES[1].example)));
    read_refused(&text.replace("<PoolZStep> 1", "<PoolZStep> 2"), "boxes of 1 with step 2");
}
