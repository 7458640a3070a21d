//! Whole networks that are wrong: config lines, requests that cannot be computed, model files cut short or damaged.
//! Every one is an error with a sentence, or works.

use crate::support::{Findings, damaged, in_time, shown};
#[allow(dead_code)]
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::config::parse_config;
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use nnet3_compiler::compile::compile;
use nnet3_compiler::graph::FrameContext;
use nnet3_compiler::request::{ComputationRequest, IoSpecification};
use nnet3_core::execute::Program;
use nnet3_network::Nnet;
use std::path::{Path, PathBuf};

fn try_network(config: &str) -> Result<Nnet> {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("net.config", config.lines())?, &Random::new(1))?;
    Ok(nnet)
}

fn network(config: &str) -> Nnet {
    try_network(config).unwrap_or_else(|e| panic!("{config}\n{e}"))
}

/// Asserts that `config` is refused with a message that contains all `parts`.
#[track_caller]
fn refused(config: &str, parts: &[&str]) {
    let message = match try_network(config) {
        Ok(_) => panic!("expected an error:\n{config}"),
        Err(e) => e.to_string(),
    };
    let missing: Vec<&&str> = parts.iter().filter(|part| !message.contains(**part)).collect();
    assert!(missing.is_empty(), "the message lacks {missing:?}:\n{message}\nfor\n{config}");
}

/// An input of 3 columns, a component node `a` of 4 columns, then `lines`.
fn with_lines(lines: &str) -> String {
    format!(
        "input-node name=input dim=3\n\
         component name=affine type=AffineComponent input-dim=3 output-dim=4\n\
         component-node name=a component=affine input=input\n{lines}"
    )
}

// ---- config lines ----------------------------------------------------------------------------------------------

