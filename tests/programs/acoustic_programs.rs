//! The programs about acoustic models: against the reference's files, and on a model small enough to calculate by hand.

use crate::common::{Folder, reference_folder, run, succeed};
use std::path::{Path, PathBuf};

/// The reference's tree, topology, transition model and posteriors.
fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/am");
    folder.join(name).to_str().unwrap().to_owned()
}

fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// Runs a program that must succeed; returns its output.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = run(program, &[&["--print-args=false"], arguments].concat());
    assert_eq!(output.status, 0, "{program} {arguments:?}: {}", output.stderr);
    output.stdout
}

/// A program that must fail with these words in its `ERROR` line, and not touch the file `old` of the folder.
fn fails(folder: &Folder, program: &str, arguments: &[&str], words: &[&str]) {
    folder.write("old", "an older result\n");
    let output = run(program, arguments);
    assert_eq!(output.status, 255, "{program} {arguments:?}: {}", output.stderr);
    let error = output.stderr.split_once("ERROR (").unwrap_or_else(|| panic!("{}", output.stderr)).1;
    for word in words {
        assert!(error.contains(word), "{program} {arguments:?}: no '{word}' in: {error}");
    }
    assert_eq!(folder.read("old"), "an older result\n", "{program} {arguments:?}");
}

#[test]
fn trees_and_transition_models_of_the_reference() {
    let folder = Folder::new("am-small");
    let (tree, transitions) = (data("tree"), data("transitions.mdl"));
    for (program, original) in [("copy-tree", &tree), ("copy-transition-model", &transitions)] {
        let (copy, text, back) = (folder.path("copy"), folder.path("text"), folder.path("back"));
        succeed(program, &[original, &copy]);
        assert_eq!(bytes(&copy), bytes(original), "{program}");
        succeed(program, &["--binary=false", original, &text]);
        assert!(!bytes(&text).starts_with(b"\0B"));
        succeed(program, &[&text, &back]);
        // A text has seven digits of probabilities.
        succeed(program, &["--binary=false", &back, &copy]);
        assert_eq!(bytes(&copy), bytes(&text), "{program}");
    }
    assert_eq!(output("tree-info", &[&tree]), "num-pdfs 22\ncontext-width 1\ncentral-position 0\n");
    assert_eq!(
        output("am-info", &[&transitions]),
        "number of phones 11\nnumber of pdfs 22\nnumber of transition-ids 44\nnumber of transition-states 22\n"
    );
}

/// A network with 22 outputs, and the model of it and the reference's tree and topology.
fn small_model(folder: &Folder) -> (String, String) {
    let config = "component name=a type=AffineComponent input-dim=4 output-dim=22 learning-rate=0.5
        component name=s type=LogSoftmaxComponent dim=22
        input-node name=input dim=2
        component-node name=a component=a input=Append(Offset(input, -1), Offset(input, 2))
        component-node name=s component=s input=a
        output-node name=output input=s\n";
    let config = folder.write("config", config);
    let (raw, model) = (folder.path("0.raw"), folder.path("0.mdl"));
    succeed("nnet3-init", &[&config, &raw]);
    let log = succeed("nnet3-am-init", &[&data("tree"), &data("topo"), &raw, &model]);
    assert!(!log.contains("WARNING"), "{log}");
    (raw, model)
}

