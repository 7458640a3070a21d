//! Voice activity, back ends of speaker vectors and clustering, against figures of the reference (`tests/data/speakers`) and
//! figures computed by hand.

use crate::command_lines::{close, fails, numbers, output, run};
use crate::common::Folder;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/speakers");

fn folder(name: &str) -> Folder {
    Folder::new(&format!("speakers-{name}"))
}

/// Runs a command line in which % stands for the folder of figures.
#[track_caller]
fn ok(f: &Folder, line: &str) -> String {
    output(f, &line.replace('%', DATA))
}

/// Compares a table of vectors or matrices with one of the figures: keys, and numbers within `tolerance` of the largest.
#[track_caller]
fn same(f: &Folder, program: &str, table: &str, reference: &str, tolerance: f64) {
    let text = |name: String| output(f, &format!("{program} ark:{name} ark,t:-"));
    let (found, expected) = (text(f.path(table)), text(format!("{DATA}/{reference}")));
    let keys =
        |text: &str| text.split(' ').filter(|word| word.parse::<f64>().is_err()).map(str::to_owned).collect();
    let (found_keys, expected_keys): (Vec<String>, Vec<String>) = (keys(&found), keys(&expected));
    assert_eq!(found_keys, expected_keys);
    near(&numbers(&found), &numbers(&expected), tolerance);
}

#[track_caller]
fn near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let limit = tolerance * expected.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= limit, "{found} instead of {expected}");
    }
}

/// Compares PLDA models: the rows of the transform up to their sign.
#[track_caller]
fn same_plda(f: &Folder, model: &str, reference: &str) {
    let parts = |name: &str| {
        let text = run(f, &format!("ivector-copy-plda --binary=false {name} -")).stdout;
        let lines: Vec<Vec<f64>> = text.lines().map(numbers).filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), lines[0].len() + 2, "{text}");
        lines
    };
    let (found, expected) = (parts(&f.path(model)), parts(&format!("{DATA}/{reference}")));
    let dim = expected[0].len();
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let product: f64 = found.iter().zip(expected).map(|(a, b)| a * b).sum();
        let sign = if (1..=dim).contains(&row) && product < 0.0 { -1.0 } else { 1.0 };
        near(&found.iter().map(|x| sign * x).collect::<Vec<_>>(), expected, 1e-5);
    }
}

#[test]
fn vectors_are_averaged_centred_and_scaled() {
    let f = folder("vectors");
    ok(&f, "ivector-mean ark:%/vectors.train.ark @mean");
    near(
        &numbers(&f.read("mean")),
        &numbers(&std::fs::read_to_string(format!("{DATA}/mean.vec")).unwrap()),
        1e-5,
    );
    ok(&f, "ivector-subtract-global-mean @mean ark:%/vectors.ark ark:@centred");
    ok(&f, "ivector-normalize-length ark:@centred ark:@norm");
    same(&f, "copy-vector", "norm", "norm.ark", 1e-5);
    f.write("v", "a  [ 1 2 ]\nb  [ 3 6 ]\nc  [ 5 1 ]\n");
    f.write("s", "x a b nosuch\ny c\nghost nobody\n");
    assert_eq!(ok(&f, "ivector-mean ark:@s ark:@v ark,t:- ark,t:@n"), "x [ 2 4 ] y [ 5 1 ]");
    assert_eq!(f.read("n"), "x 2 \ny 1 \n");
    fails(
        &f,
        0,
        "ivector-mean ark:@s ark:@v ark:@o",
        &["utterance nosuch", "speaker ghost", "1 with no utterances"],
    );
    assert_eq!(ok(&f, "ivector-subtract-global-mean ark:@v ark,t:-"), "a [ -2 -1 ] b [ 0 3 ] c [ 2 -2 ]");
    f.write("empty", "a  [ ]\n");
    fails(&f, 255, "ivector-mean ark:@empty @o", &["No iVectors read"]);
    fails(&f, 1, "ivector-mean ark:@v", &[]);
    f.write("odd", "a  [ 1 2 ]\nb  [ 1 ]\n");
    fails(&f, 255, "ivector-mean ark:@odd @o", &["key 'b'", "dimension 1"]);
    fails(
        &f,
        0,
        "ivector-subtract-global-mean ark:@odd ark:@o",
        &["b: dimension 1, the vectors before it have 2"],
    );
    f.write("zero", "a  [ 0 0 ]\nb  [ 3 4 ]\n");
    close(&ok(&f, "ivector-normalize-length --scaleup=false ark:@zero ark,t:-"), &[0.0, 0.0, 0.6, 0.8], 1e-6);
    fails(&f, 0, "ivector-normalize-length ark:@zero ark:@o", &["Zero iVector"]);
    f.write("m", " [\n 1 0 1\n 2 1 0 ]\n");
    assert_eq!(ok(&f, "ivector-transform @m ark:@odd ark,t:-"), "a [ 2 4 ]");
    fails(&f, 0, "ivector-transform @m ark:@odd ark:@o", &["b: dimension 1"]);
}

