//! Command lines of the programs that make, copy and merge examples.

use crate::common::{Folder, run, succeed};

/// Two utterances of two-dimensional features and their targets, as text archives.
fn inputs(folder: &Folder) -> (String, String) {
    let mut features = String::new();
    let mut targets = String::new();
    for (utterance, frames) in [("a", 16), ("b", 11)] {
        features += &format!("{utterance}  [\n");
        targets += utterance;
        for t in 0..frames {
            features += &format!("  {t} {}\n", -t);
            targets += &format!(" [ {} 1 ]", t % 3);
        }
        features += " ]\n";
        targets += "\n";
    }
    (folder.write("feats.txt", &features), folder.write("post.txt", &targets))
}

fn make(folder: &Folder, options: &[&str], egs: &str) -> crate::common::Output {
    let (features, targets) = inputs(folder);
    let files = [format!("ark:{features}"), format!("ark:{targets}"), format!("ark,t:{egs}")];
    let mut arguments = options.to_vec();
    arguments.extend(files.iter().map(String::as_str));
    run("nnet3-get-egs", &arguments)
}

const EIGHT: &[&str] = &["--num-pdfs=3", "--num-frames=8", "--left-context=1", "--compress=false"];

fn count(folder: &Folder, egs: &str) -> usize {
    folder.read(egs).matches("<Nnet3Eg>").count()
}

#[test]
fn from_features_to_minibatches() {
    let folder = Folder::new("egs");
    let egs = folder.path("egs.txt");
    let output = make(&folder, EIGHT, &egs);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stdout.is_empty());
    assert!(output.stderr.contains(
        "LOG (nnet3-get-egs[5.5]:~UtteranceSplitter():nnet-example-utils.cc:373) Split 2 utts, with total length 27 \
         frames (7.5e-05 hours assuming 100 frames per second) into 3 chunks."
    ));
    assert_eq!(count(&folder, "egs.txt"), 3);

    // Through pipes, with each way of changing the order.
    let merged = folder.path("merged.txt");
    let bin = |name: &str| crate::common::binary(name).display().to_string();
    let pipeline = format!(
        "ark:{} --frame=2 --left-context=1 --right-context=1 ark:{egs} ark:- | {} --srand=3 ark:- ark:- | {} \
         --buffer-size=2 ark:- ark:- | {} --n=2 ark:- ark:- |",
        bin("nnet3-copy-egs"),
        bin("nnet3-shuffle-egs"),
        bin("nnet3-shuffle-egs"),
        bin("nnet3-subset-egs"),
    );
    let stderr = succeed("nnet3-merge-egs", &["--minibatch-size=2", &pipeline, &format!("ark,t:{merged}")]);
    assert!(stderr.contains("PrintSpecificStats():nnet-example-utils.cc:1190) 3={2->1,d=0}\n"), "{stderr}");
    assert!(stderr.contains("Selected a subset of 2 out of 3 neural-network training examples"));
    let text = folder.read("merged.txt");
    assert!(text.starts_with("merged-0-2 <Nnet3Eg> <NumIo> 2 <NnetIo> input "), "{text}");
    assert!(text.contains("<I1V> 6 <I1> 0 1 0 <I1> 0 2 0 <I1> 0 3 0 <I1> 1 1 0"), "{text}");
}

#[test]
fn round_robin_weights_and_names() {
    let folder = Folder::new("copy-egs");
    let egs = folder.path("egs.txt");
    make(&folder, EIGHT, &egs);
    let keys: Vec<String> = folder
        .read("egs.txt")
        .split_whitespace()
        .filter(|w| w.starts_with("a-") || w.starts_with("b-"))
        .map(str::to_owned)
        .collect();
    let weights = folder.write("weights", format!("{} 0.5\n{} 2\n", keys[0], keys[1]));
    let names = folder.write("names", keys.iter().map(|k| format!("{k} output-7\n")).collect::<String>());
    let stderr = succeed(
        "nnet3-copy-egs",
        &[
            &format!("--weights=ark:{weights}"),
            &format!("--outputs=ark:{names}"),
            &format!("ark:{egs}"),
            &format!("ark,t:{}", folder.path("1.txt")),
            &format!("ark,t:{}", folder.path("2.txt")),
        ],
    );
    assert!(stderr.contains("No weight for example key"), "{stderr}");
    assert!(
        stderr.contains("Read 3 neural-network training examples, wrote 2, 1 examples had errors."),
        "{stderr}"
    );
    assert_eq!((count(&folder, "1.txt"), count(&folder, "2.txt")), (1, 1));
    assert!(
        folder.read("1.txt").contains("<NnetIo> output-7 ") && folder.read("1.txt").contains("[ 1 0.5 ]")
    );
    assert!(folder.read("2.txt").contains("[ 1 2 ]"));
}

