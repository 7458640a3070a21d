//! Every case folder: listings before and after optimisation, and figures with all passes on and off.

use crate::computations::support::*;
use kaldi_io::matrix::DenseMatrix;
use kaldi_io::reader::KaldiReader;
use nnet3_core::check::{CheckOptions, check};
use nnet3_core::compile::compile;
use nnet3_core::computation::Computation;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize_observed};
use nnet3_core::request::ComputationRequest;
use nnet3_core::run_request::{NamedMatrices, Results};
use std::path::{Path, PathBuf};

pub fn read_archive(path: &Path) -> NamedMatrices {
    let mut out = NamedMatrices::new();
    let Ok(mut r) = KaldiReader::open_raw(path.to_str().unwrap()) else {
        return out;
    };
    while !r.at_eof().unwrap() {
        let key = r.read_token().unwrap();
        r.detect_header().unwrap();
        out.insert(key, DenseMatrix::<f32>::read(&mut r).unwrap());
    }
    out
}

pub fn folders(root: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for kind in ["arch", "component", "random"] {
        let entries = std::fs::read_dir(root.join(kind)).unwrap();
        out.extend(entries.map(|e| e.unwrap().path()).filter(|p| p.is_dir()));
    }
    out.sort();
    out
}

pub struct Case {
    pub name: String,
    pub dir: PathBuf,
    pub nnet: Nnet,
    pub request: ComputationRequest,
}

impl Case {
    /// Fails if a component type is not there yet.
    pub fn load(dir: &Path) -> Result<Case, String> {
        let nnet = Nnet::load(dir.join("model.raw").to_str().unwrap()).map_err(|e| e.to_string())?;
        let mut r = KaldiReader::open(dir.join("request.txt").to_str().unwrap()).unwrap();
        let request = ComputationRequest::read(&mut r).unwrap();
        let name = dir.iter().rev().take(2).map(|p| p.to_str().unwrap()).collect::<Vec<_>>();
        Ok(Case { name: format!("{}/{}", name[1], name[0]), dir: dir.to_path_buf(), nnet, request })
    }

    pub fn optimize(
        &self,
        options: &OptimizeOptions,
        computation: &Computation,
    ) -> Result<Computation, String> {
        let mut out = computation.clone();
        let max_time = self.request.max_output_time().unwrap();
        optimize_observed(options, &self.nnet, max_time, &mut out, true, &mut |_| ())
            .map_err(|e| e.to_string())?;
        Ok(out)
    }

    pub fn data(&self) -> (NamedMatrices, NamedMatrices) {
        (read_archive(&self.dir.join("inputs.ark")), read_archive(&self.dir.join("output_derivs.ark")))
    }

    /// The reference's figures.
    pub fn expected(&self) -> Results {
        let gradient = self.dir.join("gradient.raw");
        let gradient =
            self.request.need_model_derivative.then(|| Nnet::load(gradient.to_str().unwrap()).unwrap());
        Results {
            outputs: read_archive(&self.dir.join("outputs.ark")),
            input_derivs: read_archive(&self.dir.join("input_derivs.ark")),
            gradient,
        }
    }

    /// Compares the results with the expected figures. An error describes the differences.
    pub fn compare_figures(&self, computation: &Computation) -> Result<(), String> {
        let results = run(&self.nnet, &self.request, computation, &self.data())?;
        compare_results(&results, &self.expected())
    }
}

/// Lines without their numbers, sorted: the order of terms in a sum is free.
fn sorted_lines(listing: &str) -> Vec<String> {
    let strip = |line: &str| match line.split_once(": ") {
        Some((number, rest)) if number.starts_with('c') => rest.to_string(),
        _ => line.to_string(),
    };
    let mut lines: Vec<String> = listing.lines().map(strip).collect();
    lines.sort();
    lines
}