#[test]
fn discriminant_analysis() {
    let f = folder("lda");
    ok(&f, "ivector-subtract-global-mean ark:%/vectors.train.ark ark:@centred");
    ok(
        &f,
        "ivector-compute-lda --total-covariance-factor=0.0 --dim=12 ark:@centred ark:%/utt2spk.train @lda.mat",
    );
    let rows = |name: &str| {
        let text = run(&f, &format!("copy-matrix --binary=false {name} -")).stdout;
        text.lines().map(numbers).filter(|row| !row.is_empty()).collect::<Vec<_>>()
    };
    let (found, expected) = (rows(&f.path("lda.mat")), rows(&format!("{DATA}/lda.mat")));
    assert_eq!(found.len(), 12);
    for (found, expected) in found.iter().zip(&expected) {
        let product: f64 = found.iter().zip(expected).map(|(a, b)| a * b).sum();
        near(&found.iter().map(|x| x * product.signum()).collect::<Vec<_>>(), expected, 1e-4);
    }
    f.write("few", "a  [ 1 2 3 ]\nb  [ 2 1 0 ]\n");
    f.write("u2s", "a s\nb s\n");
    fails(&f, 255, "ivector-compute-lda --dim=2 ark:@few ark:@u2s @o", &["2 vectors of dimension 3"]);
    fails(&f, 255, "ivector-compute-lda --dim=4 ark:@few ark:@u2s @o", &["--dim=4"]);
    fails(&f, 255, "ivector-compute-lda --dim=2 ark:@few ark:@few @o", &[]);
}

#[test]
fn plda_models_and_scores() {
    let f = folder("plda");
    ok(&f, "ivector-compute-plda ark:%/spk2utt.train ark:%/train.ark @plda");
    same_plda(&f, "plda", "plda");
    ok(&f, "ivector-copy-plda --smoothing=0.1 %/plda @smooth");
    same_plda(&f, "smooth", "smooth.plda");
    ok(
        &f,
        "ivector-adapt-plda --within-covar-scale=0.75 --between-covar-scale=0.25 %/plda ark:%/test.ark @adapted",
    );
    same_plda(&f, "adapted", "adapt.plda");
    let trials = std::fs::read_to_string(format!("{DATA}/trials")).unwrap();
    let kinds: Vec<&str> = trials.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
    let pairs: String =
        trials.lines().map(|line| format!("{}\n", line.rsplit_once(' ').unwrap().0)).collect();
    f.write("trials", pairs);
    // The own model gives the scores of the reference's.
    for (options, reference) in [
        ("--num-utts=ark:%/num_utts @plda", "score.txt"),
        ("--simple-length-normalization=true %/plda", "score.simple.txt"),
    ] {
        ok(&f, &format!("ivector-plda-scoring {options} ark:%/enroll.ark ark:%/test.ark @trials @scores"));
        let expected = std::fs::read_to_string(format!("{DATA}/{reference}")).unwrap();
        let last = |text: &str| -> Vec<f64> {
            text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect()
        };
        near(&last(&f.read("scores")), &last(&expected), 1e-5);
        if reference == "score.txt" {
            let lines: String =
                last(&expected).iter().zip(&kinds).map(|(score, kind)| format!("{score} {kind}\n")).collect();
            f.write("eer", lines);
        }
    }
    assert_eq!(run(&f, "compute-eer @eer").stdout, "18.18");
    f.write("wrong", "1 target\n2 tgt\n");
    fails(&f, 255, "compute-eer @wrong", &["wrong, line 2", "tgt"]);
}

