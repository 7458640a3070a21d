//! Command lines of `nnet3-fit` and of the programs that make examples of classic data.

use crate::common::{Folder, binary, run, succeed};
use nnet3_core::nnet::Nnet;

const CONFIG: &str = "\
input-node name=input dim=2
component name=a.affine type=NaturalGradientAffineComponent input-dim=2 output-dim=8
component-node name=a.affine component=a.affine input=input
component name=a.relu type=RectifiedLinearComponent dim=8
component-node name=a.relu component=a.relu input=a.affine
component name=a.norm type=BatchNormComponent dim=8
component-node name=a.norm component=a.norm input=a.relu
component name=o.affine type=NaturalGradientAffineComponent input-dim=8 output-dim=3
component-node name=o.affine component=o.affine input=a.norm
component name=o.softmax type=LogSoftmaxComponent dim=3
component-node name=o.softmax component=o.softmax input=o.affine
output-node name=output input=o.softmax
";

/// A network `0.raw`, and examples `egs.ark` of a task that it can learn: which third of a circle a point is in.
fn prepare(folder: &Folder) -> (String, String) {
    let network = folder.path("0.raw");
    succeed("nnet3-init", &["--srand=3", &folder.write("config", CONFIG), &network]);
    let mut lines = String::new();
    for t in 0..200 {
        let angle = f64::from((t * 7919) % 1000) / 1000.0;
        let radians = angle * std::f64::consts::TAU;
        lines += &format!("{},{},{}\n", radians.cos(), radians.sin(), (angle * 3.0) as u32);
    }
    let (csv, feats, labels) =
        (folder.write("points.csv", lines), folder.path("feats"), folder.path("labels"));
    succeed("csv-to-feats", &[&csv, &format!("ark:{feats}"), &format!("ark:{labels}")]);
    let [post, sparse] = ["ali-to-post", "post-to-smat"].map(|name| binary(name).display().to_string());
    let targets = format!("output=ark:{post} ark:{labels} ark:- | {sparse} --dim=3 ark:- ark:- |");
    let egs = folder.path("egs.ark");
    succeed("nnet3-get-egs-simple", &[&format!("input=ark:{feats}"), &targets, &format!("ark:{egs}")]);
    (network, format!("ark:{egs}"))
}

fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

const FIXED: [&str; 3] = ["--use-gpu=no", "--num-threads=1", "--minibatch-size=32"];

/// Trains twice, the second time with what the first time has compiled: compiling takes random numbers in `nnet3-train`,
/// and none in `nnet3-fit`.
fn train_from_cache(folder: &Folder, options: &[&str], [model, minibatches, to]: [&str; 3]) {
    let cache = folder.path("cache");
    for option in ["write", "read"] {
        let cache = format!("--{option}-cache={cache}");
        succeed("nnet3-train", &[&["--use-gpu=no", &cache][..], options, &[model, minibatches, to]].concat());
    }
}

/// With natural gradient alone, epochs are calls of `nnet3-train`: bytes for bytes, statistics that stay included.
#[test]
fn kaldi_alone_is_nnet3_train() {
    let folder = Folder::new("fit-kaldi");
    let (network, egs) = prepare(&folder);
    let [shuffle, merge] =
        ["nnet3-shuffle-egs", "nnet3-merge-egs"].map(|name| binary(name).display().to_string());
    for more in [&["--momentum=0.5"][..], &["--zero-component-stats=false", "--max-param-change=0.1"]] {
        let mut model = network.clone();
        for epoch in 0..3 {
            let next = folder.path(&format!("{}.raw", epoch + 1));
            let seed = format!("--srand={}", 5 + epoch);
            let pipe = format!("{egs} ark:- | {merge} --minibatch-size=1:32 ark:- ark:- |");
            let minibatches = format!("ark:{shuffle} {seed} {pipe}");
            let own = [&["--num-threads=1", &seed][..], more].concat();
            train_from_cache(&folder, &own, [&model, &minibatches, &next]);
            model = next;
        }
        let fitted = folder.path("fitted.raw");
        let own = ["--srand=5", "--num-epochs=3", "--optimizer=kaldi", &network, &egs, &fitted];
        succeed("nnet3-fit", &[&FIXED[..], more, &own].concat());
        assert!(bytes(&fitted) == bytes(&model), "{more:?}");
    }
}

