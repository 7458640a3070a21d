//! Bad input to the real programs. Each case ends with an error that names file and place, and a status other than 0.
//! All existing files stay as they were.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const CONFIG: &str = "\
component name=affine type=NaturalGradientAffineComponent input-dim=4 output-dim=3
component name=softmax type=LogSoftmaxComponent dim=3
input-node name=input dim=2
component-node name=affine component=affine input=Append(Offset(input, -1), input)
component-node name=softmax component=softmax input=affine
output-node name=output input=softmax
";
/// Text, so that tests can cut it where they like.
const FEATURES: &str = "a  [\n  1 2\n  3 4\n  5 6 ]\nb  [\n  1 2\n  3 4\n  5 6 ]\n";
const POSTERIORS: &str = "a [ 0 1 ] [ 1 1 ] [ 2 1 ] \nb [ 0 1 ] [ 1 1 ] [ 2 1 ] \n";
const OLD: &str = "an older result\n";

/// A folder with good input files, and the files `old.*` that no failure may change.
struct Case {
    folder: PathBuf,
}

impl Case {
    fn new(name: &str) -> Case {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("errors-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let case = Case { folder };
        for (file, content) in
            [("good.config", CONFIG), ("feats.ark", FEATURES), ("post.ark", POSTERIORS), ("empty.ark", "")]
        {
            case.write(file, content);
        }
        case.run("nnet3-init", &["good.config", "good.raw"], 0);
        case.run("nnet3-init", &["--binary=false", "good.config", "text.raw"], 0);
        let egs = ["--num-pdfs=3", "--left-context=1", "--compress=false", "ark:feats.ark", "ark:post.ark"];
        case.run("nnet3-get-egs", &[&egs[..], &["ark,t:good.egs"]].concat(), 0);
        for old in ["old.raw", "old.ark", "old.scp"] {
            case.write(old, OLD);
        }
        case
    }

    fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.folder.join(file), content).unwrap();
    }

    fn read(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(file)).unwrap()
    }

    /// A good file with one word replaced by another.
    fn replaced(&self, source: &str, file: &str, old: &str, new: &str) {
        let text = String::from_utf8(self.read(source)).unwrap();
        assert!(text.contains(old), "{old} in {source}");
        self.write(file, text.replacen(old, new, 1));
    }

    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = std::fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect()
    }

    /// Standard error of a program that must end with this status.
    fn run(&self, program: &str, arguments: &[&str], status: i32) -> String {
        let path = Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name(program);
        let mut command = Command::new(path);
        let output = command.current_dir(&self.folder).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{program} {arguments:?}: {text}");
        text
    }

    /// A program that must fail with these words in its `ERROR` line and leave all files unchanged.
    fn fails(&self, program: &str, arguments: &[&str], words: &[&str]) {
        self.fails_with(255, program, arguments, words);
    }

    fn fails_with(&self, status: i32, program: &str, arguments: &[&str], words: &[&str]) {
        let before = self.contents();
        let text = self.run(program, arguments, status);
        let error = text.split_once("ERROR (").unwrap_or_else(|| panic!("{program} {arguments:?}: {text}")).1;
        for word in words {
            assert!(error.contains(word), "{program} {arguments:?}: no '{word}' in: {error}");
        }
        assert!(!text.contains("panicked"), "{text}");
        for (path, content) in before {
            assert_eq!(std::fs::read(&path).unwrap(), content, "{program} {arguments:?} changed {path:?}");
        }
    }

    /// [`Case::fails`] for all programs that train on or copy examples.
    fn all_fail_on_examples(&self, status: i32, egs: &str, words: &[&str]) {
        let egs = format!("ark:{egs}");
        for program in ["nnet3-copy-egs", "nnet3-shuffle-egs", "nnet3-merge-egs", "nnet3-subset-egs"] {
            self.fails_with(status, program, &[&egs, "ark:old.ark"], words);
            self.fails_with(status, program, &[&egs, "ark,t,scp:old.ark,old.scp"], words);
        }
        self.fails_with(status, "nnet3-train", &["--use-gpu=no", "good.raw", &egs, "old.raw"], words);
        self.fails_with(status, "nnet3-compute-prob", &["good.raw", &egs], words);
    }
}

const COMPUTE: [&str; 2] = ["--use-gpu=no", "good.raw"];

