//! Lattice programs compared with Kaldi's outputs (`tests/data/lattices`), and their messages about bad input.

use std::path::Path;

use kaldi_io::SequentialReader;
use nnet3_decode::equivalence::are_equivalent;
use nnet3_decode::posterior::forward_backward;
use nnet3_decode::{LatticeHolder, order};

use crate::command_lines::{fails, output, run};
use crate::common::Folder;

/// A folder with a copy of the data.
fn data(name: &str) -> Folder {
    let folder = Folder::new(name);
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lattices");
    for from in [from.clone(), from.join("discriminative")] {
        for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
            if entry.path().is_file() {
                folder.write(entry.file_name().to_str().unwrap(), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    folder.write("empty.lat", "e \n\n");
    folder.write("two.lat", "e \n\n\ngood \n0 1 5 1,2,3_4\n1 0.5,0,\n\n");
    folder
}

/// The lattices of a table: their keys must be the same, and paths at random must cost the same in both.
#[track_caller]
fn assert_lattices(folder: &Folder, found: &str, expected: &str) {
    let read = |name: &str| {
        let mut reader =
            SequentialReader::<LatticeHolder>::open(&format!("ark:{}", folder.path(name))).unwrap();
        std::iter::from_fn(|| reader.next().unwrap()).collect::<Vec<_>>()
    };
    let (found, expected) = (read(found), read(expected));
    let keys = |lattices: &[(String, _)]| lattices.iter().map(|entry| entry.0.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(&expected));
    let mut random = 1u64;
    for ((key, found), (_, expected)) in found.into_iter().zip(expected) {
        let total = |lattice: &nnet3_decode::Lattice| {
            let mut lattice = lattice.clone();
            order::sort(&mut lattice).unwrap();
            forward_backward(&lattice).unwrap().total
        };
        let (a, b) = (total(&found), total(&expected));
        assert!((a - b).abs() < 0.01, "{key}: {a} instead of {b}");
        let choose = |count: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % count
        };
        assert!(are_equivalent(found, expected, 40, 0.01, choose).unwrap(), "{key}");
    }
}

/// Compares texts; numbers may differ by a thousandth.
#[track_caller]
fn assert_text(folder: &Folder, found: &str, expected: &str) {
    let (found, expected) = (folder.read(found), folder.read(expected));
    let words = |text: &str| text.split([' ', '\t', '\n', ',']).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(found.lines().count(), expected.lines().count(), "{found}\n{expected}");
    for (a, b) in words(&found).iter().zip(words(&expected)) {
        let same = match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => (a - b).abs() <= 1e-3 * b.abs().max(1.0),
            _ => *a == b,
        };
        assert!(same, "{a} instead of {b}: {found}");
    }
}

/// Command lines, and the file with the reference's output. The output is `@out`.
const LATTICES: &[(&str, &str)] = &[
    (
        "lattice-add-trans-probs --transition-scale=1.0 --self-loop-scale=0.1 @trans.mdl ark:@in.lat ark:@out",
        "addtrans.lat",
    ),
    ("lattice-project ark:@in.lat ark:@out", "project.lat"),
    ("lattice-rmali ark:@in.lat ark:@out", "rmali.lat"),
    ("lattice-limit-depth --max-arcs-per-frame=6 --acoustic-scale=1.0 ark:@in.lat ark:@out", "limit.lat"),
    ("lattice-push ark:@in.lat ark:@out", "push.lat"),
    ("lattice-push --push-weights=false ark:@push.lat ark:@out", "push.lat"),
    ("lattice-minimize ark:@in.lat ark:@out", "minimize.lat"),
    (
        "lattice-combine --acoustic-scale=0.8 --lm-scale=0.9 ark:@in.lat ark:@other.lat ark:@out",
        "combine.lat",
    ),
    ("lattice-interp --alpha=0.7 ark:@in.lat ark:@other.lat ark:@out", "interp.lat"),
    ("lattice-difference ark:@in.lat ark:@best.lat ark:@out", "difference.lat"),
    ("lattice-determinize ark:@raw.lat ark:@out", "det.lat"),
    (
        "lattice-determinize --acoustic-scale=0.7 --prune=true --beam=1.5 --minimize=true ark:@raw.lat ark:@out",
        "det.prune.lat",
    ),
    (
        "lattice-determinize-non-compact --acoustic-scale=0.9 --prune=true --beam=2 ark:@raw.lat ark:@out",
        "noncompact.lat",
    ),
    ("lattice-determinize-pruned-parallel --num-threads=2 --beam=2.0 ark:@raw.lat ark:@out", "detpar.lat"),
    ("lattice-compose --rho-label=99999 ark:@other.lat @bias.fst ark:@out", "compose.rho.lat"),
    ("lattice-compose ark:@in.lat ark:@other.project.lat ark:@out", "compose.lats.lat"),
    ("lattice-lmrescore-pruned @G2.fst @G3.fst ark:@in.lat ark:@out", "pruned.lat"),
    (
        "lattice-lmrescore-pruned --add-const-arpa=true --lm-scale=0.5 --acoustic-scale=0.7 @G2.fst @G3.carpa ark:@in.lat ark:@out",
        "pruned.carpa.lat",
    ),
    ("lattice-expand --acoustic-scale=1.0 --epsilon=0.2 ark:@other.lat ark:@out", "expand.lat"),
    ("lattice-expand-ngram --n=3 ark:@other.lat ark:@out", "ngram.lat"),
    ("lattice-copy-backoff ark:@in.lat ark:@other.lat ark:@out", "other.lat"),
    ("linear-to-nbest ark:@ali ark:@words  ark:@out", "linear.lat"),
];

#[test]
fn lattices_are_those_of_the_reference() {
    let folder = data("lattices");
    output(&folder, "lattice-project ark:@other.lat ark:@other.project.lat");
    output(&folder, "fstcompile @bias.txt @bias.fst");
    for (line, expected) in LATTICES {
        let mut words: Vec<String> =
            line.split(' ').map(|word| word.replace('@', &folder.path(""))).collect();
        // Empty names of tables.
        if let Some(empty) = words.iter().position(String::is_empty) {
            words.insert(empty, String::new());
        }
        let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let result = crate::common::run(&words[0], &arguments);
        assert_eq!(result.status, 0, "{line}: {}", result.stderr);
        eprintln!("{line}");
        assert_lattices(&folder, "out", expected);
    }
}

#[test]
fn texts_are_those_of_the_reference() {
    let folder = data("texts");
    output(&folder, "lattice-depth ark:@in.lat ark,t:@out");
    assert_text(&folder, "out", "depth");
    output(&folder, "lattice-arc-post ark:@in.lat @out");
    assert_text(&folder, "out", "arcpost");
    output(&folder, "lattice-confidence ark:@in.lat ark,t:@out");
    assert_text(&folder, "out", "confidence");
    output(&folder, "lattice-path-cover ark:@other.lat ark,t:@out ark,t:@states ark,t:@costs");
    assert_text(&folder, "out", "pathcover.words");
    assert_text(&folder, "costs", "pathcover.costs");
    output(&folder, "lattice-align-words @word_boundary.int @trans.mdl ark:@linear.lat ark:@aligned");
    output(&folder, "nbest-to-prons @trans.mdl ark:@aligned @out");
    assert_text(&folder, "out", "prons");
    output(&folder, "nbest-to-prons --print-lengths-per-phone=true @trans.mdl ark:@aligned @lengths");
    assert!(
        folder.read("lengths").contains("124-1240-0000 16 7,7 135 131 144\n"),
        "{}",
        folder.read("lengths")
    );
    output(&folder, "ali-to-phones --write-lengths=true @trans.mdl ark:@ali ark:@phones");
    output(&folder, "prons-to-wordali ark:@phonesprons ark:@phones ark,t:@out");
    assert_text(&folder, "out", "wordali");
    output(&folder, "prons-to-wordali --per-frame=true ark:@phonesprons ark:@phones ark,t:@out");
    let frames =
        |name: &str| folder.read(name).lines().map(|l| l.split_whitespace().count()).collect::<Vec<_>>();
    assert_eq!(frames("out"), frames("ali"));
}

#[test]
fn sizes_of_a_transition_model() {
    let folder = data("sizes");
    let expected = "number of phones 162 number of pdfs 124 number of transition-ids 1092 number of transition-states 506";
    assert_eq!(output(&folder, "hmm-info @trans.mdl"), expected);
    fails(&folder, 255, "hmm-info @words", &["words"]);
}

/// Arc posteriors with phones and alignments.
#[test]
fn phones_of_arcs() {
    let folder = data("arcs");
    output(&folder, "lattice-align-words @word_boundary.int @trans.mdl ark:@other.lat ark:@aligned");
    let line = "lattice-arc-post --print-alignment=true --acoustic-scale=0.5 --lm-scale=0.7 --min-post=0.01 @trans.mdl ark:@aligned @out";
    output(&folder, line);
    let text = folder.read("out");
    let line = "124-1240-0000\t60\t19\t0.2091136\t124\t398,397,397,400,399,402,596,595,598,597,597,597,597,597,597,597,597,597,600\t47 80";
    let found: Vec<&str> =
        text.lines().filter(|line| line.starts_with("124-1240-0000\t60\t19\t0.2")).collect();
    let columns = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let (found, expected) = (columns(found[0]), columns(line));
    assert_eq!((&found[..3], &found[4..]), (&expected[..3], &expected[4..]));
    fails(&folder, 255, "lattice-arc-post --acoustic-scale=0 ark:@other.lat @none", &["scale"]);
}

#[test]
fn discriminative_programs() {
    let folder = data("discriminative");
    let boost = "lattice-boost-ali --b=0.05 --silence-phones=1 --max-silence=0.3 @digits.mdl ark:@digits.lat ark:@digits.ali ark:@out";
    let log = run(&folder, boost);
    assert!(
        log.stderr.contains("Done 2 lattices, missing alignments for 0, other errors on 0"),
        "{}",
        log.stderr
    );
    assert_lattices(&folder, "out", "boosted.txt");
    let smbr = "lattice-to-smbr-post --acoustic-scale=0.1 --lm-scale=0.8 --silence-phones=1 @digits.mdl ark:@digits.ali ark:@digits.lat ark,t:@out";
    let log = run(&folder, smbr);
    assert!(
        log.stderr.contains("Overall average frame-accuracy is 0.784913 over 114 frames."),
        "{}",
        log.stderr
    );
    assert_posteriors(&folder, "out", "smbr-post.txt");
    let mpe = "lattice-to-mpe-post --acoustic-scale=0.1 --silence-phones=1:2:3:4:5 --one-silence-class=true @wb.mdl ark:@wb.ali ark:@wb.lat ark,t:@out";
    assert_eq!(run(&folder, mpe).status, 0);
    assert_posteriors(&folder, "out", "mpe-post.txt");
    // An utterance without an alignment is skipped, but with b = 0 no alignment is needed.
    folder.write("none.ali", "");
    let none = "@digits.mdl ark:@digits.lat ark:@none.ali ark:@boosted";
    fails(
        &folder,
        1,
        &format!("lattice-boost-ali {none}"),
        &["No silence phones specified", "missing alignments for 2"],
    );
    assert_eq!(run(&folder, &format!("lattice-boost-ali --b=0 {none}")).status, 0);
    fails(&folder, 255, &format!("lattice-boost-ali --silence-phones=1:x {none}"), &["1:x"]);
    let wrong = "lattice-to-smbr-post @digits.mdl ark:@none.ali ark:@digits.lat ark:@post";
    fails(&folder, 1, wrong, &["No alignment for utterance carib-test_seen-00003"]);
    // Alignments of another model and of another length.
    let short: String = folder
        .read("digits.ali")
        .lines()
        .map(|line| format!("{} 1\n", line.split(' ').next().unwrap()))
        .collect();
    folder.write("short.ali", short);
    let wrong = "lattice-to-smbr-post @digits.mdl ark:@short.ali ark:@digits.lat ark:@post";
    fails(&folder, 1, wrong, &["frames, but the alignment 1"]);
}

/// Posteriors as text: those that only one has must be about 0.
#[track_caller]
fn assert_posteriors(folder: &Folder, found: &str, expected: &str) {
    use std::collections::BTreeMap;
    let read = |name: &str| -> Vec<(String, Vec<BTreeMap<String, f64>>)> {
        let text = folder.read(name);
        let frames = |line: &str| {
            line.split('[')
                .skip(1)
                .map(|frame| {
                    let words: Vec<&str> = frame.trim_end_matches([']', ' ']).split_whitespace().collect();
                    words.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap())).collect()
                })
                .collect()
        };
        text.lines().map(|line| (line.split(' ').next().unwrap().to_owned(), frames(line))).collect()
    };
    let (found, expected) = (read(found), read(expected));
    assert_eq!(found.len(), expected.len());
    for ((key, a), (other, b)) in found.iter().zip(&expected) {
        assert_eq!((key, a.len()), (other, b.len()));
        for (t, (a, b)) in a.iter().zip(b).enumerate() {
            for id in a.keys().chain(b.keys()) {
                let value = |of: &BTreeMap<String, f64>| of.get(id).copied().unwrap_or(0.0);
                assert!(
                    (value(a) - value(b)).abs() < 1e-4,
                    "{key}, frame {t}, {id}: {} {}",
                    value(a),
                    value(b)
                );
            }
        }
    }
}

