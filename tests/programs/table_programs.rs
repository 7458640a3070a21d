//! Command lines of the programs for matrices, vectors, posteriors and LDA statistics, with figures computed by hand.

use crate::command_lines::{close, fails, feats, numbers, output, run};
use crate::common::Folder;

#[test]
fn functions_of_matrices() {
    let f = feats("matrices");
    f.write("m.mat", " [\n 1 2\n 4 0 ]\n");
    let copy = |options: &str| output(&f, &format!("copy-matrix --binary=false {options} @m.mat -"));
    assert_eq!(copy(""), "[ 1 2 4 0 ]");
    assert_eq!(copy("--scale=0.5"), "[ 0.5 1 2 0 ]");
    assert_eq!(copy("--scale=0.5 --apply-power=2"), "[ 0.25 1 4 0 ]");
    close(&copy("--apply-log=true"), &[0.0, 2f64.ln(), 4f64.ln(), 1e-20f64.ln()], 1e-5);
    close(&copy("--apply-exp --scale=0.5"), &[0.5f64.exp(), 1f64.exp(), 2f64.exp(), 1.0], 1e-5);
    let first = 1.0 / (1.0 + 1f64.exp());
    let second = 1.0 / (1.0 + (-4f64).exp());
    close(&copy("--apply-softmax-per-row=true"), &[first, 1.0 - first, second, 1.0 - second], 1e-6);
    assert_eq!(
        output(&f, "copy-matrix --scale=2 ark:@feats.txt ark,t:-"),
        "a [ 2 4 6 8 10 14 ] b [ -2 0 2 4 ]"
    );
    fails(&f, 255, "copy-matrix --apply-log --apply-exp @m.mat -", &["only one of"]);
    fails(
        &f,
        255,
        "copy-matrix --apply-power=0.5 ark:@feats.txt ark:-",
        &["feats.txt, key 'b'", "-1 to the power"],
    );
    fails(&f, 255, "copy-matrix @m.mat ark:-", &["ark:- is a table"]);
    fails(&f, 1, "copy-matrix ark:@empty.ark ark:-", &[]);
}

#[test]
fn vectors() {
    let f = feats("vectors");
    f.write("v.txt", "a  [ 1 2 3 ]\nb  [ 4 ]\n");
    f.write("v.vec", " [ 1 2 3 ]\n");
    assert_eq!(output(&f, "copy-vector ark:@v.txt ark,t:-"), "a [ 1 2 3 ] b [ 4 ]");
    assert_eq!(
        output(&f, "copy-vector --change-dim=2 --scale=-1 ark:@v.txt ark,t:-"),
        "a [ -1 -2 ] b [ -4 -0 ]"
    );
    assert_eq!(output(&f, "copy-vector --binary=false --change_dim=4 --scale=2 @v.vec -"), "[ 2 4 6 0 ]");
    assert_eq!(output(&f, "vector-scale --scale=0.5 @v.vec -"), "[ 0.5 1 1.5 ]");
    assert_eq!(output(&f, "vector-scale --scale=3 ark:@v.txt ark,t:-"), "a [ 3 6 9 ] b [ 12 ]");
    f.write("ali.txt", "a 3 4 4\nb\n");
    assert_eq!(output(&f, "copy-int-vector ark:@ali.txt ark,t:-"), "a 3 4 4 b");
    output(&f, "copy-int-vector ark:@ali.txt ark,scp:@ali.ark,@ali.scp");
    assert_eq!(output(&f, "copy-int-vector scp:@ali.scp ark,t:-"), "a 3 4 4 b");
    f.write("i.vec", "[ 1 -1 ]\n");
    output(&f, "copy-int-vector @i.vec @i.bin");
    assert_eq!(std::fs::read(f.path("i.bin")).unwrap(), b"\0B\x04\x02\0\0\0\x01\0\0\0\xff\xff\xff\xff");
    assert_eq!(output(&f, "copy-int-vector --binary=false @i.bin -"), "[ 1 -1 ]");
    // (As kaldiio writes vectors of integers.)
    assert_eq!(output(&f, "copy-int-vector ark:@v.txt ark,t:-"), "a 1 2 3 b 4");
    f.write("floats.txt", "a  [ 1.5 2 ]\n");
    fails(&f, 255, "copy-int-vector ark:@floats.txt ark:-", &["floats.txt", "expected integers"]);
    fails(&f, 1, "copy-vector ark:@empty.ark ark:-", &[]);
    fails(&f, 0, "vector-scale ark:@empty.ark ark:-", &[]);
}

