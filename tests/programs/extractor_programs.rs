//! Extractors of i-vectors: training and extraction, against figures of the reference (`tests/data/extractor`) and against each other.

use crate::command_lines::{close, fails, numbers, output, run};
use crate::common::Folder;
use kaldi_gmm::{DiagGmm, FullGmm};
use kaldi_io::{read_object, write_object};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/extractor");
const KEYS: [&str; 3] = ["124-1240-0000", "125-1250-0001", "127-1270-0001"];

/// A folder with the features of every third frame, and the mixture with full covariances.
fn folder(name: &str) -> Folder {
    let f = Folder::new(&format!("extractor-{name}"));
    ok(&f, "subsample-feats --n=3 ark:%/feats.ark ark:@feats");
    let mixture: DiagGmm = read_object(&format!("{DATA}/init.dubm")).unwrap();
    write_object(&f.path("fgmm"), true, &FullGmm::from_diag(&mixture).unwrap()).unwrap();
    f
}

/// Runs a command line in which % stands for the folder of figures. Gives its standard error.
#[track_caller]
fn ok(f: &Folder, line: &str) -> String {
    let output = run(f, &line.replace('%', DATA));
    assert_eq!(output.status, 0, "{line}: {}", output.stderr);
    output.stderr
}

fn bytes(f: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(f.path(name)).unwrap()
}

fn copied(f: &Folder, line: &str) -> String {
    output(f, &line.replace('%', DATA))
}

#[test]
fn ivectors_of_the_reference() {
    let f = folder("reference");
    let expected = numbers(&copied(&f, "copy-vector ark:%/expected.ark ark,t:-"));
    assert_eq!(expected.len(), 3 * 8);
    for threads in [1, 4] {
        let log = ok(
            &f,
            &format!(
                "ivector-extract --num-threads={threads} --verbose=2 %/w.ie ark:@feats ark:%/post.ark ark:@vectors"
            ),
        );
        close(&copied(&f, "copy-vector ark:@vectors ark,t:-"), &expected, 1e-4);
        for words in [
            "Done 3 files, 0 with errors.  Total (weighted) frames 175",
            "Overall average objective-function change from estimating ivector was ",
            "Ivector norm for utterance 125-1250-0001 was ",
        ] {
            assert!(log.contains(words), "{log}");
        }
    }
    // A speaker of one utterance is that utterance.
    f.write("spk2utt", "s 124-1240-0000 nosuch\nghost nobody\n");
    let line = "ivector-extract --spk2utt=ark:@spk2utt %/w.ie ark:@feats ark:%/post.ark ark,t:@speaker";
    let log = ok(&f, line);
    close(f.read("speaker").strip_prefix("s ").unwrap(), &expected[..8], 1e-4);
    for words in [
        "No features present for utterance nosuch",
        "No stats accumulated for speaker ghost",
        "Done 1 speakers; 1 with errors.  1 utterances were processed, 2 with errors.",
    ] {
        assert!(log.contains(words), "{log}");
    }
    // Weights that depend on the i-vector cannot be used online.
    fails(
        &f,
        255,
        &format!("ivector-extract-online {DATA}/w.ie ark:@feats ark:{DATA}/post.ark ark:@x"),
        &["w.ie: weights that depend on the i-vector cannot be used online"],
    );
}

