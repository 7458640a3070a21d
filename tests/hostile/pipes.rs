//! Pipes with a failure in each part.

use crate::common::Folder;
use crate::data::{error_line, examples, feature_text, features, network, posteriors, run_on_path, shell};

/// Features of which most are missing: the archive is cut off within the third utterance.
fn cut_off(folder: &Folder) -> String {
    let bytes = std::fs::read(features(folder, 12)).unwrap();
    folder.write("short.ark", &bytes[..500])
}

#[test]
fn an_early_program_that_fails() {
    let folder = Folder::new("hostile-early");
    let short = cut_off(&folder);
    let post = posteriors(&folder, 12);
    let net = network(&folder, 1);
    let slides = "apply-cmvn-sliding ark:- ark:-";
    let part = ["'copy-feats ark:", "in the pipe 'copy-feats ark:", "failed: exit status: 255"];
    for (table, others) in [
        ("ark,s,cs:", vec![]),
        ("ark:", vec![" | cat", " | (cat; true)"]),
        // A shell is needed for these parts, and for the first.
        ("ark:", vec![" 2>/dev/null", " | cat 2>&1"]),
    ] {
        let more = others.concat();
        let feats = format!("{table}copy-feats ark:{short} ark:- | {slides}{more} |");
        let egs = folder.path("egs.ark");
        let output = run_on_path(
            "nnet3-get-egs",
            &["--num-pdfs=3", &feats, &format!("ark:{post}"), &format!("ark:{egs}")],
        );
        let own = "ERROR (nnet3-get-egs";
        assert!(output.status == 255 && output.stderr.contains(own), "{}", output.stderr);
        part.iter().for_each(|words| assert!(output.stderr.contains(words), "{words}: {}", output.stderr));
        let output = run_on_path("nnet3-compute", &[&net, &feats, "ark:/dev/null"]);
        assert_eq!(output.status, 255, "{}", output.stderr);
        part.iter().for_each(|words| assert!(output.stderr.contains(words), "{words}: {}", output.stderr));
    }
    // Permitted: a warning.
    let feats = format!("ark,p:copy-feats ark:{short} ark:- | {slides} |");
    let output = run_on_path("copy-feats", &[&feats, "ark:/dev/null"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let warning =
        output.stderr.lines().find(|line| line.starts_with("WARNING (copy-feats") && line.contains(part[2]));
    assert!(warning.is_some(), "{}", output.stderr);
}

#[test]
fn what_only_a_shell_understands() {
    let folder = Folder::new("hostile-shell");
    let short = cut_off(&folder);
    let copy = format!("copy-feats ark:{short} ark:-");
    let status = |pipe: &str| run_on_path("copy-feats", &[&format!("ark:{pipe} |"), "ark:/dev/null"]).status;
    assert_eq!(status(&format!("({copy} | cat) | cat")), 255);
    assert_eq!(status(&format!("cd /; {copy} | cat")), 255);
    assert_eq!(status(&format!("for f in {short}; do copy-feats ark:$f ark:- | cat; done")), 255);
    // Conditions are the command's own business.
    assert_eq!(status(&format!("({copy} || true) | cat")), 0);
    assert_eq!(status(&format!("if {copy} | cat; then true; fi")), 0);
}

#[test]
fn readers_that_have_enough() {
    let folder = Folder::new("hostile-enough");
    let text = folder.write("feats.txt", feature_text(3).repeat(1000));
    let size = feature_text(3).len();
    for pipe in [
        format!("cat {text} | head -c {size}"),
        format!("cat {text} | cat | head -c {size} | cat"),
        format!("(cat {text} | head -c {size})"),
        format!("cat $(echo {text}) 2>/dev/null | head -c {size}"),
    ] {
        let output = run_on_path("copy-feats", &[&format!("ark:{pipe} |"), "ark:/dev/null"]);
        assert_eq!(output.status, 0, "{pipe}: {}", output.stderr);
        assert!(output.stderr.contains("Copied 3 feature matrices"), "{}", output.stderr);
    }
    // Our program has enough.
    let output =
        run_on_path("subset-feats", &["--n=1", &format!("ark:cat {text} | cat |"), "ark,t:/dev/null"]);
    assert!(output.status == 0 && !output.stderr.contains("failed"), "{}", output.stderr);
}

#[test]
fn single_files_from_pipes() {
    let folder = Folder::new("hostile-single");
    let net = network(&folder, 1);
    let output = run_on_path("nnet3-info", &[&format!("(cat {net}; exit 4) | cat |")]);
    error_line(&output, &["'(cat ", "; exit 4)' in the pipe", "exit status: 4"]);
    let script = folder.write("x.scp", "u1 (echo '[ 1 2 ]'; exit 3) | cat |\nu2 echo '[ 1 2 ]' |\n");
    let output = run_on_path("copy-vector", &[&format!("scp:{script}"), "ark:/dev/null"]);
    error_line(&output, &["x.scp, key 'u1'", "exit status: 3"]);
    let output = run_on_path("copy-vector", &[&format!("scp,p:{script}"), "ark,t:-"]);
    assert!(output.status == 0 && output.stdout == "u2  [ 1 2 ]\n", "{} {}", output.stdout, output.stderr);
    assert!(output.stderr.contains("left out 1 entry that could not be used"), "{}", output.stderr);
}

/// Output pipes: a program that dies is an error with its name, however much there is to write.
#[test]
fn outputs_that_die() {
    let folder = Folder::new("hostile-dying");
    let feats = features(&folder, 12);
    let many = folder.write("many.txt", feature_text(50).repeat(40));
    for input in [feats, many] {
        let input = format!("ark:{input}");
        for (pipe, words) in [
            ("ark:| false", "command 'false' failed: exit status: 1"),
            ("ark:| cat | false", "'false' in the pipe 'cat | false' failed: exit status: 1"),
            (
                "ark:| false | cat >/dev/null",
                "'false' in the pipe 'false | cat >/dev/null' failed: exit status: 1",
            ),
            ("ark:| exec 3>&1; exit 7", "exit status: 7"),
        ] {
            let output = run_on_path("copy-feats", &[&input, pipe]);
            assert_eq!(output.status, 255, "{pipe}: {}", output.stderr);
            error_line(&output, &[words]);
        }
    }
    // A reader of our standard output that has enough ends us without a word, as ever.
    let output = shell(&format!(
        "copy-feats ark:{} ark,t:- 2>/dev/null | head -n 1; echo ${{PIPESTATUS[0]}}",
        folder.path("many.txt")
    ));
    assert!(output.stdout.ends_with("\n141\n"), "{}", output.stdout);
}

/// A pipe that runs within the reading program has the results of separate processes.
#[test]
fn pipes_of_our_own() {
    let folder = Folder::new("hostile-own");
    let egs = examples(&folder, 12, &[]);
    let bytes = std::fs::read(&egs).unwrap();
    let short = folder.write("short.egs", &bytes[..bytes.len() - 9]);
    let net = network(&folder, 1);
    let model = folder.path("1.raw");
    for copy in ["nnet3-copy-egs", "cat"] {
        let first = if copy == "cat" {
            format!("cat no-such-file {egs} 2>/dev/null")
        } else {
            format!("{copy} ark:{short} ark:-")
        };
        let pipe = format!("ark:{first} | nnet3-merge-egs --minibatch-size=4 ark:- ark:- |");
        let output = run_on_path("nnet3-train", &["--use-gpu=no", &net, &pipe, &model]);
        assert_eq!(output.status, 255, "{}", output.stderr);
        assert!(!std::fs::exists(&model).unwrap(), "{}", output.stderr);
    }
}