#[test]
fn sums_of_matrices() {
    let f = feats("matrix-sum");
    f.write("2.txt", "b  [\n  10 10\n  10 10 ]\na  [\n  1 1 ]\n");
    f.write("3.txt", "a  [\n  1 1\n 1 1\n 1 1 ]\nb  [\n  1 1\n 1 1 ]\n");
    assert_eq!(output(&f, "matrix-sum ark:@feats.txt ark:@3.txt ark,t:-"), "a [ 2 3 4 5 6 8 ] b [ 0 1 2 3 ]");
    assert_eq!(
        output(&f, "matrix-sum --scale1=2 --scale2=-1 ark:@feats.txt ark:@3.txt ark:@3.txt ark,t:-"),
        "a [ 2 4 6 8 10 14 ] b [ -2 0 2 4 ]"
    );
    assert_eq!(
        output(&f, "matrix-sum --average=true ark:@feats.txt ark:@3.txt ark,t:-"),
        "a [ 1 1.5 2 2.5 3 4 ] b [ 0 0.5 1 1.5 ]"
    );
    // Matrices that do not fit are skipped, and the others are written.
    let mismatch = run(&f, "matrix-sum ark:@feats.txt ark:@2.txt ark,t:-");
    assert_eq!(mismatch.status, 0);
    assert!(mismatch.stderr.contains("utterance a: 1×2 in ark:"), "{}", mismatch.stderr);
    f.write("half.txt", "b  [\n  1 1\n 1 1 ]\n");
    fails(&f, 1, "matrix-sum ark:@feats.txt ark:@half.txt ark,t:-", &["No matrix found for utterance a"]);

    assert_eq!(output(&f, "matrix-sum --binary=false ark:@half.txt -"), "[ 1 1 1 1 ]");
    fails(&f, 1, "matrix-sum ark:@feats.txt @sum.mat", &["b: dimension mismatch: 2×2 vs. 3×2"]);
    assert_eq!(output(&f, "copy-matrix --binary=false @sum.mat -"), "[ 1 2 3 4 5 7 ]");
    f.write("1.mat", " [\n 1 2 ]\n");
    f.write("2.mat", " [\n 1\n 4 ]\n");
    assert_eq!(output(&f, "matrix-sum --binary=false @1.mat @2.mat @1.mat -"), "[ 3 4 4 0 ]");
    assert_eq!(output(&f, "matrix-sum --binary=false --average=true @1.mat @1.mat -"), "[ 1 2 ]");
    assert_eq!(output(&f, "matrix-sum-rows ark:@feats.txt ark,t:-"), "a [ 9 13 ] b [ 0 2 ]");

    fails(&f, 255, "matrix-sum @1.mat ark:@feats.txt @sum.mat", &["feats.txt is a table"]);
    fails(&f, 255, "matrix-sum --scale1=2 @1.mat @2.mat -", &["scales are for tables"]);
    fails(&f, 255, "matrix-sum --scale1=2 --average ark:@feats.txt ark:@3.txt ark:-", &["--average"]);
    fails(&f, 1, "matrix-sum ark:@empty.ark @new.mat", &["no matrix to be summed"]);
    fails(&f, 1, "matrix-sum @1.mat", &["1 argument"]);
    assert!(!std::path::Path::new(&f.path("new.mat")).exists());
}

