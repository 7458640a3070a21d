//! Stored forms: written and read back, cut short anywhere, damaged.

use super::{example, try_read, written};
use crate::support::{
    Findings, damaged, in_time, peak_memory, shown, with_other_numbers, with_other_words, words,
};
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_base::random::Random;
use nnet3_component::plain::Plain;
use nnet3_component::{
    Backprop, Component, ComponentType, Context, PrecomputedIndexes, Propagate, Properties, Update, registry,
};
use nnet3_matrix::{Matrix, Workspace};

/// The example as it comes, and with all settings of the common prefix and parameters and statistics that are not zero.
fn specimens(t: &ComponentType) -> Vec<Box<dyn Component>> {
    let plain = example(t);
    let mut used = plain.clone_box();
    if let Some(updatable) = used.as_updatable_mut() {
        let settings = updatable.settings_mut();
        settings.learning_rate_factor = 0.5;
        settings.max_change = 0.75;
        settings.l2_regularize = 0.01;
        updatable.set_as_gradient();
        updatable.set_underlying_learning_rate(0.002);
        updatable.perturb(0.5, &Random::new(2));
    }
    run(&mut *used).unwrap_or_else(|e| panic!("{}: {e}", t.name));
    vec![plain, used]
}

/// The input and output rows of a component's run.
struct Rows {
    inputs: usize,
    outputs: usize,
    indexes: Option<Box<dyn PrecomputedIndexes>>,
}

/// A few frames of two sequences, as far as a component can compute them; `None` if that takes very many inputs.
fn rows(component: &dyn Component) -> Result<Option<Rows>> {
    const MOST_INPUTS: usize = 2000;
    let frames = |n: i32| [0, 6, 12].map(|t| Index::new(n, t, 0));
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for output in (0..2).flat_map(frames) {
        if component.is_computable(output, &|_| true, Some(&mut inputs)) {
            outputs.push(output);
        }
        if inputs.len() > MOST_INPUTS {
            return Ok(None);
        }
    }
    inputs.sort();
    inputs.dedup();
    component.reorder_indexes(&mut inputs, &mut outputs)?;
    let indexes = component.precompute_indexes(&inputs, &outputs, true)?;
    if inputs.len() > 10 * MOST_INPUTS || outputs.is_empty() {
        return Ok(None);
    }
    Ok(Some(Rows { inputs: inputs.len(), outputs: outputs.len(), indexes }))
}

/// Propagates, stores statistics, backpropagates and adds the resulting gradient.
fn run(component: &mut dyn Component) -> Result<()> {
    let Some(Rows { inputs, outputs, indexes }) = rows(component)? else { return Ok(()) };
    let indexes = indexes.as_deref();
    let device = nnet3_matrix::cpu();
    let workspace = Workspace::new(&device);
    let random = Random::new(3);
    let context = Context { backend: &*device, workspace: &workspace, random: &random };
    let matrix =
        |rows: usize, cols: usize| Matrix::from_vec(rows, cols, random.normal_vec(rows * cols, 0.0, 1.0));
    let input = matrix(inputs, component.input_dim());
    let mut output = Matrix::zeros(&device, outputs, component.output_dim());
    let (rows, cols) = component.memo_shape(indexes, outputs);
    let mut memo = Matrix::zeros(&device, rows, cols);
    let (output_view, memo_view) = (output.view_mut(), memo.view_mut());
    let args = Propagate { indexes, input: input.view(), output: output_view, memo: memo_view, sets: false };
    component.propagate(context, args);
    if component.properties().contains(Properties::STORES_STATS) {
        component.store_stats(context, input.view(), output.view(), memo.view());
    }
    let out_deriv = matrix(outputs, component.output_dim());
    let mut in_deriv = Matrix::zeros(&device, inputs, component.input_dim());
    let args = Backprop {
        name: "test",
        indexes,
        in_value: input.view(),
        out_value: output.view(),
        out_deriv: out_deriv.view(),
        memo: memo.view(),
        in_deriv: Some(in_deriv.view_mut()),
        sets: false,
        taps: None,
    };
    let mut target = component.clone_box();
    component.backprop(context, args, Update::to(&mut *target, &mut Plain));
    component.add(0.25, &*target);
    Ok(())
}

#[test]
fn written_and_read_back() {
    for t in registry::types() {
        for (i, component) in specimens(t).into_iter().enumerate() {
            for binary in [true, false] {
                check_read_back(&*component, binary, i == 0);
            }
        }
    }
}

/// Files hold averages, components sums: if not `exact`, the last digits of numbers may change.
fn check_read_back(component: &dyn Component, binary: bool, exact: bool) {
    let name = component.type_name();
    let first = written(component, binary);
    let again = try_read(&first, binary).unwrap_or_else(|e| panic!("{name}: {e}"));
    let second = written(&*again, binary);
    let same =
        first == second || (!exact && nearly_same(&written(component, false), &written(&*again, false)));
    assert!(same, "{name}:\n{}\n{}", shown(&first), shown(&second));
    assert_eq!(again.type_name(), name);
    assert_eq!(again.properties(), component.properties(), "{name}");
    assert_eq!(again.input_dim(), component.input_dim(), "{name}");
    assert_eq!(again.output_dim(), component.output_dim(), "{name}");
    if binary && exact {
        assert_eq!(again.info(true), component.info(true));
    }
}

