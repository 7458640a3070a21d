//! Errors say where and why.

use crate::common::{Folder, run};
use crate::data::{
    error_line, examples, feature_text, features, network, posteriors, refused, run_on_path, shell,
};

#[test]
fn errors_name_the_line_of_a_file() {
    let folder = Folder::new("hostile-places");
    let script = folder.write("x.scp", "a x.ark:1\nb\nc x.ark:3\n");
    refused("copy-feats", &["scp,s,cs:/dev/null/x", "ark:-"], &["/dev/null/x"]);
    refused(
        "copy-feats",
        &[&format!("scp:{}", folder.write("y.scp", "b\nc d\n")), "ark:-"],
        &["y.scp, line 1: expected a key"],
    );
    let output = run("paste-feats", &["scp:/dev/null", &format!("scp:{script}"), "ark:-"]);
    error_line(&output, &["x.scp, line 2: expected a key and a file"]);
    let alignment = folder.write("ali.txt", "a 1 2\nb 1 x\nc 3\n");
    refused(
        "ali-to-post",
        &[&format!("ark:{alignment}"), "ark:-"],
        &["ali.txt, key 'b', line 2: expected integers, found 'x'"],
    );
    let post = folder.write("post.txt", "a [ 1 1 ]\nb [ 1 ] 1 ]\nc [ 1 1 ]\n");
    refused("copy-post", &[&format!("ark:{post}"), "ark:-"], &["post.txt, key 'b', line 2: expected frames"]);
    // What is read for alignments.
    let post = format!("ark:{}", posteriors(&folder, 2));
    refused(
        "ali-to-post",
        &[&post, "ark:-"],
        &["line 1: expected integers, found '['", "--target-type=post"],
    );
}

#[test]
fn offsets_and_ranges() {
    let folder = Folder::new("hostile-offsets");
    let feats = features(&folder, 2);
    let size = std::fs::metadata(&feats).unwrap().len();
    let script = folder.write("far.scp", format!("a {feats}:99999\n"));
    let beyond = format!("the offset 99999 is beyond its end, at byte {size}");
    refused("copy-feats", &[&format!("scp:{script}"), "ark:-"], &["far.scp, key 'a'", &beyond]);
    let script = folder.write("end.scp", format!("a {feats}:{size}\n"));
    let line = refused(
        "copy-feats",
        &[&format!("scp:{script}"), "ark:-"],
        &["end.scp, key 'a'", &format!("byte {size}")],
    );
    assert!(!line.contains("line 1"), "{line}");
    let script = folder.write("range.scp", format!("a {feats}:4[0:99]\n"));
    refused(
        "copy-feats",
        &[&format!("scp:{script}"), "ark:-"],
        &["range.scp, key 'a'", &format!("'{feats}:4[0:99]': 0:99 is not within 0:19")],
    );
}

#[test]
fn compressed_by_gzip() {
    let folder = Folder::new("hostile-gzip");
    let text = folder.write("feats.txt", feature_text(2));
    assert_eq!(shell(&format!("gzip -k {text}")).status, 0);
    let zipped = folder.path("feats.txt.gz");
    let hint = format!("compressed by gzip; give 'gunzip -c {zipped} |'");
    refused("copy-feats", &[&format!("ark:{zipped}"), "ark:-"], &[&hint]);
    refused("copy-feats", &[&format!("scp:{zipped}"), "ark:-"], &[&hint]);
    refused("nnet3-info", &[&zipped], &[&hint]);
    assert_eq!(run("copy-feats", &[&format!("ark:gunzip -c {zipped} |"), "ark:/dev/null"]).status, 0);
}