/// The command lines of the training scripts: sums of posteriors, then of jobs.
#[test]
fn sums_of_vectors() {
    let f = feats("vector-sum");
    output(&f, "matrix-sum-rows ark:@feats.txt ark:@rows.ark");
    output(&f, "vector-sum ark:@rows.ark @1.vec");
    assert_eq!(output(&f, "vector-sum --binary=false @1.vec @1.vec @1.vec -"), "[ 27 45 ]");
    assert_eq!(output(&f, "vector-sum --binary=false --average=true ark:@rows.ark -"), "[ 4.5 7.5 ]");
    assert_eq!(output(&f, "vector-sum ark:@rows.ark ark:@rows.ark ark,t:-"), "a [ 18 26 ] b [ 0 4 ]");
    f.write("other.vec", " [ 1 1 1 ]\n");
    assert_eq!(output(&f, "vector-sum --binary=false @1.vec @other.vec -"), "[ 10 16 1 ]");
    let text = run(&f, "vector-sum --binary=false @1.vec @other.vec -").stdout;
    assert_eq!(text, " [ 10 16 1 ]\n");
}

#[test]
fn posteriors() {
    let f = feats("post");
    f.write("ali.txt", "a 2 0\nb 1\n");
    f.write("post.txt", "a [ 2 0.5 1 0.25 ] [ ] \nb [ 0 1 ] \n");
    assert_eq!(output(&f, "ali-to-post ark:@ali.txt ark,t:-"), "a [ 2 1 ] [ 0 1 ] b [ 1 1 ]");
    let bin = crate::common::binary("ali-to-post").display().to_string();
    let pipe = format!("ark:{bin} ark:{} ark:- |", f.path("ali.txt"));
    assert_eq!(
        crate::common::run("copy-post", &["--scale=0.5", &pipe, "ark,t:-"]).stdout,
        "a [ 2 0.5 ] [ 0 0.5 ] \nb [ 1 0.5 ] \n"
    );
    assert_eq!(output(&f, "post-to-weights ark:@post.txt ark,t:-"), "a [ 0.75 0 ] b [ 1 ]");
    assert_eq!(
        output(&f, "post-to-feats --post-dim=3 ark:@post.txt ark,t:-"),
        "a [ 0 0.25 0.5 0 0 0 ] b [ 1 0 0 ]"
    );
    f.write("one.post", "[ 1 0.5 ] [ 0 1 ]\n");
    assert_eq!(output(&f, "post-to-feats --binary=false --post-dim=2 @one.post -"), "[ 0 0.5 1 0 ]");
    assert_eq!(
        output(&f, "post-to-smat --dim=3 ark:@post.txt ark,t:-"),
        "a rows=2 dim=3 [ 1 0.25 2 0.5 ] dim=3 [ ] b rows=1 dim=3 [ 0 1 ]"
    );
    assert_eq!(output(&f, "scale-post ark:@post.txt 2 ark,t:-"), "a [ 2 1 1 0.5 ] [ ] b [ 0 2 ]");
    f.write("scales.txt", "b 0\n");
    let scaled = run(&f, "scale-post ark:@post.txt ark:@scales.txt ark,t:-");
    assert_eq!((scaled.status, scaled.stdout.as_str()), (0, "b [ ] \n"));
    assert!(scaled.stderr.contains("a: no scale in ark:"), "{}", scaled.stderr);
    f.write("weights.txt", "a  [ 2 ]\nb  [ 0 0 0 0 ]\n");
    let weighted = run(&f, "weight-post ark:@post.txt ark:@weights.txt ark,t:-");
    assert_eq!((weighted.status, weighted.stdout.as_str()), (0, "a [ 2 1 1 0.5 ] [ ] \n"));
    assert!(
        weighted.stderr.contains("Weights for utterance b have wrong size, 4 vs. 1"),
        "{}",
        weighted.stderr
    );
    assert_eq!(
        output(&f, "weight-post --length-tolerance=3 ark:@post.txt ark:@weights.txt ark,t:-"),
        "a [ 2 1 1 0.5 ] [ ] b [ ]"
    );

    f.write("other.txt", "a [ 2 -0.5 0 1 ] [ 1 1 ] \n");
    let sum = run(&f, "sum-post ark:@post.txt ark:@other.txt ark,t:-");
    assert_eq!((sum.status, sum.stdout.as_str()), (0, "a [ 0 1 1 0.25 ] [ 1 1 ] \n"));
    assert!(
        sum.stderr.contains("Second set of posteriors has nothing for key b, producing no output. (ark:")
            && sum.stderr.contains("i.e. 50%"),
        "{}",
        sum.stderr
    );
    assert_eq!(
        output(&f, "sum-post --scale2=-1 --drop-frames=true ark:@post.txt ark:@other.txt ark,t:-"),
        "a [ 0 -1 1 0.25 2 1 ] [ ]"
    );
    assert_eq!(
        output(&f, "sum-post --merge=false --zero-if-disjoint=true ark:@other.txt ark:@post.txt ark,t:-"),
        "a [ 0 1 1 0.25 2 -0.5 2 0.5 ] [ ]"
    );

    fails(&f, 255, "post-to-feats ark:@post.txt ark:-", &["--post-dim is required"]);
    fails(
        &f,
        255,
        "post-to-feats --post-dim=2 ark:@post.txt ark:-",
        &["post.txt, key 'a'", "id 2 of frame 0"],
    );
    fails(&f, 255, "post-to-feats --post-dim=2 ark:@empty.ark ark:-", &["nothing to write"]);
    fails(&f, 255, "post-to-smat --dim=2 ark:@post.txt ark:-", &["key 'a'", "frame 0"]);
    fails(&f, 0, "post-to-smat --dim=2 ark:@empty.ark ark:-", &[]);
    fails(&f, 255, "scale-post ark:@post.txt x ark:-", &["'x'"]);
    fails(&f, 1, "ali-to-post ark:@empty.ark ark:-", &[]);
}

