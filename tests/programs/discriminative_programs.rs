//! The programs of discriminative training, from lattices to a trained network: log lines, statuses, and files that do not fit
//! each other.

use crate::common::{Folder, binary, run, succeed};
use crate::json::lines;

const TOPOLOGY: &str = "<Topology> <TopologyEntry> <ForPhones> 1 2 </ForPhones>\n<State> 0 <ForwardPdfClass> 0 \
    <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State>\n<State> 1 </State> </TopologyEntry> </Topology>\n";
const TREE: &str = "ContextDependency 1 0 ToPdf TE 0 3 ( NULL TE -1 2 ( CE 0 CE 1 ) TE -1 2 ( CE 2 CE 3 ) ) EndContextDependency\n";
/// Two outputs whose probabilities are equal for all pdfs.
const NETWORK: &str = "input-node name=input dim=2\n\
    component name=a type=NaturalGradientAffineComponent input-dim=2 output-dim=4 param-stddev=0 bias-stddev=0 max-change=0.001\n\
    component name=l type=LogSoftmaxComponent dim=4\n\
    component-node name=a component=a input=input\ncomponent-node name=l component=l input=a\n\
    output-node name=output input=l\noutput-node name=output-xent input=l\n";

/// Two paths of four frames, at the graph costs 0.5 and 1.25. The second has a wrong phone.
const LATTICE: &str =
    "0 1 2 7 0.5,3.0\n0 2 4 8 1.0,2.0\n1 3 1 0 0,0\n2 3 1 0 0.25,0\n3 4 4 0 0,1.5\n4 5 3 0 0,0\n5 0,0\n";
const ALIGNMENT: &str = "2 1 4 3";

/// A folder with a model, and lattices, alignments and features of four utterances; only `a` and `d` are in order.
fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    let at = |name: &str| folder.path(name);
    let (tree, topology) = (folder.write("tree", TREE), folder.write("topo", TOPOLOGY));
    succeed("nnet3-init", &[&folder.write("net.config", NETWORK), &at("0.raw")]);
    succeed("nnet3-am-init", &[&tree, &topology, &at("0.raw"), &at("0.mdl")]);
    let utterance = |key: &str| {
        let rows = (0..12).map(|t| format!("\n {} {}", f64::from(t).sin(), f64::from(2 * t).cos()));
        format!("{key} [{} ]\n", rows.collect::<String>())
    };
    folder.write("feats", ["a", "b", "c", "d"].map(utterance).concat());
    let lattices = ["a", "b", "d"].map(|key| format!("{key} \n{LATTICE}\n")).concat();
    folder.write("lats", lattices);
    folder.write("ali", format!("a {ALIGNMENT}\nb 2 1 4\nc {ALIGNMENT}\nd {ALIGNMENT}\n"));
    folder
}

/// Makes examples of whole utterances. Returns the log.
fn get_egs(folder: &Folder, options: &[&str]) -> String {
    let tables = ["feats", "lats", "ali", "egs"].map(|name| format!("ark:{}", folder.path(name)));
    let model = folder.path("0.mdl");
    let mut arguments = vec!["--frame-subsampling-factor=3", "--num-frames=12", "--acoustic-scale=0.5"];
    arguments.extend(options);
    arguments.push(&model);
    arguments.extend(tables.iter().map(String::as_str));
    succeed("nnet3-discriminative-get-egs", &arguments)
}

/// Expects that a program fails with a sentence that has these parts.
#[track_caller]
fn expect(program: &str, arguments: &[&str], status: i32, parts: &[&str]) {
    let output = run(program, arguments);
    assert_eq!(output.status, status, "{}", output.stderr);
    for part in parts {
        assert!(output.stderr.contains(part), "no {part:?} in {}", output.stderr);
    }
}

/// The number after these words in a log.
#[track_caller]
fn number(log: &str, words: &str) -> f64 {
    let (_, rest) = log.split_once(words).unwrap_or_else(|| panic!("no {words:?} in {log}"));
    rest.split(' ').next().unwrap().trim().parse().unwrap_or_else(|_| panic!("{words:?}: {rest}"))
}