#[test]
fn wrong_inputs_of_programs_of_examples_have_kaldis_statuses() {
    let folder = Folder::new("egs-statuses");
    let egs = folder.path("egs.txt");
    make(&folder, EIGHT, &egs);
    let (from, empty) = (format!("ark:{egs}"), format!("ark:{}", folder.write("empty.ark", "")));
    let to = format!("ark:{}", folder.path("out.ark"));
    let cases: &[(&str, &[&str], i32)] = &[
        ("nnet3-get-egs", &[&from, &from, &to], 255),
        ("nnet3-get-egs", &["--num-pdfs=3", &from], 1),
        ("nnet3-copy-egs", &[&from], 1),
        ("nnet3-copy-egs", &["--frame=99", &from, &to], 1),
        ("nnet3-copy-egs", &["--frame=x", &from, &to], 255),
        ("nnet3-copy-egs", &["--no-such-option=1", &from, &to], 255),
        ("nnet3-shuffle-egs", &[&empty, &to], 1),
        ("nnet3-subset-egs", &[&empty, &to], 1),
        ("nnet3-subset-egs", &["--n=0", &from, &to], 0),
        ("nnet3-merge-egs", &["--minibatch-size=64", &from, &to], 1),
        ("nnet3-merge-egs", &["--minibatch-size=64:32", &from, &to], 255),
        ("nnet3-merge-egs", &["ark:/no/such/file", &to], 255),
        ("nnet3-merge-egs", &["ark:false |", &to], 255),
    ];
    for (program, arguments, status) in cases {
        let output = run(program, arguments);
        assert_eq!(output.status, *status, "{program} {arguments:?}: {}", output.stderr);
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn what_is_wrong_and_where() {
    let folder = Folder::new("egs-errors");
    let egs = folder.path("egs.txt");
    make(&folder, EIGHT, &egs);
    // Outputs stay as they were.
    let precious = folder.write("precious.ark", "precious");
    let to = format!("ark:{precious}");
    let empty = folder.write("empty.ark", "");
    let output = run("nnet3-shuffle-egs", &[&format!("ark:{empty}"), &to]);
    assert!(output.stderr.contains("empty.ark: expected at least one example, found none"));
    let garbage = folder.write("garbage.ark", "key <Nnet3Eg> <NumIo> x");
    let output = run("nnet3-merge-egs", &[&format!("ark:{garbage}"), &to]);
    assert_eq!(output.status, 255);
    assert!(output.stderr.contains("garbage.ark, key 'key'"), "{}", output.stderr);
    assert_eq!(folder.read("precious.ark"), "precious");

    // A target that --num-pdfs does not allow.
    let output = make(&folder, &["--num-pdfs=2"], &folder.path("out.txt"));
    assert_eq!(output.status, 255);
    let expected = "target 2 of frame 2 of utterance 'a' is not between 0 and 1, as --num-pdfs=2 asks";
    assert!(output.stderr.contains(expected), "{}", output.stderr);

    // An archive that ends in the middle: what was complete before is still merged, and the status tells.
    let text = folder.read("egs.txt");
    let cut = folder.write("cut.txt", &text[..text.len() * 5 / 6]);
    let arguments = ["--minibatch-size=2", &format!("ark:{cut}"), &format!("ark,t:{}", folder.path("m.txt"))];
    let output = run("nnet3-merge-egs", &arguments);
    assert_eq!(output.status, 255);
    assert!(output.stderr.contains("cut.txt, key 'b-"), "{}", output.stderr);
    assert_eq!(count(&folder, "m.txt"), 1);
}

/// The reference's own examples: where NNET3_TRAINING_DIR names them.
#[test]
fn same_as_the_reference() {
    let Some(reference) = crate::common::reference_folder() else { return };
    let folder = Folder::new("egs-reference");
    let egs = reference.join("egs");
    let file = |name: &str| egs.join(name).display().to_string();
    let read = |name: &str| std::fs::read_to_string(egs.join(name)).unwrap();
    for case in ["frames1", "overlap", "frames8"] {
        let command = read(&format!("{case}.cmd"));
        let options: Vec<&str> = command.split_whitespace().filter(|word| word.starts_with("--")).collect();
        let mut arguments = options;
        let files = [
            format!("ark:{}", file("feats.ark")),
            format!("ark:{}", file("post.ark")),
            format!("ark,t:{}", folder.path(case)),
        ];
        arguments.extend(files.iter().map(String::as_str));
        let stderr = succeed("nnet3-get-egs", &arguments);
        let expected = read(&format!("{case}.txt"));
        // The reference places the frames that are left over at random.
        if case == "frames8" {
            assert_eq!(count(&folder, case), expected.matches("<Nnet3Eg>").count());
        } else {
            assert!(folder.read(case) == expected, "{case} differs");
        }
        for line in read(&format!("{case}.log")).lines().skip(1) {
            assert!(stderr.contains(line), "{case}: missing {line}\nin {stderr}");
        }
    }
    let merged = format!("ark,t:{}", folder.path("merged"));
    let from = format!("ark:{}", file("frames8.txt"));
    let stderr = succeed("nnet3-merge-egs", &["--minibatch-size=16,8", &from, &merged]);
    assert!(folder.read("merged") == read("frames8.merged.txt"));
    for line in read("frames8.merged.log").lines().skip(1) {
        assert!(stderr.contains(line), "missing {line}\nin {stderr}");
    }
}

#[test]
fn examples_of_whole_matrices() {
    let folder = Folder::new("egs-simple");
    let images =
        folder.write("images.txt", "a  [\n  1 2 3 4 \n  5 6 7 8 ]\nb  [\n  0 0 0 0 ]\nc  [\n  9 9 9 9 ]\n");
    let targets = folder.write("labels.txt", "a rows=1 dim=3 [ 1 1 ] \nc rows=1 dim=3 [ 2 1 ] \n");
    let egs = format!("ark,t:{}", folder.path("egs.txt"));
    let arguments = [&format!("input=ark:{images}"), &format!("output=ark:{targets}"), &*egs];
    let stderr = succeed("nnet3-get-egs-simple", &arguments);
    assert!(stderr.contains("b: no 'output' in ark:"), "{stderr}");
    let text = folder.read("egs.txt");
    assert!(
        text.starts_with(
            "a <Nnet3Eg> <NumIo> 2 <NnetIo> input <I1V> 2 <I1> 0 0 0 <I1> 0 1 0  [\n  1 2 3 4 \n"
        )
    );
    assert!(text.contains("<NnetIo> output <I1V> 1 <I1> 0 0 0 rows=1 dim=3 [ 1 1 ] \n"), "{text}");
    assert_eq!(count(&folder, "egs.txt"), 2);

    // Flipped for certain: the rows change places, in every example.
    let (from, to) =
        (format!("ark:{}", folder.path("egs.txt")), format!("ark,t:{}", folder.path("flipped.txt")));
    let stderr =
        succeed("nnet3-egs-augment-image", &["--horizontal-flip-prob=1", "--num-channels=2", &from, &to]);
    assert!(stderr.contains("Perturbed 2 neural-network training images."), "{stderr}");
    assert!(
        folder.read("flipped.txt").contains(" [\n  5 6 7 8 \n  1 2 3 4 ]\n"),
        "{}",
        folder.read("flipped.txt")
    );

    for (program, arguments, why) in [
        ("nnet3-get-egs-simple", vec!["ark:x", &*egs], "expected name=rspecifier"),
        ("nnet3-get-egs-simple", vec!["in put=ark:x", &*egs], "expected name=rspecifier"),
        ("nnet3-get-egs-simple", vec!["a=ark:x", "a=ark:x", &*egs], "'a' has two tables"),
        (
            "nnet3-egs-augment-image",
            vec!["--num-channels=3", &*from, &*to],
            "4 columns, which is no multiple",
        ),
        ("nnet3-egs-augment-image", vec!["--fill-mode=x", &*from, &*to], "expected one of nearest, reflect"),
        ("nnet3-egs-augment-image", vec!["--rotation-degree=181", &*from, &*to], "from 0 to 180"),
    ] {
        let output = run(program, &arguments);
        assert_eq!(output.status, 255, "{program} {arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(why), "{}", output.stderr);
    }
}
