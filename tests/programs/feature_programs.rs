//! Command lines of the programs for features, with figures computed by hand.

use crate::command_lines::{close, fails, feats, numbers, output, run};
use crate::common::Folder;

#[test]
fn copying_features() {
    let f = feats("copy");
    let text = "a [ 1 2 3 4 5 7 ] b [ -1 0 1 2 ]";
    assert_eq!(output(&f, "copy-feats ark:@feats.txt ark,t:-"), text);
    output(&f, "copy-feats --write-num-frames=ark,t:@frames.txt ark:@feats.txt ark,scp:@f.ark,@f.scp");
    assert_eq!(f.read("frames.txt"), "a 3 \nb 2 \n");
    assert_eq!(output(&f, "copy-feats scp:@f.scp ark,t:-"), text);
    let pipe = format!("ark:cat {} |", f.path("f.ark"));
    assert_eq!(crate::common::run("copy-feats", &[&pipe, "ark,t:-"]).stdout, f_read_text(&f));
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
        speakers.stderr.contains("Did not find features for utterance c")
            && speakers.stderr.contains("speaker t"),
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
    assert!(
        weighted.stderr.contains("Weights for utterance b have wrong dimension 1 vs. 2"),
        "{}",
        weighted.stderr
    );

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
    fails(&f, 1, "compute-cmvn-stats ark:@empty.ark @new", &["no utterance could be used"]);
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
    assert!(
        by_mean.stderr.contains(
            "No normalization statistics available for key b, producing no output for this utterance (ark:"
        ),
        "{}",
        by_mean.stderr
    );
    let global = " [\n  6 8 2\n  20 40 0 ]\n";
    f.write("global", global);
    let apply = |options: &str| output(&f, &format!("apply-cmvn {options} @global ark:@feats.txt ark,t:-"));
    close(&apply("--norm-vars=true"), &[-2., -1., 0., 0., 2., 1.5, -4., -2., -2., -1.], 1e-6);
    close(&apply("--reverse=true"), &[4., 6., 6., 8., 8., 11., 2., 4., 4., 6.], 1e-6);
    close(&apply("--norm-vars=true --reverse=true"), &[4., 8., 6., 12., 8., 18., 2., 4., 4., 8.], 1e-6);
    close(&apply("--norm-vars=true --skip-dims=0"), &[1., -1., 3., 0., 5., 1.5, -1., -2., 1., -1.], 1e-6);
    // Without normalisation even compressed matrices stay unchanged, and the statistics are not read.
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
    fails(
        &f,
        255,
        "apply-cmvn --skip-dims=2 @global ark:@feats.txt ark:-",
        &["global", "dimensions to skip below 2"],
    );
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
        &["No normalization statistics available for key a,", "available for key b,"],
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
fn splicing_and_deltas_have_the_values_by_hand() {
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
    assert!(
        subsampled.stderr.contains("For utterance b, output would have no rows"),
        "{}",
        subsampled.stderr
    );
    assert_eq!(
        output(&f, "select-feats 1,0-1 ark:@feats.txt ark,t:-"),
        "a [ 2 1 2 4 3 4 7 5 7 ] b [ 0 -1 0 2 1 2 ]"
    );

    assert_eq!(
        output(&f, "shift-feats --shift=1 ark:@feats.txt ark,t:-"),
        "a [ 1 2 1 2 3 4 ] b [ -1 0 -1 0 ]"
    );
    f.write("one.mat", " [\n  1 2\n  3 4\n  5 7 ]\n");
    assert_eq!(output(&f, "shift-feats --shift=-1 --binary=false @one.mat -"), "[ 3 4 5 7 5 7 ]");
    fails(&f, 255, "shift-feats @one.mat ark:-", &["is a table", "one.mat"]);

    f.write("empty-frames.txt", "e  [ ]\n");
    f.write("empty.mat", " [ ]\n");
    fails(&f, 255, "shift-feats @empty.mat -", &["empty.mat: empty feature matrix"]);
    fails(&f, 0, "add-deltas ark:@empty-frames.txt ark:-", &["Empty feature matrix for key e"]);
    fails(&f, 0, "splice-feats ark:@empty-frames.txt ark:-", &["Empty feature matrix for utterance e"]);
    fails(&f, 0, "splice-feats ark:@empty.ark ark:-", &[]);
    fails(&f, 255, "splice-feats --left-context=-1 ark:@feats.txt ark:-", &["--left-context"]);
    fails(&f, 255, "add-deltas --truncate=3 ark:@feats.txt ark:-", &["key 'a'", "--truncate=3"]);
    fails(&f, 255, "add-deltas --delta-window=0 ark:@feats.txt ark:-", &["--delta-window=0"]);
    fails(&f, 255, "subsample-feats --n=0 ark:@feats.txt ark:-", &["--n=0"]);
    fails(&f, 255, "subsample-feats --n=-1 --offset=1 ark:@feats.txt ark:-", &["--offset"]);
    fails(&f, 255, "select-feats 0-2 ark:@feats.txt ark:-", &["feats.txt, key 'a'", "columns below 2"]);
    fails(&f, 255, "select-feats 0,,1 ark:@feats.txt ark:-", &["0,,1"]);
}

#[test]
fn subset_feats_chooses_by_number_and_by_list() {
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
        &["Missing utt a from input ark:", "nothing to write"],
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
    assert!(appended.stderr.contains("Could not read vector for utterance b (ark:"), "{}", appended.stderr);
    assert_eq!(output(&f, "append-vector-to-feats --binary=false @1.mat @v.vec -"), "[ 1 2 7 8 3 4 7 8 ]");
    f.write("w.txt", "c  [ 7 8 ]\n");
    fails(
        &f,
        255,
        "append-vector-to-feats ark:@feats.txt ark:@w.txt ark:-",
        &["Could not read vector for utterance a"],
    );
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
        table
            .stderr
            .contains("Transform matrix for utterance b has bad dimension 1x4 versus feat dim 2 (ark:")
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
        "End sample too far out of range 198",
        "Did not find features for utterance q, skipping segment z",
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
    fails(&f, 255, "extract-feature-segments ark:@long.txt @none ark:-", &["Start sample out of range 500"]);
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
    assert_eq!(output(&f, "wav-to-duration scp:@streamed.scp ark,t:-"), "s 0.25");
    assert_eq!(output(&f, "wav-to-duration --read-entire-file=true scp:@streamed.scp ark,t:-"), "s 0.25");
    f.write("wav.ark", [&b"x "[..], &wave(8000, None), b"y ", &wave(16000, None)].concat());
    assert_eq!(output(&f, "wav-to-duration ark:@wav.ark ark,t:-"), "x 0.5 y 1");
    f.write("bad.scp", format!("a {}\n", f.path("feats.txt")));
    fails(&f, 255, "wav-to-duration scp:@bad.scp ark:-", &["key 'a'", "feats.txt", "RIFF"]);
    fails(&f, 1, "wav-to-duration scp:@empty.ark ark:-", &[]);
}
