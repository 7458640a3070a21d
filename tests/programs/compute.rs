//! `nnet3-compute` and `nnet3-compute-batch` as programs: against the reference's figures where they are, and on a
//! network small enough to calculate by hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kaldi_io::holder::MatrixHolder;
use kaldi_io::{DenseMatrix, SequentialReader};

type Table = Vec<(String, DenseMatrix<f32>)>;

fn run(program: &str, folder: &Path, arguments: &[&str]) -> Output {
    let path = Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name(program);
    Command::new(path).current_dir(folder).args(arguments).output().unwrap()
}

fn compute(folder: &Path, arguments: &[&str]) -> Output {
    run("nnet3-compute", folder, arguments)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(rspecifier: &str) -> Table {
    let mut reader = SequentialReader::<MatrixHolder>::open(rspecifier).unwrap();
    let mut table = Table::new();
    while let Some(entry) = reader.next().unwrap() {
        table.push(entry);
    }
    table
}

/// ‖a - b‖ / ‖b‖.
fn relative_difference(a: &DenseMatrix<f32>, b: &DenseMatrix<f32>) -> f64 {
    assert_eq!((a.rows, a.cols), (b.rows, b.cols));
    let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>();
    let difference = squares(&mut a.data.iter().zip(&b.data).map(|(x, y)| x - y));
    (difference / squares(&mut b.data.iter().copied())).sqrt()
}

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The commands of `compute/*.cmd` in the folder `NNET3_TRAINING_DIR`, and the outputs of the reference.
#[test]
fn figures_of_the_reference() {
    let Some(dir) = kaldi_io::testing::data_folder("NNET3_TRAINING_DIR") else {
        return;
    };
    let inputs = Path::new(&dir).join("compute").canonicalize().unwrap();
    let out = folder("compute-figures");
    let mut cases = 0;
    for entry in std::fs::read_dir(&inputs).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "cmd") {
            continue;
        }
        let command = std::fs::read_to_string(&path).unwrap();
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let (last, arguments) = words.split_last().unwrap();
        let name = last.strip_prefix("ark:").unwrap();
        let result = format!("ark:{}", out.join(name).display());
        let theirs = read(&format!("ark:{}", inputs.join(name).display()));
        // Only recurrent networks depend on the beginning of the last chunk.
        let minibatches = ["--minibatch-size=3", "--edge-minibatch-size=2"];
        let batch: &[_] =
            if name.starts_with("tdnn") { &[("nnet3-compute-batch", &minibatches[..])] } else { &[] };
        for (program, options) in [&[("nnet3-compute", &[][..])], batch].concat() {
            let output = run(program, &inputs, &[options, arguments, &[result.as_str()]].concat());
            assert!(output.status.success(), "{program} {command}{}", stderr(&output));
            assert!(stderr(&output).contains("Done 5 utterances, failed for 0"));
            let ours = read(&result);
            assert_eq!(ours.len(), theirs.len());
            for ((key, a), (their_key, b)) in ours.iter().zip(&theirs) {
                assert_eq!(key, their_key);
                let difference = relative_difference(a, b);
                assert!(difference <= 1e-4, "{program} {name} {key}: {difference}");
            }
            cases += 1;
        }
    }
    assert!(cases > 0, "no cases in {}", inputs.display());
}

/// y(t) = 2 x(t-1) + x(t+1) - 1, and i-vectors added.
const NETWORK: &str = "<Nnet3> 
input-node name=input dim=1
input-node name=ivector dim=1
component-node name=a component=a input=Append(Offset(input, -1), Offset(input, 1), ReplaceIndex(ivector, t, 0))
output-node name=output input=a objective=linear

<NumComponents> 1 
<ComponentName> a <AffineComponent> <LearningRate> 0.001 <LinearParams>  [
  2 1 1 ]
<BiasParams>  [ -1 ]
</AffineComponent> 
</Nnet3> ";

const FEATURES: &str = "\
s1-a  [\n  1\n  2\n  4 ]
s1-empty  [ ]
s2-unknown  [\n  1 ]
s1-b  [\n  3 ]
";

fn small_case(name: &str) -> PathBuf {
    let dir = folder(name);
    std::fs::write(dir.join("net.raw"), NETWORK).unwrap();
    std::fs::write(dir.join("feats.ark"), FEATURES).unwrap();
    std::fs::write(dir.join("ivectors.ark"), "s1  [ 10 ]\n").unwrap();
    std::fs::write(dir.join("utt2spk"), "s1-a s1\ns1-b s1\ns1-empty s1\ns2-unknown s2\n").unwrap();
    dir
}

