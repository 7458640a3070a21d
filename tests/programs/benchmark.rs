//! `nnet3-benchmark` as a program.

use crate::common::run;
use std::path::Path;

/// What it prints of a network and a request.
fn measure(options: &[&str]) -> String {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/conformance/arch/tdnn");
    let [model, request] = ["model.raw", "request.txt"].map(|name| case.join(name).display().to_string());
    let output = run("nnet3-benchmark", &[options, &["--repeats=1", &model, &request]].concat());
    assert_eq!(output.status, 0, "{}", output.stderr);
    output.stdout
}

/// A number of an object without objects in it.
fn number(json: &str, field: &str) -> Option<f64> {
    let (_, rest) = json.split_once(&format!("\"{field}\": "))?;
    rest.split([',', '}']).next()?.parse().ok()
}

#[test]
fn times_are_measured() {
    let plain = measure(&[]);
    for field in ["sgemm_gflops", "compile_ms", "forward_s", "backward_s", "percent_of_sgemm_backward"] {
        assert!(number(&plain, field).is_some_and(|value| value > 0.0), "{field} of {plain}");
    }
    assert_eq!(number(&plain, "natural_backward_s"), None);
    let commands = |json: &str| number(json, "commands").unwrap();
    let as_compiled = measure(&["--optimization.optimize=false"]);
    assert!(commands(&plain) < commands(&as_compiled), "{plain} {as_compiled}");

    let natural = measure(&["--natural-gradient=true"]);
    assert!(number(&natural, "natural_backward_s").is_some_and(|value| value > 0.0), "{natural}");
}
