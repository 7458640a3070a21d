//! The programs of chain training from phone sequences to a combined model. Tests check their messages and
//! statuses, for valid inputs and for files that do not fit each other.

use crate::common::{Folder, binary, run, succeed};
use crate::json::{compare_with_log, document, lines};

const TOPOLOGY: &str = "<Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones>\n<State> 0 <ForwardPdfClass> 0 \
    <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State>\n<State> 1 </State> </TopologyEntry> </Topology>\n";
const TREE: &str = "ContextDependency 1 0 ToPdf TE 0 3 ( NULL TE -1 2 ( CE 0 CE 1 ) TE -1 2 ( CE 2 CE 3 ) ) EndContextDependency\n";
/// A tree with shared pdfs of the phones.
const OTHER_TREE: &str = "ContextDependency 1 0 ToPdf TE 0 3 ( NULL TE -1 2 ( CE 0 CE 1 ) TE -1 2 ( CE 0 CE 1 ) ) EndContextDependency\n";

/// Returns the config of a network with two features and `pdfs` pdfs.
fn network(pdfs: usize) -> String {
    format!(
        "input-node name=input dim=2\n\
         component name=a type=NaturalGradientAffineComponent input-dim=2 output-dim={pdfs}\n\
         component name=x type=NaturalGradientAffineComponent input-dim=2 output-dim={pdfs}\n\
         component name=l type=LogSoftmaxComponent dim={pdfs}\n\
         component-node name=a component=a input=input\ncomponent-node name=x component=x input=input\n\
         component-node name=l component=l input=x\noutput-node name=output input=a\n\
         output-node name=output-xent input=l\n"
    )
}

/// Two utterances of twelve frames.
fn features() -> String {
    let utterance = |(key, shift): (&str, f64)| {
        let rows =
            (0..12).map(|t| format!("\n {} {}", (f64::from(t) + shift).sin(), (2.0 * f64::from(t)).cos()));
        format!("{key} [{} ]\n", rows.collect::<String>())
    };
    [("a", 1.0), ("b", 2.0)].map(utterance).concat()
}

/// A folder with tree, model, graphs, supervision and examples.
fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    let at = |name: &str| folder.path(name);
    let config = folder.write("net.config", network(4));
    let (tree, topology) = (folder.write("tree", TREE), folder.write("topo", TOPOLOGY));
    succeed("nnet3-init", &[&config, &at("0.raw")]);
    succeed("nnet3-am-init", &[&tree, &topology, &at("0.raw"), &at("0.mdl")]);
    succeed("copy-transition-model", &[&at("0.mdl"), &at("0.trans_mdl")]);
    let phones = folder.write("phones", "a 1 2 1\nb 2 1\n");
    succeed("chain-est-phone-lm", &["--num-extra-lm-states=2", &format!("ark:{phones}"), &at("lm.fst")]);
    succeed(
        "chain-make-den-fst",
        &[&tree, &at("0.trans_mdl"), &at("lm.fst"), &at("den.fst"), &at("norm.fst")],
    );
    let lengths = folder.write("lengths", "a 1 4 ; 2 4 ; 1 4\nb 2 6 ; 1 6\n");
    succeed(
        "chain-get-supervision",
        &[
            "--frame-subsampling-factor=3",
            &tree,
            &at("0.trans_mdl"),
            &format!("ark:{lengths}"),
            &format!("ark:{}", at("sup")),
        ],
    );
    folder.write("feats", features());
    succeed(
        "nnet3-chain-get-egs",
        &get_egs(&folder, Some("norm.fst"), "egs").iter().map(String::as_str).collect::<Vec<_>>(),
    );
    folder
}

/// Arguments that make examples.
fn get_egs(folder: &Folder, normalization: Option<&str>, to: &str) -> Vec<String> {
    let mut arguments =
        vec!["--frame-subsampling-factor=3".to_owned(), "--num-frames=12".into(), "--left-context=1".into()];
    arguments.push("--right-context=1".into());
    arguments.extend(normalization.map(|fst| folder.path(fst)));
    arguments.extend(["feats", "sup", to].map(|name| format!("ark:{}", folder.path(name))));
    arguments
}

