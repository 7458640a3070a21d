//! `--cpu-math`, on processors with AVX512-BF16 and others.

use crate::common::{Folder, run, succeed};
use nnet3_matrix::{CpuMath, cpu_with};

const NETWORK: &str = "component name=a type=AffineComponent input-dim=40 output-dim=50\n\
    input-node name=input dim=40\ncomponent-node name=a component=a input=input\noutput-node name=output input=a\n";

/// The numbers of a text archive.
fn numbers(text: &str) -> Vec<f32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn products_in_bf16() {
    let f = Folder::new("cpu-math");
    let (config, network) = (f.write("net.config", NETWORK), f.path("net.raw"));
    succeed("nnet3-init", &[&config, &network]);
    let rows: String = (0..60 * 40)
        .map(|i| format!("{}{}", i as f32 * 0.37 % 1.0 - 0.5, if i % 40 == 39 { "\n" } else { " " }))
        .collect();
    let feats = format!("ark:{}", f.write("feats.ark", format!("u  [\n{rows}]\n")));
    let compute = |options: &[&str]| {
        run("nnet3-compute", &[&["--use-gpu=no"][..], options, &[&network, &feats, "ark,t:-"]].concat())
    };
    let floats = compute(&[]);
    assert_eq!(compute(&["--cpu-math=fp32"]).stdout, floats.stdout);
    assert!(!floats.stderr.contains("cpu-math="), "{}", floats.stderr);

    let halves = compute(&["--cpu-math=bf16"]);
    assert_eq!(halves.status, 0, "{}", halves.stderr);
    let (expected, found) = (numbers(&floats.stdout), numbers(&halves.stdout));
    assert_eq!((expected.len(), found.len()), (60 * 50, 60 * 50));
    let warnings = halves.stderr.lines().filter(|line| line.starts_with("WARNING ")).count();
    match cpu_with(CpuMath::Bf16) {
        Ok(_) => {
            assert!(
                halves.stderr.contains("Matrix products on the CPU: bf16, AVX512-BF16"),
                "{}",
                halves.stderr
            );
            assert_eq!(warnings, 0, "{}", halves.stderr);
            assert_ne!(expected, found);
            let worst = expected.iter().zip(&found).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
            assert!(worst < 0.02, "{worst}");
        }
        Err(why) => {
            assert_eq!(warnings, 1, "{}", halves.stderr);
            let warning = format!("--cpu-math=bf16: {why}; matrix products are in fp32.");
            // A rate is measured by each process.
            let start = warning.split_once(" times").map_or(&*warning, |_| "--cpu-math=bf16: this processor");
            assert!(halves.stderr.contains(start), "{}", halves.stderr);
            assert_eq!(expected, found);
        }
    }

    let refused = compute(&["--cpu-math=fp8"]);
    assert_eq!(refused.status, 255, "{}", refused.stderr);
    assert!(refused.stderr.contains("expected one of fp32, bf16"), "{}", refused.stderr);
}

#[test]
fn programs_that_run_or_train_networks_have_the_option() {
    for program in [
        "nnet3-train",
        "nnet3-chain-train",
        "nnet3-discriminative-train",
        "rnnlm-train",
        "nnet3-fit",
        "nnet3-combine",
        "nnet3-chain-combine",
        "nnet3-compute",
        "nnet3-compute-from-egs",
        "nnet3-xvector-compute",
        "nnet3-latgen-faster",
        "nnet3-align-compiled",
        "nnet3-benchmark",
        "nnet3-transcribe",
        "nnet3-serve",
        "online2-wav-nnet3-latgen-faster",
        "online2-tcp-nnet3-decode-faster",
    ] {
        let help = run(program, &["--help"]);
        assert!(format!("{}{}", help.stdout, help.stderr).contains("--cpu-math"), "{program}");
    }
}
