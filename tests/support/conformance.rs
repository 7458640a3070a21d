//! Runs cases with expected figures: a folder with `model.raw`, `request.txt`, `inputs.ark`, `outputs.ark` and so on.
//!
//! Agreement in Frobenius norms: ‖ours − expected‖ ≤ 1e-4·‖expected‖ + 1e-5 for outputs, ≤ 1e-3·‖expected‖ + 1e-4 for
//! derivatives and for each component's gradient. The model is copied byte for byte, and the info text is equal.
//!
//! On other devices than the CPU the derivatives of [`AMPLIFIERS`] may differ by more.

use kaldi_io::holder::MatrixHolder;
use kaldi_io::table::SequentialReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::compile::compile;
use nnet3_core::computation::Computation;
use nnet3_core::execute::{Executor, Program};
use nnet3_core::graph::FrameContext;
use nnet3_core::lower::Watch;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::request::ComputationRequest;
use nnet3_core::run_request::{NamedMatrices, run_request};
use nnet3_core::{ComponentId, Random};
use nnet3_matrix::Device;
use nnet3_matrix::cuda::GpuMath;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Networks with variances of single frames: the derivative is a small difference of large numbers, and the last digit of
/// any earlier product shows in its third. The CPU rounds as the reference's BLAS does. Cases, and their tolerance.
const AMPLIFIERS: &[(&str, f64)] = &[("arch/xvector", 5e-3)];

/// Tolerance of a case's derivatives, relative to their norm.
fn derivative_tolerance(case: &Path, device: &Device) -> f64 {
    let known = AMPLIFIERS.iter().find(|(name, _)| device.id() != 0 && case.ends_with(name));
    known.map_or(1e-3, |(_, tolerance)| *tolerance)
}

/// How many times larger tolerances are where the factors of products are rounded: above what the twin of the kernels
/// shows (`docs/gpu.md`).
fn widening(math: GpuMath) -> f64 {
    match math {
        GpuMath::Fp32 => 1.0,
        GpuMath::Tf32 => 100.0,
        GpuMath::Bf16 => 1000.0,
    }
}

/// A case that agrees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Largest ‖ours − expected‖ / ‖expected‖ among outputs.
    pub worst_output: f64,
    /// The same among derivatives and gradients.
    pub worst_derivative: f64,
    /// Commands and peak bytes of the optimised computation.
    pub commands: usize,
    pub peak_bytes: usize,
}