#[test]
fn wrong_lines_are_refused() {
    const OUTPUT: &str = "output-node name=output input=a";
    network(&with_lines(OUTPUT));
    let cases: &[(&str, &[&str])] = &[
        ("components name=b type=NoOpComponent dim=4", &["net.config:4", "unknown directive 'components'"]),
        // (A node of the same name before it is no excuse.)
        (
            "component-node name=b component=affine input=input\ncompnent name=b type=NoOpComponent dim=4\n\
             component-node name=b component=b input=a",
            &["net.config:5", "unknown directive 'compnent'", "did you mean 'component'?"],
        ),
        ("name=b type=NoOpComponent dim=4", &["net.config:4", "directive"]),
        (
            "component-node name=z component=affine input=Append(Ofset(a, -1), a)",
            &["net.config:4", "there is no operator 'Ofset'; did you mean 'Offset'?"],
        ),
        ("component type=NoOpComponent dim=4", &["net.config:4", "'name' is missing"]),
        ("component name=1b type=NoOpComponent dim=4", &["net.config:4", "name=1b"]),
        ("component name=b dim=4", &["net.config:4", "'type' is missing"]),
        (
            "component name=b type=AffineComponen dim=4",
            &["net.config:4", "'AffineComponen'", "AffineComponent?"],
        ),
        ("component name=b type=Affine dim=4", &["net.config:4", "'Affine'", "AffineComponent?"]),
        ("component name=b type=affinecomponent dim=4", &["net.config:4", "AffineComponent?"]),
        ("component name=b type= dim=4", &["net.config:4", "unknown component type"]),
        ("component name=b type=NoOpComponent dim=4 dimm=3", &["net.config:4", "dimm=3"]),
        ("component name=b type=NoOpComponent", &["net.config:4", "'dim' is missing"]),
        (
            "component name=b type=NoOpComponent dim",
            &["net.config:4", "'NoOpComponent dim'", "NoOpComponent?"],
        ),
        ("component name b type=NoOpComponent", &["net.config:4", "'name b type'", "not a valid key"]),
        ("component name=b type=NoOpComponent dim=4 'x", &["net.config:4", "'x"]),
        ("component name=b type='NoOpComponent dim=4", &["net.config:4", "closing"]),
        ("component name=affine type=NoOpComponent dim=4", &["net.config:4", "already", "net.config:2"]),
        ("component-node name=a component=affine input=input", &["net.config:4", "already", "net.config:3"]),
        ("input-node name=a dim=4", &["net.config:4", "already", "net.config:3"]),
        ("input-node name=a_input dim=4", &["net.config:4", "'a_input'", "reserved"]),
        ("input-node name=b", &["net.config:4", "'dim' is missing"]),
        ("input-node name=b dim=0", &["net.config:4", "dim=0"]),
        ("input-node name=b dim=-1", &["net.config:4", "dim=-1"]),
        ("input-node name=b dim=x", &["net.config:4", "dim=x"]),
        ("input-node name=b dim=99999999999", &["net.config:4", "dim=99999999999"]),
        ("input-node name=b dim=4 input=a", &["net.config:4", "input=a"]),
        ("component-node name=b component=affin input=a", &["net.config:4", "no component 'affin'"]),
        ("component-node name=b input=a", &["net.config:4", "'component' is missing"]),
        ("component-node name=b component=affine", &["net.config:4", "'input' is missing"]),
        ("component-node name=b component=affine input=input dim=4", &["net.config:4", "dim=4"]),
        ("output-node name=b", &["net.config:4", "'input' is missing"]),
        (
            "output-node name=b input=a objective=cross",
            &["net.config:4", "objective=cross", "linear or quadratic"],
        ),
        ("output-node name=b input=a dim=4", &["net.config:4", "dim=4"]),
        ("output-node name=b input=missing", &["net.config:4", "'missing'"]),
        ("output-node name=b input=a_input", &["net.config:4", "'a_input'"]),
        ("output-node name=b input=output", &["net.config:4", "'output'"]),
        ("output-node name=b input=affine", &["net.config:4", "'affine'"]),
        ("dim-range-node name=b input-node=a dim-offset=0", &["net.config:4", "'dim' is missing"]),
        ("dim-range-node name=b input-node=a dim=2", &["net.config:4", "'dim-offset' is missing"]),
        ("dim-range-node name=b dim-offset=0 dim=2", &["net.config:4", "'input-node' is missing"]),
        ("dim-range-node name=b input-node=x dim-offset=0 dim=2", &["net.config:4", "no node 'x'"]),
        ("dim-range-node name=b input-node=output dim-offset=0 dim=2", &["net.config:4", "'output'"]),
        ("dim-range-node name=b input-node=b dim-offset=0 dim=2", &["net.config:4", "'b'"]),
        ("dim-range-node name=b input-node=a_input dim-offset=0 dim=2", &["net.config:4", "'a_input'"]),
        ("dim-range-node name=b input-node=a dim-offset=-1 dim=2", &["net.config:4", "dim-offset=-1"]),
        ("dim-range-node name=b input-node=a dim-offset=3 dim=2", &["'b'", "3 to 4", "'a'", "dimension 4"]),
        (
            "dim-range-node name=b input-node=a dim-offset=2147483647 dim=2147483647",
            &["'b'", "'a'", "dimension 4"],
        ),
    ];
    for (line, parts) in cases {
        refused(&with_lines(&format!("{line}\n{OUTPUT}")), parts);
    }
}

#[test]
fn incomplete_networks_are_refused() {
    refused("", &["no nodes"]);
    refused("component name=a type=NoOpComponent dim=3", &["no nodes"]);
    refused(&with_lines(""), &["no output node"]);
    let constant = "component name=c type=ConstantComponent output-dim=3\n\
                    component-node name=c component=c input=input\n";
    refused("input-node name=input dim=3", &["no output node"]);
    refused(
        &format!("{constant}output-node name=output input=c").replace("input=input", "input=c"),
        &["no input"],
    );
}

/// Shows that both dimensions and both nodes are in the message.
#[test]
fn dimensions_that_do_not_fit_are_refused() {
    let with_output = |lines: &str| with_lines(&format!("{lines}\noutput-node name=output input=a"));
    refused(
        &with_output("component-node name=b component=affine input=a"),
        &["'b'", "'a' has 4", "'affine'", "AffineComponent", "expects 3"],
    );
    refused(
        &with_output("component-node name=b component=affine input=Append(input, Offset(a, -1))"),
        &["'b'", "dimension 7", "'input' has 3", "'a' has 4", "expects 3"],
    );
    for term in ["Sum(input, a)", "Failover(input, a)", "Switch(input, a)", "Sum(input, Const(1, 4))"] {
        for line in [
            format!("component-node name=b component=affine input={term}"),
            format!("output-node name=b input={term}"),
        ] {
            refused(&with_output(&line), &["'b'", "3", "4", "'input'"]);
        }
    }
    refused(
        &with_output("output-node name=b input=Append(a, Sum(a, Switch(a, input)))"),
        &["'b'", "3", "4", "'a'"],
    );
    refused(
        &with_output(
            "dim-range-node name=r input-node=a dim-offset=1 dim=2\noutput-node name=b input=Sum(r, a)",
        ),
        &["'b'", "'r' has 2", "'a' has 4"],
    );
}

