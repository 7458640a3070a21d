use super::*;
use crate::component::testing::*;
use crate::learning::Rules;

const GRU: &str = Gru::TYPE.name;
const OUTPUT_GRU: &str = OutputGru::TYPE.name;

#[test]
fn derivatives_and_files() {
    for keys in ["", "recurrent-dim=3 max-change=1", "recurrent-dim=1 alpha=2 rank-in=3", "recurrent-dim=-1"]
    {
        check_component(&format!("type={GRU} cell-dim=3 self-repair-scale=0 {keys}"));
    }
    for keys in ["", "param-mean=1 param-stddev=0.1 rank=2 update-period=3 l2-regularize=0.5"] {
        check_component(&format!("type={OUTPUT_GRU} cell-dim=3 self-repair-scale=0 {keys}"));
    }
}

#[test]
fn natural_gradient_updates() {
    let random = Random::new(2);
    for config in
        ["GruNonlinearityComponent cell-dim=4 recurrent-dim=3", "OutputGruNonlinearityComponent cell-dim=4"]
    {
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

#[test]
fn wrong_configs_and_files_are_refused() {
    for name in [GRU, OUTPUT_GRU] {
        refused(&format!("type={name}"), "'cell-dim' is missing");
        refused(&format!("type={name} cell-dim=4 alpha=-1"), "alpha");
        refused(&format!("type={name} cell-dim=4 self-repair-threshold=-1"), "self-repair-threshold");
        refused(&format!("type={name} cell-dim=4 update-period=0"), "update-period=0");
    }
    refused(&format!("type={GRU} cell-dim=4 recurrent-dim=5"), "expected 1 to cell-dim=4");
    refused(&format!("type={GRU} cell-dim=4 recurrent-dim=0"), "expected 1 to cell-dim=4");
    refused(&format!("type={OUTPUT_GRU} cell-dim=4 recurrent-dim=4"), "recurrent-dim=4");

    let text = written_text(&*component(&format!("type={OUTPUT_GRU} cell-dim=2")));
    read_refused(&text.replace("<CellDim> 2", "<CellDim> 3"), "expected 1 x 3 elements, found 1 x 2");
    read_refused(&text.replace("<Rank> 8", "<Rank> -8"), "greater than 0, found -8");
    let text = written_text(&*component(&format!("type={GRU} cell-dim=2")));
    read_refused(&text.replace("<RecurrentDim> 2", "<RecurrentDim> 3"), "at most <CellDim> 2, found 3");
    read_refused(&text.replace("<ValueAvg>  [ 0 0 ]", "<ValueAvg>  [ 0 ]"), "expected 2 elements, found 1");
}
