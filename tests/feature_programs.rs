//! Command lines of the programs around the networks, with figures computed by hand.

#[path = "support/programs.rs"]
mod common;

use common::{Folder, Output};

/// Runs a command line: words between blanks, `@` stands for the folder.
fn run(folder: &Folder, line: &str) -> Output {
    let here = folder.path("");
    let words: Vec<String> = line.split_whitespace().map(|word| word.replace('@', &here)).collect();
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let output = common::run(&words[0], &arguments);
    assert!(!output.stderr.contains("panicked"), "{line}: {}", output.stderr);
    output
}

/// Standard output, in single blanks, of a command line that must succeed.
#[track_caller]
fn output(folder: &Folder, line: &str) -> String {
    let output = run(folder, line);
    assert_eq!(output.status, 0, "{line}: {}", output.stderr);
    output.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Standard error of a command line that must end with this status.
#[track_caller]
fn fails(folder: &Folder, status: i32, line: &str, words: &[&str]) {
    let output = run(folder, line);
    assert_eq!(output.status, status, "{line}: {}", output.stderr);
    for word in words {
        assert!(output.stderr.contains(word), "{line}: no '{word}' in: {}", output.stderr);
    }
}

/// The numbers of a text with matrices.
fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[track_caller]
fn close(found: &str, expected: &[f64], tolerance: f64) {
    let found = numbers(found);
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }
}

const FEATS: &str = "a  [\n  1 2\n  3 4\n  5 7 ]\nb  [\n  -1 0\n  1 2 ]\n";

fn feats(name: &str) -> Folder {
    let folder = Folder::new(&format!("feature-programs-{name}"));
    folder.write("feats.txt", FEATS);
    folder.write("empty.ark", "");
    folder
}

#[test]
fn copying_features() {
    let f = feats("copy");
    let text = "a [ 1 2 3 4 5 7 ] b [ -1 0 1 2 ]";
    assert_eq!(output(&f, "copy-feats ark:@feats.txt ark,t:-"), text);
    output(&f, "copy-feats --write-num-frames=ark,t:@frames.txt ark:@feats.txt ark,scp:@f.ark,@f.scp");
    assert_eq!(f.read("frames.txt"), "a 3 \nb 2 \n");
    assert_eq!(output(&f, "copy-feats scp:@f.scp ark,t:-"), text);
    let pipe = format!("ark:cat {} |", f.path("f.ark"));
    assert_eq!(common::run("copy-feats", &[&pipe, "ark,t:-"]).stdout, f_read_text(&f));
    // A file of its own, and a part of one.
    let offset = f.read("f.scp").lines().next().unwrap().split(' ').nth(1).unwrap().to_owned();
    assert_eq!(output(&f, &format!("copy-feats --binary=false {offset}[1:2,0:0] -")), "[ 3 5 ]");
    output(&f, &format!("copy-feats {offset} @a.mat"));
    assert_eq!(std::fs::read(f.path("a.mat")).unwrap()[..5], *b"\0BFM ");
    fails(&f, 0, "copy-feats --compress=true @a.mat @b.mat", &["WARNING", "--compress"]);

    fails(&f, 1, "copy-feats ark:@empty.ark ark:@new.ark", &["nothing to write"]);
    fails(&f, 255, "copy-feats ark:@feats.txt @out.mat", &["is a table", "out.mat"]);
    fails(&f, 255, "copy-feats @a.mat ark:@out.ark", &["is a table", "a.mat"]);
    fails(&f, 255, "copy-feats --write-num-frames=ark:- @a.mat @b.mat", &["--write-num-frames"]);
    fails(&f, 255, "copy-feats scp:@missing.scp ark:-", &["missing.scp", "No such file"]);
    fails(&f, 1, "copy-feats ark:@feats.txt", &["1 argument"]);
}

/// The archive as our programs write it.
fn f_read_text(folder: &Folder) -> String {
    run(folder, "copy-feats ark:@feats.txt ark,t:-").stdout
}

