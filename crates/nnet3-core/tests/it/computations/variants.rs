//! Passes, shortcut, loops and files must not change the results of a computation: every conformance case, with options
//! on, off and alone.

use crate::computations::conformance::{Case, cases};
use crate::computations::support::*;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::Index;
use nnet3_core::check::{CheckOptions, check};
use nnet3_core::compile::compile;
use nnet3_core::computation::Computation;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::request::ComputationRequest;

type Flag = fn(&mut OptimizeOptions) -> &mut bool;

const FLAGS: [(&str, Flag); 14] = [
    ("consolidate-model-update", |o| &mut o.consolidate_model_update),
    ("propagate-in-place", |o| &mut o.propagate_in_place),
    ("backprop-in-place", |o| &mut o.backprop_in_place),
    ("extend-matrices", |o| &mut o.extend_matrices),
    ("optimize-row-ops", |o| &mut o.optimize_row_ops),
    ("split-row-ops", |o| &mut o.split_row_ops),
    ("snip-row-ops", |o| &mut o.snip_row_ops),
    ("convert-addition", |o| &mut o.convert_addition),
    ("remove-assignments", |o| &mut o.remove_assignments),
    ("allow-left-merge", |o| &mut o.allow_left_merge),
    ("allow-right-merge", |o| &mut o.allow_right_merge),
    ("initialize-undefined", |o| &mut o.initialize_undefined),
    ("move-sizing-commands", |o| &mut o.move_sizing_commands),
    ("allocate-from-other", |o| &mut o.allocate_from_other),
];

/// Lists options with each flag off, each alone, and some combinations.
pub fn option_variants() -> Vec<(String, OptimizeOptions)> {
    let mut out =
        vec![("all".to_string(), OptimizeOptions::default()), ("none".to_string(), OptimizeOptions::none())];
    let mut nothing = OptimizeOptions { memory_compression_level: 0, ..OptimizeOptions::default() };
    FLAGS.iter().for_each(|(_, flag)| *flag(&mut nothing) = false);
    for (name, flag) in FLAGS {
        let mut without = OptimizeOptions::default();
        *flag(&mut without) = false;
        out.push((format!("no {name}"), without));
        let mut alone = nothing.clone();
        *flag(&mut alone) = true;
        if matches!(name, "propagate-in-place" | "backprop-in-place" | "remove-assignments") {
            (alone.allow_left_merge, alone.allow_right_merge) = (true, true);
        }
        out.push((format!("only {name}"), alone));
    }
    let assignments = OptimizeOptions { convert_addition: true, remove_assignments: true, ..nothing };
    out.push(("only left merges".into(), OptimizeOptions { allow_left_merge: true, ..assignments.clone() }));
    out.push(("only right merges".into(), OptimizeOptions { allow_right_merge: true, ..assignments }));
    for level in [0, 2] {
        let options = OptimizeOptions { memory_compression_level: level, ..OptimizeOptions::default() };
        out.push((format!("compression {level}"), options));
    }
    out
}

fn plain(case: &Case) -> Computation {
    compile(&case.nnet, std::slice::from_ref(&case.request)).unwrap()
}

fn for_each_case(check: impl Fn(&Case) -> Result<(), String>) {
    let mut failures = Vec::new();
    for case in cases() {
        if let Err(e) = check(&case) {
            println!("{}: {e}", case.name);
            failures.push(case.name);
        }
    }
    assert!(failures.is_empty(), "{} failed: {failures:?}", failures.len());
}

#[test]
fn every_option_leaves_the_figures_alone() {
    let variants = option_variants();
    for_each_case(|case| {
        let plain = plain(case);
        variants.iter().try_for_each(|(name, options)| {
            let computation = case.optimize(options, &plain).map_err(|e| format!("{name}: {e}"))?;
            case.compare_figures(&computation).map_err(|e| format!("{name}: {e}"))
        })
    });
}

/// The request for `count` sequences, with n slowest or fastest.
fn with_sequences(request: &ComputationRequest, count: i32, n_slowest: bool) -> ComputationRequest {
    let mut out = request.clone();
    for io in out.inputs.iter_mut().chain(&mut out.outputs) {
        let first: Vec<Index> = io.indexes.iter().copied().filter(|i| i.n == io.indexes[0].n).collect();
        io.indexes = match n_slowest {
            true => (0..count).flat_map(|n| first.iter().map(move |&i| Index { n, ..i })).collect(),
            false => first.iter().flat_map(|&i| (0..count).map(move |n| Index { n, ..i })).collect(),
        };
    }
    out
}

