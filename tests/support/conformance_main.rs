//! Runs every case below the folders given as arguments; exits with 1 if one fails. See `scripts/conformance.sh`.

#[path = "conformance.rs"]
mod conformance;

use conformance::{Summary, find_cases};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cases: Vec<_> = std::env::args().skip(1).flat_map(|folder| find_cases(Path::new(&folder))).collect();
    if cases.is_empty() {
        eprintln!("no cases (folders with request.txt and model.raw) found below the arguments");
        return ExitCode::from(2);
    }
    let summary = Summary::run(&cases, &nnet3_matrix::cpu());
    summary.print();
    if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
