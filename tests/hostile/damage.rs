//! Single faults of files and options that used to pass unnoticed: trees with a changed number, and graphs that
//! change while they are read. Also keys that no program reads, and checkpoints of another training.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::process::{Command, Stdio};

use crate::common::{Folder, binary, run, succeed};
use crate::data::{error_line, examples, features, network, outcome, posteriors, refused, shell};

fn of_decoder(name: &str) -> String {
    format!("{}/crates/nnet3-decode/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Log-likelihoods for the digits, `scale` times as large.
fn scaled_loglikes(folder: &Folder, scale: &str) -> String {
    let scaled = format!("ark:{}", folder.path("scaled"));
    let from = format!("ark:{}", of_decoder("decode/loglikes.ark"));
    let matrix: String = folder.path("scale.mat");
    let text = shell(&format!("feat-to-dim {from} - 2>/dev/null")).stdout;
    let dim: usize = text.trim().parse().unwrap();
    let row = |i: usize| {
        (0..dim).map(|j| if i == j { format!(" {scale}") } else { " 0".into() }).collect::<String>()
    };
    let rows: Vec<String> = (0..dim).map(row).collect();
    std::fs::write(&matrix, format!(" [{} ]\n", rows.join("\n"))).unwrap();
    succeed("transform-feats", &[&matrix, &from, &scaled]);
    scaled
}

/// Sums of costs have 24 bits. With costs as large as 10⁸, every path used to lie outside the beam, and an empty
/// lattice was written as a success.
#[test]
fn log_likelihoods_that_are_too_large() {
    let folder = Folder::new("hostile-large");
    let loglikes = scaled_loglikes(&folder, "1e8");
    let lattices = format!("ark:{}", folder.path("lattices"));
    let (model, graph) = (of_decoder("mono.mdl"), of_decoder("decode/HCLG.fst"));
    let output = run("latgen-faster-mapped", &["--acoustic-scale=1", &model, &graph, &loglikes, &lattices]);
    assert!(output.stderr.contains("its lattice is empty (check the log-likelihoods"), "{}", output.stderr);
    let read = run("lattice-copy", &[&lattices, "ark,t:-"]).stdout;
    let keys = read
        .lines()
        .filter(|line| line.split_whitespace().count() == 1 && !line.starts_with(char::is_numeric));
    let done = output.stderr.lines().find_map(|line| line.split("Done ").nth(1)).unwrap();
    let written: usize = done.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(keys.count(), written, "{}\n{read}", output.stderr);
    assert!(!done.contains("failed for 0"), "{done}");
}

/// Infinite weights were written, with status 0.
#[test]
fn scales_that_make_weights_infinite() {
    let folder = Folder::new("hostile-scales");
    let raw = format!("ark:{}", of_decoder("raw.lat"));
    let out = folder.path("out");
    for program in ["lattice-scale", "lattice-prune", "lattice-1best"] {
        let output = run(program, &["--acoustic-scale=1e38", &raw, &format!("ark,t:{out}")]);
        assert_ne!(output.status, 0, "{program}: {}", output.stderr);
        assert!(output.stderr.contains("(check the scales)"), "{program}: {}", output.stderr);
        let text = std::fs::read_to_string(&out).unwrap_or_default();
        assert!(!text.contains("Infinity") && !text.contains("BadNumber"), "{program}: {text}");
    }
}

/// Programs wrote keys that no program reads.
#[test]
fn keys_that_no_program_reads() {
    let folder = Folder::new("hostile-keys");
    let matrix = folder.write("m", " [ 1 2 ]\n");
    let out = format!("ark:{}", folder.path("out.ark"));
    for (length, is_fine) in [(1 << 20, true), ((1 << 20) + 1, false), (2_000_000, false)] {
        let script = folder.write("long.scp", format!("{} {matrix}\n", "k".repeat(length)));
        let arguments = [&*format!("scp:{script}"), &out];
        if is_fine {
            succeed("copy-feats", &arguments);
            succeed("copy-feats", &[&out, "ark:/dev/null"]);
        } else {
            refused("copy-feats", &arguments, &["no program reads more than 1048576"]);
        }
    }
}

#[test]
fn an_oracle_without_references() {
    let folder = Folder::new("hostile-oracle");
    let empty = format!("ark:{}", folder.write("empty", ""));
    let output =
        run("lattice-oracle", &[&format!("ark:{}", of_decoder("rich.lat")), &empty, "ark:/dev/null"]);
    assert_eq!(output.status, 1, "{}", output.stderr);
    error_line(&output, &["no lattice has a reference in ark:"]);
}

/// A tree with one changed number took 12 GB, or time without end.
#[test]
fn trees_with_a_changed_number() {
    let folder = Folder::new("hostile-trees");
    let text = "ContextDependency 1 0 ToPdf TE 0 3 ( NULL CE 0 CE 1 ) EndContextDependency ";
    for (old, new, words) in [
        ("CE 1", "CE 500000000", "pdf-id 500000000, which is too large for a tree of 2 pdfs"),
        ("1 0 ToPdf", "1000000000 0 ToPdf", "the context width is 1000000000, expected at most"),
        ("TE 0", "TE 7", "question about position 7, but its context windows have 1 phones"),
    ] {
        let tree = folder.write("tree", text.replacen(old, new, 1));
        for program in ["tree-info", "copy-tree"] {
            let mut arguments = vec![&*tree];
            if program == "copy-tree" {
                arguments.push("/dev/null");
            }
            refused(program, &arguments, &[&tree, words]);
        }
    }
}

/// Messages about a tree of another model name the files, and no structures of the program.
#[test]
fn a_tree_of_another_model() {
    let folder = Folder::new("hostile-other-tree");
    let am = |name: &str| format!("{}/tests/data/am/{name}", env!("CARGO_MANIFEST_DIR"));
    let words = folder.write("words.txt", "<eps> 0\na 1\n");
    let lexicon = folder.path("L.fst");
    let text = folder.write("L.txt", "0 1 1 1\n1\n");
    succeed("fstcompile", &[&text, &lexicon]);
    let tree =
        folder.write("tree", "ContextDependency 1 0 ToPdf SE 0 [ 1 ] { CE 3 CE 2 } EndContextDependency ");
    let table = format!("ark:{}", folder.write("text", "u 1\n"));
    let out = format!("ark:{}", folder.path("graphs"));
    let output = run("compile-train-graphs", &[&tree, &am("transitions.mdl"), &lexicon, &table, &out]);
    assert!(!output.stderr.contains("TransitionState"), "{}", output.stderr);
    assert!(output.stderr.contains(&tree) && output.stderr.contains("transitions.mdl"), "{}", output.stderr);
    drop(words);
}

/// A mapped graph that was overwritten in place was a panic, one that was made shorter a signal.
#[test]
fn graphs_that_change_while_they_are_read() {
    let folder = Folder::new("hostile-mapped");
    let original = std::fs::read(of_decoder("decode/HCLG.fst")).unwrap();
    let loglikes = std::fs::read(of_decoder("decode/loglikes.ark")).unwrap();
    type Change = fn(&str);
    let overwrite: Change = |graph| {
        let mut file = OpenOptions::new().write(true).open(graph).unwrap();
        let length = file.metadata().unwrap().len();
        file.seek(SeekFrom::Start(length / 4)).unwrap();
        file.write_all(&vec![0x7f; (length - length / 4) as usize]).unwrap();
    };
    let shorten: Change = |graph| OpenOptions::new().write(true).open(graph).unwrap().set_len(0).unwrap();
    // A search that reads behind the new end gets the second error. One that ends before it gets the first.
    let errors_of_a_change = ["has been changed while it was read", "has been made shorter meanwhile"];
    for (name, change, expected) in [
        ("overwritten", overwrite, &errors_of_a_change[..1]),
        ("shortened", shorten, &errors_of_a_change[..]),
    ] {
        let graph = folder.write(&format!("{name}.fst"), &original);
        let own = binary("latgen-faster-mapped");
        let log = std::fs::File::create(folder.path(name)).unwrap();
        let mut child = Command::new(&own)
            .args([
                "--acoustic-scale=1",
                "--lattice-beam=4",
                &of_decoder("mono.mdl"),
                &graph,
                "ark:-",
                "ark:/dev/null",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // The first utterance is decoded with the graph as it was.
        input.write_all(&loglikes).unwrap();
        input.flush().unwrap();
        while !folder.read(name).contains("Log-like per frame") {
            assert!(child.try_wait().unwrap().is_none(), "{}", folder.read(name));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        change(&graph);
        // (It may have ended already.)
        let _ = input.write_all(&loglikes);
        drop(input);
        let status = child.wait().unwrap();
        let log = folder.read(name);
        assert_eq!(status.code(), Some(255), "{name}: {status} {log}");
        let errors: Vec<&str> = log.lines().filter(|line| line.starts_with("ERROR (")).collect();
        assert_eq!(errors.len(), 1, "{name}: {log}");
        assert!(expected.iter().any(|error| errors[0].contains(error)), "{name}: {log}");
    }
}

/// A checkpoint of other examples, another model or another evaluation was gone on from.
#[test]
fn checkpoints_of_another_training() {
    let folder = Folder::new("hostile-checkpoints");
    let (egs, net, other_net) = (examples(&folder, 6, &[]), network(&folder, 1), folder.path("other.raw"));
    succeed("nnet3-copy", &["--scale=1.5", &net, &other_net]);
    let other_egs = folder.path("other.ark");
    posteriors(&folder, 6);
    std::fs::rename(folder.path("egs.ark"), folder.path("first.ark")).unwrap();
    drop(egs);
    let text = folder.read("post.txt").replace("[ 0 1 ]", "[ 1 1 ]");
    let post = format!("ark:{}", folder.write("other.txt", text));
    let (feats, out) = (format!("ark:{}", features(&folder, 6)), format!("ark:{other_egs}"));
    let options = ["--num-pdfs=3", "--num-frames=8", "--left-context=1", "--right-context=1"];
    succeed("nnet3-get-egs", &[&options[..], &[&feats, &post, &out]].concat());
    let first = format!("ark:{}", folder.path("first.ark"));
    let (dir, model) = (format!("--checkpoint-dir={}", folder.path("dir")), folder.path("1.raw"));
    let fit = |epochs: &str, net: &str, egs: &str| {
        let arguments =
            ["--use-gpu=no", &dir, "--resume=true", "--minibatch-size=4", epochs, net, egs, &model];
        run("nnet3-fit", &arguments)
    };
    assert_eq!(fit("--num-epochs=1", &net, &first).status, 0);
    for (net, egs, words) in [
        (&other_net, &first, "the checksum of the first model"),
        (&net, &out, "the checksum of the examples"),
    ] {
        let output = fit("--num-epochs=2", net, egs);
        assert_eq!(output.status, 255, "{}", output.stderr);
        error_line(&output, &["the checkpoint is of a training with", words]);
    }
    let output = fit("--num-epochs=2", &net, &first);
    assert_eq!(output.status, 0, "{}", output.stderr);
}

/// Two trainings in one folder mixed their files. A lock goes with the process that has it.
#[test]
fn two_trainings_in_one_folder() {
    let folder = Folder::new("hostile-two");
    let (egs, net) = (format!("ark:{}", examples(&folder, 6, &[])), network(&folder, 1));
    let (dir, model) = (format!("--checkpoint-dir={}", folder.path("dir")), folder.path("1.raw"));
    let slow = format!("ark:sleep 60; cat {} |", folder.path("egs.ark"));
    let mut first = Command::new(binary("nnet3-fit"))
        .args(["--use-gpu=no", &dir, "--num-epochs=1", &net, &slow, &model])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !std::path::Path::new(&folder.path("dir/lock")).exists() {
        assert!(first.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    std::thread::sleep(std::time::Duration::from_millis(100));
    let arguments = ["--use-gpu=no", &dir, "--num-epochs=1", &net, &egs, &model];
    refused("nnet3-fit", &arguments, &["another nnet3-fit uses", "dir: choose another --checkpoint-dir"]);
    first.kill().unwrap();
    first.wait().unwrap();
    let output = outcome(Command::new(binary("nnet3-fit")).args(arguments));
    assert_eq!(output.status, 0, "{}", output.stderr);
}
