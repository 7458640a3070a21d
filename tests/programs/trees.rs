//! Trees and first models: the commands of the recipes compared with the reference's results, and faults.

use crate::common::{Folder, binary, run, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trees").join(name)
}

/// A folder with the data as `in`.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir(folder.path("in")).unwrap();
    for entry in data("in").read_dir().unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), Path::new(&folder.path("in")).join(entry.file_name())).unwrap();
    }
    folder
}

/// A line of `commands`, to run in a folder.
fn command(folder: &Folder, line: &str) -> Command {
    let mut words = line.split(' ');
    let mut command = Command::new(binary(words.next().unwrap()));
    command.args(words).current_dir(folder.path(""));
    command
}

/// Runs a line of `commands` in a folder; its standard error.
fn run_line(folder: &Folder, line: &str) -> String {
    let output = command(folder, line).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}: {text}");
    text
}

/// `LOG`, `VLOG` or `WARNING`, and the message, of lines of log that are no lists of options.
fn messages(log: &str) -> impl Iterator<Item = String> {
    log.lines().filter_map(|line| {
        let (kind, rest) = line.split_once([' ', '['])?;
        let message = rest.split_once(") ")?.1;
        let (counts, wrote) = (message.starts_with("Number of separate"), message.starts_with("Wrote"));
        (matches!(kind, "LOG" | "VLOG" | "WARNING") && !counts && !wrote).then(|| format!("{kind} {message}"))
    })
}

/// Statistics, questions, trees, models, alignments, and log-likelihoods: all as the reference's.
#[test]
fn the_commands_of_the_recipes() {
    let folder = folder("trees");
    let mut log = Vec::new();
    let printed = [
        ("3.odd.dot", "draw-tree --query=1/p4/p5/p6 in/phones.txt 3.odd.tree"),
        ("mono3.dot", "draw-tree --use-tooltips=true in/phones.txt mono3.tree"),
        ("ali.shown", "show-alignments in/phones.txt old.mdl ark:three.ali"),
    ];
    for line in std::fs::read_to_string(data("commands")).unwrap().lines() {
        let text = run_line(&folder, line);
        if line.starts_with("build-tree") {
            log.push(line.to_owned());
            log.extend(messages(&text));
        }
    }
    let three: Vec<String> =
        folder.read("in/ali.txt").lines().take(3).map(|line| format!("{line}\n")).collect();
    folder.write("three.ali", three.concat());
    for (name, line) in printed {
        let output = command(&folder, line).output().unwrap();
        folder.write(name, output.stdout);
    }
    let mut compared = 0;
    for entry in data("expected").read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "log" {
            let expected = std::fs::read(data("expected").join(&name)).unwrap();
            let found = std::fs::read(folder.path(&name)).unwrap();
            assert!(found == expected, "{name} differs from the reference's");
            compared += 1;
        }
    }
    assert_eq!(compared, 62);
    let expected = std::fs::read_to_string(data("expected/log")).unwrap();
    assert_eq!(log, expected.lines().collect::<Vec<_>>());
}

/// The first lines of `commands` up to one that begins with `last`, for tests that go on from there.
fn run_until(folder: &Folder, last: &str) {
    let commands = std::fs::read_to_string(data("commands")).unwrap();
    for line in commands.lines() {
        run_line(folder, line);
        if line.starts_with(last) {
            return;
        }
    }
    panic!("no command begins with {last}");
}

/// Runs what must fail; its standard error.
fn fail(status: i32, program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert_eq!(output.status, status, "{program} {arguments:?}: {}", output.stderr);
    output.stderr
}