#[test]
fn from_lattices_to_a_trained_network() {
    let folder = prepared("train");
    let at = |name: &str| folder.path(name);
    let log = get_egs(&folder, &["--left-context=1", "--right-context=1"]);
    for part in [
        "Failed to convert lattice to supervision for utterance b: denominator lattice: it has 4 frames, but the alignment 3",
        "No denominator lattice for key c",
        "2 utterances had errors and could not be processed.",
    ] {
        assert!(log.contains(part), "no {part:?} in {log}");
    }
    let egs = format!("ark:{}", at("egs"));
    let listed = lines("nnet3-discriminative-copy-egs", &[&egs, "ark:-"]);
    let keys: Vec<&str> = listed.iter().map(|line| line["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["a-0", "d-0"]);
    assert_eq!(listed[0]["supervisions"][0]["frames-per-sequence"], 4);

    let merged = format!("ark:{}", at("merged"));
    let log = succeed("nnet3-discriminative-merge-egs", &["--minibatch-size=2", &egs, &merged]);
    assert!(log.contains("14={2->1,d=0}"), "{log}");
    expect(
        "nnet3-discriminative-merge-egs",
        &["--minibatch-size=1", &merged, &format!("ark:{}", at("twice"))],
        255,
        &["'input' has several sequences: merged examples cannot be merged again"],
    );

    // All outputs are equal, so that paths differ by their graph costs alone.
    let model = at("0.mdl");
    let objective = |options: &[&str], table: &str| {
        let mut arguments = options.to_vec();
        arguments.extend([&*model, table]);
        succeed("nnet3-discriminative-compute-objf", &arguments)
    };
    let (right, wrong) = (f64::exp(-0.5), f64::exp(-1.25));
    let probability = right / (right + wrong);
    let log = objective(&["--criterion=mmi", "--acoustic-scale=0.5"], &egs);
    // The alignment has no graph cost of its own.
    let expected = -(right + wrong).ln() / 4.0;
    let found = number(&log, "Overall mmi objective for 'output' is ");
    assert!((found - expected).abs() < 1e-3, "{found} {expected} in {log}");
    assert!(log.contains("Number of frames is 8 (weighted: 8)"), "{log}");
    // Three frames are always right, one with the probability of its path.
    let log = objective(&["--criterion=mpfe", "--acoustic-scale=0.5"], &merged);
    let expected = (3.0 + probability) / 4.0;
    let found = number(&log, "Overall mpfe objective for 'output' is ");
    assert!((found - expected).abs() < 1e-3, "{found} {expected} in {log}");
    let log = objective(&["--criterion=smbr", "--xent-regularize=0.1", "--acoustic-scale=0.5"], &merged);
    let found = number(&log, "Overall smbr objective for 'output-xent' is ");
    assert!((found - 0.25f64.ln()).abs() < 1e-4, "{found}");

    let pipe = format!(
        "ark,bg:{} --frame-shift=1 {egs} ark:- | {} --buffer-size=10 --srand=1 ark:- ark:- | {} --minibatch-size=2 ark:- ark:- |",
        binary("nnet3-discriminative-copy-egs").display(),
        binary("nnet3-discriminative-shuffle-egs").display(),
        binary("nnet3-discriminative-merge-egs").display()
    );
    let log = succeed(
        "nnet3-discriminative-train",
        &[
            "--use-gpu=no",
            "--criterion=mmi",
            "--drop-frames=true",
            "--acoustic-scale=0.5",
            "--max-param-change=0.0001",
            "--l2-regularize=0.001",
            "--xent-regularize=0.1",
            "--optimization.min-deriv-time=-8",
            &model,
            &pipe,
            &at("1.raw"),
        ],
    );
    for part in [
        "Parameter change too big: ",
        " > --max-param-change=0.0001, scaling by ",
        "Average num+den count of stats is ",
        "Average l2 norm of output per frame is -",
        "Overall average objective function for 'output' is ",
        "[this line is to be parsed by a script:] mmi-per-frame=",
        "Wrote raw nnet model to ",
    ] {
        assert!(log.contains(part), "no {part:?} in {log}");
    }
    assert!(!log.contains("max-change was enforced"), "{log}");
    let log = succeed(
        "nnet3-discriminative-compute-from-egs",
        &["--use-gpu=no", "--apply-exp=true", &at("0.raw"), &egs, &format!("ark,t:{}", at("out"))],
    );
    assert!(log.contains("Processed 2 examples."), "{log}");
    let row = "0.25 0.25 0.25 0.25";
    assert_eq!(folder.read("out").matches(row).count(), 8, "{}", folder.read("out"));
}

#[test]
fn chunks_and_subsets() {
    let folder = prepared("chunks");
    let at = |name: &str| folder.path(name);
    get_egs(&folder, &["--num-frames=6", "--left-context=1", "--right-context=1"]);
    let egs = format!("ark:{}", at("egs"));
    let log = succeed("nnet3-discriminative-copy-egs", &[&egs, &format!("ark,t:{}", at("text"))]);
    assert!(log.contains("Read 4 neural-network training examples, wrote 4\n"), "{log}");
    assert!(folder.read("text").contains(" d-6 <Nnet3DiscriminativeEg> <NumInputs> 1 "));
    let log = succeed("nnet3-discriminative-subset-egs", &["--n=3", &egs, &format!("ark:{}", at("some"))]);
    assert!(
        log.contains("Selected a subset of 3 out of 4 neural-network discriminative training examples "),
        "{log}"
    );
    let log =
        succeed("nnet3-discriminative-shuffle-egs", &["--srand=1", &egs, &format!("ark:{}", at("shuffled"))]);
    assert!(log.contains("Shuffled order of 4 neural-network training examples"), "{log}");
}

#[test]
fn what_does_not_fit() {
    let folder = prepared("unfit");
    let at = |name: &str| folder.path(name);
    get_egs(&folder, &[]);
    let (egs, model, out) = (format!("ark:{}", at("egs")), at("0.mdl"), at("1.raw"));
    let train = |options: &[&str], model: &str, egs: &str, status: i32, parts: &[&str]| {
        let mut arguments = vec!["--use-gpu=no"];
        arguments.extend(options);
        arguments.extend([model, egs, &out]);
        expect("nnet3-discriminative-train", &arguments, status, parts);
        assert!(!std::path::Path::new(&out).exists());
    };
    train(
        &["--criterion=mwe"],
        &model,
        &egs,
        255,
        &[") Unknown criterion mwe; expected mmi, mpfe or smbr\n"],
    );
    train(&["--silence-phones=1,2"], &model, &egs, 255, &["expected integers between colons"]);
    train(&[], &at("0.raw"), &egs, 255, &["expected an acoustic model (.mdl)"]);
    folder.write("nothing", "");
    let nothing = format!("ark:{}", at("nothing"));
    train(&[], &model, &nothing, 1, &["expected at least one example, found none"]);
    expect("nnet3-discriminative-compute-objf", &[&model, &nothing], 1, &["found none"]);
    let bytes = std::fs::read(at("egs")).unwrap();
    folder.write("cut", &bytes[..bytes.len() - 30]);
    train(&[], &model, &format!("ark:{}", at("cut")), 255, &["/cut, key 'd-0'"]);
    // A model with fewer transition-ids.
    let topology = folder.write("topo1", TOPOLOGY.replace("1 2 </ForPhones>", "1 </ForPhones>"));
    let tree =
        folder.write("tree1", "ContextDependency 1 0 ToPdf TE -1 2 ( CE 0 CE 1 ) EndContextDependency\n");
    let config = NETWORK.replace("output-dim=4", "output-dim=2").replace("dim=4", "dim=2");
    succeed("nnet3-init", &[&folder.write("net1.config", config), &at("other.raw")]);
    succeed("nnet3-am-init", &[&tree, &topology, &at("other.raw"), &at("other.mdl")]);
    let parts = [
        "key 'a-0': 'output': denominator lattice: the lattice has the transition-id 4, but the model has 2",
    ];
    train(&[], &at("other.mdl"), &egs, 255, &parts);
    // An acoustic scale that cannot be undone.
    let tables = ["feats", "lats", "ali", "none"].map(|name| format!("ark:{}", at(name)));
    let arguments = ["--acoustic-scale=0", &model, &tables[0], &tables[1], &tables[2], &tables[3]];
    expect(
        "nnet3-discriminative-get-egs",
        &arguments,
        255,
        &["--acoustic-scale=0: expected a number other than 0"],
    );
}
