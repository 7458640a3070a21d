//! Computations for people: passes, profile, JSON, graph, explanations.

use crate::computations::support::*;
use nnet3_core::Index;
use nnet3_core::compile::compile;
use nnet3_core::computation::{Command, Propagate, print};
use nnet3_core::execute::Program;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::flops;
use nnet3_core::graph::explain::{explain_output, parse_output};
use nnet3_core::inspect::{Inspection, Passes, Profile, ProfileOptions};
use nnet3_core::lower::{Cost, Lowered};
use nnet3_core::lower::{Mode, Op};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const FEED_FORWARD: &str = include_str!("golden/feed_forward.config");
const RECURRENT: &str = include_str!("golden/recurrent.config");

fn program(nnet: &Nnet, sequences: i32) -> Arc<Program> {
    let request = training_request(sequences, -2..6, 0..4);
    let mut computation = compile(nnet, std::slice::from_ref(&request)).unwrap();
    optimize(&OptimizeOptions::default(), nnet, 3, &mut computation).unwrap();
    Arc::new(Program::new(nnet, computation).unwrap())
}

fn inspect<'a>(nnet: &'a Nnet, program: &'a Program) -> Inspection<'a> {
    Inspection { nnet, program, times: None, passes: None, profile: None }
}

fn profile(nnet: &Nnet, program: &Arc<Program>) -> Profile {
    let options = ProfileOptions { natural_gradient: false, time: Duration::ZERO };
    Profile::measure(nnet, program, &nnet3_matrix::cpu(), &options).unwrap()
}

#[test]
fn passes_lead_from_nothing_to_the_program() {
    let nnet = nnet(RECURRENT);
    for (sequences, expanded) in [(2, false), (5, true)] {
        let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
        let mut passes = Passes::default();
        let request = training_request(sequences, -2..6, 0..4);
        let program = compiler.program_observed(&nnet, &request, &mut |stage| passes.add(stage)).unwrap();
        let names: Vec<&str> = passes.list.iter().map(|pass| pass.name).collect();
        assert_eq!(names[..3], ["compile", "consolidate-model-update", "convert-addition"]);
        assert_eq!(names.contains(&"expand"), expanded);
        assert_eq!(names.last(), Some(&"plan"));
        assert_eq!(passes.list[0].before.commands, 0);
        for pair in passes.list.windows(2) {
            assert_eq!(pair[0].after, pair[1].before);
        }
        let (last, computation) = (passes.list.last().unwrap().after, program.computation());
        assert_eq!(last.commands, computation.commands.len());
        assert_eq!(last.matrices, computation.matrices.len() - 1);
        assert_eq!(last.bytes, computation.peak_bytes());
        let table = passes.table();
        assert_eq!(table.lines().count(), passes.list.len() + passes.lowering.len() + 3);
        let lowering: Vec<&str> = passes.lowering.iter().map(|pass| pass.name).collect();
        let for_all = [
            "accumulate",
            "common-derivative",
            "zeroing",
            "output-rows",
            "row-sums",
            "normalized-backprop",
            "normalized-sum",
            "common-share",
            "step-updates",
        ];
        let for_host = ["precompute", "sum-statistics", "filter-forward", "filter-backward", "blocks"];
        assert_eq!(lowering, [&for_all[..], &for_host].concat());
        for pair in passes.lowering.windows(2) {
            assert_eq!(pair[0].after, pair[1].before);
        }
        let (first, last) = (passes.lowering[0].before, passes.lowering.last().unwrap().after);
        let cost = |lowered: &Lowered| Cost::of(&nnet, program.computation(), lowered);
        assert_eq!((first, last), (cost(program.literal()), cost(program.lowered())));
        assert!(last.operations < first.operations && last.bytes < first.bytes);
        let merging = table.lines().find(|line| line.starts_with("merge-variables")).unwrap();
        let merged = passes.list.iter().find(|pass| pass.name == "merge-variables").unwrap();
        let change = format!(" {} -> {} ", merged.before.commands, merged.after.commands);
        assert!(merged.after.commands < merged.before.commands && merging.contains(&change), "{merging}");
    }
}