#[test]
fn every_way_of_compressing() {
    let f = feats("compress");
    let rows: Vec<String> = (0..20).map(|t| format!("{} {}", t, (t * 7) % 11)).collect();
    f.write("long.txt", format!("a  [\n  {} ]\nb  [\n  1 2 ]\n", rows.join("\n  ")));
    let exact = numbers(&output(&f, "copy-feats ark:@long.txt ark,t:-"));
    // Method, token of the long matrix, largest error; 7 clamps to 1.
    let cases = [
        (1, "CM ", 0.05),
        (2, "CM ", 0.05),
        (3, "CM2", 1e-3),
        (4, "CM2", 0.0),
        (5, "CM3", 0.04),
        (6, "CM3", 0.0),
    ];
    for (method, token, tolerance) in cases {
        output(
            &f,
            &format!("copy-feats --compress=true --compression-method={method} ark:@long.txt ark:@c.ark"),
        );
        let bytes = std::fs::read(f.path("c.ark")).unwrap();
        assert_eq!(bytes[4..7], *token.as_bytes(), "method {method}");
        close(&output(&f, "copy-feats ark:@c.ark ark,t:-"), &exact, tolerance);
    }
    output(&f, "copy-feats --compress=true --compression-method=7 ark:@long.txt ark:@c.ark");
    let clamped: Vec<f64> = exact.iter().map(|x| x.min(1.0)).collect();
    close(&output(&f, "copy-feats ark:@c.ark ark,t:-"), &clamped, 0.0);
    fails(&f, 255, "copy-feats --compress=true --compression-method=8 ark:@long.txt ark:-", &["method 8"]);
}

#[test]
fn features_of_other_programs() {
    let f = feats("foreign");
    let mut htk =
        [&2i32.to_be_bytes()[..], &100_000i32.to_be_bytes(), &8i16.to_be_bytes(), &6u16.to_be_bytes()]
            .concat();
    [1.0f32, 2.0, -3.0, 4.5].iter().for_each(|x| htk.extend(x.to_be_bytes()));
    f.write("a.htk", &htk);
    f.write("htk.scp", format!("a {}\n", f.path("a.htk")));
    assert_eq!(output(&f, "copy-feats --htk-in=true scp:@htk.scp ark,t:-"), "a [ 1 2 -3 4.5 ]");
    assert_eq!(output(&f, "copy-feats --htk-in=true --binary=false @a.htk -"), "[ 1 2 -3 4.5 ]");
    let mut sphinx = 13i32.to_be_bytes().to_vec();
    (0..13u8).for_each(|x| sphinx.extend(f32::from(x).to_be_bytes()));
    f.write("s.ark", [&b"s "[..], &sphinx, b"t ", &sphinx].concat());
    let row = "0 1 2 3 4 5 6 7 8 9 10 11 12";
    let expected = format!("s [ {row} ] t [ {row} ]");
    assert_eq!(output(&f, "copy-feats --sphinx-in=true ark:@s.ark ark,t:-"), expected);
    fails(&f, 255, "copy-feats --htk-in=true ark:@s.ark ark:-", &["s.ark"]);
    fails(&f, 255, "copy-feats --sphinx-in=true @a.htk -", &["--sphinx-in"]);
    fails(&f, 255, "copy-feats --sphinx-in=true --htk-in=true ark:@s.ark ark:-", &["both"]);
}