#[test]
fn the_first_extractor_is_that_of_the_reference() {
    let f = folder("init");
    let log = ok(&f, "ivector-extractor-init --ivector-dim=8 @fgmm @0.ie");
    assert!(log.contains("Initialized iVector extractor with iVector dimension 8 and wrote it to "), "{log}");
    let text = copied(&f, "ivector-extractor-copy --binary=false @0.ie -");
    let expected = numbers(&std::fs::read_to_string(format!("{DATA}/init.txt")).unwrap());
    let (_, projections) = text.split_once("<M> 16").unwrap();
    let (projections, _) = projections.split_once("<SigmaInv>").unwrap();
    let found = numbers(projections);
    assert_eq!((found.len(), expected.len()), (16 * 160, 320));
    let near = |found: &[f64], expected: &[f64]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {expected:?}");
    };
    near(&found[..160], &expected[..160]);
    near(&found[15 * 160..], &expected[160..]);
    // A copy of a copy in the other form is the same.
    ok(&f, "ivector-extractor-copy --binary=false @0.ie @text.ie");
    assert_eq!(copied(&f, "ivector-extractor-copy --binary=false @text.ie -"), text);
    fails(&f, 255, "ivector-extractor-init --ivector-dim=0 @fgmm @x.ie", &["--ivector-dim=0"]);
    fails(&f, 255, &format!("ivector-extractor-init {DATA}/init.dubm @x.ie"), &["init.dubm"]);
}

/// Returns the number behind some words of a log.
#[track_caller]
fn figure(log: &str, words: &str) -> f64 {
    let (_, rest) = log.split_once(words).unwrap_or_else(|| panic!("no '{words}' in {log}"));
    rest.split_whitespace().next().unwrap().trim_end_matches('.').parse().unwrap()
}

#[test]
fn training_improves_the_objective_and_jobs_can_be_split() {
    let f = folder("training");
    ok(&f, "ivector-extractor-init --ivector-dim=4 --use-weights=false @fgmm @0.ie");
    let acc = "ivector-extractor-acc-stats";
    let log = ok(&f, &format!("{acc} @0.ie ark:@feats ark:%/post.ark @all.acc"));
    assert!(log.contains("Done 3 files, 0 with errors.  Total frames 175"), "{log}");
    ok(&f, &format!("{acc} --num-threads=5 @0.ie ark:@feats ark:%/post.ark @threads.acc"));
    assert_eq!(bytes(&f, "all.acc"), bytes(&f, "threads.acc"));
    // Two jobs.
    f.write("first", format!("{} {}\n{} {}\n", KEYS[0], KEYS[0], KEYS[1], KEYS[1]));
    ok(&f, "subset-feats --include=@first ark:@feats ark:@feats.1");
    ok(&f, "subset-feats --exclude=@first ark:@feats ark:@feats.2");
    ok(&f, &format!("{acc} @0.ie ark:@feats.1 ark:%/post.ark @1.acc"));
    ok(&f, &format!("{acc} @0.ie ark:@feats.2 ark:%/post.ark @2.acc"));
    ok(&f, "ivector-extractor-sum-accs @1.acc @2.acc @sum.acc");
    ok(&f, "ivector-extractor-sum-accs --parallel=true @1.acc @2.acc @parallel.acc");
    assert_eq!(bytes(&f, "sum.acc"), bytes(&f, "parallel.acc"));
    ok(&f, "ivector-extractor-sum-accs --binary=false @sum.acc @sum.txt");
    ok(&f, "ivector-extractor-sum-accs --binary=false @all.acc @all.txt");
    let (found, expected) = (numbers(&f.read("sum.txt")), numbers(&f.read("all.txt")));
    assert_eq!(found.len(), expected.len());
    let most = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6 * most));
    // Updates.
    let est = "ivector-extractor-est --gaussian-min-count=5";
    let log = ok(&f, &format!("{est} --num-threads=1 @0.ie @all.acc @1.ie"));
    ok(&f, &format!("{est} --num-threads=3 @0.ie @all.acc @threads.ie"));
    assert_eq!(bytes(&f, "1.ie"), bytes(&f, "threads.ie"));
    for words in [
        "Overall objective function improvement for M (mean projections) was ",
        "Floored ",
        "Eigenvalues of Vavg:  [ ",
        "Setting iVector prior offset to ",
        "The proportion of within-Gaussian variance explained by the iVectors is 0.9",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    let mut last = figure(&log, "Overall auxf/frame on training data was ");
    for iteration in 1..4 {
        ok(&f, &format!("ivector-extractor-acc-stats @{iteration}.ie ark:@feats ark:%/post.ark @acc"));
        let log = ok(&f, &format!("{est} @{iteration}.ie @acc @{}.ie", iteration + 1));
        let objective = figure(&log, "Overall auxf/frame on training data was ");
        assert!(objective > last, "{objective} after {last}");
        last = objective;
    }
    // Without what is not needed.
    let line = format!(
        "{acc} --update-variances=false --compute-auxf=false @0.ie ark:@feats ark:%/post.ark @few.acc"
    );
    ok(&f, &line);
    let log = ok(&f, &format!("{est} --diagonalize=false @0.ie @few.acc @few.ie"));
    assert!(
        ["variances was", "Overall auxf/frame", "Vavg"].iter().all(|words| !log.contains(words)),
        "{log}"
    );
}