/// Runs a training with these options. Status and log.
fn train(
    folder: &Folder,
    options: &[&str],
    model: &str,
    denominator: &str,
    egs: &str,
    to: &str,
) -> (i32, String) {
    let at = |name: &str| folder.path(name);
    let mut arguments = vec!["--use-gpu=no"];
    arguments.extend(options);
    let files = [at(model), at(denominator), format!("ark:{}", at(egs)), at(to)];
    arguments.extend(files.iter().map(String::as_str));
    let output = run("nnet3-chain-train", &arguments);
    (output.status, output.stderr)
}

/// Expects that a program fails with a sentence that has these parts.
#[track_caller]
fn expect((status, log): (i32, String), expected: i32, parts: &[&str]) {
    assert_eq!(status, expected, "{log}");
    for part in parts {
        assert!(log.contains(part), "no {part:?} in {log}");
    }
}

fn of(program: &str, arguments: &[&str]) -> (i32, String) {
    let output = run(program, arguments);
    (output.status, output.stderr)
}

#[test]
fn from_phones_to_a_combined_model() {
    let folder = prepared("chain-train");
    let at = |name: &str| folder.path(name);
    let egs = format!("ark:{}", at("egs"));
    let merged =
        format!("ark:{} --minibatch-size=1:2 {egs} ark:- |", binary("nnet3-chain-merge-egs").display());
    let output = run(
        "nnet3-chain-train",
        &["--use-gpu=no", "--xent-regularize=0.1", &at("0.raw"), &at("den.fst"), &merged, &at("1.raw")],
    );
    assert_eq!(output.status, 0, "{}", output.stderr);
    for name in ["output", "output-xent"] {
        let line = format!("Overall average objective function for '{name}' is -");
        assert!(output.stderr.contains(&line), "no {line} in {}", output.stderr);
    }
    let memory = output.stderr.find("A minibatch of ").expect("how much memory a minibatch takes");
    assert!(memory < output.stderr.find("Overall average").unwrap(), "{}", output.stderr);
    assert_eq!(
        output.stderr.matches("[this line is to be parsed by a script:] log-prob-per-frame=-").count(),
        2
    );
    let (_, log) =
        of("nnet3-chain-compute-prob", &["--xent-regularize=0.1", &at("1.raw"), &at("den.fst"), &egs]);
    for name in ["output", "output-xent"] {
        assert!(log.contains(&format!("Overall log-probability for '{name}' is -")), "{log}");
    }
    assert!(log.contains(" per frame, over 8 frames."), "{log}");
    let worth =
        document("nnet3-chain-compute-prob", &["--xent-regularize=0.1", &at("1.raw"), &at("den.fst"), &egs]);
    assert_eq!(worth["lwf"], serde_json::Value::Null);
    for name in ["output", "output-xent"] {
        compare_with_log(&worth["outputs"][name], name, &log);
    }
    let listed = lines("nnet3-chain-copy-egs", &[&egs, "ark:-"]);
    assert_eq!(listed.len(), 2);
    let supervision = &listed[0]["supervisions"][0];
    assert_eq!((&supervision["name"], &supervision["sequences"]), (&"output".into(), &1.into()));
    assert_eq!((&supervision["frames-per-sequence"], &supervision["label-dim"]), (&4.into(), &4.into()));
    let indexes = serde_json::json!([{"first": [0, 0, 0], "step": [0, 3, 0], "count": 4}]);
    assert_eq!((&supervision["indexes"], &listed[0]["ios"][0]["rows"]), (&indexes, &14.into()));
    expect(
        of(
            "nnet3-chain-combine",
            &["--use-gpu=no", &at("den.fst"), &at("1.raw"), &at("0.raw"), &egs, &at("2.raw")],
        ),
        0,
        &["Read 2 examples.", "Finished combining neural nets, wrote model to "],
    );
    succeed("nnet3-info", &[&at("2.raw")]);
    expect(
        of(
            "nnet3-chain-compute-post",
            &[&at("1.raw"), &at("den.fst"), &format!("ark:{}", at("feats")), "ark,t:-"],
        ),
        0,
        &["Done 2 utterances, failed for 0", "Overall log-prob per (output) frame was "],
    );
}

#[test]
fn damaged_examples_leave_no_model() {
    let folder = prepared("chain-truncated");
    let egs = std::fs::read(folder.path("egs")).unwrap();
    folder.write("cut", &egs[..egs.len() - 30]);
    expect(
        train(&folder, &[], "0.raw", "den.fst", "cut", "1.raw"),
        255,
        &["/cut, key 'b-0'", "expected token '</NnetChainSup>', found '</' and the end of the file"],
    );
    assert!(!std::path::Path::new(&folder.path("1.raw")).exists());
    folder.write("nothing", "");
    expect(
        train(&folder, &[], "0.raw", "den.fst", "nothing", "1.raw"),
        1,
        &["expected at least one example, found none"],
    );
    assert!(!std::path::Path::new(&folder.path("1.raw")).exists());
}