const RULES: &str = "\
optimizer name=main type=adamw learning-rate=.02 weight-decay=.01   # most of it
optimizer name=ng type=kaldi learning-rate=.005 momentum=.5
learn components=* optimizer=main
learn components=* part=bias weight-decay=0
learn components=o.* optimizer=ng
schedule optimizer=main type=cosine warm-up=.1
clip norm=1
initialize name=*.affine type=kaiming
";

/// A training that is interrupted and resumed gives the bytes of an uninterrupted one.
#[test]
fn a_training_goes_on_from_its_checkpoint() {
    let folder = Folder::new("fit-resume");
    let (network, egs) = prepare(&folder);
    let rules = format!("--rules={}", folder.write("rules", RULES));
    let valid = format!("--valid={egs}");
    let fit = |epochs: &str, dir: &str, out: &str, more: &[&str]| {
        let dir = format!("--checkpoint-dir={}", folder.path(dir));
        let common = ["--average=decay=.8", "--histograms=true", &rules, &valid, &dir, epochs];
        run("nnet3-fit", &[&FIXED[..], &common, more, &[&network, &egs, &folder.path(out)]].concat())
    };
    let whole = fit("--num-epochs=6", "whole", "whole.raw", &["--keep=9"]);
    assert_eq!(whole.status, 0, "{}", whole.stderr);
    assert!(whole.stderr.contains("Epoch 6 of 6: loss "), "{}", whole.stderr);
    assert_eq!(whole.stderr.matches(", valid loss ").count(), 6);
    let part = fit("--num-epochs=6", "part", "part.raw", &["--patience=1", "--min-delta=100"]);
    assert!(part.stderr.contains("evaluations in a row were not better"), "{}", part.stderr);
    let again = fit("--num-epochs=6", "part", "part.raw", &[]);
    assert!(
        again.status != 0 && again.stderr.contains("is there already: --resume=true"),
        "{}",
        again.stderr
    );
    let other = fit("--num-epochs=6", "part", "part.raw", &["--resume=true", "--srand=9"]);
    assert!(other.status != 0 && other.stderr.contains("--srand '0', this one has '9'"), "{}", other.stderr);

    // As if it had been killed in the fourth epoch.
    std::fs::create_dir(folder.path("parts")).unwrap();
    std::fs::copy(folder.path("whole/checkpoint.3.raw"), folder.path("parts/checkpoint.3.raw")).unwrap();
    let on = fit("--num-epochs=6", "parts", "parts.raw", &["--resume=true"]);
    assert_eq!(on.status, 0, "{}", on.stderr);
    assert!(bytes(&folder.path("whole.raw")) == bytes(&folder.path("parts.raw")));
    let checkpoint = |dir: &str| bytes(&folder.path(&format!("{dir}/checkpoint.6.raw")));
    assert!(checkpoint("whole") == checkpoint("parts"));
    // A checkpoint is a model.
    succeed("nnet3-info", &[&folder.path("parts/checkpoint.6.raw")]);

    let events = folder.read("whole/events.jsonl");
    assert_eq!(events.lines().count(), 6);
    let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!((&last["epoch"], &last["of"], &last["minibatches"]), (&6.into(), &6.into(), &7.into()));
    let bins = last["histograms"]["a.affine.linear"].as_array().unwrap();
    assert_eq!(bins.iter().map(|bin| bin.as_u64().unwrap()).sum::<u64>(), 16);
    assert!(last["rates"]["main"].as_f64().unwrap() < 0.01);

    let report = folder.path("report.html");
    succeed("nnet3-report", &[&folder.path("whole"), &report]);

    // A truncated checkpoint is an error that names it.
    let path = folder.path("parts/checkpoint.6.raw");
    std::fs::write(&path, &bytes(&path)[..2000]).unwrap();
    let broken = fit("--num-epochs=7", "parts", "none.raw", &["--resume=true"]);
    assert!(broken.status != 0 && broken.stderr.contains("checkpoint.6.raw"), "{}", broken.stderr);
}