/// Spliced features go through; the targets have another dimension than the output.
const SPLICE: &str =
    "input-node name=input dim=2\noutput-node name=output input=Append(Offset(input, -1), input)\n";

fn examples(f: &Folder) {
    let (mut feats, mut post) = (String::new(), String::new());
    for utterance in 0..4u32 {
        feats += &format!("u{utterance}  [\n");
        post += &format!("u{utterance}");
        for t in 0..12u32 {
            let class = (t / 2 + utterance) % 3;
            let noise = |k: u32| f64::from((t * 37 + utterance * 101 + k * 53) % 17) / 17.0;
            feats +=
                &format!("  {:.4} {:.4}\n", f64::from(class) + noise(1), noise(2) - f64::from(class * class));
            post += &format!(" [ {class} 1 ]");
        }
        feats += " ]\n";
        post += " \n";
    }
    f.write("egs-feats.txt", feats);
    f.write("post.txt", post);
    f.write("splice.config", SPLICE);
    output(f, "nnet3-init @splice.config @splice.raw");
    output(
        f,
        "nnet3-get-egs --num-pdfs=3 --num-frames=4 --left-context=1 --compress=false ark:@egs-feats.txt ark:@post.txt ark:@egs.ark",
    );
}

/// The commands of the LDA stage of the training scripts.
#[test]
fn the_lda_stage() {
    let f = feats("lda");
    examples(&f);
    let stats = run(&f, "nnet3-acc-lda-stats @splice.raw ark:@egs.ark @1.acc");
    assert_eq!(stats.status, 0, "{}", stats.stderr);
    assert!(stats.stderr.contains("Processed 12 examples."), "{}", stats.stderr);
    assert!(stats.stderr.contains("soft frame count = 48.  Wrote to"), "{}", stats.stderr);
    output(&f, "nnet3-acc-lda-stats --rand-prune=4.0 @splice.raw ark:@egs.ark @2.acc");
    output(&f, "sum-lda-accs --binary=false @sum.acc @1.acc @1.acc");
    let text = f.read("sum.acc");
    assert!(text.starts_with("<LDAACCS> <VECSIZE> 4 <NUMCLASSES> 3 <ZERO_ACCS>  [ 32 32 32 ]"), "{text}");

    output(
        &f,
        "nnet-get-feature-transform --binary=false --write-cholesky=@l.tp --write-within-covar=@w.sp @lda.mat @1.acc @1.acc",
    );
    let (lower, covariance) = (numbers(&f.read("l.tp")), numbers(&f.read("w.sp")));
    assert_eq!((lower.len(), covariance.len()), (10, 10));
    assert!(
        (lower[0] * lower[0] - covariance[0]).abs() < 1e-5
            && (lower[0] * lower[1] - covariance[1]).abs() < 1e-5
    );
    // The same transform M from their sum, up to rotations of directions that tell no classes apart: the same MᵀM.
    output(&f, "nnet-get-feature-transform --binary=false @lda2.mat @sum.acc");
    let square = |name: &str| {
        let m = numbers(&f.read(name));
        let entry = |i: usize| (0..4).map(|row| m[5 * row + i / 5] * m[5 * row + i % 5]).sum();
        (0..25).map(entry).collect::<Vec<f64>>()
    };
    for (found, expected) in square("lda2.mat").iter().zip(square("lda.mat")) {
        assert!((found - expected).abs() < 1e-3 * (1.0 + expected.abs()), "{found} instead of {expected}");
    }
    assert_eq!(run(&f, "matrix-dim @lda.mat").stdout, "4\t5\n");
    output(&f, "nnet-get-feature-transform --dim=2 --remove-offset=false @small.mat @1.acc");
    assert_eq!(run(&f, "matrix-dim @small.mat").stdout, "2\t4\n");
    f.write(
        "next.config",
        format!(
            "component name=lda type=FixedAffineComponent matrix={}\ncomponent-node name=lda component=lda \
             input=Append(Offset(input, -1), input)\noutput-node name=output input=lda\n",
            f.path("lda.mat")
        ),
    );
    output(&f, "nnet3-init @splice.raw @next.config @next.raw");

    output(&f, "est-lda --dim=2 --write-full-matrix=@full.mat @est.mat @1.acc");
    assert_eq!(run(&f, "matrix-dim @est.mat").stdout, "2\t4\n");
    assert_eq!(run(&f, "matrix-dim @full.mat").stdout, "4\t4\n");
    output(&f, "est-lda --dim=4 --allow-large-dim=true --remove-offset=true @est.mat @1.acc");
    assert_eq!(run(&f, "matrix-dim @est.mat").stdout, "4\t5\n");
    fails(&f, 255, "est-lda --dim=3 @est.mat @1.acc", &["--allow-large-dim"]);
    fails(&f, 255, "est-lda @est.mat @1.acc", &["--dim=40", "dimension 4"]);
    fails(&f, 255, "nnet-get-feature-transform @x.mat @lda.mat", &["lda.mat", "<LDAACCS>"]);
    fails(&f, 255, "nnet3-acc-lda-stats @splice.raw ark:@empty.ark @x.acc", &["empty.ark", "no statistics"]);
    f.write("other.acc", "<LDAACCS> <VECSIZE> 1 <NUMCLASSES> 1 <ZERO_ACCS>  [ 1 ]\n<FIRST_ACCS>  [\n  1 ]\n<SECOND_ACCS> [\n0 ]\n</LDAACCS> ");
    fails(&f, 255, "sum-lda-accs @x.acc @1.acc @other.acc", &["other.acc", "dimension 1"]);
    fails(&f, 1, "sum-lda-accs @x.acc", &["1 argument"]);
}