/// Transition model, network, contexts and priors, one after another.
#[test]
fn a_model_is_its_parts() {
    let folder = Folder::new("am-parts");
    let (raw, model) = small_model(&folder);
    let transitions = bytes(data("transitions.mdl"));
    let tail = |left: i32, right: i32| {
        let mut tail = b"<LeftContext> \x04".to_vec();
        tail.extend(left.to_le_bytes());
        tail.extend(b"<RightContext> \x04");
        tail.extend(right.to_le_bytes());
        tail.extend(b"<Priors> FV \x04\0\0\0\0");
        tail
    };
    assert_eq!(bytes(&model), [&transitions[..], &bytes(&raw)[2..], &tail(1, 2)].concat());
    let again = folder.path("again.mdl");
    succeed("nnet3-am-init", &[&model, &raw, &again]);
    assert_eq!(bytes(&again), bytes(&model));
    succeed("nnet3-am-copy", &[&model, &again]);
    assert_eq!(bytes(&again), bytes(&model));
    let (text, raw_again) = (folder.path("text.mdl"), folder.path("again.raw"));
    succeed("nnet3-am-copy", &["--binary=false", &model, &text]);
    for model in [&model, &text] {
        succeed("nnet3-copy", &["--binary=false", model, &raw_again]);
        let pipe = format!("nnet3-am-copy --raw=true --binary=false {model} - |");
        let bin = crate::common::binary("nnet3-am-copy");
        let pipe = pipe.replace("nnet3-am-copy", bin.to_str().unwrap());
        assert_eq!(output("nnet3-copy", &["--binary=false", &pipe, "-"]), folder.read("again.raw"));
    }
    assert!(output("nnet3-am-info", &[&model]).starts_with(
        "input-dim: 2\nivector-dim: -1\nnum-pdfs: 22\nprior-dimension: 0\n# Nnet info follows.\nleft-context: 1\n\
         right-context: 2\nnum-parameters: 110\nmodulus: 1\ninput-node name=input dim=2\n"
    ));
    let other = folder.write("other.config", folder.read("config").replace("22", "5"));
    succeed("nnet3-init", &[&other, &folder.path("5.raw")]);
    let log = succeed("nnet3-am-init", &[&model, &folder.path("5.raw"), &again]);
    assert!(
        log.contains("output of the network has dimension 5, but the transition model has 22 pdfs"),
        "{log}"
    );
}

#[test]
fn changes_of_the_network() {
    let folder = Folder::new("am-copy");
    let (raw, model) = small_model(&folder);
    let changed = folder.path("changed.mdl");
    let options = ["--learning-rate=0.25", "--scale=2", "--edits=rename-node old-name=s new-name=t"];
    let config =
        folder.write("more.config", "component-node name=b component=a input=Append(input, input)\n");
    let config = format!("--nnet-config={config}");
    let log = succeed("nnet3-am-copy", &[&options[..], &[&config, &model, &changed]].concat());
    assert!(log.contains("Renamed node 's' to 't'.") && log.contains("Copied neural net from"), "{log}");
    let info = output("nnet3-am-info", &[&changed]);
    assert!(info.contains("component-node name=t ") && info.contains("component-node name=b "), "{info}");
    assert!(info.contains("learning-rate=0.25"), "{info}");
    let rms = |info: &str| {
        let text = info.split("linear-params-rms=").nth(1).unwrap().split(',').next().unwrap();
        text.parse::<f64>().unwrap()
    };
    let before = rms(&output("nnet3-am-info", &[&model]));
    assert!((rms(&info) / before - 2.0).abs() < 1e-3, "{info}");

    // A context that an edit changes is computed anew.
    let config = folder.write(
        "context.config",
        "component-node name=a component=a input=Append(Offset(input, -3), input)\n",
    );
    succeed("nnet3-am-copy", &[&format!("--nnet-config={config}"), &model, &changed]);
    assert!(output("nnet3-am-info", &[&changed]).contains("left-context: 3\nright-context: 0\n"));

    // Repeated-affine components become blocks; in test there is no dropout, and what no output needs goes away.
    let config = folder.write(
        "repeated.config",
        "component name=r type=RepeatedAffineComponent input-dim=4 output-dim=22 num-repeats=2
        component name=d type=DropoutComponent dim=22 dropout-proportion=0.5
        component-node name=r component=r input=Append(Offset(input, -1), Offset(input, 2))
        component-node name=d component=d input=r
        output-node name=output input=d\n",
    );
    let config = format!("--nnet-config={config}");
    succeed("nnet3-am-copy", &[&config, "--convert-repeated-to-block=true", &model, &changed]);
    let info = output("nnet3-am-info", &[&changed]);
    assert!(info.contains("name=r type=BlockAffineComponent") && info.contains("DropoutComponent"), "{info}");
    let test = folder.path("test.mdl");
    succeed("nnet3-am-copy", &["--prepare-for-test=true", "--binary=false", &changed, &test]);
    let test = folder.read("test.mdl");
    assert!(test.contains("<TestMode> T ") && !test.contains("component-node name=s"), "{test}");

    // Another network: priors stay only if they fit.
    let priors = folder.path("priors.mdl");
    succeed("nnet3-am-adjust-priors", &[&model, &data("priors.vec"), &priors]);
    let set = format!("--set-raw-nnet={raw}");
    let log = succeed("nnet3-am-copy", &[&set, &priors, &changed]);
    assert!(!log.contains("WARNING"), "{log}");
    assert_eq!(bytes(&changed), bytes(&priors));
    let five = folder.write("five.config", folder.read("config").replace("22", "5"));
    let five_raw = folder.path("five.raw");
    succeed("nnet3-init", &[&five, &five_raw]);
    let set = format!("--set-raw-nnet={five_raw}");
    let log = succeed("nnet3-am-copy", &[&set, &priors, &changed]);
    assert!(log.contains("WARNING") && log.contains("after changing the nnet: 22 vs. 5"), "{log}");
    assert!(output("nnet3-am-info", &[&changed]).contains("num-pdfs: 5\nprior-dimension: 0\n"));
}

