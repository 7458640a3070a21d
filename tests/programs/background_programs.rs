//! Background models and Gaussian selection, against figures of the reference and figures computed by hand.
//! (`tests/data/background` has a mixture of 64 Gaussians, sums of its statistics, and the first 60 frames of an
//! utterance.)

use crate::command_lines::{close, fails, numbers, output};
use crate::common::Folder;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/background");

fn folder(name: &str) -> Folder {
    Folder::new(&format!("background-{name}"))
}

/// Runs a command line in which % stands for the folder of figures.
#[track_caller]
fn ok(f: &Folder, line: &str) -> String {
    output(f, &line.replace('%', DATA))
}

#[track_caller]
fn wrong(f: &Folder, status: i32, line: &str, words: &[&str]) {
    fails(f, status, &line.replace('%', DATA), words);
}

fn figure(name: &str) -> String {
    std::fs::read_to_string(format!("{DATA}/{name}")).unwrap()
}

#[track_caller]
fn near(found: &str, expected: &str, tolerance: f64) {
    let (found, expected) = (numbers(found), numbers(expected));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs().max(1.0),
            "{found} instead of {expected}"
        );
    }
}

/// The lists of frames of a text table with one entry.
fn lists(text: &str) -> Vec<Vec<String>> {
    let frames = text.split_once(' ').unwrap().1.split([';', ']']);
    let words = frames.map(|frame| frame.split_whitespace().filter(|word| *word != "[").map(str::to_owned));
    words.map(Iterator::collect).filter(|list: &Vec<String>| !list.is_empty()).collect()
}

/// Compares posteriors of 60 frames: at most one frame may have another list.
#[track_caller]
fn same_posteriors(found: &str, expected: &str) {
    let (found, expected) = (lists(found), lists(expected));
    assert_eq!((found.len(), expected.len()), (60, 60));
    let ids = |list: &[String]| list.iter().step_by(2).cloned().collect::<Vec<_>>();
    let same: Vec<_> = found.iter().zip(&expected).filter(|(a, b)| ids(a) == ids(b)).collect();
    assert!(same.len() >= 59, "{found:?}");
    same.iter().for_each(|(a, b)| near(&a.join(" "), &b.join(" "), 3e-4));
}

/// Makes the mixture of the reference's next step from its statistics, as `final`.
fn estimate(f: &Folder) {
    wrong(
        f,
        0,
        "gmm-global-est --min-gaussian-weight=0.0001 %/init.dubm %/sum.acc @final",
        &["Overall objective function improvement is 0.0667", " per frame over 10132 frames."],
    );
}

#[test]
fn figures_of_the_reference() {
    let f = folder("figures");
    estimate(&f);
    let gselect = ok(&f, "gmm-gselect --n=4 %/init.dubm ark:%/feats.ark ark,t:-");
    let (found, expected) = (lists(&gselect), lists(&figure("gselect")));
    let same = found.iter().zip(&expected).filter(|(a, b)| a == b).count();
    assert!(found.len() == 60 && same >= 59, "{same} of 60 frames");
    // The estimated mixture is the reference's if posteriors by it are.
    let post = ok(&f, "gmm-global-get-post --n=5 --min-post=0.025 @final ark:%/feats.ark ark,t:-");
    same_posteriors(&post, &figure("post"));
    let post = ok(&f, "gmm-global-gselect-to-post @final ark:%/feats.ark ark,t:%/gselect ark,t:-");
    same_posteriors(&post, &figure("gselect-to-post"));
    let likes = ok(&f, "gmm-global-get-frame-likes @final ark:%/feats.ark ark,t:-");
    near(&likes, &figure("likes"), 1e-4);
    // The file of a mixture with full covariances has constants, and ours are computed.
    let text = ok(&f, "fgmm-global-copy --binary=false %/small2.ubm -");
    let written = std::fs::read(format!("{DATA}/small2.ubm")).unwrap();
    let start = written.windows(3).position(|bytes| bytes == b"FV ").unwrap() + 8;
    let constants = written[start..start + 12].chunks_exact(4);
    let constants: Vec<f64> =
        constants.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()).into()).collect();
    close(text.split("<WEIGHTS>").next().unwrap(), &constants, 1e-3);
    assert_eq!(ok(&f, "fgmm-global-info %/small2.ubm"), "number of gaussians 3 feature dimension 20");
    assert_eq!(ok(&f, "gmm-global-info %/init.dubm"), "number of gaussians 64 feature dimension 20");
}