/// Each program leaves an empty lattice out with a warning, and goes on with the next.
#[test]
fn empty_lattices() {
    let folder = data("empty");
    folder.write("words2", "e 1\ngood 5\n");
    folder.write("ali2", "e 3\ngood 3 4\n");
    let programs = [
        "lattice-add-trans-probs @trans.mdl ark:@two.lat ark:@out",
        "lattice-arc-post ark:@two.lat @out",
        "lattice-boost-ali @trans.mdl ark:@two.lat ark:@ali2 ark:@out",
        "lattice-combine ark:@two.lat ark:@two.lat ark:@out",
        "lattice-compose ark:@two.lat ark:@two.project ark:@out",
        "lattice-confidence ark:@two.lat ark:@out",
        "lattice-depth ark:@two.lat ark:@out",
        "lattice-determinize ark:@two.lat ark:@out",
        "lattice-determinize-non-compact ark:@two.lat ark:@out",
        "lattice-difference ark:@two.lat ark:@in.lat ark:@out",
        "lattice-expand ark:@two.lat ark:@out",
        "lattice-expand-ngram ark:@two.lat ark:@out",
        "lattice-interp ark:@two.lat ark:@two.lat ark:@out",
        "lattice-limit-depth ark:@two.lat ark:@out",
        "lattice-lmrescore-pruned @any.fst @any.fst ark:@two.lat ark:@out",
        "lattice-minimize ark:@two.lat ark:@out",
        "lattice-path-cover ark:@two.lat ark:@out",
        "lattice-project ark:@two.lat ark:@out",
        "lattice-push ark:@two.lat ark:@out",
        "lattice-reverse ark:@two.lat ark:@out",
        "lattice-rmali ark:@two.lat ark:@out",
        "lattice-to-fst ark:@two.lat ark:@out",
        "lattice-to-mpe-post @trans.mdl ark:@ali2 ark:@two.lat ark:@out",
        "lattice-to-smbr-post @trans.mdl ark:@ali2 ark:@two.lat ark:@out",
        "lattice-union ark:@two.lat ark:@two.lat ark:@out",
        "nbest-to-prons @trans.mdl ark:@two.lat @out",
        "lattice-depth-per-frame ark:@two.lat ark:@out",
        "lattice-mbr-decode ark:@two.lat ark:@out",
        "lattice-to-ctm-conf ark:@two.lat @out",
        "lattice-to-post ark:@two.lat ark:@out",
    ];
    folder.write("two.project", "good \n0 1 5 5\n1\n\n");
    folder.write("any.txt", "0 0 5 5 1\n0\n");
    output(&folder, "fstcompile @any.txt @any.fst");
    for line in programs {
        let result = run(&folder, line);
        let warned = result
            .stderr
            .lines()
            .any(|line| line.starts_with("WARNING") && (line.contains(" e") || line.contains(") e:")));
        assert!(warned, "{line}: {}", result.stderr);
        // (A difference with a table that has not the key is no lattice; two of the ids are not the model's.)
        let nothing = line.contains("difference");
        assert_eq!(result.status, i32::from(nothing), "{line}: {}", result.stderr);
        if !nothing {
            let text = std::fs::read(folder.path("out")).unwrap();
            assert!(String::from_utf8_lossy(&text).contains("good"), "{line}");
            assert!(!text.starts_with(b"e "), "{line}");
        }
    }
    // Cycles are faults of one lattice, too.
    folder.write("cycle.lat", "c \n0 1 5 1,2,3\n1 0 5\n1\n\ngood \n0 1 5 1,2,3_4\n1 0.5,0,\n\n");
    for program in
        ["lattice-determinize", "lattice-push", "lattice-minimize", "lattice-expand", "lattice-limit-depth"]
    {
        let result = run(&folder, &format!("{program} ark:@cycle.lat ark:@out"));
        assert_eq!(result.status, 0, "{program}: {}", result.stderr);
        assert!(result.stderr.contains("c: the lattice has a cycle"), "{program}: {}", result.stderr);
    }
}