#[test]
fn utterances_that_cannot_be_used() {
    let folder = folder("tree-stats");
    run_until(&folder, "convert-ali");
    let model = folder.path("mono1.mdl");
    let alignments = folder.path("mono1.ali");
    let features = format!("ark:{}", folder.path("in/feats3.ark"));
    let text = run("copy-int-vector", &[&format!("ark:{alignments}"), "ark,t:-"]).stdout;
    // The first utterance ends within a phone, the second is too short, the third has no alignment.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let words: Vec<&str> = lines[0].split(' ').filter(|word| !word.is_empty()).collect();
    lines[0] = format!("{} {}", words[0], vec![words[words.len() - 1]; words.len() - 1].join(" "));
    lines[1] = lines[1].rsplitn(3, ' ').last().unwrap().to_owned();
    lines.remove(2);
    let damaged = format!("ark:{}", folder.write("damaged.ali", lines.join("\n") + "\n"));
    let out = folder.path("some.acc");
    let options = ["--context-width=2", "--central-position=1"];
    let log = succeed("acc-tree-stats", &[options[0], options[1], &model, &features, &damaged, &out]);
    assert!(log.contains("utt0000: frame 0: phone 1 has no "), "{log}");
    assert!(log.contains("utt0001: the alignment has "), "{log}");
    assert!(
        log.contains(
            "Accumulated stats for 27 files, 1 failed due to no alignment, 2 failed for other reasons."
        ),
        "{log}"
    );
    let before = std::fs::read(&out).unwrap();
    let log = fail(1, "acc-tree-stats", &[&model, &features, "ark:/dev/null", &out]);
    assert!(log.contains("there are no statistics to write"), "{log}");
    assert_eq!(std::fs::read(&out).unwrap(), before);
    let log = fail(255, "acc-tree-stats", &["--central-position=3", &model, &features, &damaged, &out]);
    assert!(log.contains("--central-position=3, --context-width=3"), "{log}");
}

#[test]
fn alignments_that_cannot_be_converted() {
    let folder = folder("convert-ali");
    run_until(&folder, "gmm-init-mono --shared-phones");
    let path = |name: &str| folder.path(name);
    let [old, new, tree] = [path("old.mdl"), path("mono1.mdl"), path("mono1.tree")];
    let alignments = format!("ark:{}", folder.write("ali", "a 2 4\nb 2 4 6 8 10 12\nc 2 4 6 2\n"));
    let log_and_output = run("convert-ali", &[&old, &new, &tree, &alignments, "ark,t:-"]);
    assert_eq!(log_and_output.status, 0);
    assert!(log_and_output.stdout.starts_with("b ") && log_and_output.stdout.lines().count() == 1);
    let log = log_and_output.stderr;
    assert!(log.contains("Succeeded converting alignments for 1 files, failed for 2"), "{log}");
    assert!(log.contains("Could not convert alignment for key a (possibly truncated alignment?): frame 0: phone 1 has no end"), "{log}");
    let few = ["--frame-subsampling-factor=9", &old, &new, &tree, &alignments, "ark:/dev/null"];
    let log = fail(1, "convert-ali", &few);
    assert!(log.contains("the utterance has too few frames for its phones"), "{log}");
    let map = folder.write("map", "1 1\n");
    let log =
        fail(255, "convert-ali", &[&format!("--phone-map={map}"), &old, &new, &tree, &alignments, "ark:-"]);
    assert!(log.contains("key 'b': ") && log.contains("the map of phones does not have phone 2"), "{log}");
    let wrong_tree = path("old.tree");
    let log = fail(255, "convert-ali", &[&old, &new, &wrong_tree, &alignments, "ark:-"]);
    assert!(log.contains("model and tree do not belong together") && log.contains(&wrong_tree), "{log}");
    let wrong = format!("ark:{}", folder.write("wrong", "a 999\n"));
    let log = fail(255, "convert-ali", &[&old, &new, &tree, &wrong, "ark:-"]);
    assert!(log.contains("key 'a': frame 0: 999 is not a transition-id"), "{log}");
}