#[test]
fn both_kinds_of_covariances_agree() {
    let f = folder("kinds");
    ok(&f, "gmm-global-to-fgmm %/init.dubm @full");
    ok(&f, "fgmm-global-to-gmm @full @diag");
    let likes = |program: &str, model: &str, gselect: &str| {
        ok(&f, &format!("{program} {gselect} {model} ark:%/feats.ark ark,t:-"))
    };
    let (full, diag) = ("fgmm-global-get-frame-likes", "gmm-global-get-frame-likes");
    let expected = likes(diag, "%/init.dubm", "");
    near(&likes(full, "@full", ""), &expected, 1e-4);
    near(&likes(diag, "@diag", ""), &expected, 1e-4);
    let mean = numbers(&expected).iter().sum::<f64>() / 60.0;
    close(&likes(full, "@full", "--average=true"), &[mean], 1e-3);
    // Statistics of full covariances have those of diagonal ones.
    let (weights, lists) = ("--weights=ark:@w", "--gselect=ark:%/gselect");
    f.write("w", format!("124-1240-0000  [ {}]\n", "0.5 0 1 2 ".repeat(15)));
    for options in ["", weights, lists, &format!("{weights} {lists}")] {
        let feats = "ark:%/feats.ark";
        let full = ok(&f, &format!("fgmm-global-acc-stats --binary=false {options} @full {feats} -"));
        let diag = ok(&f, &format!("gmm-global-acc-stats --binary=false {options} %/init.dubm {feats} -"));
        let beginning = |text: &str| text.split("VARACCS").next().unwrap().to_owned();
        near(&beginning(&full), &beginning(&diag), 1e-3);
        let frames = if options.contains("weights") { 0.875 * 60.0 } else { 60.0 };
        let occupancy = diag.split("<MEANACCS>").next().unwrap().split("<OCCUPANCY>").nth(1).unwrap();
        assert!((numbers(occupancy).iter().sum::<f64>() - frames).abs() < 1e-3);
    }
    let two = "gmm-global-acc-stats-twofeats --binary=false %/init.dubm ark:%/feats.ark";
    let one = "gmm-global-acc-stats --binary=false %/init.dubm ark:%/feats.ark -";
    assert_eq!(ok(&f, &format!("{two} ark:%/feats.ark -")), ok(&f, one));
    let other = "a  [\n 1 ]\n";
    f.write("other", other);
    let missing = ["For utterance 124-1240-0000, second features not present.", "no utterance could be used"];
    wrong(&f, 1, &format!("{two} ark:@other @o"), &missing);
    f.write("other", other.replace("a ", "124-1240-0000 "));
    wrong(&f, 1, &format!("{two} ark:@other @o"), &["the first features have 60 frames, the second 1"]);
}