#[test]
fn lattices_of_threads_are_the_same() {
    let folder = data("threads");
    for line in [
        "lattice-determinize-pruned --beam=4 ark:@in.lat ark,t:@expected",
        "lattice-determinize-pruned-parallel --num-threads=1 --beam=4 ark:@in.lat ark,t:@one",
        "lattice-determinize-pruned-parallel --num-threads=3 --num-threads-total=4 --beam=4 ark:@in.lat ark,t:@three",
    ] {
        output(&folder, line);
    }
    assert_eq!(folder.read("one"), folder.read("expected"));
    assert_eq!(folder.read("three"), folder.read("expected"));
    fails(
        &folder,
        255,
        "lattice-determinize-pruned-parallel --num-threads=0 ark:@in.lat ark:@out",
        &["--num-threads=0"],
    );
    fails(&folder, 255, "lattice-determinize-pruned-parallel --beam=0 ark:@in.lat ark:@out", &["--beam=0"]);
}

#[test]
fn n_best_lists_and_lattices() {
    let folder = data("nbest");
    output(&folder, "lattice-to-nbest --n=1000 ark:@best.lat ark:@paths");
    output(&folder, "nbest-to-lattice ark:@paths ark:@out");
    assert_lattices(&folder, "out", "best.lat");
    folder.write("bad", "noend \n0 1 5 1,2,3\n1\n\n");
    fails(&folder, 255, "nbest-to-lattice ark:@bad ark:@none", &["Invalid n-best id noend"]);
    folder.write("bad", "-1 \n0 1 5 1,2,3\n1\n\n");
    fails(&folder, 255, "nbest-to-lattice ark:@bad ark:@none", &["Invalid n-best id -1"]);
    folder.write("one", "124-1240-0000 5\n");
    let line = "linear-to-nbest ark:@ali ark:@one ark:@cost ark:@cost ark:@none";
    folder.write("cost", "124-1240-0000 2.5\n");
    fails(&folder, 255, line, &["No transcription for key 125-1250-0002"]);
    folder.write("costs", "124-1240-0000 2.5\n");
    let line = "linear-to-nbest ark:@ali ark:@words ark:@costs ark:@costs ark:@none";
    fails(&folder, 255, line, &["No LM cost for key 125-1250-0002"]);
}