#[test]
fn padded_alignments_have_silence_around_the_words() {
    let folder = folder("pad-ali");
    run_until(&folder, "gmm-init-mono --shared-phones");
    let path = |name: &str| folder.path(name);
    let [model, tree] = [path("old.mdl"), path("old.tree")];
    // Phone 2 stands for silence, which needs 3 frames or none.
    let words = "2 1 4 6";
    let keys = ["a", "b", "c", "d", "e", "f"];
    let alignments: String = keys.iter().map(|key| format!("{key} {words}\n")).collect();
    let alignments = format!("ark:{}", folder.write("ali", alignments));
    let frames = "a 12 10 9\nb 0 12 1\nc 9 11 0\nd 4 12 0\ne 0 13 0\n";
    let frames = format!("ark:{}", folder.write("frames", frames));
    let padded = run(
        "pad-ali",
        &["--frame-subsampling-factor=3", &model, &tree, "2", &alignments, &frames, "ark,t:-"],
    );
    assert_eq!(padded.status, 0);
    let stretched = format!("ark:{}", folder.write("padded", &padded.stdout));
    let lengths = run("ali-to-phones", &["--write-lengths=true", &model, &stretched, "ark,t:-"]).stdout;
    // 31 frames of features are 11; 13 are 5, of which one after the words is too short for silence.
    assert_eq!(lengths, "a 2 4 ; 1 4 ; 2 3 \nc 2 3 ; 1 4 \n");
    for words in [
        "b: the alignment gets no silence: phone 2 cannot have 1 frames",
        "d: 4 frames before the words are no multiple of 3",
        "e: 13 frames of features and 4 of the alignment",
        "f: no frames of silence in",
        "Put silence around 2 alignments, failed for 4",
    ] {
        assert!(padded.stderr.contains(words), "{words}: {}", padded.stderr);
    }
    let log = fail(255, "pad-ali", &[&model, &tree, "99", &alignments, &frames, "ark:-"]);
    assert!(log.contains("has no phone 99"), "{log}");
}

#[test]
fn statistics_that_do_not_fit() {
    let folder = folder("tree-building");
    run_until(&folder, "compile-questions");
    let path = |name: &str| folder.path(name);
    let [stats, questions, topology, tree] = [path("1.acc"), path("1.qst"), path("in/topo1"), path("x.tree")];
    let sets = path("in/sets.int");
    let roots = path("in/roots1.int");
    let biphone = ["--context-width=2", "--central-position=1"];
    let build = |options: &[&str], roots: &str| {
        let mut arguments = options.to_vec();
        arguments.extend([&stats[..], roots, &questions, &topology, &tree]);
        fail(255, "build-tree", &arguments)
    };
    let log = build(&["--context-width=2", "--central-position=0"], &roots);
    assert!(log.contains("1.acc: the event -1:0 1:1 has no key 0"), "{log}");
    let some = folder.write("some", "shared split 1 2 3\n");
    let log = build(&biphone, &some);
    assert!(log.contains("Phone 4 appears in stats but is not listed in roots file."), "{log}");
    let fixed = folder.write("fixed", "shared not-split 1 2 3 4 5 6 7 8 9 10 11 12 13\n");
    let log = build(&biphone, &fixed);
    assert!(log.contains("there are no statistics of phones whose roots may be split"), "{log}");
    let log = build(&["--thresh=0"], &roots);
    assert!(log.contains("either --thresh or --max-leaves must be positive"), "{log}");
    assert!(!Path::new(&tree).exists());

    let log = fail(255, "cluster-phones", &["--pdf-class-list=2", &stats, &sets, "-"]);
    assert!(log.contains("1.acc: there are no statistics of the pdf classes 2"), "{log}");
    assert!(log.contains("most of your stats disappeared: the size changed from 195 to 0"), "{log}");
    let log = fail(255, "cluster-phones", &["--mode=k-means", "--num-classes=20", &stats, &sets, "-"]);
    assert!(log.contains("num_classes is 20, number of phone sets is 11"), "{log}");
    let more = folder.write("more", "1 14\n");
    let log = fail(255, "compile-questions", &[&topology, &more, "-"]);
    assert!(log.contains("that the topology lacks, such as 14"), "{log}");

    let cut = folder.write("cut.acc", &std::fs::read(&stats).unwrap()[..5000]);
    let log = fail(255, "sum-tree-stats", &[&path("x.acc"), &stats, &cut]);
    assert!(log.contains("cut.acc"), "{log}");
    run_line(&folder, "gmm-init-mono in/topo1 3 x.mdl mono.tree");
    let log = fail(255, "gmm-init-model", &[&path("mono.tree"), &stats, &topology, &path("y.mdl")]);
    assert!(log.contains("no leaf for the event -1:0 1:1"), "{log}");
    let log = fail(255, "gmm-init-model", &[&tree, &stats, &topology, &path("y.mdl"), &path("mono.tree")]);
    assert!(!log.is_empty() && !Path::new(&path("y.mdl")).exists());
}