#[test]
fn estimates_of_full_covariances() {
    let f = folder("full");
    ok(&f, "fgmm-global-copy %/small2.ubm @0");
    let mut last = f64::NEG_INFINITY;
    for i in 0..3 {
        let mean = "fgmm-global-get-frame-likes --average=true";
        let value = numbers(&ok(&f, &format!("{mean} @{i} ark:%/feats.ark ark,t:-")))[0];
        assert!(value > last, "{value} after {last}");
        last = value;
        ok(&f, &format!("fgmm-global-acc-stats @{i} ark:%/feats.ark @acc"));
        let options = "--min-gaussian-occupancy=1 --update-flags=mvw --max-condition=1000";
        ok(&f, &format!("fgmm-global-est {options} @{i} @acc @{}", i + 1));
    }
    // Sums of two are twice the occupancies.
    ok(&f, "fgmm-global-sum-accs @sum @acc @acc");
    let occupancies = |file: &str| {
        let text = ok(&f, &format!("fgmm-global-sum-accs --binary=false - @{file}"));
        numbers(text.split("<MEANACCS>").next().unwrap().split("<OCCUPANCY>").nth(1).unwrap())
    };
    let (one, two) = (occupancies("acc"), occupancies("sum"));
    assert!(one.iter().zip(&two).all(|(one, two)| (2.0 * one - two).abs() < 1e-4), "{one:?} {two:?}");
    // Splitting and merging.
    ok(&f, "fgmm-global-acc-stats @0 ark:%/feats.ark @acc");
    let est = "fgmm-global-est --remove-low-count-gaussians=false --min-gaussian-occupancy=1";
    wrong(&f, 0, &format!("{est} --mix-up=3 @0 @acc @5"), &["Cannot split from 3 to 3 components"]);
    ok(&f, &format!("{est} --mix-up=5 @0 @acc @5"));
    assert!(ok(&f, "fgmm-global-info @5").starts_with("number of gaussians 5 "));
    ok(&f, "fgmm-global-merge @8 @sizes @0 @5");
    assert_eq!(
        (f.read("sizes").as_str(), &ok(&f, "fgmm-global-info @8")[..21]),
        ("3 5 \n", "number of gaussians 8")
    );
    let weights = |model: &str| {
        let text = ok(&f, &format!("fgmm-global-copy --binary=false @{model} -"));
        numbers(text.split("<MEANS").next().unwrap().split("<WEIGHTS>").nth(1).unwrap())
    };
    let (parts, all) = ([weights("0"), weights("5")], weights("8"));
    assert!((all[0] - 0.375 * parts[0][0]).abs() < 1e-6 && (all[7] - 0.625 * parts[1][4]).abs() < 1e-6);
    // Posteriors from elsewhere: those of the mixture itself give its statistics.
    ok(&f, "fgmm-gselect --n=3 @0 ark:%/feats.ark ark:@gselect");
    ok(&f, "fgmm-global-gselect-to-post @0 ark:%/feats.ark ark:@gselect ark:@post");
    let given = ok(&f, "fgmm-global-acc-stats-post --binary=false ark:@post 3 ark:%/feats.ark -");
    near(&given, &ok(&f, "fgmm-global-acc-stats --binary=false @0 ark:%/feats.ark -"), 1e-3);
    ok(&f, "fgmm-global-acc-stats-post ark:@post 4 ark:%/feats.ark @four");
    wrong(
        &f,
        0,
        "fgmm-global-init-from-accs @four 4 @init",
        &["FullGmm has 0 bad GConsts", "1 out of 4 Gaussians had very low occupancy."],
    );
    assert!(ok(&f, "fgmm-global-info @init").starts_with("number of gaussians 4 "));
    f.write("w", "124-1240-0000  [ 1 ]\n");
    wrong(
        &f,
        1,
        "fgmm-global-acc-stats-post --weights=ark:@w ark:@post 3 ark:%/feats.ark @o",
        &["Weights for utterance 124-1240-0000 have wrong dim 1 vs. 60", "no utterance could be used"],
    );
    wrong(&f, 255, "fgmm-global-init-from-accs @four 5 @o", &["expected statistics of 5 Gaussians, found 4"]);
    wrong(
        &f,
        1,
        "fgmm-global-acc-stats-post ark:@post 2 ark:%/feats.ark @o",
        &["Gaussian 2 at frame", "there are 2 Gaussians"],
    );
}