#[test]
fn online_estimates_end_at_those_of_whole_utterances() {
    let f = folder("online");
    ok(&f, "ivector-extractor-init --ivector-dim=4 --use-weights=false @fgmm @0.ie");
    ok(&f, "ivector-extractor-acc-stats @0.ie ark:@feats ark:%/post.ark @acc");
    ok(&f, "ivector-extractor-est --gaussian-min-count=5 @0.ie @acc @1.ie");
    // Rows are after frames 0, 49, …: for the utterance of 50 frames the second row is that of all.
    let line =
        "ivector-extract-online --ivector-period=49 --num-cg-iters=100 @1.ie ark:@feats ark:%/post.ark";
    let log = ok(&f, &format!("{line} ark:@online"));
    assert!(log.contains("Estimated iVectors for 3 files, 0 with errors."), "{log}");
    assert!(log.contains("over 175 frames (weighted);  expected length is 2"), "{log}");
    let online = copied(&f, "copy-feats ark:@online ark,t:-");
    let rows = numbers(online.split_once(KEYS[2]).unwrap().1);
    let vectors = copied(&f, "ivector-extract @1.ie ark:@feats ark:%/post.ark ark,t:-");
    assert_eq!(rows.len(), 8);
    close(vectors.split_once(KEYS[2]).unwrap().1, &rows[4..], 1e-3);
    // Rows are replaced by later ones, always the same.
    assert_eq!(copied(&f, "ivector-randomize --randomize-prob=0 ark:@online ark,t:-"), online);
    let log = ok(&f, "ivector-randomize --randomize-prob=1 --srand=3 ark:@online ark:@mixed");
    assert!(log.contains("Randomized 6 iVectors."), "{log}");
    let mixed = numbers(copied(&f, "copy-feats ark:@mixed ark,t:-").split_once(KEYS[2]).unwrap().1);
    assert_eq!(mixed[4..], rows[4..]);
    assert!(mixed[..4] == rows[..4] || mixed[..4] == rows[4..]);
    fails(&f, 255, "ivector-randomize --randomize-prob=1.5 ark:@online ark:@x", &["--randomize-prob=1.5"]);
}