#[test]
fn dimensions_and_lengths() {
    let f = feats("dims");
    assert_eq!(output(&f, "feat-to-dim --print-args=false ark:@feats.txt -"), "2");
    assert_eq!(output(&f, "feat-to-dim ark:@feats.txt ark,t:-"), "a 2 b 2");
    assert_eq!(output(&f, "feat-to-len ark:@feats.txt ark,t:-"), "a 3 b 2");
    assert_eq!(output(&f, "feat-to-len ark:@feats.txt"), "5");
    assert_eq!(output(&f, "feat-to-len ark:@empty.ark"), "0");
    assert_eq!(run(&f, "matrix-dim ark:@feats.txt").stdout, "a\t3\t2\nb\t2\t2\n");
    f.write("m.mat", " [\n 1 2 3 ]\n");
    assert_eq!(run(&f, "matrix-dim @m.mat").stdout, "1\t3\n");
    fails(&f, 1, "matrix-dim ark:@empty.ark", &["expected at least one matrix"]);
    fails(&f, 255, "feat-to-dim ark:@empty.ark -", &["expected at least one utterance"]);
}

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
    fails(&f, 255, "copy-int-vector ark:@v.txt ark:-", &["v.txt", "expected integers"]);
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
    // What does not fit is not added, but the rest is written.
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
    let bin = common::binary("ali-to-post").display().to_string();
    let pipe = format!("ark:{bin} ark:{} ark:- |", f.path("ali.txt"));
    assert_eq!(
        common::run("copy-post", &["--scale=0.5", &pipe, "ark,t:-"]).stdout,
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
    assert!(weighted.stderr.contains("b: 4 weights for 1 frames"), "{}", weighted.stderr);
    assert_eq!(
        output(&f, "weight-post --length-tolerance=3 ark:@post.txt ark:@weights.txt ark,t:-"),
        "a [ 2 1 1 0.5 ] [ ] b [ ]"
    );

    f.write("other.txt", "a [ 2 -0.5 0 1 ] [ 1 1 ] \n");
    let sum = run(&f, "sum-post ark:@post.txt ark:@other.txt ark,t:-");
    assert_eq!((sum.status, sum.stdout.as_str()), (0, "a [ 0 1 1 0.25 ] [ 1 1 ] \n"));
    assert!(
        sum.stderr.contains("b: no posterior in ark:") && sum.stderr.contains("i.e. 50%"),
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

#[test]
fn normalisation_statistics() {
    let f = feats("cmvn");
    assert_eq!(
        output(&f, "compute-cmvn-stats ark:@feats.txt ark,t:-"),
        "a [ 9 13 3 35 69 0 ] b [ 0 2 2 2 4 0 ]"
    );
    f.write("spk2utt", "s a b\nt c\n");
    f.write("utt2spk", "a s\nb s\n");
    let speakers = run(&f, "compute-cmvn-stats --spk2utt=ark:@spk2utt ark:@feats.txt ark,scp:@s.ark,@s.scp");
    assert_eq!(speakers.status, 0);
    assert!(
        speakers.stderr.contains("c: no features") && speakers.stderr.contains("speaker t"),
        "{}",
        speakers.stderr
    );
    // Statistics in tables are double, in a file single precision.
    assert_eq!(std::fs::read(f.path("s.ark")).unwrap()[2..7], *b"\0BDM ");
    assert_eq!(output(&f, "copy-matrix ark:@s.ark ark,t:-"), "s [ 9 15 5 37 73 0 ]");
    assert_eq!(output(&f, "compute-cmvn-stats --binary=false ark:@feats.txt -"), "[ 9 15 5 37 73 0 ]");
    output(&f, "compute-cmvn-stats ark:@feats.txt @global");
    assert_eq!(std::fs::read(f.path("global")).unwrap()[..5], *b"\0BFM ");
    assert_eq!(output(&f, "matrix-sum --binary=false scp:@s.scp -"), "[ 9 15 5 37 73 0 ]");
    f.write("weights.txt", "a  [ 1 0 2 ]\nb  [ 1 ]\n");
    let weighted = run(&f, "compute-cmvn-stats --weights=ark:@weights.txt ark:@feats.txt ark,t:-");
    assert_eq!(weighted.status, 0);
    assert_eq!(numbers(&weighted.stdout), [11., 16., 3., 51., 102., 0.]);
    assert!(weighted.stderr.contains("b: 1 weights for 2 frames"), "{}", weighted.stderr);

    assert_eq!(output(&f, "modify-cmvn-stats 1 ark:@s.ark ark,t:-"), "s [ 9 0 5 37 5 0 ]");
    assert_eq!(
        output(&f, "modify-cmvn-stats --convert-to-mean-and-var=true ark:@s.ark ark,t:-"),
        "s [ 1.8 3 4.16 5.6 ]"
    );

    f.write("reco", "a call A\nb call B\nx solo A\n");
    f.write("two.txt", "a  [\n  1 2\n  3 4 ]\nb  [\n  2 0\n  1 2 ]\nx  [\n 5 5 ]\n");
    let line = "compute-cmvn-stats-two-channel --quieter-channel-weight=0.5 @reco ark:@two.txt ark,t:-";
    assert_eq!(output(&f, line), "a [ 3.5 5 1.5 9.5 18 0 ] b [ 2.5 1 1.5 4.5 2 0 ] x [ 5 5 1 25 25 0 ]");
    let line = "compute-cmvn-stats-two-channel @reco ark:@feats.txt ark,t:-";
    fails(&f, 0, line, &["call: its sides have 3 and 2 frames", "x: no features", "solo: 1 utterances"]);
    f.write("bad-reco", "a call\n");
    fails(&f, 255, "compute-cmvn-stats-two-channel @bad-reco ark:@two.txt ark:-", &["bad-reco", "'a call'"]);

    f.write("mixed.txt", "a  [\n 1 2 ]\nb  [\n 1 ]\n");
    fails(&f, 255, "compute-cmvn-stats ark:@mixed.txt -", &["mixed.txt, key 'b'", "dimension 1"]);
    fails(
        &f,
        255,
        "compute-cmvn-stats --spk2utt=ark:@spk2utt ark:@feats.txt @x",
        &["--spk2utt", "did you forget ark:?"],
    );
    fails(&f, 1, "compute-cmvn-stats ark:@empty.ark @new", &["nothing to count"]);
    fails(&f, 255, "modify-cmvn-stats 1:x ark:@s.ark ark:-", &["'1:x'"]);
    fails(&f, 255, "modify-cmvn-stats ark:@feats.txt ark:-", &["feats.txt, key 'a'", "found 3×2"]);
    fails(&f, 1, "modify-cmvn-stats ark:@s.ark", &[]);
}

#[test]
fn applying_normalisation() {
    let f = feats("apply");
    f.write("stats.txt", "s  [\n  6 8 2\n  20 40 0 ]\n");
    f.write("utt2spk", "a s\nb t\n");
    // Means 3 and 4, variances 1 and 4.
    let line = "apply-cmvn --utt2spk=ark:@utt2spk ark:@stats.txt ark:@feats.txt ark,t:-";
    let by_mean = run(&f, line);
    assert_eq!((by_mean.status, numbers(&by_mean.stdout)), (0, vec![-2., -2., 0., 0., 2., 3.]));
    assert!(by_mean.stderr.contains("b: no normalization statistics in ark:"), "{}", by_mean.stderr);
    let global = " [\n  6 8 2\n  20 40 0 ]\n";
    f.write("global", global);
    let apply = |options: &str| output(&f, &format!("apply-cmvn {options} @global ark:@feats.txt ark,t:-"));
    close(&apply("--norm-vars=true"), &[-2., -1., 0., 0., 2., 1.5, -4., -2., -2., -1.], 1e-6);
    close(&apply("--reverse=true"), &[4., 6., 6., 8., 8., 11., 2., 4., 4., 6.], 1e-6);
    close(&apply("--norm-vars=true --reverse=true"), &[4., 8., 6., 12., 8., 18., 2., 4., 4., 8.], 1e-6);
    close(&apply("--norm-vars=true --skip-dims=0"), &[1., -1., 3., 0., 5., 1.5, -1., -2., 1., -1.], 1e-6);
    // Without normalisation even compressed matrices stay what they are, and nobody needs statistics.
    output(&f, "copy-feats --compress=true ark:@feats.txt ark:@c.ark");
    output(&f, "apply-cmvn --norm-means=false scp:@missing ark:@c.ark ark:@same.ark");
    assert_eq!(std::fs::read(f.path("c.ark")).unwrap(), std::fs::read(f.path("same.ark")).unwrap());

    fails(
        &f,
        255,
        "apply-cmvn --norm-means=false --norm-vars=true @global ark:@feats.txt ark:-",
        &["--norm-means=true"],
    );
    fails(&f, 255, "apply-cmvn --utt2spk=ark:@utt2spk @global ark:@feats.txt ark:-", &["--utt2spk"]);
    fails(&f, 255, "apply-cmvn --skip-dims=2 @global ark:@feats.txt ark:-", &["global", "dimension 2"]);
    fails(&f, 255, "apply-cmvn --skip-dims=a @global ark:@feats.txt ark:-", &["--skip-dims", "'a'"]);
    f.write("one", " [\n 6 2 ]\n");
    fails(
        &f,
        255,
        "apply-cmvn @one ark:@feats.txt ark:-",
        &["feats.txt, key 'a'", "dimension 2", "statistics 1"],
    );
    f.write("none", " [\n 0 0 0\n 0 0 0 ]\n");
    fails(&f, 255, "apply-cmvn @none ark:@feats.txt ark:-", &["none", "count is 0"]);
    fails(&f, 1, "apply-cmvn @global ark:@empty.ark ark:-", &[]);
    f.write("other.txt", "x  [\n  6 8 2\n  20 40 0 ]\n");
    fails(
        &f,
        1,
        "apply-cmvn ark:@other.txt ark:@feats.txt ark:-",
        &["a: no normalization", "b: no normalization"],
    );
    f.write("short-map", "a s\n");
    fails(
        &f,
        255,
        "apply-cmvn --utt2spk=ark:@short-map ark:@stats.txt ark:@feats.txt ark:-",
        &["key 'b'", "short-map"],
    );
}

#[test]
fn normalisation_over_time() {
    let f = feats("online");
    f.write("x.txt", "a  [\n  1\n  3\n  8 ]\nb  [\n  4 ]\n");
    f.write("global", " [\n  20 10\n  80 0 ]\n");
    // Window 2, topped up with the global mean 2: (1 + 2)/2, (1 + 3)/2, (3 + 8)/2; b: (4 + 2)/2.
    let line = "apply-cmvn-online --cmn-window=2 --global-frames=5 @global ark:@x.txt ark,t:-";
    close(&output(&f, line), &[-0.5, 1.0, 2.5, 1.0], 1e-6);
    // b again: its speaker has the mean 4 of a.
    f.write("spk2utt", "s a missing b\n");
    let line = "apply-cmvn-online --cmn-window=2 --spk2utt=ark:@spk2utt @global ark:@x.txt ark,t:-";
    let online = run(&f, line);
    assert_eq!(online.status, 0, "{}", online.stderr);
    close(&online.stdout, &[-0.5, 1.0, 2.5, 0.0], 1e-6);
    assert!(online.stderr.contains("missing: no features"), "{}", online.stderr);
    let line = "apply-cmvn-online --norm-means=false @global ark:@x.txt ark,t:-";
    close(&output(&f, line), &[1., 3., 8., 4.], 0.0);
    fails(&f, 255, "apply-cmvn-online @global ark:@feats.txt ark:-", &["feats.txt, key 'a'", "dimension 2"]);
    fails(&f, 255, "apply-cmvn-online --cmn-window=0 @global ark:@x.txt ark:-", &["at least one frame"]);
    fails(
        &f,
        255,
        "apply-cmvn-online --norm-means=false --norm-vars=true @global ark:@x.txt ark:-",
        &["without means"],
    );

    let sliding = |options: &str| output(&f, &format!("apply-cmvn-sliding {options} ark:@x.txt ark,t:-"));
    close(&sliding("--cmn-window=2 --center=true"), &[-1., 1., 2.5, 0.], 1e-6);
    close(&sliding("--cmn-window=1 --min-cmn-window=1"), &[0., 1., 2.5, 0.], 1e-6);
    close(&sliding(""), &[-3., -1., 4., 0.], 1e-6);
    let deviation = (74.0f64 / 3.0 - 16.0).sqrt();
    close(&sliding("--norm-vars=true"), &[-3. / deviation, -1. / deviation, 4. / deviation, 0.], 1e-5);
    f.write("flat.txt", "a  [\n  1\n  1\n  1 ]\n");
    let line = "apply-cmvn-sliding --norm-vars=true --max-warnings=1 ark:@flat.txt ark:@flat.ark";
    fails(&f, 0, line, &["a: flooring when normalizing variance, floored 1 elements", "suppressing"]);
    fails(&f, 255, "apply-cmvn-sliding --cmn-window=0 ark:@x.txt ark:-", &["at least one frame"]);
}

#[test]
fn frames() {
    let f = feats("frames");
    assert_eq!(
        output(&f, "splice-feats --left-context=1 --right-context=1 ark:@feats.txt ark,t:-"),
        "a [ 1 2 1 2 3 4 1 2 3 4 5 7 3 4 5 7 5 7 ] b [ -1 0 -1 0 1 2 -1 0 1 2 1 2 ]"
    );
    // (x(t + 1) - x(t - 1)) / 2 with repeated edges.
    let line = "add-deltas --delta-order=1 --delta-window=1 ark:@feats.txt ark,t:-";
    close(
        &output(&f, line),
        &[1., 2., 1., 1., 3., 4., 2., 2.5, 5., 7., 1., 1.5, -1., 0., 1., 1., 1., 2., 1., 1.],
        1e-6,
    );
    let line = "add-deltas --truncate=1 --delta-order=1 --delta-window=1 ark:@feats.txt ark,t:-";
    close(&output(&f, line), &[1., 1., 3., 2., 5., 1., -1., 1., 1., 1.], 1e-6);
    assert_eq!(output(&f, "subsample-feats --n=2 ark:@feats.txt ark,t:-"), "a [ 1 2 5 7 ] b [ -1 0 ]");
    assert_eq!(
        output(&f, "subsample-feats --n=-2 ark:@feats.txt ark,t:-"),
        "a [ 1 2 1 2 3 4 3 4 5 7 5 7 ] b [ -1 0 -1 0 1 2 1 2 ]"
    );
    let subsampled = run(&f, "subsample-feats --n=3 --offset=2 ark:@feats.txt ark,t:-");
    assert_eq!((subsampled.status, numbers(&subsampled.stdout)), (0, vec![5., 7.]));
    assert!(subsampled.stderr.contains("b: output would have no rows"), "{}", subsampled.stderr);
    assert_eq!(
        output(&f, "select-feats 1,0-1 ark:@feats.txt ark,t:-"),
        "a [ 2 1 2 4 3 4 7 5 7 ] b [ 0 -1 0 2 1 2 ]"
    );

    f.write("empty-frames.txt", "e  [ ]\n");
    fails(&f, 0, "add-deltas ark:@empty-frames.txt ark:-", &["e: empty"]);
    fails(&f, 255, "splice-feats ark:@empty-frames.txt ark:-", &["empty-frames.txt, key 'e'"]);
    fails(&f, 0, "splice-feats ark:@empty.ark ark:-", &[]);
    fails(&f, 255, "splice-feats --left-context=-1 ark:@feats.txt ark:-", &["--left-context"]);
    fails(&f, 255, "add-deltas --truncate=3 ark:@feats.txt ark:-", &["key 'a'", "--truncate=3"]);
    fails(&f, 255, "add-deltas --delta-window=0 ark:@feats.txt ark:-", &["--delta-window=0"]);
    fails(&f, 255, "subsample-feats --n=0 ark:@feats.txt ark:-", &["--n=0"]);
    fails(&f, 255, "subsample-feats --n=-1 --offset=1 ark:@feats.txt ark:-", &["--offset"]);
    fails(&f, 255, "select-feats 0-2 ark:@feats.txt ark:-", &["feats.txt, key 'a'", "column 2"]);
    fails(&f, 255, "select-feats 0,,1 ark:@feats.txt ark:-", &["0,,1"]);
}

#[test]
fn subsets() {
    let f = feats("subset");
    assert_eq!(output(&f, "subset-feats --n=1 ark:@feats.txt ark,t:-"), "a [ 1 2 3 4 5 7 ]");
    assert_eq!(output(&f, "subset-feats ark:@feats.txt ark,t:-"), "a [ 1 2 3 4 5 7 ] b [ -1 0 1 2 ]");
    f.write("list", "b spk\nc\n");
    assert_eq!(output(&f, "subset-feats --include=@list ark:@feats.txt ark,t:-"), "b [ -1 0 1 2 ]");
    assert_eq!(output(&f, "subset-feats --exclude=@list ark:@feats.txt ark,t:-"), "a [ 1 2 3 4 5 7 ]");
    f.write("other", "z\n");
    fails(&f, 1, "subset-feats --include=@other ark:@feats.txt ark:-", &["Wrote 0 out of 2"]);
    fails(&f, 0, "subset-feats ark:@empty.ark ark:-", &[]);
    fails(&f, 255, "subset-feats --n=0 ark:@feats.txt ark:-", &["--n=0"]);
    fails(&f, 255, "subset-feats --n=3 --include=@list ark:@feats.txt ark:-", &["--n cannot"]);
    fails(&f, 255, "subset-feats --exclude=@list --include=@list ark:@feats.txt ark:-", &["both"]);
    f.write("blank", "a\n\n");
    fails(&f, 255, "subset-feats --include=@blank ark:@feats.txt ark:-", &["blank", "empty line"]);
}

#[test]
fn putting_features_together() {
    let f = feats("paste");
    f.write("2.txt", "b  [\n  9\n  8 ]\na  [\n  9\n  8 ]\n");
    let line = "paste-feats --length-tolerance=1 ark:@feats.txt ark:@2.txt ark,t:-";
    assert_eq!(output(&f, line), "a [ 1 2 9 3 4 8 ] b [ -1 0 9 1 2 8 ]");
    let strict = run(&f, "paste-feats ark:@feats.txt ark:@2.txt ark:@2.txt ark,t:-");
    assert_eq!((strict.status, numbers(&strict.stdout)), (0, vec![-1., 0., 9., 9., 1., 2., 8., 8.]));
    assert!(strict.stderr.contains("a: Length mismatch 3 vs. 2 exceeds tolerance 0"), "{}", strict.stderr);
    f.write("3.txt", "c  [\n 1 ]\n");
    fails(
        &f,
        255,
        "paste-feats ark:@feats.txt ark:@3.txt ark:-",
        &["a: missing in ark:", "nothing to write"],
    );
    f.write("1.mat", " [\n 1 2\n 3 4 ]\n");
    f.write("2.mat", " [\n 7 8 9 ]\n");
    assert_eq!(
        output(&f, "paste-feats --length-tolerance=1 --binary=false @1.mat @2.mat -"),
        "[ 1 2 7 8 9 ]"
    );
    fails(&f, 1, "paste-feats @1.mat @2.mat -", &["Length mismatch 2 vs. 1"]);
    assert_eq!(output(&f, "concat-feats --binary=false @1.mat @1.mat -"), "[ 1 2 3 4 1 2 3 4 ]");
    fails(&f, 255, "concat-feats @1.mat @2.mat -", &["input 1 has dimension 2, input 2 has 3"]);
    fails(&f, 1, "concat-feats @1.mat -", &["2 arguments"]);

    f.write("v.txt", "a  [ 7 8 ]\n");
    f.write("v.vec", " [ 7 8 ]\n");
    let appended = run(&f, "append-vector-to-feats ark:@feats.txt ark:@v.txt ark,t:-");
    assert_eq!(
        (appended.status, numbers(&appended.stdout)),
        (0, vec![1., 2., 7., 8., 3., 4., 7., 8., 5., 7., 7., 8.])
    );
    assert!(appended.stderr.contains("b: no vector in ark:"), "{}", appended.stderr);
    assert_eq!(output(&f, "append-vector-to-feats --binary=false @1.mat @v.vec -"), "[ 1 2 7 8 3 4 7 8 ]");
    f.write("w.txt", "c  [ 7 8 ]\n");
    fails(&f, 255, "append-vector-to-feats ark:@feats.txt ark:@w.txt ark:-", &["a: no vector"]);
}

#[test]
fn transforms_and_segments() {
    let f = feats("transform");
    f.write("affine.mat", " [\n 1 0 10\n 2 -1 0 ]\n");
    let affine = run(&f, "transform-feats @affine.mat ark:@feats.txt ark,t:-");
    assert_eq!(
        (affine.status, numbers(&affine.stdout)),
        (0, vec![11., 0., 13., 2., 15., 3., 9., -2., 11., 0.])
    );
    assert!(affine.stderr.contains("Overall average logdet is 0 over 5 frames."), "{}", affine.stderr);
    f.write("table.txt", "s  [\n  3 4 ]\nb  [\n 1 2 3 4 ]\n");
    f.write("utt2spk", "a s\nb b\n");
    let table = run(&f, "transform-feats --utt2spk=ark:@utt2spk ark:@table.txt ark:@feats.txt ark,t:-");
    assert_eq!((table.status, numbers(&table.stdout)), (0, vec![11., 25., 43.]));
    assert!(
        table.stderr.contains("b: the transform in ark:")
            && table.stderr.contains("1×4, features have dimension 2")
    );
    assert!(table.stderr.contains("[pseudo-]logdet is 1.60944 over 3 frames."), "{}", table.stderr);
    fails(&f, 1, "transform-feats ark:@table.txt ark:@empty.ark ark:-", &[]);
    fails(&f, 255, "transform-feats --utt2spk=ark:@utt2spk @affine.mat ark:@feats.txt ark:-", &["--utt2spk"]);

    let rows: Vec<String> = (0..100).map(|t| t.to_string()).collect();
    f.write("long.txt", format!("r  [\n  {} ]\n", rows.join("\n  ")));
    f.write("segments", "x r 0.1 0.27\ny r 0.5 2.0\nz q 0 1\nbad r 1\nw r 0.1 0.2 A\n");
    let segments = run(&f, "extract-feature-segments ark:@long.txt @segments ark,t:-");
    let expected: Vec<f64> = (10..25).map(f64::from).collect();
    assert_eq!((segments.status, numbers(&segments.stdout)), (0, expected));
    for warning in [
        "y: it ends at frame 198",
        "z: no features of q",
        "[expected 4 or 5 fields]: bad r 1",
        "[bad channel]: w r",
    ] {
        assert!(segments.stderr.contains(warning), "no '{warning}' in {}", segments.stderr);
    }
    assert!(segments.stderr.contains("Successfully processed 1 lines out of 5"), "{}", segments.stderr);
    let line =
        "extract-feature-segments --snip-edges=false --max-overshoot=1.1 ark:@long.txt @segments ark,t:-";
    assert_eq!(numbers(&output(&f, line)).len(), 17 + 50);
    f.write("none", "y r 5 6\n");
    fails(&f, 255, "extract-feature-segments ark:@long.txt @none ark:-", &["y: it starts at frame 500"]);
    fails(
        &f,
        255,
        "extract-feature-segments --frame-shift=0 ark:@long.txt @none ark:-",
        &["--frame-shift=0"],
    );
}

#[test]
fn durations() {
    let f = feats("wav");
    let wave = |samples: u32, riff: Option<u32>| {
        let mut bytes = b"RIFF".to_vec();
        bytes.extend(riff.unwrap_or(36 + 2 * samples).to_le_bytes());
        bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data");
        bytes.extend((2 * samples).to_le_bytes());
        bytes.extend(vec![0; 2 * samples as usize]);
        bytes
    };
    f.write("a.wav", wave(8000, None));
    f.write("s.wav", wave(4000, Some(u32::MAX)));
    f.write("wav.scp", format!("a {}\nb cat {} |\n", f.path("a.wav"), f.path("a.wav")));
    assert_eq!(output(&f, "wav-to-duration scp:@wav.scp ark,t:-"), "a 0.5 b 0.5");
    f.write("streamed.scp", format!("s {}\n", f.path("s.wav")));
    fails(&f, 255, "wav-to-duration scp:@streamed.scp ark:-", &["key 's'", "--read-entire-file"]);
    assert_eq!(output(&f, "wav-to-duration --read-entire-file=true scp:@streamed.scp ark,t:-"), "s 0.25");
    f.write("wav.ark", [&b"x "[..], &wave(8000, None), b"y ", &wave(16000, None)].concat());
    assert_eq!(output(&f, "wav-to-duration ark:@wav.ark ark,t:-"), "x 0.5 y 1");
    f.write("bad.scp", format!("a {}\n", f.path("feats.txt")));
    fails(&f, 255, "wav-to-duration scp:@bad.scp ark:-", &["key 'a'", "feats.txt", "RIFF"]);
    fails(&f, 1, "wav-to-duration scp:@empty.ark ark:-", &[]);
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
    // The last row is repeated for the frame that has none.
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
fn cuda() {
    let f = feats("cuda");
    let answer = run(&f, "cuda-compiled");
    assert_eq!((answer.status, answer.stdout.as_str(), answer.stderr.as_str()), (0, "", ""));
    fails(&f, 0, "cuda-compiled --help", &["Exits with status 0"]);
    let answer = run(&f, "cuda-gpu-available");
    match answer.status {
        0 => assert!(answer.stderr.contains("The active GPU is"), "{}", answer.stderr),
        _ => fails(&f, 255, "cuda-gpu-available", &["no GPU can be used"]),
    }
}

/// What was there before a failure stays.
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
    let output = common::run("copy-feats", &[&failing, &old]);
    assert_eq!(output.status, 255);
    assert!(output.stderr.contains("exit 3") && f.read("old") == "old\n", "{}", output.stderr);
}
