//! `nnet3-copy-egs`: copies examples, possibly selecting, trimming, weighting or renaming.

use std::process::ExitCode;

use nnet3::egs::programs;

/// Examples are thousands of small objects, made in one thread and used in another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kaldi_io::cli::run(programs::run::<programs::Copy>)
}