#[test]
fn wrong_descriptors_are_refused() {
    let cases: &[(&str, &[&str])] = &[
        ("", &["too early"]),
        ("nowhere", &["'nowhere'"]),
        ("Append(a", &["not closed"]),
        ("Append(a))", &["unexpected ')'"]),
        ("Append a", &["'(' after Append", "'a'"]),
        ("Append()", &["')'"]),
        ("Append(a,)", &["')'"]),
        ("Append(a a)", &["',' or ')'", "'a'"]),
        ("append(a, a)", &["'append'"]),
        ("Sum(a; a)", &["a;"]),
        ("Offset(a)", &["Offset"]),
        ("Offset(a, 1.5)", &["an integer", "'1.5'"]),
        ("Offset(a, b)", &["an integer", "'b'"]),
        ("Offset(a, 99999999999)", &["an integer", "'99999999999'"]),
        ("Offset(a, 1, 2, 3)", &["after the arguments of Offset"]),
        ("Offset(Offset(a, 2147483647), 1)", &["too large"]),
        ("Failover(a)", &["2 arguments"]),
        ("Failover(a, a, a)", &["2 arguments"]),
        ("IfDefined(a, a)", &["after the arguments of IfDefined"]),
        ("Round(a, 0)", &["at least 1"]),
        ("Round(a, -3)", &["at least 1"]),
        ("ReplaceIndex(a, n, 0)", &["'n'"]),
        ("ReplaceIndex(a, t)", &["ReplaceIndex"]),
        ("ReplaceIndex(a, t, x)", &["an integer", "'x'"]),
        ("Scale(a, 2)", &["a number", "'a'"]),
        ("Scale(nan, a)", &["finite"]),
        ("Scale(inf, a)", &["finite"]),
        ("Scale(2, Switch(a, a))", &["Scale", "Switch"]),
        ("Const(1)", &["Const"]),
        ("Const(1, 0)", &["greater than 0"]),
        ("Const(1, -4)", &["greater than 0"]),
        ("Const(x, 4)", &["a number", "'x'"]),
        ("Offset(Const(1, 4), 1)", &["Const"]),
        ("Switch(a, Sum(a, a))", &["Switch"]),
        ("Sum(Append(a, a), a)", &["appended"]),
        ("a b", &["'b'"]),
        ("- 1", &["'-'"]),
        ("3", &["'3'"]),
        ("\u{e4}", &["\u{e4}"]),
        ("Append(a, \u{20ac})", &["\u{20ac}"]),
        (")", &["')'"]),
        (",", &["','"]),
    ];
    for (descriptor, parts) in cases {
        let mut parts = parts.to_vec();
        parts.push("net.config:4");
        refused(&with_lines(&format!("output-node name=output input={descriptor}")), &parts);
    }
    let deep = format!("{}a{}", "Sum(".repeat(100_000), ")".repeat(100_000));
    refused(&with_lines(&format!("output-node name=output input={deep}")), &["net.config:4", "deep"]);
    let sum = |terms: usize| {
        with_lines(&format!("output-node name=output input=Sum({}a)", "a, ".repeat(terms - 1)))
    };
    refused(&sum(100_000), &["net.config:4", "deep"]);
    // The longest that is accepted is still accepted in the nested form that model files have.
    let longest = (2..300).rev().find(|&terms| try_network(&sum(terms)).is_ok()).unwrap();
    assert!(longest >= 100);
    try_read(&written(&network(&sum(longest)), false)).unwrap();
    let parts = format!("Append({}a)", "a, ".repeat(5000));
    network(&with_lines(&format!("output-node name=output input={parts}")));
}

// ---- requests --------------------------------------------------------------------------------------------------

fn request(input_times: std::ops::Range<i32>, output_times: std::ops::Range<i32>) -> ComputationRequest {
    ComputationRequest {
        inputs: vec![IoSpecification::new("input", 1, input_times, false)],
        outputs: vec![IoSpecification::new("output", 1, output_times, false)],
        ..Default::default()
    }
}

