//! Everyday use: options, terminals, files of other systems, scripts, the tour of the README.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{self, Folder, Output, run};

const FEATURES: &str = "a  [\n  1 2\n  3 4\n  5 6 ]\nb  [\n  1 2\n  3 4\n  5 6 ]\n";
const POSTERIORS: &str = "a [ 0 1 ] [ 1 1 ] [ 2 1 ] \nb [ 0 1 ] [ 1 1 ] [ 2 1 ] \n";
const CONFIG: &str =
    "component name=affine type=NaturalGradientAffineComponent input-dim=2 output-dim=3 max-change=1e-6
component name=drop type=DropoutComponent dim=3 dropout-proportion=0.1
component name=softmax type=LogSoftmaxComponent dim=3
input-node name=input dim=2
component-node name=affine component=affine input=input
component-node name=drop component=drop input=affine
component-node name=softmax component=softmax input=drop
output-node name=output input=softmax
";

/// A folder with features, a network and examples.
fn folder(name: &str) -> Folder {
    let f = Folder::new(&format!("everyday-{name}"));
    for (file, text) in [("feats.ark", FEATURES), ("post.ark", POSTERIORS), ("net.config", CONFIG)] {
        f.write(file, text);
    }
    common::succeed("nnet3-init", &[&f.path("net.config"), &f.path("net.raw")]);
    let (feats, post) = (format!("ark:{}", f.path("feats.ark")), format!("ark:{}", f.path("post.ark")));
    common::succeed("nnet3-get-egs", &["--num-pdfs=3", &feats, &post, &format!("ark:{}", f.path("egs.ark"))]);
    f
}

#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    assert_eq!(output.status, 255, "{}", output.stderr);
    let error = output.stderr.lines().find(|line| line.starts_with("ERROR ")).expect("an ERROR line");
    for word in words {
        assert!(error.contains(word), "no '{word}' in: {error}");
    }
}

#[test]
fn values_that_mean_nothing() {
    let f = folder("values");
    let (net, egs, out) = (f.path("net.raw"), format!("ark:{}", f.path("egs.ark")), f.path("out"));
    for option in ["--scale=nan", "--learning-rate=nan"] {
        refused(&run("nnet3-copy", &[option, &net, &out]), &[option, "is not a number"]);
    }
    refused(&run("nnet3-copy", &["--scale=inf", &net, &out]), &["--scale=inf: expected a finite number"]);
    refused(&run("nnet3-copy", &["--learning-rate=-0.5", &net, &out]), &["--learning-rate=-0.5", "or -1"]);
    common::succeed("nnet3-copy", &["--learning-rate=-1", &net, &out]);
    for (option, expected) in [
        ("--l2-regularize-factor=nan", "is not a number"),
        ("--l2-regularize-factor=-1", "--l2-regularize-factor=-1: expected a number that is not negative"),
        ("--print-interval=-1", "--print-interval=-1: expected a number above 0"),
        ("--backstitch-training-interval=-2", "--backstitch-training-interval=-2: expected a number above 0"),
    ] {
        refused(&run("nnet3-train", &["--use-gpu=no", option, &net, &egs, &out]), &[expected]);
    }
    let prune = "--rand-prune=-1: expected a number that is not negative";
    refused(&run("nnet3-acc-lda-stats", &["--rand-prune=-1", &net, &egs, &out]), &[prune]);
    refused(&run("acc-lda", &["--rand-prune=-1", "a", "b", "c", &out]), &[prune]);
}

#[test]
fn values_after_a_blank() {
    let f = folder("blank");
    let (feats, post) = (format!("ark:{}", f.path("feats.ark")), format!("ark:{}", f.path("post.ark")));
    let make = |options: &[&str]| run("nnet3-get-egs", &[options, &[&feats, &post, "ark,t:-"]].concat());
    let (apart, together) =
        (make(&["--num-pdfs", "3", "--left-context", "1"]), make(&["--num-pdfs=3", "--left-context=1"]));
    assert_eq!((apart.status, &apart.stdout), (0, &together.stdout), "{}", apart.stderr);
    assert!(!apart.stdout.is_empty());
    let wrong = run("nnet3-info", &["--verbose", &f.path("net.raw")]);
    refused(&wrong, &["Invalid integer option", "net.raw", "(option --verbose)"]);
}