#[test]
fn plda_without_enough_data_and_wrong_trials() {
    let f = folder("plda-wrong");
    f.write("v", "a  [ 1 2 ]\nb  [ 2 1 ]\nc  [ 0 1 ]\nd  [ 4 4 ]\n");
    f.write("two", "s a b\n");
    fails(&f, 255, "ivector-compute-plda ark:@two ark:@v @o", &["2 vectors of dimension 2"]);
    f.write("single", "s a\nt b\nu c\n");
    fails(&f, 255, "ivector-compute-plda ark:@single ark:@v @o", &["found none among 3 speakers"]);
    f.write("nobody", "s\n");
    fails(&f, 255, "ivector-compute-plda ark:@nobody ark:@v @o", &["key 's'", "Speaker with no utterances"]);
    f.write("odd", "a  [ 1 2 ]\nb  [ 2 ]\n");
    fails(&f, 255, "ivector-compute-plda ark:@two ark:@odd @o", &["key 's'", "utterance b", "dimension 1"]);
    f.write("spk2utt", "s a b\nt c d\n");
    ok(&f, "ivector-compute-plda ark:@spk2utt ark:@v @plda");
    let line = |trials: &str| format!("ivector-plda-scoring @plda ark:@v ark:@v @{trials} @scores");
    f.write("scores", "old");
    f.write("t1", "a b\na b c\n");
    fails(&f, 255, &line("t1"), &["Bad line 1", "a b c"]);
    assert_eq!(f.read("scores"), "old");
    f.write("t2", "a b\nx b\na y\n");
    fails(
        &f,
        0,
        &line("t2"),
        &["Key x not present in training", "Key y not present in test", "1 trials, 2 had"],
    );
    f.write("twice", "a  [ 1 2 ]\na  [ 1 2 ]\n");
    fails(&f, 255, "ivector-plda-scoring @plda ark:@twice ark:@v @t2 @o", &["Duplicate training", "for a"]);
    fails(&f, 255, "ivector-plda-scoring @v ark:@v ark:@v @t2 @o", &["<Plda>"]);
    f.write("t3", "a c\nb d\n");
    assert_eq!(ok(&f, "ivector-compute-dot-products @t3 ark:@v ark:@v -"), "a c 2 b d 12");
    fails(&f, 255, "ivector-compute-dot-products @t2 ark:@odd ark:@odd @o", &["dimensions 2 and 1"]);
    fails(&f, 255, "ivector-adapt-plda @plda ark:@odd @o", &["key 'b'", "dimension 1"]);
}