/// Returns all readable cases whose name contains `$NNET3_CASE`; no cases if the folder is not given.
pub fn cases() -> impl Iterator<Item = Case> {
    let root = kaldi_io::testing::data_folder("NNET3_CONFORMANCE_DIR");
    let filter = std::env::var("NNET3_CASE").unwrap_or_default();
    let folders = root.map(|root| folders(Path::new(&root))).unwrap_or_default();
    folders
        .into_iter()
        .filter_map(|dir| Case::load(&dir).ok())
        .filter(move |case| case.name.contains(&filter))
}

#[derive(Default)]
struct Totals {
    cases: usize,
    unreadable: usize,
    same_unoptimized: usize,
    same_optimized: usize,
    commands: [f64; 2],
    bytes: [f64; 2],
}

#[test]
fn listings_and_figures_of_the_reference() {
    let Some(root) = kaldi_io::testing::data_folder("NNET3_CONFORMANCE_DIR") else {
        return;
    };
    let mut totals = Totals { unreadable: folders(Path::new(&root)).len(), ..Totals::default() };
    let mut failures = Vec::new();
    for case in cases() {
        totals.unreadable -= 1;
        totals.cases += 1;
        if let Err(e) = check_case(&case, &mut totals) {
            println!("{}: {e}", case.name);
            failures.push(case.name);
        }
    }
    println!(
        "{} cases ({} unreadable or left out); unoptimised listings identical: {}; optimised listings identical: {}",
        totals.cases, totals.unreadable, totals.same_unoptimized, totals.same_optimized
    );
    println!("commands: {} (reference {})", totals.commands[0], totals.commands[1]);
    println!("peak bytes: {} (reference {})", totals.bytes[0], totals.bytes[1]);
    assert!(failures.is_empty(), "{} failed: {failures:?}", failures.len());
    assert!(totals.commands[0] <= totals.commands[1] && totals.bytes[0] <= totals.bytes[1]);
}

fn check_case(case: &Case, totals: &mut Totals) -> Result<(), String> {
    let text = |file: &str| std::fs::read_to_string(case.dir.join(file)).unwrap();
    let plain = compile(&case.nnet, std::slice::from_ref(&case.request)).map_err(|e| e.to_string())?;
    dump(case, "unoptimized", &plain);
    let rewrite = CheckOptions { rewrite: true, ..CheckOptions::default() };
    check(&case.nnet, &plain, rewrite).map_err(|e| e.to_string())?;
    if sorted_lines(&print(&case.nnet, &plain)) == sorted_lines(&text("computation.unoptimized.txt")) {
        totals.same_unoptimized += 1;
    } else {
        println!("{}: the unoptimised listing differs", case.name);
    }
    let optimized = case.optimize(&OptimizeOptions::default(), &plain)?;
    dump(case, "optimized", &optimized);
    let summary: serde_json::Value = serde_json::from_str(&text("summary.json")).unwrap();
    let number = |key: &str| summary[key].as_f64().unwrap();
    let commands = [optimized.commands.len() as f64, number("commands")];
    let bytes = [optimized.peak_bytes() as f64, number("peak_bytes")];
    for i in 0..2 {
        totals.commands[i] += commands[i];
        totals.bytes[i] += bytes[i];
    }
    if sorted_lines(&print(&case.nnet, &optimized)) == sorted_lines(&text("computation.txt")) {
        totals.same_optimized += 1;
    } else {
        println!("{}: the optimised listing differs; commands {commands:?}, bytes {bytes:?}", case.name);
    }
    if commands[0] > 1.1 * commands[1] || bytes[0] > 1.1 * bytes[1] {
        return Err(format!("commands {commands:?}, peak bytes {bytes:?}"));
    }
    case.compare_figures(&plain).map_err(|e| format!("without optimisation: {e}"))?;
    case.compare_figures(&optimized).map_err(|e| format!("optimised: {e}"))
}

/// Writes `$NNET3_DUMP/<case>.<what>.txt`, which people can compare by hand.
fn dump(case: &Case, what: &str, computation: &Computation) {
    if let Some(dir) = std::env::var_os("NNET3_DUMP") {
        let file = Path::new(&dir).join(format!("{}.{what}.txt", case.name.replace('/', "-")));
        std::fs::write(file, print(&case.nnet, computation)).unwrap();
    }
}