#[test]
fn arguments_that_are_not_text() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.raw");
    let output = Command::new(common::binary("nnet3-info")).arg(name).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(255), "{stderr}");
    assert!(stderr.contains("Argument 1, 'caf\u{fffd}.raw', is not UTF-8"), "{stderr}");
    // What is, is taken, as are keys.
    let f = Folder::new("everyday-names");
    f.write("größe.ark", "ключ  [\n  1 2 ]\n");
    let copied = run("copy-feats", &[&format!("ark:{}", f.path("größe.ark")), "ark,t:-"]);
    assert_eq!((copied.status, copied.stdout.split_whitespace().next()), (0, Some("ключ")));
}

/// Texts as editors of other systems leave them.
#[test]
fn line_ends_and_byte_order_marks() {
    let f = folder("crlf");
    common::succeed("nnet3-copy", &["--binary=false", &f.path("net.raw"), &f.path("net.txt")]);
    f.write("feats.scp", format!("a {0}:2\nb {0}:27\n", f.path("feats.ark")));
    f.write("scales", "a 0.5\nb 2\n");
    f.write("mat.txt", "[ 1 2\n 3 4 ]\n");
    f.write("ints", "a 1 2 3\nb 4\n");
    f.write("edits", "set-learning-rate name=affine learning-rate=0.5\n");
    f.write("net.xconfig", "input dim=2 name=input\noutput-layer name=output dim=2\n");
    f.write("options", "--binary=false\n");
    let path = |name: &str| f.path(name);
    let (configs, edits) = (path("configs"), format!("--edits-config={}", path("edits")));
    let post = format!("ark:{}", path("post.ark"));
    let cases: [(&str, &str, Vec<String>); 10] = [
        ("feats.ark", "copy-feats", vec![format!("ark:{}", path("feats.ark")), "ark,t:-".into()]),
        ("feats.scp", "copy-feats", vec![format!("scp:{}", path("feats.scp")), "ark,t:-".into()]),
        ("scales", "scale-post", vec![post, format!("ark:{}", path("scales")), "ark,t:-".into()]),
        ("ints", "copy-int-vector", vec![format!("ark:{}", path("ints")), "ark,t:-".into()]),
        ("mat.txt", "copy-matrix", vec!["--binary=false".into(), path("mat.txt"), "-".into()]),
        ("net.txt", "nnet3-info", vec![path("net.txt")]),
        ("net.config", "nnet3-init", vec!["--binary=false".into(), path("net.config"), "-".into()]),
        ("edits", "nnet3-copy", vec!["--binary=false".into(), edits, path("net.raw"), "-".into()]),
        (
            "net.xconfig",
            "nnet3-xconfig-to-configs",
            vec!["--xconfig-file".into(), path("net.xconfig"), "--config-dir".into(), configs],
        ),
        (
            "options",
            "copy-matrix",
            vec![format!("--config={}", path("options")), path("mat.txt"), "-".into()],
        ),
    ];
    for (file, program, arguments) in cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let plain = run(program, &arguments);
        assert_eq!(plain.status, 0, "{program} {arguments:?}: {}", plain.stderr);
        let text = f.read(file);
        let windows = text.replace('\n', "\r\n");
        // Offsets in scripts count bytes of archives, so that each file is changed alone.
        for (what, changed) in [
            ("CRLF", windows.clone()),
            ("a mark", format!("\u{feff}{text}")),
            ("both", format!("\u{feff}{windows}")),
        ] {
            f.write(file, changed);
            let found = run(program, &arguments);
            assert_eq!(
                (found.status, &found.stdout),
                (0, &plain.stdout),
                "{file} with {what}: {}",
                found.stderr
            );
        }
        f.write(file, text);
    }
}