#[track_caller]
fn not_compiled(nnet: &Nnet, request: &ComputationRequest, parts: &[&str]) {
    let message = match compile(nnet, std::slice::from_ref(request)) {
        Ok(_) => panic!("expected an error for\n{request}"),
        Err(e) => e.to_string(),
    };
    let missing: Vec<&&str> = parts.iter().filter(|part| !message.contains(**part)).collect();
    assert!(missing.is_empty(), "the message lacks {missing:?}:\n{message}");
}

#[test]
fn missing_inputs_are_named() {
    let nnet = network(&with_lines("output-node name=output input=Append(Offset(a, -1), Offset(a, 2))"));
    assert!(compile(&nnet, &[request(-1..6, 0..4)]).is_ok());
    not_compiled(
        &nnet,
        &request(0..6, 0..5),
        &["2 of 5", "output(0,0)", "a(0,-1)", "input(0,-1) is not among the inputs given"],
    );
    not_compiled(&nnet, &request(0..0, 0..1), &["1 of 1", "input[(0,-1), (0,2)] is not among the inputs"]);
    let both = with_lines(
        "input-node name=ivector dim=2\noutput-node name=output input=Append(a, ReplaceIndex(ivector, t, 0))",
    );
    not_compiled(
        &network(&both),
        &request(0..3, 0..3),
        &["3 of 3", "ivector(0,0) is not among the inputs given"],
    );
    let optional = with_lines("output-node name=output input=Failover(Offset(a, 1), Offset(a, -1))");
    not_compiled(
        &network(&optional),
        &request(5..7, 0..1),
        &["input[(0,-1), (0,1)] is not among the inputs"],
    );
}

#[test]
fn cycles_are_explained() {
    let cycle = |descriptor: &str| {
        with_lines(&format!(
            "component name=sum type=NoOpComponent dim=4\n\
             component-node name=r component=sum input={descriptor}\noutput-node name=output input=r"
        ))
    };
    not_compiled(&network(&cycle("Sum(a, r)")), &request(0..3, 0..1), &["r(0,0)", "depends on itself"]);
    not_compiled(&network(&cycle("Sum(a, IfDefined(r))")), &request(0..3, 0..1), &["r(0,0)"]);
    not_compiled(&network(&cycle("r")), &request(0..3, 0..1), &["r(0,0)", "depends on itself"]);
    not_compiled(
        &network(&cycle("Sum(a, Offset(r, 1))")),
        &request(0..3, 0..1),
        &["r_input(0,2) needs r(0,3)", "input(0,3) is not among the inputs given"],
    );
    not_compiled(&network(&cycle("Offset(r, 1)")), &request(0..3, 0..1), &["endless", "IfDefined"]);
    not_compiled(&network(&cycle("Sum(a, Offset(r, 0, 1))")), &request(0..3, 0..1), &["r"]);
    compile(&network(&cycle("Sum(a, IfDefined(Offset(r, -1)))")), &[request(0..3, 0..3)]).unwrap();
    // Forward and backward in time: no order of computation.
    let both = "Sum(a, Sum(IfDefined(Offset(r, -1)), IfDefined(Offset(r, 1))))";
    not_compiled(&network(&cycle(both)), &request(0..3, 0..3), &["r"]);
}

#[test]
fn wrong_requests_are_refused() {
    let nnet = network(&with_lines("output-node name=output input=a"));
    let renamed = |name: &str| {
        let mut request = request(0..3, 0..3);
        request.outputs[0].name = name.to_string();
        request
    };
    not_compiled(&nnet, &renamed("input"), &["no output node 'input'"]);
    not_compiled(&nnet, &renamed("nothing"), &["no output node 'nothing'"]);
    let mut other = request(0..3, 0..3);
    other.inputs[0].name = "a".to_string();
    not_compiled(&nnet, &other, &["no input node 'a'"]);
    not_compiled(&nnet, &request(0..3, 0..0), &["'output'"]);
    let mut twice = request(0..3, 0..3);
    twice.outputs[0].indexes[1] = twice.outputs[0].indexes[0];
    not_compiled(&nnet, &twice, &["'output'", "twice"]);
    let mut twice = request(0..3, 0..3);
    twice.inputs[0].indexes[1] = twice.inputs[0].indexes[0];
    not_compiled(&nnet, &twice, &["'input'", "twice"]);
    let mut repeated = request(0..3, 0..3);
    repeated.inputs.push(repeated.inputs[0].clone());
    not_compiled(&nnet, &repeated, &["'input'", "twice"]);
    let derivative = ComputationRequest { need_model_derivative: true, ..request(0..3, 0..3) };
    not_compiled(&nnet, &derivative, &["derivative"]);
    not_compiled(&nnet, &ComputationRequest { outputs: vec![], ..request(0..3, 0..3) }, &["no output"]);
}