/// Examples without the costs of the normalization FST begin with empty arcs. Merged examples have none.
#[test]
fn examples_that_are_not_normalized() {
    let folder = prepared("chain-plain");
    let at = |name: &str| folder.path(name);
    let arguments = get_egs(&folder, None, "plain");
    succeed("nnet3-chain-get-egs", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    succeed("nnet3-chain-acc-lda-stats", &[&at("0.raw"), &format!("ark:{}", at("plain")), &at("lda")]);
    let (plain, merged) = (format!("ark:{}", at("plain")), format!("ark:{}", at("merged")));
    succeed("nnet3-chain-merge-egs", &["--minibatch-size=2", &plain, &merged]);
    let objective = |egs: &str| {
        let log = succeed("nnet3-chain-compute-prob", &[&at("0.raw"), &at("den.fst"), egs]);
        let line =
            log.lines().find(|line| line.contains("for 'output' is")).unwrap_or_else(|| panic!("{log}"));
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|&word| word == "is").unwrap();
        words[at + 1].parse::<f64>().unwrap()
    };
    let (one, two) = (objective(&plain), objective(&merged));
    assert!((one - two).abs() < 1e-5, "{one} {two}");
}

#[test]
fn files_that_do_not_belong_together() {
    let folder = prepared("chain-mismatch");
    let at = |name: &str| folder.path(name);
    succeed("nnet3-init", &[&folder.write("3.config", network(3)), &at("3.raw")]);
    expect(
        train(&folder, &[], "3.raw", "den.fst", "egs", "1.raw"),
        255,
        &["den.fst: denominator FST: an arc of state 0 has the label 4, expected a pdf plus 1, from 1 to 3"],
    );
    succeed("nnet3-init", &[&folder.write("5.config", network(5)), &at("5.raw")]);
    expect(
        train(&folder, &[], "5.raw", "den.fst", "egs", "1.raw"),
        255,
        &[
            "key 'a-0': output 'output' of the network has dimension 5, but the example has targets of dimension 4",
        ],
    );
    let tree = folder.write("other-tree", OTHER_TREE);
    let parts =
        ["other-tree and ", "the tree has 2 pdfs, the transition model 4: they do not belong together"];
    let lengths = format!("ark:{}", at("lengths"));
    expect(of("chain-get-supervision", &[&tree, &at("0.trans_mdl"), &lengths, "ark:-"]), 255, &parts);
    let made = [at("x.fst"), at("y.fst")];
    expect(
        of("chain-make-den-fst", &[&tree, &at("0.trans_mdl"), &at("lm.fst"), &made[0], &made[1]]),
        255,
        &parts,
    );
    expect(
        train(&folder, &["--leaky-hmm-coefficient=1.5"], "0.raw", "den.fst", "egs", "1.raw"),
        255,
        &["--leaky-hmm-coefficient=1.5: expected a number above 0 and below 1"],
    );
    let without = at("without.raw");
    succeed(
        "nnet3-copy",
        &["--edits=rename-node old-name=output-xent new-name=other", &at("0.raw"), &without],
    );
    expect(
        train(&folder, &["--xent-regularize=0.1"], "without.raw", "den.fst", "egs", "1.raw"),
        255,
        &["with --xent-regularize=0.1 the network must have an output 'output-xent'"],
    );
    assert!(!std::path::Path::new(&at("1.raw")).exists() && !std::path::Path::new(&made[0]).exists());
    // An output that cannot be written is reported before examples are read.
    let nowhere = at("no-such-folder/result");
    let none = format!("ark:{}", at("no-examples"));
    let refusal = ["cannot open", "no-such-folder/result"];
    expect(
        of("nnet3-chain-combine", &["--use-gpu=no", &at("den.fst"), &at("0.raw"), &none, &nowhere]),
        255,
        &refusal,
    );
    expect(of("nnet3-chain-acc-lda-stats", &[&at("0.raw"), &none, &nowhere]), 255, &refusal);
    expect(of("nnet3-acc-lda-stats", &[&at("0.raw"), &none, &nowhere]), 255, &refusal);
}