#[test]
fn patterns_that_match_nothing() {
    let f = folder("patterns");
    let edit =
        |text: &str| run("nnet3-copy", &[&format!("--edits={text}"), &f.path("net.raw"), &f.path("out")]);
    let output = edit("set-dropout-proportion name=tdnn*.dropout proportion=0.2");
    let warning =
        "set-dropout-proportion: no component matches 'tdnn*.dropout'; there are affine, drop, softmax";
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stderr.contains("WARNING (nnet3-copy[5.5]:ReadEditConfig()"), "{}", output.stderr);
    assert!(output.stderr.contains(warning), "{}", output.stderr);
    assert!(!edit("set-dropout-proportion name=* proportion=0.2").stderr.contains("WARNING"));
}

/// A line for each component with a limited change, at that verbosity.
#[test]
fn components_that_change_too_much() {
    let f = folder("excess");
    let (net, egs) = (
        f.path("net.raw"),
        format!("ark:nnet3-merge-egs --minibatch-size=1:4 ark:{} ark:- |", f.path("egs.ark")),
    );
    let folder = common::binary("nnet3-train").parent().unwrap().display().to_string();
    let train = |verbose: &str| {
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new(common::binary("nnet3-train"));
        command.env("PATH", path).args(["--use-gpu=no", verbose, &net, &egs, &f.path("out.raw")]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        text
    };
    let log = train("--verbose=2");
    let line =
        log.lines().find(|line| line.starts_with("VLOG[2] (nnet3-train[5.5]:UpdateNnetWithMaxChange()"));
    let line = line.unwrap_or_else(|| panic!("{log}"));
    let text = line.split_once(") Parameters in affine change too big: ").unwrap().1;
    let words: Vec<&str> = text.split([' ', '=', ',']).filter(|word| !word.is_empty()).collect();
    let [
        norm,
        "*",
        scale,
        ">",
        "max-change",
        "*",
        "max-change-scale",
        limit,
        "*",
        factor,
        "scaling",
        "by",
        by,
    ] = words[..]
    else {
        panic!("{words:?}")
    };
    let number = |word: &str| word.parse::<f64>().unwrap();
    let expected = number(limit) * number(factor) / (number(norm) * number(scale));
    assert_eq!(number(limit), 1e-6);
    assert!((number(by) / expected - 1.0).abs() < 1e-4, "{text}");
    assert!(!train("--verbose=1").contains("change too big"));
}

/// The output of a program on a terminal.
fn on_a_terminal(program: &str, arguments: &[&str]) -> String {
    let script = "import os, pty, sys
chunks = []
def read(fd):
    data = os.read(fd, 65536)
    chunks.append(data)
    return data
status = pty.spawn(sys.argv[1:], read)
sys.exit(os.waitstatus_to_exitcode(status))";
    let path = common::binary(program);
    let folder = path.parent().unwrap().display().to_string();
    let mut command = Command::new("python3");
    command.arg("-c").arg(script).arg(&path).args(arguments).env("TERM", "xterm");
    command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap_or_default()));
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Copying shows how far it is, and lines of commands stand on lines of their own.
#[test]
fn progress_on_a_terminal() {
    let f = folder("progress");
    let rows = "  1 2\n".repeat(3);
    let text: String = (0..20).map(|i| format!("u{i}  [\n{rows} ]\n")).collect();
    f.write("many.ark", text);
    let slow = format!("ark:{{ cat {0}; echo a line of the command >&2; sleep 1; }} |", f.path("many.ark"));
    let shown = on_a_terminal("copy-feats", &[&slow, &format!("ark:{}", f.path("out.ark"))]);
    assert!(shown.contains("20 entries, "), "{shown:?}");
    // Final content of the terminal's line: the bar is removed before other lines.
    let line = |with: &str| {
        let line = shown.lines().rfind(|line| line.contains(with)).unwrap_or_else(|| panic!("{shown:?}"));
        line.rsplit("\u{1b}[2K").next().unwrap().trim().to_owned()
    };
    assert_eq!(line("a line of the command"), "a line of the command", "{shown:?}");
    assert!(line("Copied 20 feature matrices.").starts_with("LOG (copy-feats"), "{shown:?}");
    // Without a terminal on standard error, there is no bar.
    let quiet = run("copy-feats", &[&slow, "ark:/dev/null"]);
    assert!(!quiet.stderr.contains("entries,") && quiet.stderr.contains("a line of the command\n"));
}

