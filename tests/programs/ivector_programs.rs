//! I-vectors of a small model, computed with NumPy from their definition, and messages about files that do not fit.

use crate::command_lines::{close, fails, numbers, output, run};
use crate::common::Folder;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ivectors");

/// A folder with the model's configuration and the utterances of a speaker.
fn folder(name: &str) -> Folder {
    let f = Folder::new(&format!("ivectors-{name}"));
    let options = [
        ("lda-matrix", "final.mat"),
        ("global-cmvn-stats", "global_cmvn.stats"),
        ("cmvn-config", "online_cmvn.conf"),
        ("splice-config", "splice.conf"),
        ("diag-ubm", "final.dubm"),
        ("ivector-extractor", "final.ie"),
    ];
    let config: String = options.iter().map(|(name, file)| format!("--{name}={MODEL}/{file}\n")).collect();
    f.write(
        "ivector.conf",
        config
            + "--ivector-period=4\n--posterior-scale=0.5\n--max-count=1\n--num-gselect=2\n--min-post=0.1\n",
    );
    f.write("spk2utt", "s u1 u2\n");
    f
}

fn line(options: &str) -> String {
    format!(
        "ivector-extract-online2 --config=@ivector.conf {options} ark:@spk2utt ark:{MODEL}/feats.ark ark,t:-"
    )
}

#[test]
fn ivectors_of_two_utterances_of_a_speaker() {
    let f = folder("figures");
    let expected = numbers(&std::fs::read_to_string(format!("{MODEL}/expected")).unwrap());
    assert_eq!(expected.len(), 6 * 3);
    for threads in [1, 8] {
        close(&output(&f, &line(&format!("--num-threads={threads}"))), &expected, 1e-4);
    }
    // A row for each frame: each is as often there as a period has frames.
    let repeated = numbers(&output(&f, &line("--repeat=true")));
    assert_eq!(repeated.len(), (13 + 7) * 3);
    assert!((0..13).all(|t| (0..3).all(|d| (repeated[3 * t + d] - expected[t / 4 * 3 + d]).abs() < 1e-4)));
    // Weights of 1 have no effect; weights of 0 give i-vectors of 0.
    let ones = |count: usize| "1 ".repeat(count);
    f.write("weights", format!("u1 [ {}]\nu2 [ {}]\n", ones(13), ones(7)));
    close(&output(&f, &line("--frame-weights-rspecifier=ark:@weights")), &expected, 1e-4);
    f.write("weights", format!("u1 [ {}]\nu2 [ {}]\n", "0 ".repeat(13), "0 ".repeat(7)));
    close(&output(&f, &line("--frame-weights-rspecifier=ark:@weights")), &[0.0; 18], 1e-6);
    // The log lines.
    let log = run(&f, &line("--verbose=2")).stderr;
    let lines = [
        "For utterance u1, UBM loglike/frame was ",
        "Estimated iVectors for 2 files, 0 with errors.",
        "Average objective-function improvement was ",
        "Average iVector length was 6.39182 and at utterance-end was 7.20042, over 20 frames (weighted);  expected length is \
         1.73205",
    ];
    lines.iter().for_each(|line| assert!(log.contains(line), "{line}: {log}"));
}

#[test]
fn all_frames_at_once() {
    let f = folder("greedy");
    let found = numbers(&output(&f, &line("--greedy-ivector-extractor=true")));
    // All rows of an utterance are the same.
    assert_eq!(found.len(), 18);
    assert!((0..12).all(|i| found[i] == found[i % 3]) && found[12..15] == found[15..18]);
    assert!(
        run(&f, &line("--greedy-ivector-extractor=true"))
            .stderr
            .contains("implies --use-most-recent-ivector=true")
    );
}

#[test]
fn what_does_not_fit() {
    let f = folder("misfits");
    f.write("weights", "u2 [ 1 1 1 ]\n");
    let weights = "--frame-weights-rspecifier=ark:@weights";
    fails(
        &f,
        1,
        &line(weights),
        &["u1: no weights in ark:", "u2: 3 weights for 7 frames", "for 0 files, 2 with"],
    );
    fails(
        &f,
        0,
        &line(&format!("{weights} --length-tolerance=4")),
        &["u1: no weights", "for 1 files, 1 with"],
    );
    f.write("spk2utt", "s u1 u3\n");
    fails(&f, 0, &line(""), &["u3: no features in ark:", "for 1 files, 1 with errors"]);
    // Three features more are taken for pitch, others not.
    let more = |extra: &str| format!("u1 [\n1 2 {extra}\n0.5 -1 {extra} ]\nu2 [ ]\n");
    f.write("feats", more("7 7 7"));
    f.write("spk2utt", "s u1 u2\n");
    let from = |line: String| line.replace(&format!("{MODEL}/feats.ark"), "@feats");
    let with_pitch = from(line(""));
    fails(&f, 0, &with_pitch, &["too large by 3", "u2: there are no frames", "for 1 files, 1 with errors"]);
    let found = numbers(&output(&f, &with_pitch));
    f.write("feats", more(""));
    close(&output(&f, &with_pitch), &found, 0.0);
    f.write("feats", more("7"));
    fails(&f, 1, &with_pitch, &["u1: expected features of dimension 2, found 3"]);
    f.write("feats", more("").replace("0.5", "inf"));
    fails(&f, 1, &with_pitch, &["u1: a frame has log-likelihood", "infinite or undefined"]);

    let cases = [
        ("--lda-matrix=", &["--lda-matrix option must be set"][..]),
        ("--num-threads=0", &["--num-threads=0: expected a number of threads from 1 to 1024"]),
        ("--length-tolerance=-1", &["--length-tolerance=-1"]),
        ("--ivector-period=0", &["--ivector-period=0: expected a number above 0"]),
        ("--min-post=0.5", &["--min-post=0.5: expected"]),
        (
            "--splice-config=@splice.conf",
            &["splice.conf: --left-context=-1: expected a number from 0 to 1000"],
        ),
        (
            "--cmvn-config=@cmvn.conf",
            &["--cmvn-config: Invalid option --norm-mean", "did you mean --norm-means"],
        ),
        ("--diag-ubm=@none", &["none"]),
        ("--ivector-extractor=@half.ie", &["half.ie"]),
        ("--lda-matrix=@other.mat", &["other.mat: expected 6 columns", "2×5"]),
    ];
    f.write("splice.conf", "--left-context=-1\n");
    f.write("cmvn.conf", "--norm-mean=true\n");
    f.write("half.ie", &std::fs::read_to_string(format!("{MODEL}/final.ie")).unwrap()[..200]);
    f.write("other.mat", "[\n1 2 3 4 5\n1 2 3 4 5 ]\n");
    for (option, words) in cases {
        fails(&f, 255, &line(option), words);
    }
}