#[test]
fn profiles_cover_what_is_executed() {
    let nnet = nnet(RECURRENT);
    let program = program(&nnet, 2);
    let profile = profile(&nnet, &program);
    assert!(profile.runs >= 1);
    let computation = program.computation();
    let lowered = program.lowered();
    for (i, op) in lowered.ops().iter().enumerate() {
        assert_eq!(profile.mean(i).is_none(), op.waits(), "{op:?}");
    }
    let inspection = Inspection { profile: Some(&profile), ..inspect(&nnet, &program) };
    let text = inspection.text();
    // The lines of operations, between times and names of nodes. A literal operation has the reference's line.
    let (extended, names) = (lowered.extended(computation), print::Names::of(&nnet));
    let mut literal = 0;
    for (i, op) in lowered.ops().iter().enumerate() {
        let line = lowered.line(&extended, &names, i);
        assert!(text.lines().any(|l| l.contains(&line)), "{line}");
        let same = match op {
            Op::Command(command) => Some(*command),
            Op::Propagate(own) if own.mode == Mode::Ordinary => Some(Command::Propagate(own.args)),
            Op::Backprop(own) if own.mode == Mode::Ordinary && own.taps.is_none() => {
                Some(Command::Backprop(own.args))
            }
            _ => None,
        };
        if same == Some(computation.commands[lowered.command(i)]) {
            assert_eq!(line, print::line(computation, &names, lowered.command(i)));
            literal += 1;
        }
    }
    assert!(literal > lowered.ops().len() / 2);
    assert_eq!(text.lines().filter(|line| line.contains(" c70: ")).count(), 0);
    let with = |part: &str| text.lines().find(|line| line.contains(part)).unwrap();
    assert!(with("fin.Propagate(").ends_with("  # fin"), "{text}");
    assert!(with("m10.CopyRowsMulti(").ends_with("  # fin_input"), "{text}");
    // Rates are those of the commands' products.
    let propagate = with("fin.Propagate(");
    let column = |i: usize| propagate.split_whitespace().nth(i).unwrap().parse::<f64>().unwrap();
    let c = computation.commands.iter().position(
        |c| matches!(c, Command::Propagate(Propagate { component, .. }) if nnet.component_name(*component) == "fin"),
    );
    let gflop = flops::of_command(&nnet, computation, &computation.commands[c.unwrap()]) as f64 / 1e9;
    assert_eq!(gflop, 2.0 * 8.0 * 3.0 * 2.0 / 1e9);
    let turn = lowered.at_turn(c.unwrap());
    assert_eq!(turn.len(), 1);
    let rate = gflop / profile.mean(turn.start).unwrap().as_secs_f64();
    assert!((column(1) - rate).abs() <= 0.0051, "{propagate} {rate}");

    let tables = inspection.profile_tables();
    for kind in
        ["NaturalGradientAffineComponent.Backprop", "TanhComponent.Propagate", "CopyRows", "total, mean of "]
    {
        assert!(tables.lines().any(|line| line.starts_with(kind)), "{tables}");
    }
    let share = |name: &str| -> f64 {
        let line = tables.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().find_map(|word| word.strip_suffix('%')).unwrap().parse().unwrap()
    };
    assert!((share("forward") + share("backward") - 100.0).abs() < 0.2, "{tables}");
}