#[test]
fn errors_name_the_argument_that_is_wrong() {
    let folder = Folder::new("hostile-arguments");
    let feats = format!("ark:{}", features(&folder, 2));
    let output = shell(&format!("paste-feats ark:- ark:- ark:/dev/null < {}", folder.path("feats.ark")));
    error_line(&output, &["standard input: it is read already; only one of the inputs can be '-'"]);
    refused("copy-feats", &["ark,zz:x", "ark:-"], &["'zz' is not an option"]);
    let net = network(&folder, 1);
    for wrong in ["--print-interval=-1", "--print-interval=0"] {
        refused(
            "nnet3-train",
            &[wrong, "--use-gpu=no", &net, &feats, "x"],
            &[wrong, "expected a number above 0"],
        );
    }
    // Messages repeat only a part of a file's contents.
    let config = folder.write("long.config", format!("component name={}\n", "x".repeat(5_000_000)));
    let line = refused("nnet3-init", &[&config, "/dev/null"], &["bytes more"]);
    assert!(line.len() < 20_000, "{}", line.len());
}

/// Minibatches do not have the keys of utterances: merging says which one does not fit.
#[test]
fn dimensions_within_minibatches() {
    let folder = Folder::new("hostile-dimensions");
    let egs = examples(&folder, 4, &[]);
    let wide =
        feature_text(2).replace("u0", "w0").replace('\n', " 1\n").replace("[ 1", "[").replace("] 1", "]");
    let wide = folder.write("wide.txt", wide);
    let post = folder.read("post.txt").replace("u0", "w0");
    let post = folder.write("wide-post.txt", post);
    let others = folder.path("wide.egs");
    let arguments = ["--num-pdfs=3", "--num-frames=8", "--left-context=1", "--right-context=1"];
    let tables = [format!("ark:{wide}"), format!("ark:{post}"), format!("ark:{others}")];
    let all: Vec<&str> = arguments.iter().copied().chain(tables.iter().map(String::as_str)).collect();
    crate::common::succeed("nnet3-get-egs", &all);
    let (net, out) = (network(&folder, 1), folder.path("1.raw"));
    let pipe = format!("ark:cat {egs} {others} | nnet3-merge-egs --minibatch-size=4 ark:- ark:- |");
    let output = run_on_path("nnet3-train", &["--use-gpu=no", &net, &pipe, &out]);
    error_line(&output, &["merged-"]);
    assert!(
        output.stderr.contains("key 'w00-0': 'input' has dimension 3, and 2 in 'u00-0'"),
        "{}",
        output.stderr
    );
}

#[test]
fn too_little_context() {
    let folder = Folder::new("hostile-context");
    let egs = format!("ark:{}", examples(&folder, 3, &[]));
    let words = [
        "needs 'input' from t=-3 to t=10",
        "has it from t=-1 to t=8",
        "a left context of 3 frames and a right context of 3",
    ];
    let net = network(&folder, 3);
    let merged = format!("ark:nnet3-merge-egs --minibatch-size=2 {egs} ark:- |");
    let output = run_on_path("nnet3-train", &["--use-gpu=no", &net, &merged, &folder.path("1.raw")]);
    error_line(&output, &words);
    let output = run_on_path("nnet3-compute-prob", &[&net, &merged]);
    error_line(&output, &words);
}

/// A network without recurrences is no endless chain, however many layers it has.
#[test]
fn five_thousand_layers() {
    let folder = Folder::new("hostile-layers");
    let mut config = "input-node name=input dim=2\n".to_owned();
    let mut before = "input".to_owned();
    for layer in 0..5000 {
        let name = format!("r{layer}");
        config += &format!("component name={name} type=RectifiedLinearComponent dim=2\n");
        config += &format!("component-node name={name} component={name} input={before}\n");
        before = name;
    }
    config += &format!("output-node name=output input={before}\n");
    let (config, net) = (folder.write("deep.config", config), folder.path("deep.raw"));
    let output = run("nnet3-init", &[&config, &net]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let feats = format!("ark:{}", features(&folder, 1));
    let output = run("nnet3-compute", &["--use-gpu=no", &net, &feats, "ark:/dev/null"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
}