#[test]
fn unions_fsts_reversals_and_equivalence() {
    let folder = data("others");
    let log = run(&folder, "lattice-union ark:@best.lat ark:@in.lat ark:@out").stderr;
    assert!(log.contains("Total 2lattices written. Computed union for 2 pairs of lattices. Missing second lattice in 0 cases."), "{log}");
    // The best path is in the lattice, so the union is it: with one path for each sequence of words.
    output(&folder, "lattice-determinize ark:@in.lat ark:@expected");
    assert_lattices(&folder, "out", "expected");
    let log = run(&folder, "lattice-union ark:@best.lat ark:@raw.lat ark:@out").stderr;
    assert!(log.contains("Missing second lattice in 1 cases."), "{log}");

    output(&folder, "lattice-reverse ark:@in.lat ark:@reversed");
    output(&folder, "lattice-reverse ark:@reversed ark:@out");
    assert_lattices(&folder, "out", "in.lat");

    output(
        &folder,
        "lattice-to-fst --lm-scale=1.0 --acoustic-scale=1.0 --rm-eps=false ark:@in.lat ark:@fsts",
    );
    output(
        &folder,
        "lattice-compose --compose-with-fst=true --write-compact=false ark:@best.lat ark:@fsts ark:@once",
    );
    output(&folder, "lattice-project ark:@in.lat ark:@words.lat");
    output(&folder, "lattice-scale --acoustic2lm-scale=1.0 --acoustic-scale=0.0 ark:@words.lat ark:@scaled");
    output(&folder, "lattice-compose ark:@best.lat ark:@scaled ark:@twice");
    assert_lattices(&folder, "once", "twice");
    output(&folder, "lattice-to-fst ark:@in.lat ark,t:@free");
    assert!(!folder.read("free").contains('.'), "costs are left: {}", folder.read("free"));

    let log = run(&folder, "lattice-equivalent ark:@in.lat ark:@push.lat");
    assert_eq!(log.status, 0, "{}", log.stderr);
    assert!(
        log.stderr
            .contains("Done 2 lattices, 2 were equivalent, 0 were not; for 0, could not find 2nd lattice.")
    );
    fails(
        &folder,
        1,
        "lattice-equivalent ark:@in.lat ark:@other.lat",
        &["inequivalent for utterance 125-1250-0002"],
    );
    assert_eq!(
        run(&folder, "lattice-equivalent --max-error-proportion=1 ark:@in.lat ark:@other.lat").status,
        0
    );
    fails(
        &folder,
        255,
        "lattice-equivalent ark:@in.lat ark:@raw.lat",
        &["No 2nd lattice present for utterance 125-1250-0002"],
    );

    output(&folder, "lattice-confidence --read-compact-lattice=false ark:@raw.lat ark,t:@out");
    let raw = folder.read("out");
    output(&folder, "lattice-confidence ark:@det.lat ark,t:@out");
    assert_eq!(folder.read("out"), raw);
    let line = "lattice-project --project-output=false ark:@in.lat ark,t:@ids";
    output(&folder, line);
    let ids = folder.read("ids");
    let columns =
        ids.lines().map(|line| line.split('\t').collect::<Vec<_>>()).filter(|columns| columns.len() > 3);
    assert!(columns.into_iter().all(|columns| columns[2] == columns[3]));
}