/// The sum over commands must equal the total.
#[test]
fn operations_add_up() {
    let nnet = nnet(RECURRENT);
    let program = program(&nnet, 2);
    let computation = program.computation();
    let sum: u64 = computation.commands.iter().map(|c| flops::of_command(&nnet, computation, c)).sum();
    let count = flops::count(&nnet, computation);
    assert_eq!(count.forward + count.backward, sum);
    // a1: 7 → 3 for 14 rows, fin: 3 → 2 for 8 rows; backward the input's derivatives at 12 of the 14 rows, and the
    // parameters'.
    assert_eq!(count.forward, 2 * (14 * 21 + 8 * 6));
    assert_eq!(count.backward, 2 * (10 * 21 + 14 * 21 + 2 * 8 * 6));
}

#[test]
fn json_says_what_the_listing_says() {
    let nnet = nnet(FEED_FORWARD);
    let program = program(&nnet, 2);
    let profile = profile(&nnet, &program);
    let computation = program.computation();
    let inspection = Inspection { profile: Some(&profile), ..inspect(&nnet, &program) };
    let text = inspection.json();
    let json: Value = serde_json::from_str(&text).unwrap();
    let names = print::Names::of(&nnet);
    let list = |value: &Value| value.as_array().unwrap().clone();
    let commands = list(&json["commands"]);
    assert_eq!(commands.len(), computation.commands.len());
    for (found, command) in commands.iter().zip(&computation.commands) {
        assert_eq!(found["text"], print::command(computation, &names, command));
    }
    let position = |part: &str| {
        commands.iter().position(|command| command["text"].as_str().unwrap().contains(part)).unwrap()
    };
    let lda = &commands[position("lda.Propagate")];
    assert_eq!(lda["reads"], json!(["m2"]));
    assert_eq!(lda["writes"], json!(["m3"]));
    assert_eq!(lda["nodes"], json!(["h"]));
    assert_eq!(lda["gemm-flops"], 2 * 8 * 6 * 3);
    assert!(lda["ms"].as_f64().unwrap() > 0.0);

    let matrices = list(&json["matrices"]);
    assert_eq!(matrices.len(), computation.matrices.len() - 1);
    let m2 = &matrices[1];
    assert_eq!((&m2["name"], &m2["rows"], &m2["cols"]), (&json!("m2"), &json!(8), &json!(6)));
    assert_eq!(m2["life"], json!([position("m2 = undefined"), position("m2 = []")]));
    assert_eq!(json["summary"]["commands"], commands.len());

    // Each item has a line, and so have the beginnings and ends of lists.
    let items = |value: &Value| value.as_array().map_or_else(|| value.as_object().unwrap().len(), Vec::len);
    let lines: usize = json.as_object().unwrap().values().map(|value| items(value) + 2).sum();
    assert_eq!(text.lines().count(), lines + 2, "{text}");
}

#[test]
fn graphs_connect_what_exists() {
    for config in [FEED_FORWARD, RECURRENT] {
        let nnet = nnet(config);
        let program = program(&nnet, 2);
        let computation = program.computation();
        let dot = inspect(&nnet, &program).dot();
        assert!(dot.starts_with("digraph computation {\n") && dot.ends_with("}\n"));
        assert_eq!(dot.matches('{').count(), dot.matches('}').count());
        let mut declared = BTreeSet::new();
        for line in dot.lines().map(str::trim) {
            assert_eq!(line.replace("\\\"", "").matches('"').count() % 2, 0, "{line}");
            let name = line.split_whitespace().next().unwrap_or_default();
            if line.contains(" [") && !line.contains(" -> ") && name != "node" {
                assert!(declared.insert(name.to_string()), "{name} twice");
            }
        }
        let mut touched = BTreeSet::new();
        for line in dot.lines().filter(|line| line.contains(" -> ")) {
            let (from, rest) = line.trim().split_once(" -> ").unwrap();
            let to = rest.split([' ', ';']).next().unwrap();
            for end in [from, to] {
                assert!(declared.contains(end), "{line}");
                touched.insert(end.to_string());
            }
        }
        // Every matrix must be read or written.
        for m in 1..computation.matrices.len() {
            assert!(touched.contains(&format!("m{m}")), "m{m}");
        }
        for (c, command) in computation.commands.iter().enumerate() {
            let works = matches!(command, Command::Propagate(_) | Command::CopyRows { .. });
            assert!(!works || touched.contains(&format!("c{c}")), "{command:?}");
        }
    }
    let nnet = nnet(FEED_FORWARD);
    let request = training_request(2, -1..3, 0..2);
    let mut computation = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    optimize(&OptimizeOptions::default(), &nnet, 1, &mut computation).unwrap();
    let program = Program::new(&nnet, computation).unwrap();
    let dot = inspect(&nnet, &program).dot();
    // As in golden/feed_forward.txt.
    let line = |part: &str| assert!(dot.lines().any(|l| l.contains(part)), "{part}\n{dot}");
    line(
        "m2 [shape=box, label=\"m2: 4 x 6\\nvalue: h_input[(0,0), (1,0), (0,1), (1,1)]\\nlives c2 to c29: 96 bytes at ",
    );
    line("  m1 -> c3;");
    line("  c3 -> m2 [fontsize=8, label=\"m2(0:3, 0:1)\"];");
    line("  m2 -> c8;");
    line("  c8 -> m3;");
    line("  m6 -> m7 [style=dashed, label=\"c17\"];");
}