/// True if both have the same words, up to the last digits of numbers.
fn nearly_same(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (String::from_utf8_lossy(a), String::from_utf8_lossy(b));
    let pairs: Vec<(&str, &str)> = a.split_whitespace().zip(b.split_whitespace()).collect();
    let near = |a: &str, b: &str| match (a.parse::<f32>(), b.parse::<f32>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-5 * b.abs() + 1e-6,
        _ => a == b,
    };
    pairs.len() == a.split_whitespace().count()
        && pairs.len() == b.split_whitespace().count()
        && pairs.into_iter().all(|(a, b)| near(a, b))
}

/// A truncated component must be an error with its place.
#[test]
fn cut_short() {
    let mut findings = Findings::default();
    for component in registry::types().flat_map(specimens) {
        let name = component.type_name();
        let binary = written(&*component, true);
        let ends = 0..binary.len() - 1;
        ends.for_each(|end| refused(&mut findings, name, &binary[..end], true));
        let text = written(&*component, false);
        let mut ends: Vec<usize> =
            words(std::str::from_utf8(&text).unwrap()).iter().flat_map(|w| [w.start, w.end - 1]).collect();
        ends.sort_unstable();
        ends.iter().for_each(|&end| refused(&mut findings, name, &text[..end], false));
    }
    findings.assert_none();
}

fn refused(findings: &mut Findings, name: &str, bytes: &[u8], binary: bool) {
    let mode = if binary { "binary" } else { "text" };
    let place = if binary { "model.raw, byte " } else { "model.raw, line " };
    let what = format!("{name}, {mode}");
    match findings.guard(&what, bytes, || try_read(bytes, binary).map(|_| ())) {
        None => {}
        Some(Ok(())) => findings.add(format!("{what}: cut short, yet read"), shown(bytes)),
        Some(Err(e)) if e.to_string().starts_with(place) => {}
        Some(Err(e)) => findings.add(format!("{what}: an error without a place"), e.to_string()),
    }
}

/// A damaged file must give an error or a component that works.
#[test]
fn damaged_files() {
    let mut findings = Findings::default();
    for t in registry::types() {
        let before = peak_memory();
        findings.merge(in_time(t.name, || damaged_type(t)));
        let grown = peak_memory().zip(before).map_or(0, |(after, before)| after - before);
        if grown > 1 << 30 {
            findings.add(format!("{}: {} MiB for a small file", t.name, grown >> 20), t.name);
        }
    }
    findings.assert_none();
}

/// Random changes of each specimen and mode.
const RANDOM_CHANGES: usize = 300;

fn damaged_type(t: &'static ComponentType) -> Findings {
    let mut findings = Findings::default();
    let mut rng = fastrand::Rng::with_seed(t.name.bytes().map(u64::from).sum());
    for specimen in specimens(t) {
        let binary = written(&*specimen, true);
        for _ in 0..RANDOM_CHANGES {
            tried(&mut findings, t, &damaged(&binary, &mut rng), true);
        }
        let text = written(&*specimen, false);
        for _ in 0..RANDOM_CHANGES {
            tried(&mut findings, t, &damaged(&text, &mut rng), false);
        }
        with_other_numbers(&binary).iter().for_each(|bytes| tried(&mut findings, t, bytes, true));
        for text in with_other_words(std::str::from_utf8(&text).unwrap()) {
            tried(&mut findings, t, text.as_bytes(), false);
        }
    }
    findings
}

fn tried(findings: &mut Findings, t: &ComponentType, bytes: &[u8], binary: bool) {
    let read_again = findings.guard(t.name, bytes, || {
        let component = try_read(bytes, binary).ok()?;
        works(&*component);
        Some(try_read(&written(&*component, true), true).map(|_| ()))
    });
    match read_again.flatten() {
        None | Some(Ok(())) => {}
        Some(Err(e)) => findings
            .add(format!("{}: what it wrote cannot be read", t.name), format!("{e}\n    {}", shown(bytes))),
    }
}

/// Does with a component all that programs do, which must work.
fn works(component: &dyn Component) {
    written(component, false);
    component.info(false);
    component.info(true);
    let mut other = component.clone_box();
    other.scale(0.5);
    other.add(1.0, component);
    other.zero_stats();
    other.set_batchnorm_test_mode(true);
    other.set_dropout_test_mode(true);
    other.set_dropout_proportion(0.25);
    other.scale_batchnorm_stats(0.5);
    other.info(false);
    written(&*other, true);
    if let Some(updatable) = other.as_updatable_mut() {
        let parameters = updatable.vectorize();
        assert_eq!(parameters.len(), updatable.num_parameters());
        updatable.unvectorize(&parameters);
        updatable.dot_product(component);
        updatable.set_as_gradient();
    }
    let small = component.input_dim() <= 1000 && component.output_dim() <= 1000;
    if small {
        let _error = run(&mut *component.clone_box());
    }
}