#[test]
fn composition_and_combination_of_bad_input() {
    let folder = data("bad");
    let compose =
        |options: &str, second: &str| format!("lattice-compose {options} ark:@in.lat {second} ark:@none");
    fails(&folder, 255, &compose("--compose-with-fst=false", "@G3.fst"), &["--compose-with-fst=false"]);
    fails(&folder, 255, &compose("--phi-label=5 --rho-label=6", "@G3.fst"), &["--phi-label"]);
    for line in [
        "lattice-expand --epsilon=1.5 ark:@in.lat ark:@none",
        "lattice-equivalent --max-error-proportion=1.5 ark:@in.lat ark:@in.lat",
        "lattice-boost-ali --max-silence=1.5 @digits.mdl ark:@in.lat ark:@digits.ali ark:@none",
    ] {
        fails(&folder, 255, line, &["=1.5: expected a number from 0 to 1"]);
    }
    fails(&folder, 255, &compose("--phi-label=0", "@G3.fst"), &["--phi-label=0", "above 0"]);
    folder.write("word.txt", "0 0 7 7\n0\n");
    output(&folder, "fstcompile @word.txt @word.fst");
    let warned = run(&folder, &compose("--phi-label=135", "@word.fst")).stderr;
    assert!(warned.contains("124-1240-0000: an output label of the first is 135"), "{warned}");
    fails(&folder, 255, "fstrhocompose 7 @word.fst @word.fst @none", &["label", "7"]);
    fails(&folder, 255, &compose("--compose-with-fst=maybe", "@G3.fst"), &["maybe"]);
    folder.write("circle.txt", "0 1 7 7\n1 0 7 7\n1\n");
    output(&folder, "fstcompile @circle.txt @circle.fst");
    fails(&folder, 255, &compose("--phi-label=7", "@circle.fst"), &["label 7"]);
    fails(
        &folder,
        1,
        &compose("", "@circle.fst"),
        &["Empty lattice for utterance 124-1240-0000 (incompatible LM?)"],
    );
    fails(&folder, 1, &compose("", "ark:@two.lat"), &["because not present in second table", "failed for 2"]);

    let combine = |weights: &str| {
        format!("lattice-combine --lat-weights={weights} ark:@in.lat ark:@other.lat ark:@out")
    };
    let log = run(&folder, &combine("1:3")).stderr;
    assert!(log.contains("Weights sum to 4 instead of 1: renormalizing"), "{log}");
    let log = run(&folder, &combine("0.5")).stderr;
    assert!(log.contains("uniform weights"), "{log}");
    fails(&folder, 255, &combine("0.5:x"), &["0.5:x"]);
    // A weight of 0: the other system alone.
    output(&folder, &combine("0:1"));
    output(&folder, "lattice-combine ark:@other.lat ark:@expected");
    assert_lattices(&folder, "out", "expected");
    // Half of the lattices are missing.
    let missing = "lattice-combine ark:@in.lat ark:@raw.lat ark:@out";
    fails(
        &folder,
        1,
        missing,
        &["No lattice found for utterance 125-1250-0002 for system 2, rspecifier: ark:"],
    );
    fails(&folder, 255, "lattice-expand-ngram --n=0 ark:@in.lat ark:@out", &["--n=0"]);
    fails(&folder, 255, "lattice-determinize --beam-ratio=1 ark:@in.lat ark:@out", &["--beam-ratio=1"]);
    let tight = "lattice-determinize --max-mem=300 --num-loops=2 ark:@raw.lat ark:@none";
    fails(
        &folder,
        1,
        tight,
        &["Failed to determinize lattice", "Decreased pruning beam --num-loops=2 times"],
    );
}