#[test]
fn first_mixtures() {
    let f = folder("init");
    // Two groups of frames, around −5 and 5.
    let frame =
        |t: u32| format!(" {} {}\n", if t.is_multiple_of(2) { -5 } else { 5 }, (t * 7 % 10) as f32 / 10.0);
    let frames: String = (0..200).map(frame).collect();
    f.write("feats", format!("a  [\n{frames} ]\nempty  [ ]\n"));
    let run = |options: &str, out: &str| {
        let line = format!("gmm-global-init-from-feats {options} --num-iters=8 ark:@feats {out}");
        ok(&f, &line)
    };
    let mixture = run("--num-gauss=2 --num-threads=1 --binary=false", "-");
    let weights = mixture.split("<MEANS_INVVARS>").next().unwrap().split("<WEIGHTS>").nth(1).unwrap();
    close(weights, &[0.5, 0.5], 0.02);
    run("--num-gauss=7 --num-gauss-init=2 --num-threads=1", "@one");
    run("--num-gauss=7 --num-gauss-init=2 --num-threads=3", "@three");
    let bytes = |name: &str| std::fs::read(f.path(name)).unwrap();
    assert_eq!(bytes("one"), bytes("three"), "threads change nothing");
    assert!(ok(&f, "gmm-global-info @one").starts_with("number of gaussians 7 "));
    wrong(
        &f,
        0,
        "gmm-global-init-from-feats --num-gauss=2 --num-frames=50 --num-iters=2 ark:@feats @o",
        &[
            "Kept 50 out of 200 input frames = 25%.",
            "Empty feature matrix for utterance empty",
            "on iteration 1 was",
        ],
    );
    let fails = |options: &str, words: &str| {
        wrong(&f, 255, &format!("gmm-global-init-from-feats {options} ark:@feats @new"), &[words]);
        assert!(!std::path::Path::new(&f.path("new")).exists());
    };
    fails("--num-gauss=21", "Too few frames to train on: 200 for 21 Gaussians");
    fails("--num-iters=1", "--num-iters=1: expected at least 2");
    fails("--num-gauss=0", "--num-gauss=0");
    fails("--num-frames=0", "--num-frames=0");
    fails("--num-threads=0", "--num-threads=0");
    f.write("feats", "a  [\n 1 2\n 1 2 ]\nb  [\n 1 ]\n");
    fails("--num-gauss=1", "key 'b': Features have inconsistent dims 1 vs. 2");
    f.write("feats", format!("a  [\n{} ]\n", " 1 2\n".repeat(20)));
    fails("--num-gauss=1", "dimension 0");
}

