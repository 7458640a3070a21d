//! Edits of small networks, and messages about wrong ones.

use super::*;
use nnet3_base::Random;
use nnet3_base::config::parse_config;

#[test]
fn patterns() {
    for (name, pattern, expected) in [
        ("tdnn1.affine", "*", true),
        ("tdnn1.affine", "tdnn1*", true),
        ("tdnn1.affine", "*.affine", true),
        ("tdnn1.affine", "t*1*a*e", true),
        ("tdnn1.affine", "tdnn1", false),
        ("aa", "a*a*a", false),
        ("", "*", true),
        ("a", "", false),
    ] {
        assert_eq!(matches_pattern(name, pattern), expected, "{name} {pattern}");
    }
}

fn network() -> Nnet {
    let config = "input-node name=input dim=6\n\
        component name=a type=NaturalGradientAffineComponent input-dim=6 output-dim=5\n\
        component name=b type=AffineComponent input-dim=5 output-dim=4 learning-rate-factor=0.5\n\
        component name=c type=AffineComponent input-dim=5 output-dim=4\n\
        component-node name=a component=a input=input\n\
        component-node name=b component=b input=a\n\
        component-node name=c component=c input=a\n\
        output-node name=output input=b\noutput-node name=extra input=c";
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(1)).unwrap();
    nnet
}

#[test]
fn patterns_that_match_nothing() {
    let mut nnet = network();
    let mut warning = |text: &str| edit(&mut nnet, text).unwrap().remove(0).warning;
    let there = "there are a, b, c";
    let rate = "set-learning-rate name=tdnn* learning-rate=0.5";
    let expected = format!("set-learning-rate: no component with parameters matches 'tdnn*'; {there}");
    assert_eq!(warning(rate), Some(expected));
    let dropout = "set-dropout-proportion name=d proportion=0.5";
    assert_eq!(warning(dropout), Some(format!("set-dropout-proportion: no component matches 'd'; {there}")));
    assert!(warning("reduce-rank name=x rank=1").unwrap().ends_with(there));
    let output = warning("remove-output-nodes name=xent*").unwrap();
    assert_eq!(output, "remove-output-nodes: no output node matches 'xent*'; there are output, extra");
    assert_eq!(warning("set-learning-rate name=a* learning-rate=0.5"), None);
    assert_eq!(warning("set-learning-rate learning-rate=0.5"), None);
    assert_eq!(warning("set-dropout-proportion name=* proportion=0.5"), None);
}

fn edit(nnet: &mut Nnet, text: &str) -> Result<Vec<Edited>> {
    nnet.edit(parse_config("edits", text.lines())?)
}

#[test]
fn structure_edits() {
    let mut nnet = network();
    edit(&mut nnet, "remove-output-nodes name=ex*\nremove-orphans").unwrap();
    assert_eq!(nnet.component_names(), ["a", "b"]);
    edit(&mut nnet, "rename-node old-name=b new-name=z").unwrap();
    assert_eq!(nnet.node_lines(false)[2], "component-node name=z component=b input=a");
    assert!(edit(&mut nnet, "remove-output-nodes name=*").is_err());
    assert!(edit(&mut nnet, "rename-node old-name=nothere new-name=y").is_err());
    assert!(edit(&mut nnet, "set-learning-rate learning-rate=1 nmae=x").is_err());
    assert!(edit(&mut nnet, "frobnicate").is_err());
    let unknown = edit(&mut nnet, "set-learning-rates learning-rate=1").unwrap_err().to_string();
    assert!(
        unknown.contains(
            "unknown edit directive 'set-learning-rates'; did you mean 'set-learning-rate'?; expected one of convert-to-"
        ),
        "{unknown}"
    );
    let misspelt = edit(&mut nnet, "renam-node old-name=z new-name=b").unwrap_err().to_string();
    assert!(misspelt.contains("'renam-node'; did you mean 'rename-node'?"), "{misspelt}");
    let misspelt = edit(&mut nnet, "rename-node old_name=z new-name=b").unwrap_err().to_string();
    assert!(misspelt.contains("'old-name' is missing (there is 'old_name')"), "{misspelt}");
    let misspelt = edit(&mut nnet, "set-learning-rate learning-rate=1 nmae=x").unwrap_err().to_string();
    assert!(misspelt.contains("unknown or unused key: nmae=x; did you mean 'name'?"), "{misspelt}");
    // The list has exactly the known directives.
    for directive in DIRECTIVES {
        let result = edit(&mut nnet.clone(), &format!("{directive} no-such-key=1"));
        assert!(!result.is_err_and(|error| error.to_string().contains("unknown edit")), "{directive}");
    }
}

#[test]
fn learning_rates() {
    let mut nnet = network();
    edit(&mut nnet, "set-learning-rate learning-rate=0.25").unwrap();
    let rates: Vec<f32> =
        nnet.components().map(|c| c.as_updatable().unwrap().settings().learning_rate).collect();
    assert_eq!(rates, [0.25, 0.125, 0.25]);
}

/// A 5 × 6 matrix in two factors of rank 5 would only grow, so it is not decomposed.
#[test]
fn svd_that_does_not_shrink_is_skipped() {
    let mut nnet = network();
    edit(&mut nnet, "apply-svd name=a energy-threshold=0.999999").unwrap();
    assert_eq!(nnet.num_components(), 3);
}

#[test]
fn rank_is_reduced() {
    let mut nnet = network();
    edit(&mut nnet, "reduce-rank name=a rank=2").unwrap();
    let (_, values, _) = sorted_svd(&dense(nnet.affine(ComponentId(0)).linear_params()));
    assert!(values[1] > 1e-3 * values[0] && values[2] < 1e-5 * values[0], "{values:?}");
}

#[test]
fn svd_makes_two_components() {
    let mut nnet = network();
    edit(&mut nnet, "apply-svd name=a bottleneck-dim=2").unwrap();
    assert_eq!(nnet.component_names(), ["b", "c", "a_a", "a_b"]);
    let lines = nnet.node_lines(false);
    assert_eq!(lines[1], "component-node name=a_a component=a_a input=input");
    assert_eq!(lines[2], "component-node name=a_b component=a_b input=a_a");
    assert_eq!(lines[3], "component-node name=b component=b input=a_b");
}