const IVECTORS: [&str; 2] = ["--ivectors=ark:ivectors.ark", "--utt2spk=ark:utt2spk"];

#[test]
fn by_hand() {
    let dir = small_case("compute-by-hand");
    let arguments =
        [&IVECTORS[..], &["--use-gpu=no", "--frames-per-chunk=2", "net.raw", "ark:feats.ark", "ark,t:-"]]
            .concat();
    let output = compute(&dir, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Edges are repeated: x(-1) = x(0).
    assert_eq!(String::from_utf8_lossy(&output.stdout), "s1-a  [\n  13 \n  15 \n  17 ]\ns1-b  [\n  18 ]\n");
    let log = stderr(&output);
    assert!(log.contains("WARNING (nnet3-compute[5.5]:main():nnet3-compute.cc:"), "{log}");
    assert!(log.contains("Zero-length utterance: s1-empty"), "{log}");
    assert!(log.contains("No iVector available for utterance s2-unknown"), "{log}");
    assert!(log.contains("s: real-time factor assuming 100 frames/sec is "), "{log}");
    assert!(log.contains(") Done 2 utterances, failed for 2\n"), "{log}");
}

/// Online: one or two new frames at a time give what the whole utterance gives.
#[test]
fn looped() {
    let dir = small_case("compute-looped");
    for chunk in ["--frames-per-chunk=1", "--frames-per-chunk=2"] {
        let options = ["--use-gpu=no", "--looped=true", chunk, "net.raw", "ark:feats.ark", "ark,t:-"];
        let output = compute(&dir, &[&IVECTORS[..], &options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let expected = "s1-a  [\n  13 \n  15 \n  17 ]\ns1-b  [\n  18 ]\n";
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        assert!(stderr(&output).contains(":CompileLooped():nnet-compile-looped.cc:"), "{}", stderr(&output));
    }
    let options = ["--looped=true", "--extra-right-context=3", "net.raw", "ark:feats.ark", "ark,t:-"];
    let output = compute(&dir, &options);
    assert_eq!(output.status.code(), Some(255));
    assert!(
        stderr(&output).contains("--extra-right-context=3 is for separate chunks"),
        "{}",
        stderr(&output)
    );
}

/// The same figures and order, whatever runs together; the last one of three frames also from padded chunks.
#[test]
fn minibatches() {
    let dir = small_case("compute-batch");
    let expected = "s1-a  [\n  13 \n  15 \n  17 ]\ns1-b  [\n  18 ]\n";
    for options in [
        &["--minibatch-size=1", "--frames-per-chunk=1"][..],
        &["--minibatch-size=2", "--frames-per-chunk=2", "--partial-minibatch-factor=0"],
        &["--extra-left-context=3", "--extra-left-context-initial=0", "--frames-per-chunk=2"],
        &["--ensure-exact-final-context=true"],
        &[],
    ] {
        let files = ["net.raw", "ark:feats.ark", "ark,t:-"];
        let arguments = [&IVECTORS[..], options, &["--use-gpu=no"], &files].concat();
        let output = run("nnet3-compute-batch", &dir, &arguments);
        assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{options:?}");
        let log = stderr(&output);
        assert!(log.contains("No iVector available for utterance s2-unknown"), "{log}");
        assert!(log.contains("frames-in:frames-out*minibatch-size=num-done(percent-full%)  0."), "{log}");
        assert!(log.contains(") Done 2 utterances, failed for 2\n"), "{log}");
    }
    let wrong = ["--partial-minibatch-factor=1", "net.raw", "ark:feats.ark", "ark:out.ark"];
    let output = run("nnet3-compute-batch", &dir, &wrong);
    assert_eq!(output.status.code(), Some(255));
    assert!(stderr(&output).contains("partial-minibatch-factor must be"), "{}", stderr(&output));
}

/// An acoustic model of the small network, with these priors.
fn write_model(dir: &Path, file: &str, priors: &str) {
    let transitions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/am/transitions.mdl");
    let text = run("copy-transition-model", dir, &["--binary=false", transitions.to_str().unwrap(), "-"]);
    let transitions = String::from_utf8(text.stdout).unwrap();
    let tail = format!("<LeftContext> 1 <RightContext> 1 <Priors>  [ {priors}]\n");
    std::fs::write(dir.join(file), format!("{transitions}{NETWORK}{tail}")).unwrap();
}

/// (y - ln 0.5) / 2.
#[test]
fn priors_that_do_not_fit_the_outputs_are_refused_or_subtracted() {
    let dir = small_case("compute-priors");
    write_model(&dir, "half.mdl", "0.5 ");
    write_model(&dir, "none.mdl", "");
    write_model(&dir, "two.mdl", "0.5 0.5 ");
    let io = ["ark:feats.ark", "ark,t:-"];
    let with = |program: &str, priors: &str, options: &[&str]| {
        let arguments = [&IVECTORS[..], options, &["--acoustic-scale=0.5", priors], &io].concat();
        run(program, &dir, &arguments)
    };
    let (use_priors, looped) = (["--use-priors=true"], ["--use-priors=true", "--looped=true"]);
    let cases = [
        ("nnet3-compute", &use_priors[..]),
        ("nnet3-compute", &looped),
        ("nnet3-compute-batch", &use_priors),
    ];
    for (program, options) in cases {
        let output = with(program, "half.mdl", options);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "s1-a  [\n  6.846574 \n  7.846574 \n  8.846574 ]\ns1-b  [\n  9.346574 ]\n",
            "{program}: {}",
            stderr(&output)
        );
        let output = with(program, "none.mdl", options);
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("s1-a  [\n  6.5 \n"));
        assert!(stderr(&output).contains("WARNING") && stderr(&output).contains("the model has no priors"));
        for (model, words) in [
            ("two.mdl", "two.mdl: the network's output has dimension 1, but there are 2 priors"),
            ("net.raw", "found a raw network"),
        ] {
            let output = with(program, model, options);
            assert_eq!(output.status.code(), Some(255));
            assert!(stderr(&output).contains(words), "{}", stderr(&output));
        }
    }
    let output = with("nnet3-compute", "half.mdl", &[]);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("s1-a  [\n  6.5 \n"));
}