/// Far away times, and offsets that lead there.
#[test]
fn extreme_times_do_not_panic() {
    let mut findings = Findings::default();
    let extremes = [i32::MIN, i32::MIN + 1, -1, 0, i32::MAX - 1, i32::MAX];
    for descriptor in [
        "a",
        "Offset(a, 2147483647)",
        "Offset(a, -2147483648)",
        "Round(a, 2147483647)",
        "Offset(a, 2147483647, -2147483648)",
        "ReplaceIndex(a, t, -2147483648)",
        "Switch(a, Offset(a, 2147483647))",
        "Sum(a, IfDefined(Offset(a, 2147483647)))",
    ] {
        let config = with_lines(&format!("output-node name=output input={descriptor}"));
        let nnet = network(&config);
        for first in extremes {
            for second in extremes {
                let mut request = request(0..2, 0..1);
                request.inputs[0].indexes[0].t = first;
                request.inputs[0].indexes[1].t = second;
                request.outputs[0].indexes[0].t = second;
                let case = format!("{descriptor}\n{request}");
                findings.guard("compile", case.as_bytes(), || {
                    let program = compile(&nnet, &[request]).and_then(|c| Program::new(&nnet, c));
                    program.err().map(|e| e.to_string())
                });
            }
        }
        findings.guard("context", config.as_bytes(), || nnet.info(true));
    }
    findings.assert_none();
}

// ---- model files -----------------------------------------------------------------------------------------------

fn models(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/conformance").join(kind);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path().join("model.raw")).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn try_read(bytes: &[u8]) -> Result<Nnet> {
    let mut r = KaldiReader::from_bytes("model.raw", bytes.to_vec());
    r.detect_header()?;
    Nnet::read(&mut r)
}

fn written(nnet: &Nnet, binary: bool) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(binary);
    nnet.write(&mut w).unwrap();
    w.into_bytes()
}

/// The bytes of a model in both modes.
fn both_modes(path: &Path) -> [Vec<u8>; 2] {
    let binary = std::fs::read(path).unwrap();
    let text = written(&try_read(&binary).unwrap(), false);
    [binary, text]
}

#[test]
fn models_cut_short_are_refused() {
    let mut findings = Findings::default();
    for path in models("component").into_iter().chain(models("arch")) {
        let name = path.parent().unwrap().file_name().unwrap().display().to_string();
        for bytes in both_modes(&path) {
            // Everything but the blank after the last token.
            let end = bytes.len() - 1;
            let step = 1 + end / 400;
            let ends = (0..end.min(300)).chain((300..end).step_by(step)).chain(end.saturating_sub(30)..end);
            for end in ends {
                match findings.guard(&name, &bytes[..end], || try_read(&bytes[..end]).map(|_| ())) {
                    Some(Ok(())) => {
                        findings.add(format!("{name}: cut short, yet read"), shown(&bytes[..end]))
                    }
                    Some(Err(e)) if !e.to_string().starts_with("model.raw, ") => {
                        findings.add(format!("{name}: an error without a place"), e.to_string())
                    }
                    _ => {}
                }
            }
        }
    }
    findings.assert_none();
}

#[test]
fn damaged_models_do_not_panic() {
    let mut findings = Findings::default();
    let mut rng = fastrand::Rng::with_seed(7);
    let few = models("arch").into_iter().map(|path| (path, 10));
    for (path, changes) in models("component").into_iter().map(|path| (path, 60)).chain(few) {
        let name = path.parent().unwrap().file_name().unwrap().display().to_string();
        let mut inputs = Vec::new();
        for bytes in both_modes(&path) {
            inputs.extend((0..changes).map(|_| damaged(&bytes, &mut rng)));
            // The node lines are the smaller part and deserve more.
            let split = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap();
            inputs.extend(
                (0..changes).map(|_| [&damaged(&bytes[..split], &mut rng), &bytes[split..]].concat()),
            );
        }
        findings.merge(in_time(&name.clone(), move || {
            let mut findings = Findings::default();
            for bytes in inputs {
                findings.guard(&name, &bytes, || {
                    if let Ok(nnet) = try_read(&bytes) {
                        works(&nnet)
                    }
                });
            }
            findings
        }));
    }
    findings.assert_none();
}