#[test]
fn utterances_and_files_that_do_not_fit() {
    let f = folder("wrong");
    ok(&f, "ivector-extractor-init --ivector-dim=4 --use-weights=false @fgmm @0.ie");
    ok(&f, "ivector-extractor-init --ivector-dim=3 --use-weights=false @fgmm @other.ie");
    let post = format!("ark:{DATA}/post.ark");
    // Posteriors of other lengths, or none: statistics are written, the status is 1.
    let log = run(&f, &format!("ivector-extractor-acc-stats @0.ie ark:{DATA}/feats.ark {post} @none.acc"));
    assert_eq!(log.status, 1, "{}", log.stderr);
    assert!(
        log.stderr
            .contains("Size mismatch between posterior 63 and features 187 for utterance 124-1240-0000")
    );
    assert!(log.stderr.contains("Done 0 files, 3 with errors.  Total frames 0"), "{}", log.stderr);
    f.write("keep", "old\n");
    fails(
        &f,
        255,
        "ivector-extractor-est @0.ie @none.acc @keep",
        &["the statistics have a count of 0 frames"],
    );
    // Another dimension, or a Gaussian that does not exist, is another model: nothing is written.
    ok(&f, "select-feats 0-9 ark:@feats ark:@narrow");
    let narrow = ["Feature dimension mismatch, expected 20, got 10", "124-1240-0000"];
    fails(&f, 255, &format!("ivector-extractor-acc-stats @0.ie ark:@narrow {post} @keep"), &narrow);
    fails(&f, 255, &format!("ivector-extract @0.ie ark:@narrow {post} ark:@keep"), &narrow);
    fails(&f, 255, &format!("ivector-extract-online @0.ie ark:@narrow {post} ark:@keep"), &narrow);
    f.write("post", format!("{} {}\n", KEYS[0], "[ 16 1 ] ".repeat(63)));
    let gaussian = ["frame 0 has a posterior of Gaussian 16, the model has 16 Gaussians"];
    for line in [
        "ivector-extractor-acc-stats @0.ie ark:@feats ark:@post @keep",
        "ivector-extract @0.ie ark:@feats ark:@post ark:@keep",
        "ivector-extract-online @0.ie ark:@feats ark:@post ark:@keep",
    ] {
        fails(&f, 255, line, &gaussian);
    }
    // An utterance with negative posteriors is left out; the others are used.
    f.write(
        "post",
        format!("{} {}\n{} {}\n", KEYS[0], "[ 1 -1 ] ".repeat(63), KEYS[2], "[ 1 1 ] ".repeat(50)),
    );
    let negative = ["124-1240-0000: the precision of the i-vector is not positive definite"];
    fails(&f, 0, "ivector-extract @0.ie ark:@feats ark:@post ark:@vectors", &negative);
    fails(&f, 0, "ivector-extractor-acc-stats @0.ie ark:@feats ark:@post @one.acc", &negative);
    fails(
        &f,
        0,
        "ivector-extractor-acc-stats @0.ie ark:@feats ark:@post @one.acc",
        &["Done 1 files, 2 with errors.  Total frames", "No posteriors for utterance 125-1250-0001"],
    );
    // Files of other models.
    ok(&f, &format!("ivector-extractor-acc-stats @0.ie ark:@feats {post} @acc"));
    ok(&f, &format!("ivector-extractor-acc-stats @other.ie ark:@feats {post} @other.acc"));
    fails(&f, 255, "ivector-extractor-sum-accs @acc @other.acc @keep", &["<Y>: expected 20×4, found 20×3"]);
    fails(&f, 255, "ivector-extractor-sum-accs @acc @nosuch @keep", &["nosuch"]);
    fails(&f, 1, "ivector-extractor-sum-accs @acc", &[]);
    fails(
        &f,
        255,
        "ivector-extractor-est @other.ie @acc @keep",
        &[
            "with i-vectors of dimension 4, the model has 16 Gaussians of dimension 20 with i-vectors of dimension 3",
        ],
    );
    fails(
        &f,
        255,
        "ivector-extractor-est --gaussian-min-count=10000 @0.ie @acc @keep",
        &["no Gaussian has a count of at least --gaussian-min-count=10000"],
    );
    fails(
        &f,
        255,
        "ivector-extractor-est --variance-floor-factor=2 @0.ie @acc @keep",
        &["--variance-floor-factor=2"],
    );
    fails(
        &f,
        255,
        &format!("ivector-extractor-acc-stats --num-samples-for-weights=1 @0.ie ark:@feats {post} @keep"),
        &["--num-samples-for-weights=1"],
    );
    f.write("spk2utt", format!("s {}\n", KEYS[0]));
    fails(
        &f,
        255,
        &format!("ivector-extract --num-threads=2 --spk2utt=ark:@spk2utt @0.ie ark:@feats {post} ark:@keep"),
        &["--spk2utt option is incompatible with --num-threads option"],
    );
    fails(
        &f,
        255,
        &format!("ivector-extract-online --ivector-period=0 @0.ie ark:@feats {post} ark:@keep"),
        &["period=0"],
    );
    assert_eq!(f.read("keep"), "old\n");
}