#[test]
fn outputs_for_examples() {
    let f = feats("from-egs");
    examples(&f);
    output(&f, "nnet3-compute-from-egs --use-gpu=no @splice.raw ark:@egs.ark ark,t:@out.txt");
    let first = f.read("out.txt").lines().take(3).collect::<Vec<_>>().join(" ");
    let first: Vec<f64> = numbers(&first);
    let feats = numbers(&f.read("egs-feats.txt"));
    assert_eq!(first[..8], [feats[0], feats[1], feats[0], feats[1], feats[0], feats[1], feats[2], feats[3]]);
    output(
        &f,
        "nnet3-compute-from-egs --use-gpu=no --apply-exp=true @splice.raw ark:@egs.ark ark,t:@exp.txt",
    );
    let expected: Vec<f64> = numbers(&f.read("out.txt")).iter().map(|x| x.exp()).collect();
    close(&f.read("exp.txt"), &expected, 1e-4);
    let line = "nnet3-compute-from-egs --use-gpu=no --output-name=x @splice.raw ark:@egs.ark ark:-";
    fails(&f, 255, line, &["egs.ark", "no output 'x'"]);
    fails(
        &f,
        0,
        "nnet3-compute-from-egs --use-gpu=no @splice.raw ark:@empty.ark ark:-",
        &["Processed 0 examples."],
    );
}