/// Every network that can be read can be written, shown and compiled.
fn works(nnet: &Nnet) {
    for binary in [true, false] {
        let bytes = written(nnet, binary);
        let again = try_read(&[if binary { &b"\0B"[..] } else { b"" }, &bytes].concat());
        assert!(again.is_ok(), "{}", again.err().map_or(String::new(), |e| e.to_string()));
    }
    nnet.info(false);
    nnet.orphan_warnings();
    let mut request = request(-3..6, 0..2);
    for io in &mut request.outputs {
        io.has_deriv = true;
    }
    request.need_model_derivative = true;
    let computation = compile(nnet, &[request]);
    if let Ok(program) = computation.and_then(|c| Program::new(nnet, c)) {
        assert!(program.plan().arena_bytes() >= program.plan().peak_live_bytes());
    }
}

/// Config text with random changes.
#[test]
fn damaged_configs_do_not_panic() {
    const CONFIG: &str = "\
input-node name=input dim=4
input-node name=ivector dim=2
component name=affine type=AffineComponent input-dim=6 output-dim=3 # a comment
component name=relu type=RectifiedLinearComponent dim=3 self-repair-scale=1e-05
component-node name=a component=affine input=Append(Offset(input, -1), ReplaceIndex(ivector, t, 0))
component-node name=b component=relu input=Sum(Scale(0.5, a), IfDefined(Offset(b, -2)), Const(1.0, 3))
dim-range-node name=c input-node=b dim-offset=1 dim=2
output-node name=output input=Append(Round(c, 3), Failover(Offset(b, 1), Switch(b, a))) objective=quadratic
";
    network(CONFIG);
    let findings = in_time("configs", || {
        let mut findings = Findings::default();
        let mut rng = fastrand::Rng::with_seed(11);
        let mut refused = 0;
        for _ in 0..4000 {
            let Ok(config) = String::from_utf8(damaged(CONFIG.as_bytes(), &mut rng)) else { continue };
            findings.guard("config", config.as_bytes(), || match try_network(&config) {
                Ok(nnet) => works(&nnet),
                Err(Error::Config { place, .. }) => {
                    assert!(place.starts_with("net.config:"), "{place}");
                    refused += 1;
                }
                Err(_) => refused += 1,
            });
        }
        assert!(refused > 1000, "{refused}");
        findings
    });
    findings.assert_none();
}

#[test]
fn gaussians_in_place_of_a_network_are_named_with_their_programs() {
    let model = b"<TransitionModel> </TransitionModel> <DIMENSION> 3 <NUMPDFS> 1 ".to_vec();
    let error = Nnet::read(&mut KaldiReader::from_bytes("final.mdl", model)).err().unwrap().to_string();
    assert!(error.contains("found one of Gaussians: gmm-latgen-faster"), "{error}");
    let other = b"<TransitionModel> </TransitionModel> <Other> ".to_vec();
    let error = Nnet::read(&mut KaldiReader::from_bytes("final.mdl", other)).err().unwrap().to_string();
    assert!(error.contains("expected token '<Nnet3>', found '<Other>'"), "{error}");
}

/// Many unused nodes are one sentence with all their names.
#[test]
fn unused_parts_are_two_sentences() {
    let warnings = |lines: &str| network(&with_lines(lines)).orphan_warnings();
    assert_eq!(warnings("output-node name=output input=a"), Vec::<String>::new());
    let one = "component name=b type=NoOpComponent dim=4\noutput-node name=output input=a\n\
               component-node name=c component=affine input=input";
    assert_eq!(
        warnings(one),
        ["component 'b' is never used by any node", "node 'c' is never used to compute any output"]
    );
    let two = one.replace(
        "component-node name=c",
        "dim-range-node name=d input-node=a dim=1 dim-offset=0\ncomponent-node name=c",
    );
    let two = two.replace("dim=4\noutput", "dim=4\ncomponent name=e type=NoOpComponent dim=4\noutput");
    assert_eq!(
        warnings(&two),
        [
            "2 components are never used by any node: b, e",
            "2 nodes are never used to compute any output: d, c"
        ]
    );
}
