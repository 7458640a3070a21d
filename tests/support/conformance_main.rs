//! Runs every case below the folders given as arguments; exits with 1 if one fails. See `dev/conformance.sh`.

#[path = "conformance.rs"]
mod conformance;

use clap::Parser;
use conformance::{Summary, find_cases};
use nnet3::options::device::DeviceOptions;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs cases with expected figures.
#[derive(Parser)]
struct Options {
    /// yes|no|optional|wait: whether to run on a GPU
    #[arg(long, default_value = "no")]
    use_gpu: String,
    #[command(flatten)]
    device: DeviceOptions,
    folders: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let cases: Vec<_> = options.folders.iter().flat_map(|folder| find_cases(folder)).collect();
    if cases.is_empty() {
        eprintln!("no cases (folders with request.txt and model.raw) found below the arguments");
        return ExitCode::from(2);
    }
    let device = match options.device.select(&options.use_gpu) {
        Ok(device) => device,
        Err(e) => {
            eprintln!("{e:#}");
            return ExitCode::from(255);
        }
    };
    let summary = Summary::run(&cases, &device, options.device.gpu_math);
    summary.print();
    if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
