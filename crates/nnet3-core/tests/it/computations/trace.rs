//! Tests of observers of a run, and of the lines of `--computation.debug=true`.

use crate::computations::support::*;
use nnet3_core::Random;
use nnet3_core::compile::compile;
use nnet3_core::computation::{Command, print};
use nnet3_core::execute::{Executor, Moment, Observer, Program, Trace};
use nnet3_core::lower::Op;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::run_request::run_request;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CONFIG: &str = "\
component name=a type=AffineComponent input-dim=6 output-dim=4
component name=relu type=RectifiedLinearComponent dim=4
component name=b type=AffineComponent input-dim=4 output-dim=3
input-node name=input dim=2
component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 1))
component-node name=relu component=relu input=a
component-node name=b component=b input=relu
output-node name=output input=b";

/// Root mean square, in the six digits of the lines.
fn size(values: &[f32]) -> String {
    let square: f64 = values.iter().map(|&v| v as f64 * v as f64).sum();
    nnet3_core::text::number((square / values.len() as f64).sqrt())
}

#[test]
fn lines_show_what_commands_change() {
    let nnet = nnet(CONFIG);
    let request = training_request(2, -1..4, 0..3);
    let mut computation = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    optimize(&OptimizeOptions::default(), &nnet, 2, &mut computation).unwrap();
    let program = Arc::new(Program::new(&nnet, computation).unwrap());
    let data = random_data(&nnet, &request, 1);
    let lines = Arc::new(Mutex::new(Vec::<String>::new()));
    let sink = lines.clone();
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    executor.observe(Box::new(Trace::new(move |line: &str| sink.lock().unwrap().push(line.to_string()))));
    let mut run =
        || run_request(&nnet, &request, &program, &mut executor, &data.0, &data.1, &Random::new(0)).unwrap();
    let results = run();
    let first = std::mem::take(&mut *lines.lock().unwrap());
    run();
    let second = std::mem::take(&mut *lines.lock().unwrap());

    let computation = program.computation();
    let names = print::Names::of(&nnet);
    let exchange = |c: &Command| {
        matches!(c, Command::AcceptInput { .. } | Command::ProvideOutput { .. } | Command::Marker)
    };
    let executed: Vec<usize> =
        (0..computation.commands.len()).filter(|&c| !exchange(&computation.commands[c])).collect();
    assert_eq!(format!("{}\n", first[0]), print::preamble(computation, &names));
    assert_eq!(first.len(), executed.len() + 1);
    // The preamble comes once a program.
    assert_eq!(second.len(), executed.len());

    let line_of = |text: &str| first.iter().find(|line| line.contains(text)).unwrap();
    for (line, &c) in first[1..].iter().zip(&executed) {
        let parts: Vec<&str> = line.split('|').collect();
        assert_eq!(parts.len(), 3, "{line}");
        assert_eq!(parts[0].trim_end(), print::line(computation, &names, c));
        let time = parts[2].trim_start().strip_prefix("time: ").unwrap().strip_suffix(" secs").unwrap();
        assert!((0.0..10.0).contains(&time.parse::<f64>().unwrap()), "{line}");
    }
    let changes = line_of("b.Propagate(").split('|').nth(1).unwrap();
    let (_, after) = changes.trim().split_once("->").unwrap();
    assert_eq!(after, size(&results.outputs["output"].data), "{changes}");
    // Matrix, then the part of it that is written.
    let copy = line_of(".CopyRows(").split('|').nth(1).unwrap().trim();
    assert!(copy.starts_with("m2: ") && copy.contains(" m2(0:5, 0:1): "), "{copy}");
    let backprop = line_of("b.Backprop(").split('|').nth(1).unwrap().trim();
    let parameters = nnet.component(nnet.find_component("b").unwrap()).as_updatable().unwrap().vectorize();
    let unchanged = size(&parameters);
    assert!(backprop.ends_with(&format!("b: {unchanged}->{unchanged}")), "{backprop} {unchanged}");
    assert!(line_of(" = []").contains("= []\t|\t\t|\t time: "));
}

/// Operations before and after which it was called.
#[derive(Default)]
struct Order {
    literal: bool,
    calls: Vec<(usize, bool)>,
}

impl Observer for Order {
    fn before(&mut self, at: &Moment<'_>) {
        self.calls.push((at.op, false));
    }
    fn literal(&self) -> bool {
        self.literal
    }
    fn after(&mut self, at: &Moment<'_>, _: Duration) {
        self.calls.push((at.op, true));
    }
}

#[test]
fn observers_see_each_operation_in_order() {
    let nnet = nnet(CONFIG);
    let request = forward_only(&training_request(1, -1..2, 0..1));
    let computation = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    let program = Arc::new(Program::new(&nnet, computation).unwrap());
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    let mut model = nnet3_core::execute::Model::Frozen(&nnet);
    for literal in [true, false] {
        executor.start(&program).unwrap();
        executor.accept_input(&nnet, "input", 3, 2, &[1.0; 6]).unwrap();
        let mut order = Order { literal, ..Order::default() };
        executor.run_observed(&mut model, &Random::new(0), &mut order).unwrap();
        let list = if literal { program.literal() } else { program.lowered() };
        let last = list
            .ops()
            .iter()
            .position(|op| matches!(op, Op::Command(Command::ProvideOutput { .. })))
            .unwrap();
        assert_eq!(order.calls, (1..last).flat_map(|c| [(c, false), (c, true)]).collect::<Vec<_>>());
        // The kind of operations cannot change while a program runs.
        let mut other = Order { literal: !literal, ..Order::default() };
        let error = executor.run_observed(&mut model, &Random::new(0), &mut other).unwrap_err().to_string();
        assert!(error.contains("cannot change while a program runs"), "{error}");
    }
    assert_eq!(program.literal().ops().len(), program.computation().commands.len());
    assert!(program.lowered().ops().len() < program.literal().ops().len());
}
