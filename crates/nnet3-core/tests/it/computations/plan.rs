//! Memory plans of whole computations: the shipped ones, those of `$NNET3_CONFORMANCE_DIR` and of `$NNET3_PERF_DIR`.

use crate::computations::conformance::{Case, folders};
use nnet3_core::Random;
use nnet3_core::compile::compile;
use nnet3_core::computation::{Command, Computation, MatrixId};
use nnet3_core::config::parse_config;
use nnet3_core::execute::Program;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::plan::ALIGNMENT;
use nnet3_core::request::ComputationRequest;
use std::path::Path;

/// Full-size networks, with the requests of training and of forward computing.
fn performance_cases(root: &Path) -> Vec<(String, Nnet, ComputationRequest)> {
    let entries = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path());
    let load = |dir: std::path::PathBuf| {
        let config = std::fs::read_to_string(dir.join("config")).unwrap();
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("config", config.lines()).unwrap(), &Random::new(0)).unwrap();
        let request = ComputationRequest::load(dir.join("request.txt").to_str().unwrap()).unwrap();
        (dir.display().to_string(), nnet, request)
    };
    entries.filter(|dir| dir.join("config").is_file()).map(load).collect()
}

fn all_cases() -> Vec<(String, Nnet, ComputationRequest)> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/conformance");
    let mut folders = folders(&shipped);
    if let Some(root) = kaldi_io::testing::data_folder("NNET3_CONFORMANCE_DIR") {
        folders.extend(self::folders(Path::new(&root)));
    }
    let mut out: Vec<_> = folders
        .iter()
        .map(|dir| Case::load(dir).unwrap())
        .map(|case| (case.dir.display().to_string(), case.nnet, case.request))
        .collect();
    if let Some(root) = kaldi_io::testing::data_folder("NNET3_PERF_DIR") {
        out.extend(performance_cases(Path::new(&root)));
    }
    out
}

/// First and last command between which each matrix has storage, following swaps.
fn lives(computation: &Computation) -> Vec<Option<(usize, usize)>> {
    let mut out: Vec<Option<(usize, usize)>> = vec![None; computation.matrices.len()];
    let end = computation.commands.len();
    for (c, command) in computation.commands.iter().enumerate() {
        let mut begin = |s| {
            let life = &mut out[computation.matrix_of(s).index()];
            *life = life.or(Some((c, end)));
        };
        match *command {
            Command::Allocate { matrix } | Command::AcceptInput { matrix, .. } => begin(matrix),
            Command::Deallocate { matrix } => {
                out[computation.matrix_of(matrix).index()].as_mut().unwrap().1 = c;
            }
            Command::Swap { first, second } => {
                begin(first);
                // The storage is one and the same; the lives only touch.
                out[computation.matrix_of(second).index()].as_mut().unwrap().1 = c - 1;
            }
            _ => {}
        }
    }
    out
}

/// Checks the plan independently: matrices that live at the same time lie apart and inside the arena.
fn check_places(program: &Program) {
    let (computation, plan) = (program.computation(), program.plan());
    let lives = lives(computation);
    let place = |m: usize| {
        let offset = plan.matrix_offsets[m];
        (offset, offset + computation.matrix(MatrixId::from(m)).bytes() / 4)
    };
    for (a, life_a) in lives.iter().enumerate().filter_map(|(m, life)| life.map(|life| (m, life))) {
        let (start_a, end_a) = place(a);
        assert!(start_a % ALIGNMENT == 0 && end_a <= plan.elements);
        for (b, life_b) in lives.iter().enumerate().skip(a + 1).filter_map(|(m, life)| life.map(|l| (m, l))) {
            let (start_b, end_b) = place(b);
            let together = life_a.0 <= life_b.1 && life_b.0 <= life_a.1;
            assert!(!together || end_a <= start_b || end_b <= start_a, "m{a} and m{b}");
        }
    }
}

#[test]
fn arenas_are_hardly_larger_than_what_lives() {
    let (mut worst, mut count) = (0.0, 0);
    for (name, nnet, request) in all_cases() {
        let mut optimized = compile(&nnet, std::slice::from_ref(&request)).unwrap();
        let max_time = request.max_output_time().unwrap();
        optimize(&OptimizeOptions::default(), &nnet, max_time, &mut optimized).unwrap();
        let optimized = Program::new(&nnet, optimized).unwrap();
        let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
        let cached = compiler.program(&nnet, &request).unwrap();
        for program in [&optimized, &*cached] {
            check_places(program);
            let plan = program.plan();
            let ratio = plan.arena_bytes() as f64 / plan.peak_live_bytes() as f64;
            assert!((1.0..=1.05).contains(&ratio), "{name}: {ratio}");
            worst = f64::max(worst, ratio);
            count += 1;
        }
    }
    println!("{count} plans, at most {worst:.4} of what lives at one time");
    assert!(count > 0);
}
