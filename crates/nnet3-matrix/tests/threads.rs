//! Counts the threads of a process that multiplies. The test does without the usual harness, which has threads of its
//! own.

use nnet3_matrix::{Gemm, Matrix, cpu, set_num_threads};

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count())
}

fn multiply() {
    let (a, b) =
        (Matrix::from_vec(600, 500, vec![0.5; 300_000]), Matrix::from_vec(500, 700, vec![1.0; 350_000]));
    let mut c = Matrix::zeros(&cpu(), 600, 700);
    cpu().gemm(Gemm::set(c.view_mut(), a.view(), b.view()));
    assert!(c.to_vec().iter().all(|&sum| sum == 250.0));
}

fn main() {
    let asked = |name: &str| std::env::args().any(|argument| argument == name);
    if asked("--list") {
        return if !asked("--ignored") {
            println!("threads: test")
        };
    }
    let given = std::env::var_os("OPENBLAS_NUM_THREADS");
    if given.is_some() {
        return println!("skipped: the environment says how many threads OpenBLAS starts");
    }
    // An OpenBLAS that is linked starts its threads with the process, before any of our code.
    let linked = cfg!(feature = "linked-openblas");
    multiply();
    assert!(linked || threads() == 1, "{} threads after the first product", threads());
    assert_eq!(std::env::var_os("OPENBLAS_NUM_THREADS"), given, "what other programs are started with");
    if nnet3_matrix::cpu::library_name().contains("openblas") {
        set_num_threads(2);
        multiply();
        assert!(linked || threads() == 2, "{} threads after two have been asked for", threads());
    }
    println!("as many threads as have been asked for");
}