#[test]
fn explanations_follow_the_chain() {
    let nnet = nnet(FEED_FORWARD);
    let request = training_request(2, -1..3, 0..2);
    let text = explain_output(&nnet, &request, "output", Index::new(1, 1, 0)).unwrap();
    let expected = "\
output(1,1) can be computed from the inputs given.
output(1,1) from f(1,1)
f(1,1) from f_input(1,1)
f_input(1,1) from r(1,1)
r(1,1) from r_input(1,1)
r_input(1,1) from h(1,1)
h(1,1) from h_input(1,1)
h_input(1,1) from input[(1,0:2)]
input[(1,0:2)] is given
rows of inputs used: 3: input[(1,0:2)]
";
    assert_eq!(text, expected);

    let text = explain_output(&nnet, &request, "output", Index::new(1, 3, 0)).unwrap();
    let mut lines = text.lines();
    let first = "output(1,3) cannot be computed from the inputs given (the request does not ask for it).";
    assert_eq!(lines.next(), Some(first));
    assert_eq!(lines.next(), Some("given: input at [(0,-1:2), (1,-1:2)]"));
    let expected = "\
h(1,3) needs h_input(1,3)
h_input(1,3) needs input[(1,3:4)]
input[(1,3:4)] is not among the inputs given
missing rows of inputs: 2: input[(1,3:4)]
";
    assert!(text.ends_with(expected), "{text}");
    let error = explain_output(&nnet, &request, "f", Index::new(0, 0, 0)).unwrap_err().to_string();
    assert!(error.contains("no output 'f'; its outputs are output"), "{error}");

    // A long recurrence: the text must have its end.
    let recurrent = crate::computations::support::nnet(RECURRENT);
    let request = forward_only(&training_request(1, -2..400, 0..4));
    let text = explain_output(&recurrent, &request, "output", Index::new(0, 380, 0)).unwrap();
    assert!(text.contains(" more lines\n"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("rows of inputs used: 192: input[(0,-1), (0,1), "), "{last}");
    assert!(last.ends_with(", (0,379), (0,381)]"), "{last}");
}

#[test]
fn outputs_are_named_as_node_n_t_x() {
    assert_eq!(parse_output("output:0,3").unwrap(), ("output", Index::new(0, 3, 0)));
    assert_eq!(parse_output("a:b:1,-2,7").unwrap(), ("a:b", Index::new(1, -2, 7)));
    for bad in ["output", "output:", "output:1", "output:1,2,3,4", "output:1,x"] {
        let error = parse_output(bad).unwrap_err().to_string();
        assert!(error.contains(bad) && error.contains("NODE:N,T"), "{error}");
    }
}
