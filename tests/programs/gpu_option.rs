//! `--use-gpu` on machines without a GPU.

use crate::common::{Folder, run};
use nnet3_matrix::cuda::driver;

const NETWORK: &str = "input-node name=input dim=2\n\
    component name=a type=NaturalGradientAffineComponent input-dim=2 output-dim=2\n\
    component-node name=a component=a input=input\noutput-node name=output input=a\n";

#[test]
fn without_a_gpu() {
    if driver::count().is_ok() {
        println!("skipped: there is a GPU");
        return;
    }
    let f = Folder::new("gpu-option");
    let (config, network) = (f.write("net.config", NETWORK), f.path("net.raw"));
    crate::common::succeed("nnet3-init", &[&config, &network]);
    let feats = format!("ark:{}", f.write("feats.ark", "u  [\n  1 2\n  3 4 ]\n"));
    let compute =
        |options: &[&str]| run("nnet3-compute", &[options, &[&network, &feats, "ark,t:-"]].concat());

    let host = compute(&["--use-gpu=no"]);
    assert_eq!(host.status, 0);
    assert!(host.stderr.contains("SelectGpuId():cu-device.cc"), "{}", host.stderr);
    assert!(host.stderr.contains("Manually selected to compute on CPU."), "{}", host.stderr);

    for options in [&["--use-gpu=yes"][..], &["--use-gpu=wait"], &["--use-gpu=yes", "--gpu-math=bf16"]] {
        let refused = compute(options);
        assert_eq!((refused.status, refused.stdout.as_str()), (255, ""), "{options:?}");
        let line = refused.stderr.lines().find(|line| line.starts_with("ERROR ")).expect("an ERROR line");
        // The reason follows.
        for part in [options[0], "no GPU can be used", "): "] {
            assert!(line.contains(part), "{line}");
        }
    }
    for options in [&["--use-gpu=optional"][..], &[]] {
        let answer = compute(options);
        assert_eq!((answer.status, &answer.stdout), (0, &host.stdout), "{}", answer.stderr);
        assert!(answer.stderr.contains("WARNING (nnet3-compute"), "{}", answer.stderr);
        assert!(answer.stderr.contains("Running on CPU since --use-gpu=optional: "), "{}", answer.stderr);
    }
    for (option, text) in [("--gpu-math=fp8", "fp32, tf32 or bf16"), ("--device-id=-2", "--device-id=-2")] {
        let refused = compute(&["--use-gpu=no", option]);
        assert_eq!(refused.status, 255, "{}", refused.stderr);
        assert!(refused.stderr.contains(text), "{}", refused.stderr);
    }
}