#[test]
fn mistakes_in_a_config_name_its_line_and_value() {
    let case = Case::new("configs");
    let unknown_type = ["bad.config:1", "'NaturalGradientAfineComponent'", "did you mean"];
    let cases: &[(&str, &str, &[&str])] = &[
        ("NaturalGradientAffineComponent", "NaturalGradientAfineComponent", &unknown_type),
        (
            "input-dim=4",
            "input-dim=4 no-such-key=1",
            &["bad.config:1: unknown", "no-such-key=1", "in the line: component"],
        ),
        (" input-dim=4", "", &["bad.config:1", "'input-dim' is missing"]),
        ("input-dim=4", "input-dim=four", &["bad.config:1", "input-dim", "four"]),
        // Both dimensions, and both nodes.
        ("input-dim=4", "input-dim=5", &["'affine'", "'input' has 2", "dimension 4", "expects 5"]),
        (
            "LogSoftmaxComponent dim=3",
            "LogSoftmaxComponent dim=4",
            &["'softmax'", "'affine' has 3", "expects 4"],
        ),
        ("input=softmax", "input=Sum(softmax, input)", &["'output'", "'input' has 2", "'softmax' has 3"]),
        ("input=affine", "input=afine", &["bad.config:5", "no node 'afine'"]),
        ("component=softmax", "component=soft", &["bad.config:5", "'soft'"]),
        ("input=softmax", "input=Offset(softmax)", &["bad.config:6", "Offset(softmax)"]),
        ("output-node", "outputnode", &["bad.config:6", "'outputnode'"]),
        ("input-node name=input dim=2\n", "", &["bad.config:3", "no node 'input'"]),
    ];
    for (old, new, words) in cases {
        case.replaced("good.config", "bad.config", old, new);
        case.fails("nnet3-init", &["bad.config", "old.raw"], words);
    }
    case.fails("nnet3-init", &["missing.config", "old.raw"], &["missing.config", "No such file"]);
}

#[test]
fn outputs_that_depend_on_themselves() {
    let case = Case::new("cycles");
    case.replaced("good.config", "cyclic.config", "input-dim=4", "input-dim=7");
    case.replaced("cyclic.config", "cyclic.config", "-1), input)", "-1), input, softmax)");
    case.run("nnet3-init", &["cyclic.config", "cyclic.raw"], 0);
    let words = ["cyclic.raw", "no output frame can be computed"];
    case.fails("nnet3-compute", &["--use-gpu=no", "cyclic.raw", "ark:feats.ark", "ark:old.ark"], &words);
    let words = ["good.egs", "cannot be computed", "softmax(0,0) depends on itself"];
    case.fails("nnet3-train", &["--use-gpu=no", "cyclic.raw", "ark:good.egs", "old.raw"], &words);
}

/// Every file that begins like a model and ends too early is an error, wherever it ends.
#[test]
fn models_cut_off_or_corrupt() {
    let case = Case::new("models");
    for source in ["good.raw", "text.raw"] {
        let whole = case.read(source);
        let end = whole.len() - b"</Nnet3> ".len();
        for length in (0..end).step_by(37).chain([1, 2, end]) {
            case.write("cut.raw", &whole[..length]);
            case.fails("nnet3-info", &["cut.raw"], &["cut.raw"]);
        }
        case.fails(
            "nnet3-compute",
            &["--use-gpu=no", "cut.raw", "ark:feats.ark", "ark:old.ark"],
            &["cut.raw"],
        );
        case.fails("nnet3-train", &["--use-gpu=no", "cut.raw", "ark:good.egs", "old.raw"], &["cut.raw"]);
    }
    for (old, new, words) in [
        ("<NumComponents> 2", "<NumComponents> 3", ["corrupt.raw", "<ComponentName>"]),
        ("<NumComponents> 2", "<NumComponents> -2", ["corrupt.raw", "-2"]),
        ("<LinearParams>", "<LinearParms>", ["corrupt.raw, line", "<LinearParms>"]),
        ("<LogSoftmaxComponent>", "<LogSoftmax>", ["corrupt.raw, line", "LogSoftmaxComponent"]),
        ("<Dim> 3", "<Dim> three", ["corrupt.raw, line", "three"]),
        ("input-node name=input dim=2", "input-node name=input dim=3", ["'affine'", "dimension 6"]),
    ] {
        case.replaced("text.raw", "corrupt.raw", old, new);
        case.fails("nnet3-info", &["corrupt.raw"], &words);
    }
    case.fails("nnet3-info", &["good.config"], &["good.config", "<Nnet3>"]);
}

#[test]
fn archives_that_end_in_the_middle() {
    let case = Case::new("archives");
    let cut = |source: &str, file: &str, missing: usize| {
        let whole = case.read(source);
        case.write(file, &whole[..whole.len() - missing]);
    };
    // The second entry ends too early: the first has been dealt with by then.
    cut("feats.ark", "cut.ark", 4);
    let words = ["cut.ark", "key 'b'"];
    case.fails("nnet3-compute", &[&COMPUTE[..], &["ark:cut.ark", "ark:old.ark"]].concat(), &words);
    let scp = ["ark:cut.ark", "ark,scp:old.ark,old.scp"];
    case.fails("nnet3-compute", &[&COMPUTE[..], &scp].concat(), &words);
    let egs = ["--num-pdfs=3", "ark:cut.ark", "ark:post.ark", "ark:old.ark"];
    case.fails("nnet3-get-egs", &egs, &words);
    cut("good.egs", "cut.egs", 12);
    case.all_fail_on_examples(255, "cut.egs", &["cut.egs", "key 'b-"]);
    let command = ["ark:cat feats.ark; exit 3 |", "ark:old.ark"];
    case.fails("nnet3-compute", &[&COMPUTE[..], &command].concat(), &["exit 3", "exit status: 3"]);
}