#[test]
fn recordings_are_scored_and_clustered() {
    let f = folder("diarization");
    for (energy, reference) in [("0.5", "score.0.5.ark"), ("1", "score.1.ark")] {
        ok(
            &f,
            &format!(
                "ivector-plda-scoring-dense --target-energy={energy} %/windows.plda ark:%/reco2utt ark:%/windows.ark ark:@scores"
            ),
        );
        same(&f, "copy-matrix", "scores", reference, 1e-4);
    }
    for (options, reference) in [
        ("--threshold=0.3 ark:%/score.0.5.ark", "cluster.pos.labels"),
        ("--reco2num-spk-rspecifier=ark:%/reco2num_spk ark:%/score.1.ark", "cluster.num.labels"),
        ("--threshold=-6 --first-pass-max-utterances=8 ark:%/score.1.ark", "cluster.two.labels"),
    ] {
        ok(&f, &format!("agglomerative-cluster {options} ark:%/reco2utt ark,t:@labels"));
        assert_eq!(
            f.read("labels"),
            std::fs::read_to_string(format!("{DATA}/{reference}")).unwrap(),
            "{options}"
        );
    }
    f.write("m", "r  [\n 0 1\n 1 0 ]\nq  [\n 0 1\n 1 0 ]\n");
    f.write("r2u", "q a b\nr x\n");
    fails(&f, 0, "agglomerative-cluster ark:@m ark:@r2u ark:@o", &["r: 1 utterances, but scores of 2"]);
    f.write("none", "q a b\n");
    fails(&f, 255, "agglomerative-cluster ark:@m ark:@none ark:@o", &["key 'r'", "no such key in ark:"]);
    fails(
        &f,
        255,
        "agglomerative-cluster --first-pass-max-utterances=0 ark:@m ark:@r2u ark:@o",
        &["expected at least 2"],
    );
}

#[test]
fn voice_activity() {
    let f = folder("vad");
    f.write("feats", "u  [\n 1 7\n 9 7\n 9 7\n 1 7\n 1 7 ]\nsilent  [\n 1 7\n 1 7 ]\n");
    // The means are 4.2 and 1, so the thresholds are 4.1 and 2.5.
    let options = "--vad-energy-threshold=2";
    assert_eq!(
        ok(&f, &format!("compute-vad {options} ark:@feats ark,t:-")),
        "u [ 0 1 1 0 0 ] silent [ 0 0 ]"
    );
    assert_eq!(
        ok(
            &f,
            &format!(
                "compute-vad {options} --vad-frames-context=1 --vad-proportion-threshold=0.5 ark:@feats ark,t:-"
            )
        ),
        "u [ 1 1 1 0 0 ] silent [ 0 0 ]"
    );
    fails(
        &f,
        0,
        &format!("compute-vad {options} --omit-unvoiced-utts ark:@feats ark:@vad"),
        &["utterance silent"],
    );
    fails(
        &f,
        1,
        "compute-vad --vad-energy-threshold=99 ark:@feats ark:@none",
        &["2 were completely unvoiced"],
    );
    fails(
        &f,
        255,
        "compute-vad --vad-proportion-threshold=1 ark:@feats ark:@o",
        &["--vad-proportion-threshold=1"],
    );
    let select = "select-voiced-frames ark:@feats";
    assert_eq!(ok(&f, &format!("{select} ark:@vad ark,t:-")), "u [ 9 7 9 7 ]");
    fails(
        &f,
        0,
        &format!("{select} ark:@vad ark:@o"),
        &["No VAD input found for utterance silent", "1 utterances, 1 had errors"],
    );
    fails(
        &f,
        1,
        &format!("{select} ark:@none ark:@o"),
        &["No features were judged as voiced for utterance u"],
    );
    f.write("wrong", "u  [ 1 0 ]\nsilent  [ 1 0.5 ]\n");
    fails(
        &f,
        1,
        &format!("{select} ark:@wrong ark:@o"),
        &["u: 2 decisions for 5 frames", "silent: the decision of frame 1"],
    );

    f.write("l1", "u  [ 1 5 2 ]\nv  [ 1 ]\n");
    f.write("l2", "u  [ 1 4 3 ]\n");
    f.write("map", "1 4 # speech\n\n0   0\n");
    let likes = "compute-vad-from-frame-likes --map=@map";
    assert_eq!(ok(&f, &format!("{likes} ark:@l1 ark:@l2 ark,t:-")), "u [ 0 0 4 ]");
    assert_eq!(ok(&f, &format!("{likes} --priors=0.2,0.8 ark:@l1 ark:@l2 ark,t:-")), "u [ 4 4 4 ]");
    fails(&f, 0, &format!("{likes} ark:@l1 ark:@l2 ark:@o"), &["No vector for utterance v (ark:"]);
    fails(&f, 255, &format!("{likes} --priors=1 ark:@l1 ark:@l2 ark:@o"), &["1 priors specified"]);
    f.write("a", "u  [ 0 1 1 ]\n");
    f.write("b", "u  [ 1 1 0 ]\n");
    assert_eq!(ok(&f, "merge-vads ark:@a ark:@b ark,t:-"), "u [ 0 1 0 ]");
    f.write("table", "0 1 2\n1 1 3\n1 0 4\n");
    assert_eq!(ok(&f, "merge-vads --map=@table ark:@a ark:@b ark,t:-"), "u [ 2 3 4 ]");
    fails(&f, 255, "merge-vads --map=@table ark:@a ark:@a ark:@o", &["Map is missing combination 0 and 0"]);
    fails(&f, 1, "merge-vads ark:@l2 ark:@vad ark:@o", &["u: 3 and 5 frames"]);
}