/// All folders at or below `folder` that hold a case, sorted.
pub fn find_cases(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    if folder.join("request.txt").is_file() && folder.join("model.raw").is_file() {
        out.push(folder.to_path_buf());
    }
    if let Ok(entries) = std::fs::read_dir(folder) {
        entries.flatten().filter(|e| e.path().is_dir()).for_each(|e| out.extend(find_cases(&e.path())));
    }
    out.sort();
    out
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn read_table(path: &Path) -> Result<NamedMatrices> {
    let mut out = NamedMatrices::new();
    if !path.exists() {
        return Ok(out);
    }
    let mut reader = SequentialReader::<MatrixHolder>::open(&format!("ark:{}", text(path)))?;
    while let Some((key, matrix)) = reader.next()? {
        out.insert(key, matrix);
    }
    reader.close()?;
    Ok(out)
}

/// Relative difference if it is within `relative`·‖expected‖ + `absolute`, else an error. NaN never passes.
fn compare(what: &str, ours: &[f32], expected: &[f32], relative: f64, absolute: f64) -> Result<f64> {
    if ours.len() != expected.len() {
        return Err(format!("{what}: {} elements, expected {}", ours.len(), expected.len()).into());
    }
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let size = norm(&mut expected.iter().map(|&x| x as f64));
    let difference = norm(&mut ours.iter().zip(expected).map(|(&a, &b)| a as f64 - b as f64));
    if difference <= relative * size + absolute {
        return Ok(if size > 0.0 && difference > absolute { difference / size } else { 0.0 });
    }
    Err(format!("{what}: differs by {difference:.3e} at norm {size:.3e} (ratio {:.2e})", difference / size)
        .into())
}

/// Checks one case on a device, without and with optimisation.
/// With `widening` times the usual tolerances.
pub fn run_case(case: &Path, device: &Device, widening: f64) -> Result<Agreement> {
    let nnet = Nnet::load(&text(&case.join("model.raw")))?;
    check_copy(case, &nnet)?;
    check_info(case, &nnet)?;
    let request = ComputationRequest::load(&text(&case.join("request.txt")))?;
    let plain = compile(&nnet, std::slice::from_ref(&request))?;
    let mut optimized = plain.clone();
    optimize(&OptimizeOptions::default(), &nnet, request.max_output_time()?, &mut optimized)?;
    let mut agreement = Agreement {
        commands: optimized.commands.len(),
        peak_bytes: optimized.peak_bytes(),
        ..Default::default()
    };
    for (name, computation) in [("unoptimised", plain), ("optimised", optimized)] {
        run_computation(case, &nnet, &request, computation, (device, widening), &mut agreement)
            .map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(agreement)
}

fn check_copy(case: &Path, nnet: &Nnet) -> Result<()> {
    // The reference itself rewrites the statistics of these files.
    if text(case).contains("/BatchNormComponent-") {
        return Ok(());
    }
    let mut w = KaldiWriter::in_memory(true);
    w.write_header()?;
    nnet.write(&mut w)?;
    let (ours, expected) = (w.into_bytes(), std::fs::read(case.join("model.raw"))?);
    match ours.iter().zip(&expected).position(|(a, b)| a != b) {
        None if ours.len() == expected.len() => Ok(()),
        place => Err(format!("model.raw copied differs at byte {place:?}").into()),
    }
}

fn check_info(case: &Path, nnet: &Nnet) -> Result<()> {
    let path = case.join("info.txt");
    if !path.exists() {
        return Ok(());
    }
    let (ours, expected) = (nnet.info(false), std::fs::read_to_string(path)?);
    for (a, b) in ours.lines().zip(expected.lines()) {
        if a != b {
            return Err(format!("info differs:\n  ours     {a}\n  expected {b}").into());
        }
    }
    if ours.lines().count() == expected.lines().count() {
        Ok(())
    } else {
        Err("info: other number of lines".into())
    }
}

fn run_computation(
    case: &Path,
    nnet: &Nnet,
    request: &ComputationRequest,
    computation: Computation,
    (device, widening): (&Device, f64),
    agreement: &mut Agreement,
) -> Result<()> {
    let inputs = read_table(&case.join("inputs.ark"))?;
    let output_derivs = read_table(&case.join("output_derivs.ark"))?;
    let (random, tolerance) = (Random::new(0), widening * derivative_tolerance(case, device));
    let (of_outputs, absolute) = ((widening * 1e-4, widening * 1e-5), widening * 1e-4);
    let mut executor = Executor::new(device);
    let mut watch = Watch { check: true, ..Watch::default() };
    let program = Arc::new(Program::for_device(nnet, computation, device, &mut watch)?);
    let results = run_request(nnet, request, &program, &mut executor, &inputs, &output_derivs, &random)?;
    for (name, expected) in read_table(&case.join("outputs.ark"))? {
        let ours = results.outputs.get(&name).ok_or_else(|| format!("no output '{name}'"))?;
        let worst =
            compare(&format!("output '{name}'"), &ours.data, &expected.data, of_outputs.0, of_outputs.1)?;
        agreement.worst_output = agreement.worst_output.max(worst);
    }
    for (name, expected) in read_table(&case.join("input_derivs.ark"))? {
        let ours =
            results.input_derivs.get(&name).ok_or_else(|| format!("no derivative of input '{name}'"))?;
        let worst = compare(
            &format!("derivative of input '{name}'"),
            &ours.data,
            &expected.data,
            tolerance,
            absolute,
        )?;
        agreement.worst_derivative = agreement.worst_derivative.max(worst);
    }
    if let Some(gradient) = results.gradient {
        let expected = Nnet::load(&text(&case.join("gradient.raw")))?;
        for (i, (ours, theirs)) in gradient.components().zip(expected.components()).enumerate() {
            if let (Some(a), Some(b)) = (ours.as_updatable(), theirs.as_updatable()) {
                let name = format!("gradient of '{}'", expected.component_name(ComponentId::from(i)));
                let worst = compare(&name, &a.vectorize(), &b.vectorize(), tolerance, absolute)?;
                agreement.worst_derivative = agreement.worst_derivative.max(worst);
            }
        }
    }
    Ok(())
}

/// Sums over many cases.
#[derive(Default)]
pub struct Summary {
    pub passed: usize,
    pub failures: Vec<(PathBuf, String)>,
    worst: Agreement,
    /// Ours and the reference's, over cases that have a `summary.json`.
    commands: (usize, usize),
    peak_bytes: (usize, usize),
}

impl Summary {
    /// On a device whose products are computed like this.
    pub fn run(cases: &[PathBuf], device: &Device, math: GpuMath) -> Summary {
        let widening = widening(math);
        let mut summary = Summary::default();
        for case in cases {
            match run_case(case, device, widening) {
                Ok(agreement) => summary.add(case, agreement),
                Err(e) => summary.failures.push((case.clone(), e.to_string())),
            }
        }
        summary
    }

    fn add(&mut self, case: &Path, agreement: Agreement) {
        self.passed += 1;
        self.worst.worst_output = self.worst.worst_output.max(agreement.worst_output);
        self.worst.worst_derivative = self.worst.worst_derivative.max(agreement.worst_derivative);
        let Ok(text) = std::fs::read(case.join("summary.json")) else { return };
        let summary: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let number = |key: &str| summary[key].as_u64().map(|value| value as usize);
        if let (Some(commands), Some(bytes)) = (number("commands"), number("peak_bytes")) {
            self.commands = (self.commands.0 + agreement.commands, self.commands.1 + commands);
            self.peak_bytes = (self.peak_bytes.0 + agreement.peak_bytes, self.peak_bytes.1 + bytes);
        }
    }

    pub fn print(&self) {
        for (case, message) in &self.failures {
            println!("FAILED {}: {message}", case.display());
        }
        println!(
            "worst relative error: outputs {:.1e}, derivatives {:.1e}",
            self.worst.worst_output, self.worst.worst_derivative
        );
        let ratio = |(ours, theirs): (usize, usize)| ours as f64 / theirs.max(1) as f64;
        println!(
            "optimised computations against the reference: commands {} / {} ({:.3}), peak bytes {} / {} ({:.3})",
            self.commands.0,
            self.commands.1,
            ratio(self.commands),
            self.peak_bytes.0,
            self.peak_bytes.1,
            ratio(self.peak_bytes)
        );
        println!("{} passed, {} failed", self.passed, self.failures.len());
    }
}