#[test]
fn estimates_and_sums() {
    let f = folder("estimates");
    estimate(&f);
    let gaussians = |model: &str| numbers(&ok(&f, &format!("gmm-global-info @{model}")))[0];
    ok(&f, "gmm-global-est --mix-up=70 %/init.dubm %/sum.acc @more");
    assert_eq!(gaussians("more"), 70.0);
    let est = |options: &str| format!("gmm-global-est {options} %/init.dubm %/sum.acc @o");
    wrong(&f, 255, &est("--mix-up=10"), &["Cannot split from 64 to 10 components"]);
    wrong(&f, 0, &est("--mix-up=64"), &["Already have the target # of Gaussians. Doing nothing."]);
    wrong(
        &f,
        0,
        &est("--remove-low-count-gaussians=false --min-gaussian-occupancy=100"),
        &["remove-low-count-gaussians == false: g = "],
    );
    wrong(&f, 0, &est("--min-gaussian-weight=0.012"), &["Too little data - removing Gaussian (weight 0.0"]);
    assert!(gaussians("o") < 64.0);
    wrong(&f, 255, &est("--update-flags=x"), &["--update-flags=x: expected letters of 'mvwta', found 'x'"]);
    ok(&f, "gmm-global-acc-stats --update-flags=mw %/init.dubm ark:%/feats.ark @means");
    wrong(&f, 255, "gmm-global-est %/init.dubm @means @o", &["means: Flags in argument do not match"]);
    wrong(
        &f,
        255,
        "gmm-global-sum-accs @o %/sum.acc @means",
        &["dimension or flags mismatch", "means", "with flags 5 cannot be added"],
    );
    ok(&f, "gmm-global-sum-accs @two %/sum.acc %/sum.acc");
    let stats = |file: &str| ok(&f, &format!("gmm-global-sum-accs --binary=false - {file}"));
    let (one, two) = (numbers(&stats("%/sum.acc")), numbers(&stats("@two")));
    // After dimension, number and flags.
    assert!(
        one[3..].iter().zip(&two[3..]).all(|(one, two)| (2.0 * one - two).abs() <= 1e-5 * two.abs().max(1.0))
    );
    f.write("other", "<GMMACCS> <VECSIZE> 1 <NUMCOMPONENTS> 1 <FLAGS> 4 <OCCUPANCY> [ 1 ]\n<MEANACCS> [ ]\n<DIAGVARACCS> [ ]\n</GMMACCS> ");
    wrong(
        &f,
        255,
        "gmm-global-est %/init.dubm @other @o",
        &["1 Gaussians of dimension 1, the mixture has 64"],
    );
    // The other kind of covariances.
    wrong(&f, 255, "fgmm-global-est %/small2.ubm %/sum.acc @o", &["<FULLVARACCS>", "<DIAGVARACCS>"]);
    wrong(&f, 255, "gmm-global-copy %/small2.ubm @o", &["expected <DiagGMM>, found '<FullGMM>'"]);
    wrong(&f, 255, "fgmm-global-copy %/init.dubm @o", &["expected <FullGMM>, found '<DiagGMM>'"]);
    for (options, word) in
        [("--variance-floor=0", "--variance-floor=0"), ("--max-condition=0.5", "at least 1")]
    {
        ok(&f, "fgmm-global-acc-stats %/small2.ubm ark:%/feats.ark @facc");
        wrong(&f, 255, &format!("fgmm-global-est {options} %/small2.ubm @facc @o"), &[word]);
    }
}

/// Programs that go through features with a mixture.
const LOOPS: [&str; 5] = [
    "gmm-global-acc-stats --gselect=ark:@lists %/init.dubm ark:@feats @o",
    "gmm-gselect --n=2 --gselect=ark:@lists %/init.dubm ark:@feats ark:@o",
    "gmm-global-gselect-to-post %/init.dubm ark:@feats ark:@lists ark:@o",
    "gmm-global-get-frame-likes --gselect=ark:@lists %/init.dubm ark:@feats ark:@o",
    "fgmm-global-acc-stats --gselect=ark:@lists %/small2.ubm ark:@feats @o",
];