#[test]
fn expanded_computations_compute_the_same() {
    for_each_case(|case| {
        for n_slowest in [true, false] {
            let request = with_sequences(&case.request, 5, n_slowest);
            let program = |use_shortcut: bool| {
                let options = CompilerOptions { use_shortcut, ..CompilerOptions::default() };
                let mut compiler = CachingCompiler::new(options, OptimizeOptions::default());
                let program = compiler.program(&case.nnet, &request).map_err(|e| e.to_string())?;
                Ok::<_, String>((program, compiler.num_cached()))
            };
            let (whole, _) = program(false)?;
            let (expanded, entries) = program(true)?;
            // Only one that was expanded has no debug info.
            if entries != 2 || !expanded.computation().debug_info.is_empty() {
                println!("{}: not expanded", case.name);
            }
            let data = random_data(&case.nnet, &request, 3);
            let wanted = run(&case.nnet, &request, whole.computation(), &data)?;
            let found = run(&case.nnet, &request, expanded.computation(), &data)?;
            compare_results(&found, &wanted)?;
        }
        Ok(())
    });
}

#[test]
fn limited_derivatives_are_those_of_the_plain_computation() {
    for_each_case(|case| {
        let times = case.request.outputs.iter().flat_map(|io| io.indexes.iter()).map(|i| i.t);
        let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
        let data = random_data(&case.nnet, &case.request, 5);
        for (min, max) in [(first, last), (first, i32::MAX), (i32::MIN, last - 1), ((first + last) / 2, last)]
        {
            let limits = |options: OptimizeOptions| OptimizeOptions {
                min_deriv_time: min,
                max_deriv_time: max.max(min),
                ..options
            };
            let plain = plain(case);
            let limited = case.optimize(&limits(OptimizeOptions::none()), &plain)?;
            let optimized = case.optimize(&limits(OptimizeOptions::default()), &plain)?;
            let wanted = run(&case.nnet, &case.request, &limited, &data)?;
            let found = run(&case.nnet, &case.request, &optimized, &data)?;
            compare_results(&found, &wanted).map_err(|e| format!("[{min}, {max}]: {e}"))?;
            let unlimited = run(&case.nnet, &case.request, &plain, &data)?;
            compare_named(&found.outputs, &unlimited.outputs, 1e-4, 1e-5)?;
        }
        Ok(())
    });
}

#[test]
fn stored_computations_come_back_unchanged() {
    for_each_case(|case| {
        for computation in [plain(case), case.optimize(&OptimizeOptions::default(), &plain(case))?] {
            for binary in [true, false] {
                let mut w = KaldiWriter::in_memory(binary);
                computation.write(&mut w).map_err(|e| e.to_string())?;
                let bytes = w.into_bytes();
                let mut r = KaldiReader::from_bytes("test", bytes.clone());
                r.set_binary(binary);
                let read = Computation::read(&mut r).map_err(|e| e.to_string())?;
                check(&case.nnet, &read, CheckOptions::default()).map_err(|e| e.to_string())?;
                let mut w = KaldiWriter::in_memory(binary);
                read.write(&mut w).map_err(|e| e.to_string())?;
                if w.into_bytes() != bytes || read.commands != computation.commands {
                    return Err(format!("binary {binary}: read and written, it is another computation"));
                }
                case.compare_figures(&read)?;
            }
        }
        Ok(())
    });
}

#[test]
fn caches_are_read_back() {
    for_each_case(|case| {
        let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
        let big = with_sequences(&case.request, 4, true);
        for request in [&case.request, &big] {
            compiler.program(&case.nnet, request).map_err(|e| e.to_string())?;
        }
        let count = compiler.num_cached();
        let mut w = KaldiWriter::in_memory(true);
        compiler.write_cache(&mut w).map_err(|e| e.to_string())?;
        let bytes = w.into_bytes();
        let read = |options: OptimizeOptions| {
            let mut compiler = CachingCompiler::new(CompilerOptions::default(), options);
            let mut r = KaldiReader::from_bytes("cache", bytes.clone());
            r.set_binary(true);
            let found = compiler.read_cache(&case.nnet, &mut r).map_err(|e| e.to_string())?;
            Ok::<_, String>((compiler, found))
        };
        let (mut again, found) = read(OptimizeOptions::default())?;
        assert_eq!((found, again.num_cached()), (count, count));
        let program = again.program(&case.nnet, &case.request).map_err(|e| e.to_string())?;
        assert_eq!(again.timing().compile, std::time::Duration::ZERO);
        case.compare_figures(program.computation())?;
        assert_eq!(read(OptimizeOptions { convert_addition: false, ..Default::default() })?.1, 0);
        Ok(())
    });
}