#[test]
fn an_ensemble_has_the_mean_of_its_members_scores() {
    let folder = Folder::new("am-ensemble");
    let (_, first) = small_model(&folder);
    let (raw, second) = (folder.path("1.raw"), folder.path("1.mdl"));
    succeed("nnet3-init", &["--srand=7", &folder.path("config"), &raw]);
    succeed("nnet3-am-init", &[&data("tree"), &data("topo"), &raw, &second]);
    // Priors of the second one are in another order.
    let text = output("copy-vector", &["--binary=false", &data("priors.vec"), "-"]);
    let mut numbers: Vec<&str> = text.split_whitespace().filter(|word| word.parse::<f64>().is_ok()).collect();
    assert_eq!(numbers.len(), 22, "{text}");
    numbers.reverse();
    let other_priors = folder.write("priors", format!(" [ {} ]\n", numbers.join(" ")));
    let with_priors = [folder.path("0p.mdl"), folder.path("1p.mdl")];
    succeed("nnet3-am-adjust-priors", &[&first, &data("priors.vec"), &with_priors[0]]);
    succeed("nnet3-am-adjust-priors", &[&second, &other_priors, &with_priors[1]]);

    let feats = folder.write("feats", "a  [\n 1 2\n 3 -4\n 0.5 7\n 2 2\n 1 0 ]\n");
    let scores = |model: &str| -> Vec<f64> {
        let feats = format!("ark:{feats}");
        let text = output("nnet3-compute", &["--use-gpu=no", "--use-priors=true", model, &feats, "ark,t:-"]);
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let whole = folder.path("whole.mdl");
    for [a, b] in [[&first, &second], [&with_priors[0], &with_priors[1]]] {
        succeed("nnet3-am-ensemble", &[a, b, &whole]);
        let (a, b, whole) = (scores(a), scores(b), scores(&whole));
        assert_eq!(whole.len(), 5 * 22);
        // Normalised priors add a constant.
        let constant = whole[0] - (a[0] + b[0]) / 2.0;
        let worst =
            whole.iter().zip(a.iter().zip(&b)).map(|(x, (a, b))| (x - (a + b) / 2.0 - constant).abs());
        assert!(worst.fold(0.0, f64::max) < 1e-4);
    }
    assert!(output("nnet3-am-info", &[&whole]).contains("component-node name=m2.a component=m2.a "));

    let old = folder.path("old");
    fails(
        &folder,
        "nnet3-am-ensemble",
        &[&first, &with_priors[1], &old],
        &["1p.mdl: the model has 22 priors"],
    );
    let wide = folder.write(
        "wide.config",
        folder.read("config").replace("input dim=2", "input dim=3").replace("input-dim=4", "input-dim=6"),
    );
    let (wide_raw, wide_model) = (folder.path("wide.raw"), folder.path("wide.mdl"));
    succeed("nnet3-init", &[&wide, &wide_raw]);
    succeed("nnet3-am-init", &[&data("tree"), &data("topo"), &wide_raw, &wide_model]);
    fails(
        &folder,
        "nnet3-am-ensemble",
        &[&first, &wide_model, &old],
        &["network 2: the input 'input' has dimension 3"],
    );
}

#[test]
fn transitions_and_priors_from_alignments() {
    let folder = Folder::new("am-train");
    let (_, model) = small_model(&folder);
    let trained = folder.path("trained.mdl");
    // Phone 1: loop ×3, on, loop, end, twice; phone 2: on, end, three times.
    let one = "1 1 1 2 3 4 ";
    let alignments = folder.write("ali", format!("a {one}{one}6 8\nb 6 8 6 8\n"));
    let table = format!("ark:{alignments}");
    let log = succeed("nnet3-am-train-transitions", &["--prior-floor=0.001", &model, &table, &trained]);
    assert!(log.contains("Accumulated transition stats from 2 utterances."), "{log}");
    // State 1 had 6 of 8 loops before (0.75, as in the topology): nothing changes. No other state has a count of 5.
    assert!(log.contains("average 0 log-like improvement per frame over 18 frames."), "{log}");
    assert!(log.contains("0 probabilities floored, 21 out of 22 transition-states skipped"), "{log}");

    let trained_text = |options: &[&str]| {
        let path = folder.path("trained.txt");
        let arguments = [options, &["--binary=false", &model, &table, &path]].concat();
        (succeed("nnet3-am-train-transitions", &arguments), folder.read("trained.txt"))
    };
    let numbers = |text: &str, after: &str| -> Vec<f64> {
        let text = text.split(after).nth(1).unwrap().split('[').nth(1).unwrap().split(']').next().unwrap();
        text.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let (log, text) =
        trained_text(&["--prior-floor=0.001", "--transition-min-count=3", "--transition-floor=0.25"]);
    let probabilities: Vec<f64> = numbers(&text, "<LogProbs>").iter().map(|p| p.exp()).collect();
    // State 1 as before, state 2 has 2 of 4; states 3 and 4 never loop, so that loops get the floor: 0 and 1 become
    // 0.25 and 1, then 0.25 (0.2 floored) and 0.8, then 0.25 (0.238 floored) and 0.762.
    let floored = 0.8 / 1.05;
    let expected = [0.75, 0.25, 0.5, 0.5, 0.25, floored, 0.25, floored, 0.75];
    for (found, expected) in probabilities[1..].iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{probabilities:?}");
    }
    // State 1's 0.25 is at the floor too.
    assert!(log.contains("3 probabilities floored, 18 out of 22"), "{log}");
    // Of 18 frames 8 and 4 are pdfs 0 and 1, 3 each pdfs 2 and 3; the other 18 pdfs get 0.001.
    let priors = numbers(&text, "<Priors>");
    let sum = 1.0 + 18.0 * 0.001;
    let expected = [8.0, 4.0, 3.0, 3.0].map(|count| count / 18.0 / sum);
    for (found, expected) in priors.iter().zip(expected.into_iter().chain([0.001 / sum; 18])) {
        assert!((found - expected).abs() < 1e-6, "{priors:?}");
    }
    assert_eq!(priors.len(), 22);
    let (_, text) = trained_text(&["--set-priors=false"]);
    assert_eq!(numbers(&text, "<Priors>").len(), 0);
}

/// Ids of phone 1: 1 loop, 2 on, 3 loop, 4 end; of phone 2: 5 to 8.
#[test]
fn alignments_and_posteriors() {
    let folder = Folder::new("am-alignments");
    let model = data("transitions.mdl");
    let alignments = format!("ark:{}", folder.write("ali", "a 1 2 3 4 2 4 6 5 8\nb 6 8\n").as_str());
    let print = |program: &str, options: &[&str]| {
        output(program, &[options, &[&model, &alignments, "ark,t:-"]].concat())
    };
    assert_eq!(print("ali-to-pdf", &[]), "a 0 0 1 1 0 1 2 2 3 \nb 2 3 \n");
    // The first loop (2 → 3) comes before leaving, so those after count to the state that they leave: the alignment is
    // taken as not reordered, and 5 begins another state.
    assert_eq!(print("ali-to-phones", &[]), "a 1 1 2 \nb 2 \n");
    assert_eq!(print("ali-to-phones", &["--per-frame=true"]), "a 1 1 1 1 1 1 2 2 2 \nb 2 2 \n");
    assert_eq!(print("ali-to-phones", &["--write-lengths=true"]), "a 1 4 ; 1 2 ; 2 3 \nb 2 2 \n");
    let ctm = |shift: &str| output("ali-to-phones", &["--ctm-output=true", shift, &model, &alignments, "-"]);
    assert_eq!(
        ctm("--frame-shift=0.03"),
        "a 1 0.00 0.12 1\na 1 0.12 0.06 1\na 1 0.18 0.09 2\nb 1 0.00 0.06 2\n"
    );
    // 0.01 as a float is below 0.01 as a double, and Kaldi compares them.
    assert!(ctm("--frame-shift=0.01").starts_with("a 1 0.000 0.040 1\na 1 0.040 0.020 1\n"));
    assert!(ctm("--frame-shift=0.005").starts_with("a 1 0.000 0.020 1\na 1 0.020 0.010 1\n"));

    let posteriors = "a [ 1 0.5 2 0.25 7 0.25 ] [ ] [ 44 1 ] \nb [ 2 1 ] \n";
    let posteriors = format!("ark:{}", folder.write("post", posteriors).as_str());
    let print = |program: &str, options: &[&str]| {
        output(program, &[options, &[&model, &posteriors, "ark,t:-"]].concat())
    };
    assert_eq!(print("post-to-pdf-post", &[]), "a [ 0 0.75 3 0.25 ] [ ] [ 21 1 ] \nb [ 0 1 ] \n");
    assert_eq!(print("post-to-phone-post", &[]), "a [ 1 0.75 2 0.25 ] [ ] [ 11 1 ] \nb [ 1 1 ] \n");
    let counts = |options: &[&str]| {
        let text = output("post-to-tacc", &[options, &["--binary=false", &model, &posteriors, "-"]].concat());
        let numbers = text.trim().trim_matches(['[', ']']).split_whitespace();
        numbers.map(|word| word.parse::<f32>().unwrap()).collect::<Vec<_>>()
    };
    let mut expected = vec![0.0; 45];
    (expected[1], expected[2], expected[7], expected[44]) = (0.5, 1.25, 0.25, 1.0);
    assert_eq!(counts(&[]), expected);
    // The reference forgets the last id.
    let mut expected = vec![0.0; 22];
    (expected[0], expected[3]) = (1.75, 0.25);
    assert_eq!(counts(&["--per-pdf=true"]), expected);

    // Each pdf belongs to one phone here.
    let accs = folder.path("tacc");
    succeed("post-to-tacc", &[&model, &posteriors, &accs]);
    let pdfs = format!("ark:{}", folder.write("pdf", "a [ 0 0.5 3 0.25 1 0.25 ] \n").as_str());
    let option = format!("--transition-id-counts={accs}");
    let arguments = [option.as_str(), &model, &pdfs, "ark,t:-"];
    assert_eq!(output("post-to-phone-post", &arguments), "a [ 1 0.75 2 0.25 ] \n");

    let none = format!("ark:{}", folder.write("none", ""));
    let status = |program: &str| run(program, &[&model, &none, "ark,t:-"]).status;
    assert_eq!(
        ["ali-to-pdf", "ali-to-phones", "post-to-pdf-post", "post-to-phone-post"].map(status),
        [0, 0, 0, 1]
    );
    assert_eq!(run("post-to-tacc", &[&model, &none, &folder.path("none.tacc")]).status, 1);
}

/// Ids 1 and 3 have pdfs 0 and 1.
#[test]
fn discriminant_statistics() {
    let folder = Folder::new("am-lda");
    let table = |name: &str, text: &str| format!("ark:{}", folder.write(name, text));
    let features = table("feats", "a  [\n  1 2\n  3 -1 ]\nb  [\n  0 1 ]\nc  [\n  1 1 ]\nd  [\n  1 1 1 ]\n");
    let posteriors = table("post", "a [ 1 0.5 2 0.25 3 0.25 ] [ 3 1 ] \nc [ 1 1 ] [ 1 1 ] \nd [ 1 1 ] \n");
    let (model, stats) = (data("transitions.mdl"), folder.path("acc"));
    let log = succeed("acc-lda", &["--binary=false", &model, &features, &posteriors, &stats]);
    for words in [
        "No posteriors for utterance b",
        "c: 2 frames of",
        "d: features of dimension 3",
        "Done 1 files, failed for 3",
    ] {
        assert!(log.contains(words), "{log}");
    }
    let text = folder.read("acc");
    assert!(
        text.starts_with("<LDAACCS> <VECSIZE> 2 <NUMCLASSES> 22 <ZERO_ACCS>  [ 0.75 1.25 0 0 "),
        "{text}"
    );
    assert!(text.contains("<FIRST_ACCS>  [\n  0.75 1.5 \n  3.25 -0.5 \n  0 0 \n"), "{text}");
    // Squares minus those of the means: 10 - 0.75 - 3.25²/1.25, -1 - 1.5 + 3.25·0.5/1.25, 5 - 3 - 0.5²/1.25.
    assert!(text.contains("<SECOND_ACCS> [\n0.8 \n-1.2 1.8 ]\n"), "{text}");

    let pruned = |threshold: &str| {
        succeed("acc-lda", &["--binary=false", threshold, &model, &features, &posteriors, &stats]);
        let text = folder.read("acc");
        let counts = text.split("<ZERO_ACCS>  [ ").nth(1).unwrap().split_whitespace();
        counts.take(2).map(|word| word.parse::<f32>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(pruned("--rand-prune=0.25"), [0.75, 1.25]);
    let counts = pruned("--rand-prune=2");
    assert!(counts.iter().all(|count| count % 2.0 == 0.0), "{counts:?}");
    let none = table("none", "");
    assert_eq!(run("acc-lda", &[&model, &features, &none, &stats]).status, 1);
    let wrong = table("wrong", "a [ 99 1 ] [ 1 1 ] \n");
    fails(
        &folder,
        "acc-lda",
        &[&model, &features, &wrong, &folder.path("old")],
        &["key 'a'", "wrong", "frame 0", "99 is not"],
    );
}

#[test]
fn transitions_for_people() {
    let folder = Folder::new("am-show");
    let names: String = (0..12).map(|phone| format!("p{phone} {phone}\n")).collect();
    let names = folder.write("phones.txt", &names);
    let counts = (0..22).map(|pdf| format!("{} ", f64::from(pdf) / 2.0)).collect::<String>();
    let occs = folder.write("occs", format!(" [ {counts}]\n"));
    let text = output("show-transitions", &[&names, &data("transitions.mdl"), &occs]);
    assert_eq!(text.lines().count(), 66);
    assert!(text.starts_with(
        "Transition-state 1: phone = p1 hmm-state = 0 pdf = 0\n Transition-id = 1 p = 0.75 count of pdf = 0 \
         [self-loop]\n Transition-id = 2 p = 0.25 count of pdf = 0 [0 -> 1]\n"
    ));
    assert!(text.ends_with(
        "Transition-state 22: phone = p11 hmm-state = 1 pdf = 21\n Transition-id = 43 p = 0.75 count of pdf = 10.5 \
         [self-loop]\n Transition-id = 44 p = 0.25 count of pdf = 10.5 [1 -> 2]\n"
    ));
    let few = folder.write("few.txt", "a 1\n");
    fails(
        &folder,
        "show-transitions",
        &[&few, &data("transitions.mdl")],
        &["phone 2 has no name", "few.txt"],
    );
}

#[test]
fn wrong_input() {
    let folder = Folder::new("am-errors");
    let (raw, model) = small_model(&folder);
    let (tree, topo, transitions, old) =
        (data("tree"), data("topo"), data("transitions.mdl"), folder.path("old"));
    let whole = bytes(&model);
    for length in [100, 500, 900, whole.len() - 3] {
        let cut = folder.write("cut.mdl", &whole[..length]);
        fails(&folder, "nnet3-am-copy", &[&cut, &old], &["cut.mdl, byte"]);
        fails(&folder, "nnet3-am-info", &[&cut], &["cut.mdl, byte"]);
        if length < 900 {
            fails(&folder, "copy-transition-model", &[&cut, &old], &["cut.mdl, byte"]);
            fails(&folder, "nnet3-copy", &[&cut, &old], &["cut.mdl, byte"]);
        }
    }
    let cut = folder.write("cut.tree", &bytes(&tree)[..200]);
    fails(&folder, "copy-tree", &[&cut, &old], &["cut.tree, byte"]);
    fails(&folder, "tree-info", &[&model], &["0.mdl", "ContextDependency"]);
    fails(&folder, "nnet3-am-copy", &[&raw, &old], &["0.raw", "found a raw network"]);
    let missing = folder.path("missing");
    fails(&folder, "am-info", &[&missing], &["cannot open", "missing"]);

    // Tree and topology of different phones; a topology that makes no sense.
    let more = String::from_utf8(bytes(&topo)).unwrap().replace(" 11\n", " 11 12\n");
    let more = folder.write("more.topo", more);
    fails(
        &folder,
        "nnet3-am-init",
        &[&tree, &more, &raw, &old],
        &["tree and ", "phone 12", "belong together"],
    );
    let bad = String::from_utf8(bytes(&topo)).unwrap().replace("<PdfClass> 1", "<PdfClass> 2");
    let bad = folder.write("bad.topo", bad);
    fails(&folder, "nnet3-am-init", &[&tree, &bad, &raw, &old], &["bad.topo, line", "pdf classes [0, 2]"]);
    let odd = folder.read("config").replace("output-node name=output", "output-node name=other");
    let odd = folder.write("odd.config", odd);
    succeed("nnet3-init", &[&odd, &folder.path("odd.raw")]);
    fails(
        &folder,
        "nnet3-am-init",
        &[&transitions, &folder.path("odd.raw"), &old],
        &["odd.raw", "not simple"],
    );

    // Ids that the model does not have.
    let table = |name: &str, text: &str| format!("ark:{}", folder.write(name, text));
    let words = ["key 'b'", "frame 1", "45 is not a transition-id of the model, which has 1 to 44"];
    let alignments = table("ali", "a 1 2\nb 2 45\n");
    for program in ["ali-to-pdf", "ali-to-phones"] {
        fails(&folder, program, &[&model, &alignments, &format!("ark:{old}")], &words);
    }
    fails(&folder, "nnet3-am-train-transitions", &[&model, &alignments, &old], &words);
    let posteriors = table("post", "a [ 1 1 ] \nb [ 1 1 ] [ 45 1 ] \n");
    for program in ["post-to-pdf-post", "post-to-phone-post"] {
        fails(&folder, program, &[&model, &posteriors, &format!("ark:{old}")], &words);
    }
    fails(&folder, "post-to-tacc", &[&model, &posteriors, &old], &[words[0], words[2]]);
    let impossible = table("impossible", "c 1 5\n");
    let impossible = [model.as_str(), &impossible, &format!("ark:{old}")];
    fails(&folder, "ali-to-phones", &impossible, &["key 'c'", "frame 0", "self-loop of another state"]);

    // Counts and priors that do not fit.
    let short = folder.write("short.vec", " [ 1 2 3 ]\n");
    fails(
        &folder,
        "nnet3-am-adjust-priors",
        &[&model, &short, &old],
        &["short.vec", "output has dimension 22, but there are 3 posteriors"],
    );
    let zero = folder.write("zero.vec", format!(" [ {}]\n", "0 ".repeat(22)));
    fails(
        &folder,
        "nnet3-am-adjust-priors",
        &[&model, &zero, &old],
        &["zero.vec", "sum of the posteriors is 0"],
    );
    let arguments = [&format!("--transition-id-counts={short}"), model.as_str(), &posteriors, "ark:-"];
    fails(&folder, "post-to-phone-post", &arguments, &["short.vec", "expected 45 counts"]);
    let none = table("none", "");
    fails(&folder, "nnet3-am-train-transitions", &[&model, &none, &old], &["none", "at least one alignment"]);
    let five = folder.write("five.config", folder.read("config").replace("22", "5"));
    succeed("nnet3-init", &[&five, &folder.path("5.raw")]);
    succeed("nnet3-am-init", &[&model, &folder.path("5.raw"), &folder.path("5.mdl")]);
    let good = table("good", "a 1 2\n");
    fails(
        &folder,
        "nnet3-am-train-transitions",
        &[&folder.path("5.mdl"), &good, &old],
        &["5.mdl", "dimension 5, but there are 22 pdfs of the transition model"],
    );
    fails(
        &folder,
        "nnet3-am-train-transitions",
        &["--prior-floor=0", &model, &good, &old],
        &["floor of priors"],
    );
}

/// Whole models: half a megabyte each.
#[test]
fn models_of_the_reference() {
    let Some(reference) = reference_folder() else { return };
    let folder = Folder::new("am-reference");
    let file = |name: &str| -> PathBuf { reference.join("am").join(name) };
    let path = |name: &str| file(name).to_str().unwrap().to_owned();
    let (model, changed, copy) = (path("final.mdl"), folder.path("changed.mdl"), folder.path("copy"));
    // This is what the reference wrote after reading `final.mdl`; statistics are stored as means, which reading and
    // writing rounds.
    succeed("nnet3-am-adjust-priors", &[&model, &path("priors.vec"), &changed]);
    assert_eq!(bytes(&changed), bytes(file("final.priors.mdl")));
    succeed("nnet3-am-copy", &[&model, &copy]);
    let without_priors = bytes(&changed).len() - 4 - 22 * 4;
    assert_eq!(bytes(&copy)[..without_priors], bytes(&changed)[..without_priors]);
    for name in ["final.mdl", "final.priors.mdl"] {
        succeed("copy-transition-model", &[&path(name), &copy]);
        let transitions = bytes(&copy);
        assert_eq!(bytes(file(name))[..transitions.len()], transitions);
        assert_eq!(transitions, bytes(data("transitions.mdl")));
    }
    succeed("copy-tree", &[&path("tree"), &copy]);
    assert_eq!(bytes(&copy), bytes(file("tree")));

    let (ours, theirs) = (output("nnet3-am-info", &[&model]), bytes(file("am-info.txt")));
    let theirs = String::from_utf8(theirs).unwrap();
    assert_eq!(ours.lines().count(), theirs.lines().count());
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        // Biases with a mean of zero up to rounding.
        let mean =
            |line: &str| line.split("bias-{mean,stddev}=").nth(1)?.split(',').next()?.parse::<f64>().ok();
        match (mean(ours), mean(theirs)) {
            (Some(a), Some(b)) if b.abs() < 1e-6 => {
                assert!((a - b).abs() < 1e-8, "{ours}");
                let rest =
                    |line: &str| line.replace(&format!("={a:e},"), "=,").replace(&format!("={b:e},"), "=,");
                assert_eq!(rest(&ours.replace("e-07", "e-7")), rest(&theirs.replace("e-07", "e-7")));
            }
            _ => assert_eq!(ours, theirs),
        }
    }
}