/// All scripts that people call.
fn scripts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in [
        "dev",
        "dev/package",
        "scripts",
        "scripts/common",
        "scripts/jobs",
        "egs/commands",
        "egs/digits",
        "egs/digits/local",
        "egs/drivers",
        "egs/drivers/local",
        "egs/published",
        "egs/published/local",
        "tests/package",
        "tests/train",
    ] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            let path = entry.unwrap().path();
            let is_program = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
            if is_program && path.extension().is_some_and(|extension| extension == "sh") {
                found.push(path);
            }
        }
    }
    assert!(found.len() >= 15, "{found:?}");
    found
}

#[test]
fn scripts_explain_themselves() {
    for script in scripts() {
        let answer = |argument: &str| {
            let mut command = Command::new("timeout");
            command.arg("20").arg(&script).arg(argument).stdin(std::process::Stdio::null());
            let output = command.output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), text(&output.stdout), text(&output.stderr))
        };
        let name = script.file_name().unwrap().to_str().unwrap();
        for argument in ["--help", "-h"] {
            let (status, stdout, stderr) = answer(argument);
            assert_eq!((status, stderr.as_str()), (Some(0), ""), "{script:?} {argument}");
            let usage = stdout.lines().find(|line| line.to_lowercase().starts_with("usage: "));
            let named = usage.is_some_and(|line| line.contains(name));
            assert!(named && stdout.lines().count() > 1, "{script:?}: {stdout}");
        }
        let (status, stdout, stderr) = answer("--no-such-option");
        assert!(matches!(status, Some(1 | 2)), "{script:?}: {status:?}");
        assert_eq!(stdout, "", "{script:?}");
        assert!(
            stderr.contains("unknown option") && stderr.contains("--no-such-option"),
            "{script:?}: {stderr}"
        );
    }
}

/// The commands of the tour, with synthetic data in the place of the recipe's.
#[test]
fn the_tour() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("egs/digits/README.md")).unwrap();
    let (_, tour) = readme.split_once("\n## A tour\n").unwrap();
    let commands: Vec<&str> = tour.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let (first, rest) = commands.split_first().unwrap();
    assert!(
        first.starts_with("cd egs/digits && export PATH=") && first.ends_with("&& mkdir -p exp/tour"),
        "{first}"
    );
    assert!(rest.len() > 8, "{rest:?}");
    let f = Folder::new("everyday-tour");
    for folder in ["data/train", "data/dev", "exp/tour", "conf"] {
        std::fs::create_dir_all(f.path(folder)).unwrap();
    }
    std::fs::copy(root.join("egs/digits/conf/tour.xconfig"), f.path("conf/tour.xconfig")).unwrap();
    let frame =
        |t: usize| (0..40).map(|i| ((t * 7 + i * 3) % 11).to_string() + " ").collect::<String>() + "\n";
    let matrix = |key: &str| format!("{key}  [\n{} ]\n", (0..50).map(frame).collect::<String>());
    let posterior =
        |key: &str| format!("{key} {}\n", (0..50).map(|t| format!("[ {} 1 ] ", t % 22)).collect::<String>());
    let keys: Vec<String> = (0..20).map(|u| format!("u{u:02}")).collect();
    f.write("feats.txt", keys.iter().map(|key| matrix(key)).collect::<String>());
    f.write("data/train/post.ark", keys.iter().map(|key| posterior(key)).collect::<String>());
    for set in ["train", "dev"] {
        let to = format!("ark,scp:{0}.ark,{0}.scp", f.path(&format!("data/{set}/feats")));
        common::succeed("copy-feats", &[&format!("ark:{}", f.path("feats.txt")), &to]);
    }
    let folder = common::binary("nnet3-train").parent().unwrap().display().to_string();
    let mut command = Command::new("bash");
    command.args(["-e", "-c", &rest.join("\n")]).current_dir(f.path(""));
    command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap_or_default()));
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stderr.contains("Done 20 utterances, failed for 0"), "{stderr}");
    assert!(stdout.contains("left-context: 8\n") && stdout.contains("\nu00  [\n"), "{stdout}");
}
