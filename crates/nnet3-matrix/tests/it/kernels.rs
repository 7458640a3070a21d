//! The kernels can be compiled, and the PTX in the repository is theirs.

use nnet3_matrix::cuda::kernels;
use nnet3_matrix::cuda::nvrtc::{self, NvrtcError, Target};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn all_files_are_part_of_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = names.filter(|name| name.ends_with(".cu")).collect();
    assert_eq!(files, kernels::SOURCES.iter().map(|(name, _)| name.to_string()).collect());
}

#[test]
fn ptx_is_not_stale() {
    assert_eq!(
        kernels::ptx_fingerprint(),
        Some(kernels::fingerprint()),
        "kernels have changed: run `cargo run -p nnet3-matrix --example build_ptx` (see there)"
    );
}

#[test]
fn ptx_has_every_kernel() {
    let entries: BTreeSet<&str> =
        kernels::PTX.split(".entry ").skip(1).map(|rest| rest.split('(').next().unwrap().trim()).collect();
    let launched: BTreeSet<&str> = kernels::names().into_iter().collect();
    assert_eq!(entries, launched);
}

fn without_nvrtc() -> bool {
    let missing = !nvrtc::present();
    if missing {
        println!("skipped: libnvrtc.so is not installed (scripts/test.sh installs it)");
        assert!(std::env::var_os("NNET3_REQUIRE_NVRTC").is_none(), "NNET3_REQUIRE_NVRTC is set");
    }
    missing
}

/// Kernels compile for the oldest and the newest device that the installed NVRTC knows.
#[test]
fn nvrtc_compiles_every_kernel() {
    if without_nvrtc() {
        return;
    }
    let supported: Vec<i32> =
        nvrtc::supported().unwrap().into_iter().filter(|&c| c >= kernels::PTX_CAPABILITY).collect();
    for capability in [supported[0], *supported.last().unwrap()] {
        let ptx = String::from_utf8(nvrtc::compile(Target::Virtual(capability)).unwrap()).unwrap();
        for name in kernels::names() {
            assert!(ptx.contains(&format!(".entry {name}(")), "{name} for {capability}");
        }
        let machine_code = nvrtc::compile(Target::Machine(capability)).unwrap();
        assert!(machine_code.starts_with(b"\x7fELF"));
        println!("compute capability {capability}: {} bytes of machine code", machine_code.len());
    }
}

#[test]
fn a_wrong_program_is_explained() {
    if without_nvrtc() {
        return;
    }
    let capability = nvrtc::supported().unwrap()[0];
    let error = nvrtc::compile_program("#line 1 \"wrong.cu\"\nint x = y;\n", Target::Virtual(capability))
        .unwrap_err();
    assert!(matches!(&error, NvrtcError::Compilation { log, .. } if log.contains("wrong.cu(1)")), "{error}");
}
