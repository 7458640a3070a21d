//! Measures how long requests take to compile, and prints one JSON object:
//!
//! ```text
//! cargo run --release -p nnet3-core --example compile_speed -- DIR [CASE ...] > speed.json
//! ```
//!
//! `DIR` has a folder for each case, with `config` and `request.txt`; if cases are named, only these are measured,
//! without the growth of their cost. Times start with the request and the network in memory and an empty cache. They
//! include the checks that are always made. `first_ms` is the first compilation of a process, up to the optimised,
//! checked computation. `plan_ms` is the memory plan that follows. Both are the best of several processes. `again_ms`
//! is their sum, the best of many in one process; `stages_ms` are its parts. `grown_bytes` is the growth of the
//! process's memory in its first compilation. Ratios divide first_ms by the reference's figures below. `sgemm_gflops`
//! allows a comparison of this machine with the reference's.

mod case;
mod measure;

use case::{Case, Growth};
use measure::{First, Mode, Stages};
use serde_json::{Map, Value, json};
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The reference's first compilation in milliseconds with the shortcut, and without it if known, on one thread of a 2.5
/// GHz core. A product of 2048³ reaches [`REFERENCE_SGEMM`] GFLOP/s there.
const REFERENCE: [(&str, f64, Option<f64>); 9] = [
    ("tdnn_train", 3.9, Some(190.0)),
    ("tdnnf_train", 36.0, Some(1140.0)),
    ("lstmp_train", 11.0, None),
    ("blstm_train", 35.0, None),
    ("gru_train", 27.0, None),
    ("xvector_train", 20.0, Some(990.0)),
    ("tdnnf_infer", 15.0, None),
    ("lstmp_infer", 19.0, None),
    ("cnntdnnf_train", 9.0, None),
];
const REFERENCE_SGEMM: f64 = 120.0;

/// The case measured with growing requests, without the shortcut.
const GROWING: &str = "tdnnf_train";
const SEQUENCES: [i32; 4] = [1, 4, 16, 64];
const FRAMES: [i32; 3] = [150, 600, 2400];

/// Processes for one figure.
const PROCESSES: usize = 9;
const PROCESSES_GROWING: usize = 3;

/// The first compilation of a process, measured in separate processes: the least time and growth.
fn first(folder: &Path, mode: Mode, growth: Option<Growth>, processes: usize) -> Result<First> {
    let mut best = First { seconds: f64::INFINITY, plan_seconds: f64::INFINITY, grown_bytes: None };
    for _ in 0..processes {
        let mut child = Command::new(std::env::current_exe()?);
        child.arg("--first").arg(folder).arg(mode.name()).args(growth.into_iter().flat_map(Growth::to_args));
        let output = child.output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let one = First::parse(&String::from_utf8(output.stdout)?)?;
        best.seconds = best.seconds.min(one.seconds);
        best.plan_seconds = best.plan_seconds.min(one.plan_seconds);
        best.grown_bytes = [best.grown_bytes, one.grown_bytes].into_iter().flatten().min();
    }
    Ok(best)
}

/// Rounds a number to four digits after the point.
fn number(value: f64) -> Value {
    Value::from((1e4 * value).round() / 1e4)
}

fn ms(seconds: f64) -> Value {
    number(1e3 * seconds)
}

fn measured(folder: &Path, case: &Case, mode: Mode, reference: Option<f64>) -> Result<Value> {
    let first = first(folder, mode, None, PROCESSES)?;
    let Stages { total, parts, commands, digest } = measure::stages(case, mode)?;
    let stages =
        parts.into_iter().map(|(name, seconds)| (name.to_string(), ms(seconds))).collect::<Map<_, _>>();
    Ok(json!({
        "first_ms": ms(first.seconds),
        "plan_ms": ms(first.plan_seconds),
        "again_ms": ms(total),
        "reference_ms": reference,
        "ratio": reference.map(|reference| number(1e3 * first.seconds / reference)),
        "grown_bytes": first.grown_bytes,
        "commands": commands,
        "digest": digest,
        "stages_ms": stages,
    }))
}

fn report_case(folder: &Path, case: &Case) -> Result<Value> {
    let reference = REFERENCE.iter().find(|(name, ..)| *name == case.name);
    let with = reference.map(|&(_, with, _)| with);
    let without = reference.and_then(|&(.., without)| without);
    Ok(json!({
        "case": case.name,
        "shortcut": measured(folder, case, Mode::Shortcut, with)?,
        "no_shortcut": measured(folder, case, Mode::Plain, without)?,
    }))
}

fn report_growth(folder: &Path, case: &Case) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for alike in [true, false] {
        for sequences in SEQUENCES {
            for frames in FRAMES {
                let growth = Growth { sequences, frames, alike };
                let first = first(folder, Mode::Plain, Some(growth), PROCESSES_GROWING)?;
                let rows_given = case.grown(growth)?.inputs.iter().map(|io| io.indexes.len()).sum::<usize>();
                rows.push(json!({
                    "sequences": sequences,
                    "frames": frames,
                    "alike": alike,
                    "input_rows": rows_given,
                    "first_ms": ms(first.seconds),
                    "plan_ms": ms(first.plan_seconds),
                    "us_per_input_row": number(1e6 * first.seconds / rows_given as f64),
                    "grown_bytes": first.grown_bytes,
                }));
            }
        }
    }
    Ok(rows)
}

fn report(folder: &Path, names: &[String]) -> Result<Value> {
    let mut folders: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    folders.retain(|path| path.join("config").is_file() && path.join("request.txt").is_file());
    folders.sort();
    let (mut cases, mut growth) = (Vec::new(), Vec::new());
    for folder in &folders {
        eprintln!("{}", folder.display());
        let case = Case::load(folder)?;
        if !names.is_empty() && !names.contains(&case.name) {
            continue;
        }
        cases.push(report_case(folder, &case)?);
        if names.is_empty() && case.name == GROWING {
            growth = report_growth(folder, &case)?;
        }
    }
    Ok(json!({
        "sgemm_gflops": number(measure::sgemm()),
        "reference_sgemm_gflops": number(REFERENCE_SGEMM),
        "cases": cases,
        "growth_of_tdnnf_train_without_shortcut": growth,
    }))
}

/// A process for [`first`]: one compilation.
fn compile_once(args: &[String]) -> Result<()> {
    let [folder, mode, growth @ ..] = args else {
        return Err("--first needs a folder and a mode".into());
    };
    let mut case = Case::load(Path::new(folder))?;
    if let Some(growth) = Growth::from_args(growth)? {
        case.request = case.grown(growth)?;
    }
    println!("{}", measure::first(&case, Mode::parse(mode)?)?);
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.split_first() {
        Some((first, rest)) if first == "--first" => compile_once(rest),
        Some((folder, names)) => report(Path::new(folder), names).map(|json| println!("{json:#}")),
        None => Err("usage: compile_speed DIR [CASE ...]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compile_speed: {error}");
            ExitCode::FAILURE
        }
    }
}
