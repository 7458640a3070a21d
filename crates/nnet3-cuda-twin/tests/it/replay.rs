//! Segments of whole networks: replayed as graphs, they give the same bytes as single launches. The twin has all
//! kernels.

use kaldi_io::holder::MatrixHolder;
use kaldi_io::table::SequentialReader;
use nnet3_core::compile::compile;
use nnet3_core::execute::{Executor, Model, Program};
use nnet3_core::lower::Watch;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::{OptimizeOptions, optimize};
use nnet3_core::request::ComputationRequest;
use nnet3_core::{Error, Random};
use nnet3_cuda_twin::Twin;
use nnet3_matrix::cuda::{GpuBackend, kernels};
use nnet3_matrix::{Device, Memory};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[test]
fn the_twin_has_all_kernels() {
    let mut ours: Vec<String> = nnet3_cuda_twin::kernels().into_iter().map(|(name, _)| name).collect();
    let mut theirs = kernels::names();
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
}

fn network_and_program(case: &Path, device: &Device) -> (Nnet, ComputationRequest, Arc<Program>) {
    let file = |name: &str| case.join(name).to_string_lossy().into_owned();
    let nnet = Nnet::load(&file("model.raw")).unwrap();
    let request = ComputationRequest::load(&file("request.txt")).unwrap();
    let mut computation = compile(&nnet, std::slice::from_ref(&request)).unwrap();
    optimize(&OptimizeOptions::default(), &nnet, request.max_output_time().unwrap(), &mut computation)
        .unwrap();
    let program = Arc::new(Program::for_device(&nnet, computation, device, &mut Watch::default()).unwrap());
    (nnet, request, program)
}

/// Outputs of several forward runs of one program with the same inputs.
fn runs(case: &Path, device: &Device, count: usize) -> Vec<Vec<f32>> {
    let (mut nnet, request, program) = network_and_program(case, device);
    nnet.to_device(device);
    let inputs = format!("ark:{}", case.join("inputs.ark").display());
    let mut executor = Executor::new(device);
    let mut one = || {
        executor.start(&program).unwrap();
        let mut inputs = SequentialReader::<MatrixHolder>::open(&inputs).unwrap();
        while let Some((name, matrix)) = inputs.next().unwrap() {
            executor.accept_input(&nnet, &name, matrix.rows, matrix.cols, &matrix.data).unwrap();
        }
        executor.run(&mut Model::Frozen(&nnet), &Random::new(1)).unwrap();
        let outputs = request.outputs.iter().map(|io| executor.output(&nnet, &io.name).unwrap());
        outputs.flat_map(|view| device.download(view)).collect()
    };
    (0..count).map(|_| one()).collect()
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/conformance/arch");
    let mut out: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    out.retain(|path| path.join("model.raw").is_file());
    out.sort();
    out
}

#[test]
fn replayed_segments_give_the_same_bytes() {
    let backend = |captures| Arc::new(GpuBackend::new(Twin::new(captures)).unwrap());
    let mut replays = 0;
    for case in cases() {
        let (with, without) = (backend(true), backend(false));
        let bits = |device: Device| -> Vec<Vec<u32>> {
            let of = |run: Vec<f32>| run.into_iter().map(f32::to_bits).collect();
            runs(&case, &device, 4).into_iter().map(of).collect()
        };
        let (replayed, plain) = (bits(with.clone()), bits(without.clone()));
        let name = case.display();
        assert!(
            replayed.iter().chain(&plain).all(|run| *run == plain[0]),
            "{name}: bytes differ from run to run"
        );
        assert_eq!(without.engine().replays.load(Ordering::Relaxed), 0);
        replays += with.engine().replays.load(Ordering::Relaxed);
    }
    assert!(replays > 0, "nothing was captured");
}

/// A plan that does not fit is refused before any allocation. The message's number of sequences is in proportion.
#[test]
fn plans_that_do_not_fit_are_refused() {
    let case = &cases()[0];
    let twin: Device = Arc::new(GpuBackend::new(Twin::new(true)).unwrap());
    let (_, _, program) = network_and_program(case, &twin);
    let needed = program.plan().arena_bytes() as u64;
    let memory = Memory { free: needed / 2, total: 2 * needed };
    let device: Device = Arc::new(GpuBackend::new(Twin::with_memory(memory)).unwrap());
    let error = Executor::new(&device).start(&program).unwrap_err().of_minibatch(10);
    let Error::Memory(e) = error else { panic!("{error}") };
    assert_eq!((e.needed, e.free, e.total, e.fitting()), (needed, needed / 2, 2 * needed, Some(5)));
    let enough = Twin::with_memory(Memory { free: needed, total: needed });
    Executor::new(&(Arc::new(GpuBackend::new(enough).unwrap()) as Device)).start(&program).unwrap();
}