#[test]
fn logistic_regression() {
    let f = folder("logistic");
    let figures = |name: &str| numbers(&std::fs::read_to_string(format!("{DATA}/{name}")).unwrap());
    ok(&f, "logistic-regression-train --binary=false ark:%/points.txt ark:%/classes.test @lr");
    near(&numbers(&f.read("lr")), &figures("lr.mdl"), 2e-3);
    let mix = "--mix-up=9 --power=0.3 --max-steps=12 --normalizer=0.02";
    ok(&f, &format!("logistic-regression-train {mix} --binary=false ark:%/train.ark ark:%/classes.mix @mix"));
    near(&numbers(&f.read("mix")), &figures("lr.mix.mdl"), 5e-3);
    ok(&f, "logistic-regression-eval --apply-log=false %/lr.mix.mdl ark:%/train.ark ark,t:@posteriors");
    near(&numbers(&f.read("posteriors")), &figures("lr.eval.exp.txt"), 1e-4);

    // Scores are 1 + x, 0: the posteriors at x = 1 are those of the odds e^2, and 2e^2 with twice the first prior.
    f.write("m", "<LogisticRegression> <weights>  [\n 1 1\n 0 0 ]\n<class> [ 0 1 ]\n</LogisticRegression> ");
    f.write("x", "a  [ 1 ]\nb  [ 1 2 ]\n");
    let odds = 2f64.exp();
    let eval = "logistic-regression-eval --apply-log=false";
    close(&ok(&f, &format!("{eval} @m ark:@x ark,t:-")), &[odds / (1.0 + odds), 1.0 / (1.0 + odds)], 1e-5);
    f.write("scale", "[ 2 1 ]");
    ok(&f, "logistic-regression-copy --scale-priors=@scale @m @m2");
    f.write("c", "a 0\nb 0\nnosuch 1\n");
    close(&ok(&f, &format!("{eval} @m2 ark:@c ark:@x -")), &[0.0, 2.0 * odds / (1.0 + 2.0 * odds)], 1e-5);
    fails(
        &f,
        0,
        &format!("{eval} @m ark:@c ark:@x @o"),
        &["b: dimension 2, the model has 1", "nosuch: no vector"],
    );
    f.write("c9", "a 9\n");
    fails(&f, 1, &format!("{eval} @m ark:@c9 ark:@x @o"), &["a: class 9, but the model has 2 classes"]);
    fails(&f, 255, "logistic-regression-train ark:@x ark:@c @o", &["key 'b'", "dimension 2"]);
    f.write("none", "nosuch 1\n");
    fails(
        &f,
        255,
        "logistic-regression-train ark:@x ark:@none @o",
        &["No vector for utterance nosuch", "no vectors"],
    );
    f.write("three", "[ 1 1 1 ]");
    fails(
        &f,
        255,
        "logistic-regression-copy --scale-priors=@three @m @o",
        &["3 scales of priors for 2 classes"],
    );
}
