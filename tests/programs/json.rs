//! `--format=json` beside the text forms.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Folder, run, succeed};

fn output(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert_eq!(output.status, 0, "{program} {arguments:?}: {}", output.stderr);
    output.stdout
}

/// The lines of JSON that a program prints.
pub fn lines(program: &str, arguments: &[&str]) -> Vec<Value> {
    let text = output(program, &[&["--format=json"], arguments].concat());
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The one document.
pub fn document(program: &str, arguments: &[&str]) -> Value {
    let mut lines = lines(program, arguments);
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.pop().unwrap()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

const FEATURES: &str = "a  [\n  1 2\n  3 4\n  5 6 ]\nb  [\n  1 2\n  3 4 ]\n";

#[test]
fn tables_of_features() {
    let f = Folder::new("json-feats");
    let feats = format!("ark:{}", f.write("feats", FEATURES));
    // key, tab, rows, tab, columns
    let text = output("matrix-dim", &[&feats]);
    let as_text =
        |line: &Value| format!("{}\t{}\t{}\n", line["key"].as_str().unwrap(), line["rows"], line["cols"]);
    let dims = lines("matrix-dim", &[&feats]);
    assert_eq!(dims.iter().map(as_text).collect::<String>(), text);
    assert_eq!(keys(&dims[0]), ["key", "rows", "cols"]);
    let one = f.write("one", " [\n 1 2\n 3 4 ]\n");
    assert_eq!(document("matrix-dim", &[&one]), json!({"rows": 2, "cols": 2}));
    assert_eq!(output("matrix-dim", &[&one]), "2\t2\n");

    assert_eq!(document("feat-to-len", &[&feats]), json!({"frames": 5}));
    assert_eq!(output("feat-to-len", &[&feats]), "5\n");
    let of = |program: &str, key: &str| {
        let text = output(program, &[&feats, "ark,t:-"]);
        let lines = lines(program, &[&feats, "ark,t:-"]);
        let as_text = |line: &Value| format!("{} {} \n", line["key"].as_str().unwrap(), line[key]);
        assert_eq!(lines.iter().map(as_text).collect::<String>(), text);
        assert!(lines.iter().all(|line| keys(line) == ["key", key]));
    };
    of("feat-to-len", "frames");
    of("feat-to-dim", "dim");
    assert_eq!(document("feat-to-dim", &[&feats, "-"]), json!({"dim": 2}));
    // To a file, whole or not at all.
    let file = f.path("lengths");
    succeed("feat-to-len", &["--format=json", &feats, &format!("ark:{file}")]);
    assert_eq!(f.read("lengths"), "{\"key\":\"a\",\"frames\":3}\n{\"key\":\"b\",\"frames\":2}\n");
    let cut = format!("ark:{}", f.write("cut", &FEATURES[..30]));
    let failed = run("feat-to-len", &["--format=json", &cut, &format!("ark:{file}")]);
    assert_eq!(failed.status, 255);
    assert!(f.read("lengths").ends_with("{\"key\":\"b\",\"frames\":2}\n"));
    let script = format!("scp:{file}");
    let refused = run("feat-to-len", &["--format=json", &feats, &script]);
    assert!(
        refused.stderr.contains("with --format=json the output must be an archive"),
        "{}",
        refused.stderr
    );
    for program in ["matrix-dim", "feat-to-len"] {
        let unknown = run(program, &["--format=xml", &feats]);
        assert_eq!(unknown.status, 255);
        assert!(
            unknown.stderr.contains("\"xml\" of --format: expected one of text, json"),
            "{}",
            unknown.stderr
        );
    }
    // A table without entries is an error for the one, and not for the other, in both forms.
    let empty = format!("ark:{}", f.write("empty", ""));
    for format in ["--format=json", "--format=text"] {
        assert_eq!(run("matrix-dim", &[format, &empty]).status, 1);
        assert_eq!(run("feat-to-len", &[format, &empty, "ark:-"]).status, 0);
    }
}

#[test]
fn json_of_a_recording_has_its_length_and_rate() {
    let scp =
        format!("scp:{}", Folder::new("json-wav").write("wav.scp", format!("u7 {}\n", data("sound/u7.wav"))));
    let text = output("wav-to-duration", &[&scp, "ark,t:-"]);
    let line = document("wav-to-duration", &[&scp, "ark,t:-"]);
    let (key, seconds) = text.trim_end().split_once(' ').unwrap();
    let seconds: f64 = seconds.parse().unwrap();
    let expected =
        json!({"key": key, "duration": seconds, "sample-rate": 16000, "channels": 1, "complaint": null});
    assert_eq!(line, expected);
    assert_eq!(keys(&line), ["key", "duration", "sample-rate", "channels", "complaint"]);
}

#[test]
fn word_errors() {
    let f = Folder::new("json-wer");
    let reference = format!("ark:{}", f.write("ref", "a one two three\nb four\nc five\n"));
    let hypothesis = format!("ark:{}", f.write("hyp", "a one too three more\nb four\n"));
    let arguments = ["--mode=present", &reference, &hypothesis];
    let wer = document("compute-wer", &arguments);
    let expected = json!({
        "wer": 50.0, "errors": 2, "words": 4, "insertions": 1, "deletions": 0, "substitutions": 1, "partial": true,
        "ser": 50.0, "wrong-sentences": 1, "sentences": 2, "absent": 1,
    });
    assert_eq!(wer, expected);
    assert_eq!(keys(&wer), keys(&expected));
    let text = output("compute-wer", &arguments);
    assert!(
        text.starts_with("%WER 50.00 [ 2 / 4, 1 ins, 0 del, 1 sub ] [PARTIAL]\n%SER 50.00 [ 1 / 2 ]\n"),
        "{text}"
    );
    let nothing = format!("ark:{}", f.write("none", ""));
    assert_eq!(document("compute-wer", &[&nothing, &hypothesis])["wer"], Value::Null);
}

#[test]
fn trees_and_acoustic_models() {
    let f = Folder::new("json-am");
    let tree = document("tree-info", &[&data("am/tree")]);
    let as_text: String =
        tree.as_object().unwrap().iter().map(|(key, value)| format!("{key} {value}\n")).collect();
    assert_eq!(as_text, output("tree-info", &[&data("am/tree")]));
    let sizes = document("am-info", &[&data("am/transitions.mdl")]);
    let values: Vec<String> = sizes.as_object().unwrap().values().map(Value::to_string).collect();
    let text = output("am-info", &[&data("am/transitions.mdl")]);
    assert_eq!(values, text.lines().map(|line| line.rsplit(' ').next().unwrap()).collect::<Vec<_>>());

    let (raw, bare, model) = (f.path("0.raw"), f.path("0.mdl"), f.path("1.mdl"));
    let config = f.write("config", "component name=a type=NaturalGradientAffineComponent input-dim=3 output-dim=22
        input-node name=input dim=3\ncomponent-node name=a component=a input=input\noutput-node name=output input=a\n");
    succeed("nnet3-init", &[&config, &raw]);
    succeed("nnet3-am-init", &[&data("am/tree"), &data("am/topo"), &raw, &bare]);
    let info = document("nnet3-am-info", &[&bare]);
    assert_eq!((&info["prior-dimension"], &info["prior-sum"]), (&json!(0), &Value::Null));
    succeed("nnet3-am-adjust-priors", &[&bare, &data("am/priors.vec"), &model]);
    let info = document("nnet3-am-info", &[&model]);
    assert_eq!(
        keys(&info),
        [
            "input-dim",
            "ivector-dim",
            "num-pdfs",
            "prior-dimension",
            "prior-sum",
            "prior-min",
            "prior-max",
            "nnet"
        ]
    );
    let text = output("nnet3-am-info", &[&model]);
    let of_text = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(&format!("{key}: "))).unwrap().parse::<f64>()
    };
    for key in ["input-dim", "num-pdfs", "prior-dimension", "prior-sum", "prior-min", "prior-max"] {
        let (found, expected) = (info[key].as_f64().unwrap(), of_text(key).unwrap());
        assert!((found - expected).abs() <= 1e-5 * expected.abs(), "{key}: {found} {expected}");
    }
    assert_eq!((&info["ivector-dim"], of_text("ivector-dim").unwrap()), (&Value::Null, -1.0));
    assert_eq!(info["nnet"], document("nnet3-info", &[&raw]));
}

const NETWORK: &str = "input-node name=input dim=2
input-node name=ivector dim=3
component name=a type=TdnnComponent input-dim=5 output-dim=12 time-offsets=-1,0
component-node name=a component=a input=Append(Offset(input, 1), ReplaceIndex(ivector, t, 0))
component name=c type=CompositeComponent num-components=2 component1='type=AffineComponent input-dim=12 output-dim=4' component2='type=NoOpComponent dim=4'
component-node name=c component=c input=a
dim-range-node name=part input-node=c dim-offset=1 dim=3
component name=l type=LogSoftmaxComponent dim=3
component-node name=l component=l input=part
output-node name=output input=l objective=linear
";

#[test]
fn json_of_a_network_has_the_numbers_of_the_text() {
    let f = Folder::new("json-info");
    let raw = f.path("0.raw");
    succeed("nnet3-init", &[&f.write("config", NETWORK), &raw]);
    let (info, text) = (document("nnet3-info", &[&raw]), output("nnet3-info", &["--verbose=2", &raw]));
    assert_eq!(
        keys(&info),
        ["left-context", "right-context", "num-parameters", "modulus", "nodes", "components"]
    );
    let mut lines = text.lines();
    for key in ["left-context", "right-context", "num-parameters", "modulus"] {
        assert_eq!(lines.next().unwrap(), format!("{key}: {}", info[key]));
    }
    // A node line is its type and then keys and values.
    let plain = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
    for node in info["nodes"].as_array().unwrap() {
        let mut items = node.as_object().unwrap().iter();
        let mut line = plain(items.next().unwrap().1);
        items.for_each(|(key, value)| line += &format!(" {key}={}", plain(value)));
        assert_eq!(lines.next().unwrap(), line);
    }
    let components = info["components"].as_array().unwrap();
    for component in components {
        let line = lines.next().unwrap();
        let begin =
            format!("component name={} type={}", plain(&component["name"]), plain(&component["type"]));
        assert!(line.starts_with(&begin), "{line}");
        assert_eq!(
            keys(component),
            ["name", "type", "input-dim", "output-dim", "settings", "parts", "parameters"]
        );
    }
    assert_eq!(lines.next(), None);
    assert_eq!(components[0]["settings"]["time-offsets"], json!([-1, 0]));
    assert_eq!(components[1]["parts"][1]["type"], "NoOpComponent");
    let linear = &components[0]["parameters"][0];
    assert_eq!(
        (&linear["name"], &linear["rows"], &linear["cols"]),
        (&json!("linear"), &json!(12), &json!(10))
    );
    let rms =
        text.split_once("linear-params-rms=").unwrap().1.split_once(',').unwrap().0.parse::<f64>().unwrap();
    assert!((linear["rms"].as_f64().unwrap() - rms).abs() < 1e-3 * rms);
    let bias = &components[0]["parameters"][1];
    let words = text.split_once("bias-{mean,stddev}=").unwrap().1;
    let stats: Vec<f64> = words.split([',', ' ']).take(2).map(|word| word.parse().unwrap()).collect();
    assert!(
        (bias["mean"].as_f64().unwrap() - stats[0]).abs() < 1e-3
            && (bias["stddev"].as_f64().unwrap() - stats[1]).abs() < 1e-3
    );
    let parameters = components[1]["parameters"].as_array().unwrap();
    assert_eq!(parameters.iter().map(|p| plain(&p["name"])).collect::<Vec<_>>(), ["1.linear", "1.bias"]);
}

#[test]
fn values_that_are_no_numbers_are_null() {
    let f = Folder::new("json-nan");
    let text = f.path("0.txt");
    let config = "component name=a type=AffineComponent input-dim=1 output-dim=2\ninput-node name=input dim=1
        component-node name=a component=a input=input\noutput-node name=output input=a\n";
    succeed("nnet3-init", &["--binary=false", &f.write("config", config), &text]);
    let with_nan = f.read("0.txt").replacen("<BiasParams>  [ ", "<BiasParams>  [ nan ", 1);
    let (begin, end) = with_nan.split_once("nan ").unwrap();
    let with_nan = format!("{begin}nan {}", end.split_once(' ').unwrap().1);
    let info = document("nnet3-info", &[&f.write("nan.txt", with_nan)]);
    let bias = &info["components"][0]["parameters"][1];
    assert_eq!([&bias["rms"], &bias["mean"], &bias["stddev"], &bias["min"], &bias["max"]], [&Value::Null; 5]);
}

#[test]
fn examples_and_what_a_network_is_worth_on_them() {
    let f = Folder::new("json-egs");
    let feats = format!("ark:{}", f.write("feats", FEATURES));
    let targets = format!("ark:{}", f.write("post", "a [ 0 1 ] [ 1 1 ] [ 2 1 ]\nb [ 0 1 ] [ 1 1 ]\n"));
    let egs = format!("ark:{}", f.path("egs"));
    succeed("nnet3-get-egs", &["--num-pdfs=3", "--num-frames=2", "--left-context=1", &feats, &targets, &egs]);
    let listed = lines("nnet3-copy-egs", &[&egs, "ark:-"]);
    let text = output("nnet3-copy-egs", &[&egs, "ark,t:-"]);
    assert_eq!(listed.len(), text.matches("<Nnet3Eg>").count());
    for example in &listed {
        assert_eq!(keys(example), ["key", "ios"]);
        assert!(text.contains(&format!("{} <Nnet3Eg>", example["key"].as_str().unwrap())));
        let ios = example["ios"].as_array().unwrap();
        assert_eq!(
            ios.iter().map(|io| io["name"].as_str().unwrap()).collect::<Vec<_>>(),
            ["input", "output"]
        );
        assert_eq!(keys(&ios[0]), ["name", "rows", "dim", "form", "indexes"]);
        assert_eq!(
            (&ios[0]["dim"], &ios[1]["dim"], &ios[1]["form"]),
            (&json!(2), &json!(3), &json!("sparse"))
        );
    }
    let first = &listed[0]["ios"];
    assert_eq!(first[0]["indexes"], json!([{"first": [0, -1, 0], "step": [0, 1, 0], "count": 3}]));
    assert_eq!(first[1]["indexes"], json!([{"first": [0, 0, 0], "step": [0, 1, 0], "count": 2}]));
    // What has been selected.
    let one = lines("nnet3-copy-egs", &["--frame=1", &egs, "ark:-"]);
    assert_eq!(one[0]["ios"][1]["rows"], 1);
    // Within a pipe a list is no archive of examples.
    let program = crate::common::binary("nnet3-copy-egs").display().to_string();
    let piped =
        run("nnet3-copy-egs", &[&format!("ark:{program} --format=json {egs} ark:- |"), "ark:/dev/null"]);
    assert_eq!(piped.status, 255, "{}", piped.stderr);

    let config = "component name=a type=AffineComponent input-dim=2 output-dim=3\ninput-node name=input dim=2
        component name=l type=LogSoftmaxComponent dim=3\ncomponent-node name=a component=a input=Offset(input, -1)
        component-node name=l component=l input=a\noutput-node name=output input=l\n";
    let raw = f.path("0.raw");
    succeed("nnet3-init", &[&f.write("config", config), &raw]);
    let arguments = ["--format=json", "--metrics=top-2", "--compute-per-dim-accuracy=true", &raw, &egs];
    let output = run("nnet3-compute-prob", &arguments);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let worth: Value = serde_json::from_str(&output.stdout).unwrap();
    let worth = &worth["outputs"]["output"];
    assert_eq!(
        keys(worth),
        ["title", "objective", "auxiliary", "frames", "accuracy", "per-dim-accuracy", "metrics"]
    );
    compare_with_log(worth, "output", &output.stderr);
    let accuracy = output.stderr.split_once("Overall accuracy for 'output' is ").unwrap().1;
    let accuracy: f64 = accuracy.split_once(' ').unwrap().0.parse().unwrap();
    assert!((worth["accuracy"].as_f64().unwrap() - accuracy).abs() < 1e-5);
    assert_eq!(worth["per-dim-accuracy"].as_array().unwrap().len(), 3);
    assert_eq!(keys(&worth["metrics"]), ["top-2"]);
    assert_eq!(run("nnet3-compute-prob", &arguments[2..]).stdout, "");
}

/// An output's objective and frames against the log line about it.
pub fn compare_with_log(worth: &Value, name: &str, log: &str) {
    let begin = format!("Overall {} for '{name}' is ", worth["title"].as_str().unwrap());
    let line = log.split_once(&begin).unwrap_or_else(|| panic!("no {begin} in {log}")).1;
    let (objective, frames) = (line.split(' ').next().unwrap(), line.split_once(", over ").unwrap().1);
    let near = |value: &Value, text: &str| {
        let (found, expected) = (value.as_f64().unwrap(), text.parse::<f64>().unwrap());
        assert!((found - expected).abs() <= 1e-5 * expected.abs(), "{found} {expected}");
    };
    near(&worth["objective"], objective);
    near(&worth["frames"], frames.split(' ').next().unwrap());
}
