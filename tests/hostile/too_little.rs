//! Too little data: counts, and what to change.

use crate::common::{Folder, run};
use crate::data::{FRAMES, error_line, examples, feature_text, shell};

#[test]
fn nothing_to_merge_or_copy() {
    let folder = Folder::new("hostile-little");
    let egs = format!("ark:{}", examples(&folder, 12, &[]));
    let all = run("nnet3-copy-egs", &[&egs, "ark:/dev/null"]).stderr;
    let count: usize = all.split("Read ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let output = run("nnet3-merge-egs", &["--minibatch-size=1024", &egs, "ark:/dev/null"]);
    assert_eq!(output.status, 1);
    let words = format!(
        "none of the {count} examples fits a minibatch: there are at most {count} of a kind, and a minibatch of those \
         takes at least 1024; give a smaller --minibatch-size, such as {count} or 1:{count}"
    );
    error_line(&output, &[&words]);
    assert!(!output.stderr.contains("nan"), "{}", output.stderr);
    let output = run("nnet3-copy-egs", &["--frame=8", &egs, "ark:/dev/null"]);
    assert_eq!(output.status, 1);
    error_line(
        &output,
        &[&format!("none of the {count} examples is left: --frame=8 takes the output frame with t=8")],
    );
}

/// Two utterances are one to train on and one for validation.
#[test]
fn training_on_two_utterances() {
    let folder = Folder::new("hostile-two");
    let feats = folder.write("feats.txt", feature_text(2));
    let targets: String = (0..2).map(|u| format!("u{u:02}{}\n", " 1".repeat(FRAMES))).collect();
    let targets = folder.write("ali.txt", targets);
    let xconfig = folder.write(
        "net.xconfig",
        "input dim=2 name=input\nrelu-batchnorm-layer name=a dim=4\noutput-layer name=output dim=3 input=a\n",
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/train.sh");
    let train = |options: &str| {
        shell(&format!(
            "{script} --use-gpu=no --num-epochs=1 {options} --feats=ark:{feats} --targets=ark:{targets} --xconfig={xconfig} {}",
            folder.path("exp")
        ))
    };
    let output = train("--minibatch-size=256");
    assert_ne!(output.status, 0, "{}", output.stderr);
    let why = "give a smaller --minibatch-size";
    assert!(output.stderr.contains(why), "{}", output.stderr);
}