#[test]
fn dense_targets() {
    let f = feats("dense");
    examples(&f);
    let rows: Vec<String> = (0..12).map(|t| format!("{t} 0.5")).collect();
    f.write(
        "targets.txt",
        format!("u0  [\n  {} ]\nu1  [\n  {} ]\nu3  [\n 1 1 ]\n", rows.join("\n  "), rows[..11].join("\n  ")),
    );
    let options = "--num-targets=2 --num-frames=4 --left-context=1 --compress=false";
    let line =
        format!("nnet3-get-egs-dense-targets {options} ark:@egs-feats.txt ark:@targets.txt ark,t:@egs.txt");
    let made = run(&f, &line);
    assert_eq!(made.status, 0, "{}", made.stderr);
    for warning in [
        "No target matrix for key u2",
        "utterance u3: expected length = 12, got 1",
        "2 utterances had errors",
    ] {
        assert!(made.stderr.contains(warning), "no '{warning}' in {}", made.stderr);
    }
    let text = f.read("egs.txt").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("<Nnet3Eg>").count(), 6);
    assert!(
        text.contains(
            "<NnetIo> output <I1V> 4 <I1> 0 0 0 <I1> 0 1 0 <I1> 0 2 0 <I1> 0 3 0 [ 4 0.5 5 0.5 6 0.5 7 0.5 ]"
        ),
        "{text}"
    );
    // The last row is repeated for a frame without a row.
    assert!(text.contains("[ 8 0.5 9 0.5 10 0.5 10 0.5 ]"), "{text}");
    let line = "nnet3-get-egs-dense-targets --num-targets=3 ark:@egs-feats.txt ark:@targets.txt ark:-";
    fails(&f, 255, line, &["utterance 'u0'", "dimension 2", "--num-targets=3"]);
    fails(
        &f,
        1,
        "nnet3-get-egs-dense-targets ark:@empty.ark ark:@targets.txt ark:-",
        &["expected at least one utterance"],
    );
}

#[test]
fn programs_that_ask_for_a_gpu_agree_on_it() {
    let f = feats("cuda");
    let answer = run(&f, "cuda-compiled");
    assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", ""));
    let available = run(&f, "cuda-gpu-available");
    match (answer.status, available.status) {
        (0, 0) => assert!(available.stderr.contains("The active GPU is"), "{}", available.stderr),
        (0, 255) => assert!(available.stderr.contains("no GPU can be used"), "{}", available.stderr),
        (1, 1) => assert!(available.stderr.contains("there is no NVIDIA driver"), "{}", available.stderr),
        statuses => panic!("{statuses:?}: {}", available.stderr),
    }
}

