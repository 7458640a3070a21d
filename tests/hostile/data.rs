//! Small data, and runs that are expected to fail.

use std::process::Command;

use crate::common::{Folder, Output, binary, run, succeed};

/// Frames of each utterance of [`features`].
pub const FRAMES: usize = 20;

/// Utterances `u00`, `u01`, … with two values a frame, as text.
pub fn feature_text(utterances: usize) -> String {
    let mut text = String::new();
    for utterance in 0..utterances {
        text += &format!("u{utterance:02}  [\n");
        for t in 0..FRAMES {
            let angle = (utterance * 7 + t) as f64 * 0.3;
            text += &format!("  {:.4} {:.4}\n", angle.sin(), angle.cos());
        }
        text += " ]\n";
    }
    text
}

/// An archive of [`feature_text`] in binary; its path.
pub fn features(folder: &Folder, utterances: usize) -> String {
    let text = folder.write("feats.txt", feature_text(utterances));
    let archive = folder.path("feats.ark");
    succeed("copy-feats", &[&format!("ark:{text}"), &format!("ark:{archive}")]);
    archive
}

/// Posteriors of three classes for [`features`]; the path of a text archive.
pub fn posteriors(folder: &Folder, utterances: usize) -> String {
    let line = |utterance| {
        let frames: String = (0..FRAMES).map(|t| format!(" [ {} 1 ]", t % 3)).collect();
        format!("u{utterance:02}{frames}\n")
    };
    folder.write("post.txt", (0..utterances).map(line).collect::<String>())
}

/// Examples of eight frames with a context of one; the path of an archive. `options` are those of nnet3-get-egs.
pub fn examples(folder: &Folder, utterances: usize, options: &[&str]) -> String {
    let (feats, post) = (features(folder, utterances), posteriors(folder, utterances));
    let egs = folder.path("egs.ark");
    let tables = [format!("ark:{feats}"), format!("ark:{post}"), format!("ark:{egs}")];
    let mut arguments = vec!["--num-pdfs=3", "--num-frames=8", "--left-context=1", "--right-context=1"];
    arguments.extend(options);
    arguments.extend(tables.iter().map(String::as_str));
    succeed("nnet3-get-egs", &arguments);
    egs
}

/// A network for [`examples`] that needs `context` frames on each side; its path.
pub fn network(folder: &Folder, context: usize) -> String {
    let config = folder.write(
        &format!("net{context}.config"),
        format!(
            "input-node name=input dim=2\n\
             component name=a type=NaturalGradientAffineComponent input-dim=6 output-dim=4\n\
             component name=b type=BatchNormComponent dim=4\n\
             component name=c type=NaturalGradientAffineComponent input-dim=4 output-dim=3\n\
             component name=d type=LogSoftmaxComponent dim=3\n\
             component-node name=a component=a input=Append(Offset(input,-{context}),input,Offset(input,{context}))\n\
             component-node name=b component=b input=a\n\
             component-node name=c component=c input=b\n\
             component-node name=d component=d input=c\n\
             output-node name=output input=d objective=linear\n"
        ),
    );
    let raw = folder.path(&format!("net{context}.raw"));
    succeed("nnet3-init", &["--srand=1", &config, &raw]);
    raw
}

/// Runs a program with ours on the PATH.
pub fn run_on_path(program: &str, arguments: &[&str]) -> Output {
    let own = binary(program).parent().unwrap().display().to_string();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap());
    outcome(Command::new(binary(program)).args(arguments).env("PATH", path))
}

/// Runs a shell command with our programs on the PATH.
pub fn shell(command: &str) -> Output {
    let own = binary("copy-feats").parent().unwrap().display().to_string();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap());
    outcome(Command::new("bash").args(["-c", command]).env("PATH", path))
}

/// Runs a command.
pub fn outcome(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// The one ERROR line of a failure, which must have all these words.
#[track_caller]
pub fn error_line(output: &Output, words: &[&str]) -> String {
    let errors: Vec<&str> = output.stderr.lines().filter(|line| line.starts_with("ERROR (")).collect();
    assert_ne!(output.status, 0, "{}", output.stderr);
    let [line] = errors[..] else { panic!("{} ERROR lines: {}", errors.len(), output.stderr) };
    for word in words {
        assert!(
            output.stderr[output.stderr.find(line).unwrap()..].contains(word),
            "no '{word}': {}",
            output.stderr
        );
    }
    line.to_owned()
}

/// Runs what must fail with status 255 and one ERROR line with these words.
#[track_caller]
pub fn refused(program: &str, arguments: &[&str], words: &[&str]) -> String {
    let output = run(program, arguments);
    assert_eq!(output.status, 255, "{}", output.stderr);
    error_line(&output, words)
}