#[test]
fn scale_exp_and_subsampling() {
    let dir = small_case("compute-scale");
    let options =
        ["--acoustic-scale=0.5", "--apply-exp=true", "--frame-subsampling-factor=2", "--frames-per-chunk=3"];
    let arguments = [&IVECTORS[..], &options, &["net.raw", "ark:feats.ark", "ark:out.ark"]].concat();
    let output = compute(&dir, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table = read(&format!("ark:{}", dir.join("out.ark").display()));
    assert_eq!(table[0].1.rows, 2);
    for (value, exponent) in table[0].1.data.iter().zip([6.5f32, 8.5]) {
        assert!((value / exponent.exp() - 1.0).abs() < 1e-5, "{value}");
    }
    let log = stderr(&output);
    assert!(log.contains("Increasing --frames-per-chunk from 3 to 4 to make it a multiple of"), "{log}");
    assert!(log.contains("Running on CPU") || log.contains("The active GPU is"), "{log}");
    // Trainings write their factor beside the model.
    let warning = "--frame-subsampling-factor=2, but net.raw was trained with 3";
    assert!(!log.contains(warning), "{log}");
    std::fs::write(dir.join("frame_subsampling_factor"), "3\n").unwrap();
    let log = stderr(&compute(&dir, &arguments));
    assert!(log.contains(warning), "{log}");
}

#[test]
fn online_ivectors() {
    let dir = small_case("compute-online");
    std::fs::write(dir.join("online.ark"), "s1-a  [\n  10\n  20 ]\ns1-b  [\n  30 ]\n").unwrap();
    let options = ["--online-ivectors=ark:online.ark", "--online-ivector-period=2", "--frames-per-chunk=2"];
    let arguments = [&options[..], &["net.raw", "ark:feats.ark", "ark,t:-"]].concat();
    let output = compute(&dir, &arguments);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "s1-a  [\n  13 \n  15 \n  27 ]\ns1-b  [\n  38 ]\n",
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("No online iVector available for utterance s2-unknown"));
}

