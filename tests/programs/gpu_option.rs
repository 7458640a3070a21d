//! `--use-gpu` on machines without a GPU.

use crate::common::{self, Folder, Output, run};
use nnet3_matrix::cuda::driver::{self, Unavailable};

const NETWORK: &str = "input-node name=input dim=2\n\
    component name=a type=NaturalGradientAffineComponent input-dim=2 output-dim=2\n\
    component-node name=a component=a input=input\noutput-node name=output input=a\n";

/// Runs a program with a variable in its environment.
fn run_with(variable: (&str, &str), program: &str, arguments: &[&str]) -> Output {
    let mut command = std::process::Command::new(common::binary(program));
    let output = command.args(arguments).env(variable.0, variable.1).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status.code().unwrap_or(-1);
    Output { status, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Runs a program that needs a GPU.
fn required(program: &str, arguments: &[&str]) -> Output {
    run_with(("NNET3_REQUIRE_GPU", "1"), program, arguments)
}

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
        let refused = required("nnet3-compute", &[options, &[&network, &feats, "ark,t:-"]].concat());
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
        // (Most machines have no driver: that is no warning.)
        let is_usual = matches!(driver::count(), Err(Unavailable::NoDriver));
        let kind = if is_usual { "LOG (nnet3-compute" } else { "WARNING (nnet3-compute" };
        let mut lines = answer.stderr.lines().filter(|line| line.starts_with(kind));
        assert!(
            lines.any(|line| line.contains("Running on CPU since --use-gpu=optional: ")),
            "{}",
            answer.stderr
        );
    }
    // Recipes for GPUs run where there is no driver, as they do with the reference built without CUDA, but not in silence.
    if matches!(driver::count(), Err(Unavailable::NoDriver)) {
        for option in ["--use-gpu=yes", "--use-gpu=wait"] {
            let answer = compute(&[option]);
            assert_eq!((answer.status, &answer.stdout), (0, &host.stdout), "{}", answer.stderr);
            let warning = format!("Running on CPU in spite of {option}: no NVIDIA driver is installed");
            assert!(answer.stderr.contains(&warning), "{}", answer.stderr);
            assert!(answer.stderr.contains("NNET3_REQUIRE_GPU=1"), "{}", answer.stderr);
        }
        assert_eq!(run("cuda-compiled", &[]).status, 1);
        assert_eq!(run("cuda-gpu-available", &[]).status, 1);
    }
    // With NNET3_GPU=optional recipes that insist on a GPU run anywhere.
    let optional = |program, arguments: &[&str]| run_with(("NNET3_GPU", "optional"), program, arguments);
    for option in ["--use-gpu=yes", "--use-gpu=wait"] {
        let answer = optional("nnet3-compute", &[option, &network, &feats, "ark,t:-"]);
        assert_eq!((answer.status, &answer.stdout), (0, &host.stdout), "{}", answer.stderr);
        let warnings: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with("WARNING ")).collect();
        let [warning] = warnings[..] else { panic!("{}", answer.stderr) };
        assert!(
            warning.contains(&format!("Running on CPU in spite of {option}, since NNET3_GPU=optional: ")),
            "{warning}"
        );
    }
    let compiled = optional("cuda-compiled", &[]);
    assert_eq!((compiled.status, compiled.stdout.as_str(), compiled.stderr.as_str()), (0, "", ""));
    assert_eq!(optional("cuda-gpu-available", &[]).status, run("cuda-gpu-available", &[]).status);
    for program in ["cuda-compiled", "nnet3-compute"] {
        let arguments: &[&str] =
            if program == "cuda-compiled" { &[] } else { &["--use-gpu=yes", &network, &feats, "ark,t:-"] };
        let refused = run_with(("NNET3_GPU", "maybe"), program, arguments);
        assert_eq!(refused.status, 255, "{}", refused.stderr);
        assert!(refused.stderr.contains("NNET3_GPU=maybe: expected optional"), "{}", refused.stderr);
    }
    assert_eq!(required("cuda-compiled", &[]).status, 0);
    assert_eq!(required("cuda-gpu-available", &[]).status, 255);
    for (option, text) in
        [("--gpu-math=fp8", "expected one of fp32, tf32, bf16"), ("--device-id=-2", "--device-id=-2")]
    {
        let refused = compute(&["--use-gpu=no", option]);
        assert_eq!(refused.status, 255, "{}", refused.stderr);
        assert!(refused.stderr.contains(text), "{}", refused.stderr);
    }
}