/// Old output files stay after a failure.
#[test]
fn failures_keep_old_files() {
    let f = feats("old");
    f.write("cut.ark", "a  [\n  1 2\n  3 4 ]\nb  [\n  1 2\n  3");
    f.write("ragged.txt", "a  [\n  1 2 ]\nb  [\n  1 2 3 ]\n");
    f.write("old", "old\n");
    let cases = [
        ("copy-feats ark:@cut.ark ark:@old", "cut.ark"),
        ("copy-matrix --apply-exp=true ark:@cut.ark ark:@old", "cut.ark"),
        ("matrix-sum ark:@cut.ark @old", "cut.ark"),
        ("compute-cmvn-stats ark:@cut.ark @old", "cut.ark"),
        ("splice-feats ark:@cut.ark ark:@old", "cut.ark"),
        ("select-feats 0,2 ark:@ragged.txt ark:@old", "key 'a'"),
        ("subsample-feats ark:@cut.ark ark:@old", "cut.ark"),
        ("feat-to-len ark:@cut.ark ark,t:@old", "cut.ark"),
    ];
    for (line, word) in cases {
        fails(&f, 255, line, &[word, "ERROR"]);
        assert_eq!(f.read("old"), "old\n", "{line}");
    }
    let failing = format!("ark:cat {}; exit 3 |", f.path("feats.txt"));
    let old = format!("ark:{}", f.path("old"));
    let output = crate::common::run("copy-feats", &[&failing, &old]);
    assert_eq!(output.status, 255);
    assert!(output.stderr.contains("exit 3") && f.read("old") == "old\n", "{}", output.stderr);
}

#[test]
fn counts_of_integers() {
    let folder = feats("counts");
    folder.write("a", "u 1 1 3\nv 3\nw 0\n");
    folder.write("b", "u 1 2 3\nv 3 3\n");
    let log = run(&folder, "analyze-counts --verbose=1 ark:@a @counts");
    assert_eq!(log.status, 0, "{}", log.stderr);
    assert_eq!(folder.read("counts").trim(), "[ 1.5 2.5 0.5 2.5 ]");
    for words in [
        "Zero count for label 2",
        "0\t(0),\t2\t\n1\t(0.2),\t0\t\n2\t(0.4),\t1\t\n",
        "#total 5 (",
        "Summed 3 int32 vectors to counts, skipped 0",
    ] {
        assert!(log.stderr.contains(words), "{}", log.stderr);
    }
    folder.write("frames", "u [ 1 0.5 2 ]\nv [ 1 1 ]\n");
    folder.write("weights", "u 2\nv 1\nw 1\n");
    let line = "analyze-counts --counts-dim=6 --frame-weights=ark:@frames --utt-weights=ark:@weights --binary=false ark:@a @counts";
    let log = run(&folder, line);
    assert!(log.stderr.contains("Summed 1 int32 vectors to counts, skipped 2"), "{}", log.stderr);
    assert_eq!(folder.read("counts").trim(), "[ 0.5 3.5 0.5 4.5 0.5 0.5 ]");
    fails(
        &folder,
        255,
        "analyze-counts --counts-dim=2000000000 ark:@a @counts",
        &["--counts-dim", "too many"],
    );
    folder.write("negative", "u -1\n");
    let log = run(&folder, "analyze-counts ark:@negative @counts");
    assert!(log.stderr.contains("the integer -1 is negative"), "{}", log.stderr);

    let line = "compare-int-vector --binary=false --write-tot-counts=@tot --write-diff-counts=@diff --write-confusion-matrix=@conf ark:@a ark:@b";
    let result = run(&folder, line);
    assert_eq!((result.status, result.stdout.as_str()), (0, "u 3 1\nv 1 0\n"), "{}", result.stderr);
    assert_eq!(folder.read("tot").trim(), "[ 0 2 0 2 ]");
    assert_eq!(folder.read("diff").trim(), "[ 0 0.5 0.5 ]");
    assert_eq!(numbers(&folder.read("conf"))[4..8], [0.0, 1.0, 1.0, 0.0]);
    for words in [
        "No key w found in second input.",
        "For utterance v, lengths differ 1 vs. 2",
        "Computed difference for 5 utterances, of which 1 had mismatched lengths; corresponding utterance not found for 1",
        "Average p(different) is 25%, over 4 frames.",
    ] {
        assert!(result.stderr.contains(words), "{}", result.stderr);
    }
}
