//! `nnet3-benchmark` as a program.

use crate::common::run;
use serde_json::Value;
use std::path::Path;

/// Runs the benchmark of a network and a request, and parses its output.
fn measure(options: &[&str]) -> Value {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/conformance/arch/tdnn");
    let [model, request] = ["model.raw", "request.txt"].map(|name| case.join(name).display().to_string());
    let output = run("nnet3-benchmark", &[options, &["--repeats=1", &model, &request]].concat());
    assert_eq!(output.status, 0, "{}", output.stderr);
    serde_json::from_str(&output.stdout).expect("JSON")
}

#[test]
fn times_are_measured() {
    let plain = measure(&[]);
    for field in ["sgemm_gflops", "compile_ms", "forward_s", "backward_s", "percent_of_sgemm_backward"] {
        assert!(plain[field].as_f64().is_some_and(|value| value > 0.0), "{field} of {plain}");
    }
    assert!(plain.get("natural_backward_s").is_none());
    let commands = |json: &Value| json["commands"].as_u64().unwrap();
    let as_compiled = measure(&["--optimization.optimize=false"]);
    assert!(commands(&plain) < commands(&as_compiled), "{plain} {as_compiled}");

    let natural = measure(&["--natural-gradient=true"]);
    assert!(natural["natural_backward_s"].as_f64().is_some_and(|value| value > 0.0), "{natural}");
}

#[test]
fn the_objective_of_chain_training_is_measured() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nnet3-chain/tests/data/chain");
    let option = |name: &str, file: &str| format!("--chain-{name}={}", folder.join(file).display());
    let den_fst = option("den-fst", "lang/den.tri.fst");
    let supervision = option("supervision", "objective/tri-1/supervision");
    let json = measure(&[&den_fst, &supervision]);
    for field in ["chain_forward_s", "chain_objective_s", "chain_products", "forward_s"] {
        assert!(json[field].as_f64().is_some_and(|value| value > 0.0), "{field} of {json}");
    }
    let other = option("den-fst", "lang/nothing.fst");
    let output = run("nnet3-benchmark", &[&other, &supervision, "model", "request"]);
    assert_ne!(output.status, 0);
    let output = run("nnet3-benchmark", &[&den_fst, "model", "request"]);
    assert!(output.status != 0 && output.stderr.contains("--chain-supervision"), "{}", output.stderr);
}