#[test]
fn utterances_that_cannot_be_used() {
    let f = folder("utterances");
    let zeros = format!("{}\n", " 0".repeat(20));
    let entry = |key: &str, rows: usize| format!("{key}  [\n{} ]\n", zeros.repeat(rows));
    f.write("feats", entry("good", 2));
    f.write("lists", "good 0 1 ; 2 0 ; \n");
    for line in LOOPS {
        ok(&f, line);
    }
    // One utterance is enough; the others get a warning.
    let more = [entry("good", 2), entry("missing", 1), entry("short", 2), entry("bare", 1), entry("high", 1)];
    f.write(
        "feats",
        more.concat()
            + &entry("nan", 1).replacen(" 0", " nan", 1)
            + &entry("large", 1).replacen(" 0", " 1e30", 1),
    );
    f.write("lists", "good 0 1 ; 2 0 ; \nshort 0 ; \nbare ; \nhigh 64 ; \nnan 0 ; \nlarge 0 ; \n");
    for line in LOOPS {
        let words = [
            "No gselect information for utterance missing",
            "gselect information for utterance short has wrong size 1 vs. 2",
            "gselect information for utterance bare has an empty list at frame 0",
            "gselect information for utterance high has Gaussian 64 at frame 0, but the mixture has",
            "nan: frame 0 has the value nan in column 0",
            "large: frame 0 has the value 1e30 in column 0, which is too large",
        ];
        wrong(&f, 0, line, &words);
    }
    // No utterance can be used: files of tables stay as they were, statistics are zeros.
    f.write("feats", entry("missing", 1));
    f.write("o", "before");
    for line in LOOPS {
        wrong(&f, 1, line, &["No gselect information for utterance missing"]);
        assert!(line.contains("acc-stats") || f.read("o") == "before", "{line}");
        if line.starts_with("gmm-global-acc-stats") {
            let sum = numbers(&ok(&f, "gmm-global-sum-accs --binary=false - @o"));
            assert!(sum[3..].iter().all(|&x| x == 0.0));
            f.write("o", "before");
        }
    }
    // Another dimension is an error, or of an utterance in gmm-global-get-post.
    f.write("feats", "narrow  [\n 1 2 ]\n");
    for line in LOOPS {
        wrong(&f, 255, line, &["key 'narrow': features have dimension 2, the mixture 20"]);
    }
    wrong(
        &f,
        1,
        "gmm-global-get-post %/init.dubm ark:@feats ark:@o",
        &["Dimension mismatch for utterance narrow: got 2, expected 20"],
    );
    f.write("feats", entry("good", 2));
    let weights = "gmm-global-acc-stats --weights=ark:@w %/init.dubm ark:@feats @o";
    for (text, words) in [
        ("other  [ 1 ]\n", "No per-frame weights available for utterance good"),
        ("good  [ 1 ]\n", "Weights for utterance good have wrong dim 1 vs. 2"),
        ("good  [ 1 nan ]\n", "Weights for utterance good have the value NaN"),
    ] {
        f.write("w", text);
        wrong(&f, 1, weights, &[words]);
    }
    for (line, words) in [
        ("gmm-gselect --n=0", "--n=0"),
        ("gmm-global-get-post --n=-1", "--n=-1"),
        ("gmm-global-get-post --min-post=1", "--min-post=1"),
    ] {
        wrong(&f, 255, &format!("{line} %/init.dubm ark:@feats ark:@o"), &[words]);
    }
    wrong(
        &f,
        0,
        "gmm-gselect --n=100 %/init.dubm ark:@feats ark:@o",
        &["You asked for 100 Gaussians but GMM only has 64, returning this many. Note: this means"],
    );
}

#[test]
fn lists_and_posteriors_of_tables() {
    let f = folder("lists");
    f.write("lists", "a 3 1 2 ; 7 ; \n");
    assert_eq!(ok(&f, "copy-gselect ark:@lists ark,t:-"), "a 3 1 2 ; 7 ;");
    assert_eq!(ok(&f, "copy-gselect --n=2 ark:@lists ark,t:-"), "a 3 1 ; 7 ;");
    wrong(&f, 255, "copy-gselect --n=-1 ark:@lists ark,t:-", &["--n=-1"]);
    // Probabilities 1/2, 1/4, 1/256.
    f.write("log", "a  [\n -0.6931472 -1.3862944 -5.5451774 ]\nb  [\n nan ]\n");
    let run = |options: &str| ok(&f, &format!("logprob-to-post {options} ark:@log ark,t:-"));
    let pruned = run("--min-post=0.3 --random-prune=false");
    close(&pruned.replace("a [", ""), &[0.0, 0.5], 1e-6);
    close(&run("--min-post=0 ").replace("a [", ""), &[0.0, 0.5, 1.0, 0.25, 2.0, 1.0 / 256.0], 1e-6);
    // Of 1000 equal frames with 1/4, about a quarter has 1 if the least probability is 1.
    let frames = " -1.3862944\n".repeat(1000);
    f.write("log", format!("a  [\n{frames} ]\n"));
    let kept = run("--min-post=1").matches("[ 0 1 ]").count();
    assert!((200..300).contains(&kept), "{kept}");
    wrong(&f, 255, "logprob-to-post --min-post=-1 ark:@log ark:@o", &["--min-post=-1"]);
    f.write("log", "b  [\n nan ]\n");
    wrong(&f, 1, "logprob-to-post ark:@log ark:@o", &["b: frame 0 has the log-probability"]);
}