/// Killed within epochs three times, by both signals, and resumed: the same bytes, and the same events but for seconds.
/// (`dev/test-fit-resume.py` kills at 50 random moments.)
#[test]
fn a_killed_training_goes_on_where_it_was() {
    kill_and_resume("fit-killed", &["--average=decay=.8"]);
}

#[test]
fn killed_replicas_go_on_where_they_were() {
    kill_and_resume("fit-killed-replicas", &["--num-replicas=3", "--average-period=2"]);
}

fn kill_and_resume(folder: &str, options: &[&str]) {
    let folder = Folder::new(folder);
    let (network, egs) = prepare(&folder);
    let rules = format!("--rules={}", folder.write("rules", RULES));
    let valid = format!("--valid={egs}");
    let arguments = |name: &str| {
        let dir = format!("--checkpoint-dir={}", folder.path(name));
        let own = ["--num-epochs=60", "--accumulate=2", "--checkpoint-minibatches=3"];
        let more =
            [&rules, &valid, &dir, "--resume=true", &network, &egs, &folder.path(&format!("{name}.raw"))];
        [&FIXED[..], &["--minibatch-size=8"], &own, options, &more]
            .concat()
            .iter()
            .map(|x| x.to_string())
            .collect::<Vec<_>>()
    };
    let fit = |name: &str| {
        let arguments = arguments(name);
        succeed("nnet3-fit", &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    fit("whole");
    // Epochs that are done, and minibatches beyond them.
    let reached = || -> Option<(u32, u32)> {
        let names = std::fs::read_dir(folder.path("killed"))
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let moment = |name: String| {
            let mut numbers =
                name.strip_prefix("checkpoint.")?.strip_suffix(".raw")?.split('.').map(|n| n.parse().ok());
            Some((numbers.next()??, numbers.next().flatten().unwrap_or(0)))
        };
        names.filter_map(moment).max()
    };
    let mut within = 0;
    for (epochs, signal) in [(2, "-KILL"), (11, "-TERM"), (20, "-KILL")] {
        let mut child = std::process::Command::new(binary("nnet3-fit"))
            .args(arguments("killed"))
            .stderr(std::fs::File::create(folder.path("said")).unwrap())
            .spawn()
            .unwrap();
        while reached().is_none_or(|(done, minibatches)| done < epochs || minibatches == 0) {
            assert!(child.try_wait().unwrap().is_none(), "it ended before epoch {epochs}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(
            std::process::Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert!(!child.wait().unwrap().success());
        // (Checkpoints were written before, so signals had a handler already.)
        let said = folder.read("said");
        assert!(signal == "-KILL" || said.contains("stopped by SIGTERM in epoch "), "{said}");
        within += u32::from(reached().unwrap().1 > 0);
    }
    assert!(within > 0, "no checkpoint within an epoch");
    fit("killed");
    // Once more, when all epochs are done: as if it had been killed before it wrote the model.
    std::fs::remove_file(folder.path("killed.raw")).unwrap();
    fit("killed");
    assert!(bytes(&folder.path("whole.raw")) == bytes(&folder.path("killed.raw")));
    let events = |name: &str| -> Vec<serde_json::Value> {
        let of_line = |line: &str| {
            let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
            event.as_object_mut().unwrap().remove("seconds");
            event
        };
        folder.read(&format!("{name}/events.jsonl")).lines().map(of_line).collect()
    };
    assert_eq!(events("whole"), events("killed"));
    let left: Vec<_> =
        std::fs::read_dir(folder.path("killed")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(
        left.iter().filter(|name| name.to_string_lossy().starts_with("checkpoint.")).count(),
        1,
        "{left:?}"
    );
}

/// With natural gradient alone, replicas are those of `nnet3-train`. With rules the result does not depend on the
/// scheduling of threads, and a training continues from its checkpoint.
#[test]
fn replicas() {
    let folder = Folder::new("fit-replicas");
    let (network, egs) = prepare(&folder);
    let [shuffle, merge] =
        ["nnet3-shuffle-egs", "nnet3-merge-egs"].map(|name| binary(name).display().to_string());
    let together = ["--num-replicas=3", "--average-period=1"];
    let mut model = network.clone();
    for epoch in 0..2 {
        let next = folder.path(&format!("{}.raw", epoch + 1));
        let seed = format!("--srand={}", 5 + epoch);
        let pipe = format!("{egs} ark:- | {merge} --minibatch-size=1:16 ark:- ark:- |");
        let minibatches = format!("ark:{shuffle} {seed} {pipe}");
        train_from_cache(&folder, &[&together[..], &[&seed]].concat(), [&model, &minibatches, &next]);
        model = next;
    }
    let fitted = folder.path("fitted.raw");
    let own =
        ["--srand=5", "--num-epochs=2", "--minibatch-size=16", "--optimizer=kaldi", &network, &egs, &fitted];
    succeed("nnet3-fit", &[&["--use-gpu=no"], &together[..], &own].concat());
    assert!(bytes(&fitted) == bytes(&model));

    let rules = format!("--rules={}", folder.write("rules", RULES));
    let fit = |name: &str, epochs: &str, more: &[&str]| {
        let (dir, valid) = (format!("--checkpoint-dir={}", folder.path(name)), format!("--valid={egs}"));
        let common =
            ["--minibatch-size=8", "--average=decay=.8", "--accumulate=2", &rules, &valid, &dir, epochs];
        let files = [&*network, &*egs, &folder.path(&format!("{name}.raw"))];
        let stderr = succeed("nnet3-fit", &[&together[..], &common, more, &files].concat());
        (bytes(&folder.path(&format!("{name}.raw"))), stderr)
    };
    let (first, log) = fit("first", "--num-epochs=4", &["--keep=9"]);
    assert!(log.contains("Epoch 4 of 4: loss "), "{log}");
    assert!(first == fit("second", "--num-epochs=4", &[]).0);
    std::fs::create_dir(folder.path("resumed")).unwrap();
    std::fs::copy(folder.path("first/checkpoint.2.raw"), folder.path("resumed/checkpoint.2.raw")).unwrap();
    assert!(first == fit("resumed", "--num-epochs=4", &["--resume=true"]).0);
}

#[test]
fn every_optimizer_learns() {
    let folder = Folder::new("fit-optimizers");
    let (network, egs) = prepare(&folder);
    let (valid, out) = (format!("--valid={egs}"), folder.path("1.raw"));
    for optimizer in [
        "sgd learning-rate=.2 momentum=.9 nesterov=true",
        "rmsprop",
        "adagrad learning-rate=.1",
        "adadelta learning-rate=10",
        "adam learning-rate=.02",
        "adamw learning-rate=.02 precondition=true",
        "adamax learning-rate=.02",
        "lion learning-rate=.005",
        "muon learning-rate=.05 vector-learning-rate=.02",
        "neon-rmsprop learning-rate=.02",
        "neon-adagrad learning-rate=.1",
        "neon-adadelta learning-rate=5",
        "neon-adam learning-rate=.02",
        "kaldi learning-rate=.02",
    ] {
        let optimizer_option = format!("--optimizer={optimizer}");
        let own = [
            "--num-epochs=15",
            &optimizer_option,
            &valid,
            "--metrics=accuracy,top-2,logloss",
            &network,
            &egs,
            &out,
        ];
        let log = succeed("nnet3-fit", &[&FIXED[..], &own].concat());
        let (_, accuracy) = log.rsplit_once(" accuracy ").unwrap();
        let accuracy: f64 = accuracy.split(',').next().unwrap().parse().unwrap();
        assert!(accuracy > 0.8, "{optimizer}: {log}");
        Nnet::load(&out).unwrap();
    }
    let log = succeed("nnet3-compute-prob", &["--metrics=accuracy,misclassification,precision", &out, &egs]);
    assert!(log.contains("Overall misclassification for 'output' is 0."), "{log}");
}

/// Two minibatches in one step equal one of twice the size, if only their sum matters.
#[test]
fn accumulated_minibatches_are_one() {
    let folder = Folder::new("fit-accumulate");
    let (network, egs) = prepare(&folder);
    let plain: String = CONFIG
        .lines()
        .filter(|line| !line.contains("name=a.norm"))
        .fold(String::new(), |all, line| all + &line.replace("input=a.norm", "input=a.relu") + "\n");
    succeed("nnet3-init", &["--srand=3", &folder.write("plain", plain), &network]);
    let [together, apart] = ["together.raw", "apart.raw"].map(|name| folder.path(name));
    for (size, more, out) in [("40", "--accumulate=1", &together), ("20", "--accumulate=2", &apart)] {
        let size = format!("--minibatch-size={size}");
        let options =
            ["--use-gpu=no", "--shuffle=false", "--num-epochs=2", "--optimizer=adam learning-rate=.01"];
        succeed("nnet3-fit", &[&options[..], &[&size, more, &network, &egs, out]].concat());
    }
    let parameters = |path: &str| -> Vec<f32> {
        let nnet = Nnet::load(path).unwrap();
        nnet.components()
            .filter_map(|component| component.as_updatable())
            .flat_map(|it| it.vectorize())
            .collect()
    };
    let (a, b, before) = (parameters(&together), parameters(&apart), parameters(&network));
    let distance =
        |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    assert!(distance(&a, &before) > 0.1);
    assert!(distance(&a, &b) < 1e-3 * distance(&a, &before), "{}", distance(&a, &b));
}

#[test]
fn what_a_dry_run_prints() {
    let folder = Folder::new("fit-dry");
    let (network, egs) = prepare(&folder);
    let rules = format!("--rules={}", folder.write("rules", RULES));
    let found = run("nnet3-fit", &["--dry-run=true", &rules, &network, &egs, &folder.path("none")]);
    let lines: Vec<Vec<&str>> = found.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[1],
        "a.affine linear 8 x 2 main (adamw) 0.02 0.01 128 bytes".split(' ').collect::<Vec<_>>()
    );
    assert_eq!(lines[4], "o.affine bias 1 x 3 ng (kaldi) 0.005 0 0 bytes".split(' ').collect::<Vec<_>>());
    assert!(!std::path::Path::new(&folder.path("none")).exists());
}

#[test]
fn mistakes_in_rules_are_named_before_training() {
    let folder = Folder::new("fit-mistakes");
    let (network, egs) = prepare(&folder);
    let (out, valid) = (folder.write("out.raw", "as it was"), format!("--valid={egs}"));
    let bad_rules = format!(
        "--rules={}",
        folder.write("rules", "\noptimizer name=a type=adam\nlearn components=x optimizer=a\n")
    );
    for (options, message) in [
        (&["--optimizer=adan"][..], "type=adan: there are kaldi, sgd"),
        (
            &["--optimizer=sgd learning-rate=-1"],
            "learning-rate=-1: expected a finite number that is not negative",
        ),
        (&[&bad_rules], "rules:3: no trainable part matches; the network has a.affine"),
        (&["--schedule=cosine warm-up=2"], "warm-up=2: expected a number from 0 to below 1"),
        (&["--metrics=acuracy", &valid], "--metrics: unknown metric 'acuracy'; expected one of accuracy"),
        (&["--best=x"], "needs examples for evaluation: --valid"),
        (&["--resume=true"], "--resume needs a folder"),
        (&["--average=decay=1"], "decay=1: expected"),
        (&["--normalize=words"], "--normalize=words: expected frames"),
        (&["--accumulate=0"], "--accumulate=0"),
        (&["--num-epochs=0"], "--num-epochs=0"),
        (&["--valid=ark:/dev/null"], "expected at least one example, found none"),
        (&["--optimizer=sgd learning-rate=1e30", "--num-epochs=3"], "not a finite number in minibatch"),
    ] {
        let found = run("nnet3-fit", &[&FIXED[..], options, &[&network, &egs, &out]].concat());
        assert!(found.status != 0 && found.stderr.contains(message), "{options:?}: {}", found.stderr);
        assert_eq!(folder.read("out.raw"), "as it was");
    }
}

/// Columns of pixels, labels, windows of characters.
#[test]
fn classic_data() {
    let folder = Folder::new("fit-data");
    let [feats, labels] = ["feats", "labels"].map(|name| folder.path(name));
    let (feats_out, labels_out) = (format!("ark,t:{feats}"), format!("ark,t:{labels}"));
    let csv = folder.write("images.csv", "1,2,3,4,5,6,7\n8,9,10,11,12,13,0\n");
    succeed("csv-to-feats", &["--image=2x3", "--scale=2", &csv, &feats_out, &labels_out]);
    let text = folder.read("feats");
    assert!(text.starts_with("line-000001  [\n  2 6 10 \n  4 8 12 ]\n"), "{text}");
    assert_eq!(folder.read("labels"), "line-000001 7 \nline-000002 0 \n");
    let bad = folder.write("bad.csv", "1,2\n1,x\n");
    let found = run("csv-to-feats", &[&bad, &feats_out]);
    assert!(
        found.status != 0 && found.stderr.contains("bad.csv:2: expected a number, found 'x'"),
        "{}",
        found.stderr
    );

    let images = folder.write("images.idx", [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 10, 20]);
    let digits = folder.write("labels.idx", [0, 0, 8, 1, 0, 0, 0, 1, 3]);
    succeed("idx-to-feats", &["--columns=true", &images, &feats_out, &digits, &labels_out]);
    assert_eq!(
        (folder.read("feats"), folder.read("labels")),
        ("image-0  [\n  10 \n  20 ]\n".into(), "image-0 3 \n".into())
    );

    // The commands that write the files fail after all of the lines, or of the items.
    for (program, file) in [("csv-to-feats", &csv), ("idx-to-feats", &images)] {
        let found = run(program, &[&format!("cat {file}; exit 3 |"), &feats_out]);
        assert!(found.status == 255 && found.stderr.contains("exit 3"), "{program}: {}", found.stderr);
    }
    let more = folder.write("more.idx", [0, 0, 8, 1, 0, 0, 0, 1, 3, 4]);
    let arguments = [&images, &feats_out, &more, &labels_out].map(String::as_str);
    let found = run("idx-to-feats", &arguments);
    assert!(found.status == 255 && found.stderr.contains("expected the end of the file"), "{}", found.stderr);

    let (letters, vocab) = (folder.write("text", "abcab"), format!("--vocab-out={}", folder.path("vocab")));
    let posteriors = format!("ark,t:{feats}");
    succeed("text-to-ali", &["--chunk=2", "--context=1", &vocab, &letters, &labels_out, &posteriors]);
    assert_eq!(folder.read("vocab"), "U+0061 0\nU+0062 1\nU+0063 2\n");
    assert_eq!(folder.read("labels"), "window-0000000 0 1 2 \n");
    assert_eq!(folder.read("feats"), "window-0000000 [ ] [ 2 1 ] [ 0 1 ] \n");
}

/// A network that knows which character follows which makes up the only text that there is.
#[test]
fn a_text_of_its_own() {
    let folder = Folder::new("fit-sample");
    let following = folder.write("following", " [\n 0 0 90 0\n 90 0 0 0\n 0 90 0 0 ]\n");
    let config = format!(
        "input-node name=input dim=3\n\
        component name=next type=FixedAffineComponent matrix={following}\n\
        component-node name=next component=next input=input\n\
        component name=softmax type=LogSoftmaxComponent dim=3\n\
        component-node name=softmax component=softmax input=next\n\
        output-node name=output input=softmax\n"
    );
    let (network, vocab) = (folder.path("raw"), folder.write("vocab", "U+0061 0\nU+0062 1\nU+0063 2\n"));
    succeed("nnet3-init", &[&folder.write("config", config), &network]);
    for (options, text) in [
        (&["--length=7", "--start=b"][..], "bcabcabc\n"),
        (&["--length=2", "--context=1", "--start=aac"], "aacab\n"),
    ] {
        let found = run("nnet3-sample-text", &[options, &[&network, &vocab]].concat());
        assert_eq!((found.status, &*found.stdout), (0, text), "{}", found.stderr);
    }
    let found = run("nnet3-sample-text", &["--start=x", &network, &vocab]);
    assert!(found.status != 0 && found.stderr.contains("--start"), "{}", found.stderr);
    let found = run("nnet3-sample-text", &["--temperature=0", "--start=a", &network, &vocab]);
    assert!(found.status != 0 && found.stderr.contains("--temperature=0: expected"), "{}", found.stderr);
}