#[test]
fn utterances_without_supervision() {
    let folder = prepared("chain-supervision");
    let at = |name: &str| folder.path(name);
    let supervise = |options: &[&str], table: &str| {
        let (tree, model) = (at("tree"), at("0.trans_mdl"));
        let (from, to) = (format!("ark:{}", at(table)), format!("ark,t:{}", at("made")));
        let mut arguments = options.to_vec();
        arguments.extend([tree.as_str(), &model, &from, &to]);
        of("chain-get-supervision", &arguments)
    };
    // Half of the utterances in error is too many.
    folder.write("lattices", "a\n\nb\n0 1 1 0,0,2_1_1\n1 0,0,\n\n");
    expect(
        supervise(&["--lattice-input=true"], "lattices"),
        1,
        &["WARNING", "a: the lattice is empty", "information for 1 utterances, errors on 1"],
    );
    assert!(folder.read("made").starts_with("b <Supervision> <Weight> 1 <NumSequences> 1 <FramesPerSeq> 3 "));
    folder.write("strange", "a 1 4 ; 9 4\n");
    expect(
        supervise(&[], "strange"),
        1,
        &["a: phone 9 is not in the topology", "for 0 utterances, errors on 1"],
    );
    folder.write("short", "a 1 1 ; 2 1 ; 1 1 ; 2 1\n");
    expect(
        supervise(&["--frame-subsampling-factor=3"], "short"),
        1,
        &["Supervision FST is empty (too many phones for too few frames?)", "errors on 1"],
    );
    let phones = folder.write("phones9", "a 1 9\n");
    succeed("chain-est-phone-lm", &[&format!("ark:{phones}"), &at("lm9.fst")]);
    expect(
        of(
            "chain-make-den-fst",
            &[&at("tree"), &at("0.trans_mdl"), &at("lm9.fst"), &at("x.fst"), &at("y.fst")],
        ),
        255,
        &["lm9.fst: phone 9 is not in the topology"],
    );
}

#[test]
fn supervision_that_the_denominator_does_not_accept() {
    let folder = prepared("chain-denominator");
    let at = |name: &str| folder.path(name);
    let phones = format!("ark:{}", folder.write("phones1", "a 1 1\n"));
    let orders = ["--ngram-order=2", "--no-prune-ngram-order=2"];
    succeed("chain-est-phone-lm", &[orders[0], orders[1], &phones, &at("lm1.fst")]);
    succeed(
        "chain-make-den-fst",
        &[&at("tree"), &at("0.trans_mdl"), &at("lm1.fst"), &at("den1.fst"), &at("norm1.fst")],
    );
    succeed(
        "nnet3-chain-get-egs",
        &get_egs(&folder, None, "plain").iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let tables = ["plain", "made"].map(|name| format!("ark:{}", at(name)));
    expect(
        of("nnet3-chain-normalize-egs", &[&at("norm1.fst"), &tables[0], &tables[1]]),
        1,
        &[
            "WARNING (nnet3-chain-normalize-egs[5.5]:",
            "For example a-0: its FST has no path in common with the normalization FST",
            "Added normalization to 0 egs; had errors on 2",
        ],
    );
    // Within a pipe it is the same program, with and without a process of its own.
    let program = binary("nnet3-chain-normalize-egs");
    let pipe = format!("ark:{} {} {} ark:- |", program.display(), at("norm1.fst"), tables[0]);
    expect(
        of("nnet3-chain-train", &["--use-gpu=no", &at("0.raw"), &at("den1.fst"), &pipe, &at("1.raw")]),
        255,
        &["For example b-0: its FST has no path in common", "had errors on 2"],
    );
    assert!(!std::path::Path::new(&at("1.raw")).exists());
    let pipe = format!("ark:{} {} {} ark:- |", program.display(), at("norm.fst"), tables[0]);
    let of_pipe =
        of("nnet3-chain-train", &["--use-gpu=no", &at("0.raw"), &at("den.fst"), &pipe, &at("1.raw")]);
    expect(of_pipe, 0, &["Added normalization to 2 egs; had errors on 0", "over 8 frames"]);
    expect(train(&folder, &[], "0.raw", "den.fst", "egs", "2.raw"), 0, &["over 8 frames"]);
    let models = ["1.raw", "2.raw"].map(|name| std::fs::read(at(name)).unwrap());
    assert!(models[0] == models[1], "examples that are normalized on the way train another model");
}