#[test]
fn features_for_a_gaussian() {
    let folder = folder("gmm-init-mono");
    let (topology, model, tree) = (folder.path("in/topo3"), folder.path("1.mdl"), folder.path("1.tree"));
    let init = |features: &str, dim: &str| {
        let features = format!("--train-feats=ark:{}", folder.write("feats", features));
        fail(255, "gmm-init-mono", &[&features, &topology, dim, &model, &tree])
    };
    let log = init("a [ 1 2\n 3 2 ]\n", "2");
    assert!(log.contains("bad variance: 0 in dimension 1 of the features"), "{log}");
    assert!(init("a [ 1 2\n 3 2 ]\n", "3").contains("key 'a': the features have 2 columns, expected 3"));
    assert!(init("", "2").contains("no features were seen"));
    assert!(init("", "none").contains("expected a dimension, from 1 to 9999, found 'none'"));
    assert!(!Path::new(&model).exists() && !Path::new(&tree).exists());
}

#[test]
fn what_models_and_alignments_are() {
    let folder = folder("gmm-info");
    run_until(&folder, "gmm-init-mono");
    let info = run("gmm-info", &[&folder.path("old.mdl")]);
    assert_eq!(
        info.stdout,
        "number of phones 13\nnumber of pdfs 39\nnumber of transition-ids 78\nnumber of transition-states 39\n\
         feature dimension 3\nnumber of gaussians 39\n"
    );
    let symbols = folder.write("phones.txt", "<eps> 0\nsil 1\na_long_name 2\n");
    let alignments = format!("ark:{}", folder.write("ali", "a 2 1 4 6 8 10 12\n"));
    let shown = run("show-alignments", &[&symbols, &folder.path("old.mdl"), &alignments]);
    assert_eq!(shown.stdout, "a  [ 2 1 4 6 ] [ 8 10 12 ] \na  sil         a_long_name \n\n");
}

#[test]
fn trees_that_cannot_be_drawn() {
    let folder = folder("draw-tree");
    run_until(&folder, "gmm-init-mono");
    let [symbols, tree] = [folder.path("in/phones.txt"), folder.path("old.tree")];
    let log = fail(255, "draw-tree", &["--query=1/p1/p2", &symbols, &tree]);
    assert!(log.contains("--query=1/p1/p2: expected a pdf-class and 1 phones"), "{log}");
    assert!(fail(255, "draw-tree", &["--query=x/p1", &symbols, &tree]).contains("invalid pdf-class"));
    assert!(fail(255, "draw-tree", &["--query=0/q", &symbols, &tree]).contains("unknown phone 'q'"));
    let few = folder.write("few", "<eps> 0\np1 1\n");
    assert!(fail(255, "draw-tree", &[&few, &tree]).contains("old.tree: phone 2 of the tree has no name"));
    assert!(run("draw-tree", &["--gen-html=true"]).stdout.starts_with("<html>"));
}