#[test]
fn empty_archives() {
    let case = Case::new("empty");
    let nothing = ["empty.ark", "found none"];
    case.all_fail_on_examples(1, "empty.ark", &nothing);
    case.fails_with(
        1,
        "nnet3-compute",
        &[&COMPUTE[..], &["ark:empty.ark", "ark:old.ark"]].concat(),
        &nothing,
    );
    let egs = ["--num-pdfs=3", "ark:empty.ark", "ark:post.ark", "ark:old.ark"];
    case.fails_with(1, "nnet3-get-egs", &egs, &nothing);
}

#[test]
fn dimensions_of_data() {
    let case = Case::new("dimensions");
    case.write("wide.ark", "a  [\n  1 2 3\n  3 4 5\n  5 6 7 ]\n");
    let words = ["utterance a", "'input' has dimension 2", "3 columns"];
    case.fails("nnet3-compute", &[&COMPUTE[..], &["ark:wide.ark", "ark:old.ark"]].concat(), &words);
    let make = |pdfs: &str, features: &str, out: &str| {
        let (features, out) = (format!("ark:{features}"), format!("ark,t:{out}"));
        case.run("nnet3-get-egs", &[pdfs, "--left-context=1", &features, "ark:post.ark", &out], 0);
    };
    make("--num-pdfs=3", "wide.ark", "wide.egs");
    make("--num-pdfs=6", "feats.ark", "six.egs");
    for (egs, words) in [
        ("wide.egs", ["wide.egs", "key 'a-0'", "'input'", "dimension 2", "dimension 3"]),
        ("six.egs", ["six.egs", "key 'a-0'", "'output'", "dimension 3", "dimension 6"]),
    ] {
        let egs = format!("ark:{egs}");
        case.fails("nnet3-train", &["--use-gpu=no", "good.raw", &egs, "old.raw"], &words);
        case.fails("nnet3-compute-prob", &["good.raw", &egs], &words);
    }
}

#[test]
fn targets_outside_the_output() {
    let case = Case::new("targets");
    case.replaced("post.ark", "bad.ark", "b [ 0 1 ] [ 1 1 ] [ 2 1 ]", "b [ 0 1 ] [ 1 1 ] [ 3 1 ]");
    let egs = ["--num-pdfs=3", "ark:feats.ark", "ark:bad.ark", "ark:old.ark"];
    case.fails("nnet3-get-egs", &egs, &["target 3", "frame 2", "'b'"]);
    // Examples that contradict themselves.
    case.replaced("good.egs", "bad.egs", "dim=3 [ 2 1 ]", "dim=3 [ 3 1 ]");
    case.fails("nnet3-train", &["--use-gpu=no", "good.raw", "ark:bad.egs", "old.raw"], &["bad.egs", "3"]);
    case.fails("nnet3-compute-prob", &["good.raw", "ark:bad.egs"], &["bad.egs", "3"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    let case = Case::new("unwritable");
    std::fs::create_dir(case.folder.join("folder")).unwrap();
    let places =
        [("missing/out", "No such file"), ("folder", "Is a directory"), ("/dev/full", "No space left")];
    for (place, why) in places {
        let table = format!("ark:{place}");
        let words = [place, why];
        case.fails("nnet3-init", &["good.config", place], &words);
        case.fails("nnet3-train", &["--use-gpu=no", "good.raw", "ark:good.egs", place], &words);
        case.fails("nnet3-compute", &[&COMPUTE[..], &["ark:feats.ark", &table]].concat(), &words);
        let get = ["--num-pdfs=3", "ark:feats.ark", "ark:post.ark", &table];
        case.fails("nnet3-get-egs", &get, &words);
        for program in ["nnet3-copy-egs", "nnet3-shuffle-egs", "nnet3-subset-egs"] {
            case.fails(program, &["ark:good.egs", &table], &words);
        }
        case.fails("nnet3-merge-egs", &["--minibatch-size=4", "ark:good.egs", &table], &words);
    }
    let pipe = ["ark:feats.ark", "ark:| cat >/dev/null; exit 3"];
    case.fails("nnet3-compute", &[&COMPUTE[..], &pipe].concat(), &["exit 3", "exit status: 3"]);
}