#[test]
fn wrong_inputs_of_nnet3_compute_have_kaldis_statuses() {
    let dir = small_case("compute-statuses");
    std::fs::write(dir.join("none.ark"), "").unwrap();
    std::fs::write(dir.join("wide.ark"), "s1-a  [\n  1 2 ]\n").unwrap();
    let io = |feats| ["net.raw", feats, "ark:out.ark"];
    let check = |arguments: &[&str], status: i32, message: &str| {
        let output = compute(&dir, arguments);
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {log}");
        assert!(log.contains(message), "{arguments:?}: {log}");
        assert!(output.stdout.is_empty());
    };
    check(&["net.raw", "ark:feats.ark"], 1, "Usage: nnet3-compute [options] <nnet-in>");
    check(&["--no-such=1", "a", "b", "c"], 255, "Invalid option --no-such=1");

    check(&["--use-gpu=maybe", "a", "b", "c"], 255, "of --use-gpu: expected one of yes, no, optional, wait");
    check(&["--acoustic-scale=0", "net.raw", "b", "c"], 255, "--acoustic-scale");
    check(&["--frames-per-chunk=0", "net.raw", "ark:feats.ark", "ark:out.ark"], 255, "frames-per-chunk");
    check(&[&IVECTORS[..], &io("ark:none.ark")].concat(), 1, "Done 0 utterances, failed for 0");
    check(
        &[&IVECTORS[..], &io("ark:wide.ark")].concat(),
        255,
        "utterance s1-a: the network's input-node 'input'",
    );
    check(&io("ark:feats.ark"), 255, "'ivector' (dimension 1), but nothing is given");
    let both = ["--ivectors=ark:a", "--online-ivectors=ark:b"];
    check(&[&both[..], &io("ark:feats.ark")].concat(), 255, "cannot both be given");
    let no_period = ["--online-ivectors=ark:ivectors.ark"];
    check(&[&no_period[..], &io("ark:feats.ark")].concat(), 255, "--online-ivector-period");
}

/// A file with a byte a weight is the network with rounded weights; programs round a network of floats in the same way.
#[test]
fn weights_of_eight_bits() {
    let dir = folder("compute-int8");
    let config = "input-node name=input dim=2
        component name=a type=AffineComponent input-dim=6 output-dim=90
        component name=r type=RectifiedLinearComponent dim=90
        component name=b type=TdnnComponent input-dim=90 output-dim=80 time-offsets=-1,0
        component name=s type=RectifiedLinearComponent dim=80
        component name=c type=LinearComponent input-dim=80 output-dim=70
        component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 1))
        component-node name=r component=r input=a
        component-node name=b component=b input=r
        component-node name=s component=s input=b
        component-node name=c component=c input=s
        output-node name=output input=c\n";
    std::fs::write(dir.join("config"), config).unwrap();
    std::fs::write(dir.join("feats.ark"), "u  [\n  1 2\n  -1 0\n  0.5 3\n  2 -2\n  0 0.1 ]\n").unwrap();
    let done = |program: &str, arguments: &[&str]| {
        let output = run(program, &dir, arguments);
        assert_eq!(output.status.code(), Some(0), "{program} {arguments:?}: {}", stderr(&output));
        output
    };
    done("nnet3-init", &["config", "full.raw"]);
    done("nnet3-copy", &["--weights=int8", "full.raw", "bytes.raw"]);
    done("nnet3-copy", &["bytes.raw", "rounded.raw"]);
    let size = |name: &str| std::fs::metadata(dir.join(name)).unwrap().len();
    assert_eq!(size("rounded.raw"), size("full.raw"));
    // 90 · 2 · 80 + 80 · 70 weights.
    let saved = size("full.raw") - size("bytes.raw");
    assert!((59_000..60_000).contains(&saved), "{saved} bytes");
    let outputs = |options: &[&str], model: &str| {
        let io = ["--use-gpu=no", model, "ark:feats.ark", "ark:out.ark"];
        done("nnet3-compute", &[options, &io].concat());
        read(&format!("ark:{}", dir.join("out.ark").display())).remove(0).1
    };
    let (full, rounded) = (outputs(&[], "full.raw"), outputs(&[], "rounded.raw"));
    assert_eq!(outputs(&[], "bytes.raw"), rounded);
    let int8 = outputs(&["--weights=int8"], "full.raw");
    assert_eq!(outputs(&["--weights=int8"], "bytes.raw"), int8);
    for (a, b) in [(&rounded, &full), (&int8, &rounded)] {
        let difference = relative_difference(a, b);
        assert!((1e-5..0.03).contains(&difference), "{difference}");
    }
    let looped = outputs(&["--weights=int8", "--looped=true", "--frames-per-chunk=2"], "full.raw");
    assert!(relative_difference(&looped, &int8) < 0.01);
    let output = run("nnet3-copy", &dir, &["--weights=int8", "--binary=false", "full.raw", "text.raw"]);
    assert_eq!(output.status.code(), Some(255));
    assert!(stderr(&output).contains("--weights=int8: expected --binary=true"), "{}", stderr(&output));
    assert!(!dir.join("text.raw").exists());
    let bytes = std::fs::read(dir.join("bytes.raw")).unwrap();
    std::fs::write(dir.join("cut.raw"), &bytes[..bytes.len() - 3000]).unwrap();
    let output = compute(&dir, &["--use-gpu=no", "cut.raw", "ark:feats.ark", "ark:cut.ark"]);
    assert_eq!(output.status.code(), Some(255));
    assert!(stderr(&output).contains("cut.raw"), "{}", stderr(&output));
}