#[test]
fn pronunciations_of_bad_input() {
    let folder = data("prons");
    folder.write("lexicon.txt", "0 0 9 0 1.5\n0 1 7 5\n1 2 1 0\n2 3 2 0\n3 0 8 0\n0 4 7 6\n4 3 2 0\n0\n");
    output(&folder, "fstcompile @lexicon.txt @lexicon.fst");
    folder.write("phones", "a 9 1 2 2\nb 1 2\nc 1 2\nd 1\n");
    folder.write("said", "a 5 6\nb 6\nc 5 4\n");
    let result = run(&folder, "phones-to-prons @lexicon.fst 7 8 ark:@phones ark:@said ark,t:@out");
    assert_eq!(
        (result.status, folder.read("out").as_str()),
        (0, "a 0 9 ; 5 1 2 ; 6 2 ; \n"),
        "{}",
        result.stderr
    );
    for words in [
        "Done 1 utterances; 3 had errors.",
        "phones of utterance b",
        "FST for utterance c",
        "utterance d because",
    ] {
        assert!(result.stderr.contains(words), "{}", result.stderr);
    }
    folder.write("lengths", "a 9 4 ; 1 3 ; 2 5 ; 2 1\n");
    folder.write("others", "a 9 4 ; 3 3 ; 2 5 ; 2 1\n");
    folder.write("fewer", "a 9 4 ; 3 3\n");
    let wordali = |name: &str| run(&folder, &format!("prons-to-wordali ark:@out ark:@{name} ark,t:@ali.out"));
    assert!(wordali("lengths").stderr.contains("Done 1 utterances; 0 had errors."));
    assert_eq!(folder.read("ali.out"), "a 0 4 ; 5 8 ; 6 1 \n");
    assert!(wordali("others").stderr.contains("For key a, mismatch between prons and phones."));
    assert_eq!(folder.read("ali.out"), "a 0 4 ; 5 8 ; 6 1 \n");
    let few = wordali("fewer");
    assert!(few.status == 0 && few.stderr.contains("Done 0 utterances; 1 had errors."), "{}", few.stderr);
    // Not linear, not aligned, not the model's.
    let result = run(&folder, "nbest-to-prons @trans.mdl ark:@in.lat @prons.out");
    assert_eq!(result.status, 1, "{}", result.stderr);
    assert!(
        result.stderr.contains("Format conversion failed for utterance 124-1240-0000"),
        "{}",
        result.stderr
    );
    folder.write("odd", "u \n0 1 5 1,2,99999\n1 0,0,\n\n");
    fails(&folder, 1, "nbest-to-prons @trans.mdl ark:@odd @prons.out", &["transition-id 99999"]);
    folder.write("rest", "u \n0 1 5\n1 0,0,2_8_5\n\n");
    let log = run(&folder, "nbest-to-prons @trans.mdl ark:@rest @prons.out").stderr;
    assert!(log.contains("Lattice has alignments on final-weight"), "{log}");
    assert_eq!(folder.read("prons.out"), "u 0 0 5\n");
}
