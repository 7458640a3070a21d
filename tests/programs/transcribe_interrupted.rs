//! Tests of `nnet3-transcribe` for long recordings: sentences that are written as they come, and signals in the middle.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::command_lines::{fails, run};
use crate::common::{Folder, binary};
use crate::online_programs::{folder, model_folder};
use crate::serve::client::u7;
use crate::transcribe_outputs::wave;

const U7: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav");

/// A model whose sentences last a second.
fn with_short_sentences(f: &Folder) -> String {
    let model = model_folder(f);
    let file = format!("{model}/conf/model.conf");
    let settings = std::fs::read_to_string(&file).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.5\n";
    std::fs::write(&file, settings).unwrap();
    model
}

/// The words of lines of text.
fn words(text: &str) -> Vec<&str> {
    let is_word = |word: &&str| word.strip_prefix('w').is_some_and(|rest| rest.parse::<u32>().is_ok());
    text.split_whitespace().filter(is_word).collect()
}

#[test]
fn sentences_of_a_file_come_when_the_user_asks() {
    let f = folder("as-it-comes", false);
    let model = with_short_sentences(&f);
    let (rate, sound) = u7();
    f.write("a.wav", wave(rate, &sound));
    f.write("quiet.wav", wave(rate, &vec![0; sound.len()]));
    let text = |options: &str| {
        let found = run(&f, &format!("nnet3-transcribe {options} {model} @quiet.wav {U7} @a.wav"));
        assert_eq!(found.status, 0, "{options}: {}", found.stderr);
        found.stdout
    };
    let (whole, lines) = (text(""), text("--as-it-comes"));
    assert_eq!(words(&lines), words(&whole));
    assert!(whole.lines().count() == 3 && lines.lines().count() > 4, "{whole}{lines}");
    assert!(lines.starts_with("quiet\nu7 w") && lines.contains("\na w"), "{lines}");
    // A recording has its lines in these forms, so nothing changes but the time. A table has one head.
    for options in ["--times", "--format=ctm", "--format=csv", "--format=tsv", "--format=rttm"] {
        assert_eq!(text(&format!("--as-it-comes {options}")), text(options), "{options}");
    }
    for line in text("--as-it-comes --format=json").lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(object["words"].is_array() && object["file"].is_string(), "{line}");
    }
    for (options, why) in [
        (
            "-o @out",
            "--as-it-comes is for standard output: files of --output and --output-dir appear when they are whole",
        ),
        ("--output-dir @out", "--as-it-comes is for standard output"),
        ("--format=srt --output-dir @out", "--as-it-comes is for standard output"),
        ("--num-threads=2", "so it needs --num-threads=1"),
        ("--format=ctm --channels=each", "one channel after the other"),
    ] {
        fails(&f, 255, &format!("nnet3-transcribe --as-it-comes {options} {model} {U7} @a.wav"), &[why]);
    }
    let line = format!("nnet3-transcribe --as-it-comes --format=vtt {model} {U7}");
    fails(&f, 255, &line, &["expected --format=text|json|ctm|csv|tsv|rttm, found --format=vtt"]);
}

/// The program, reading samples from standard input.
fn start(f: &Folder, options: &[&str], paths: &[&str]) -> Child {
    let errors = std::fs::File::create(f.path("said")).unwrap();
    // (A test may run in the background, where SIGINT is ignored.)
    Command::new("env")
        .arg("--default-signal=INT")
        .arg(binary("nnet3-transcribe"))
        .args(options)
        .args(paths)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Says more than a pipe takes, and goes on listening: once this returns, a part of it has been recognised or will be.
fn say_much(child: &mut Child) {
    let (_, sound) = u7();
    child.stdin.as_mut().unwrap().write_all(&sound.repeat(40)).unwrap();
}

/// The number of the signal that ended the program, and its text.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    (child.wait().unwrap().signal(), text)
}

/// Reads a line, and nothing behind it.
fn first_line(output: &mut impl Read) -> String {
    let (mut line, mut byte) = (Vec::new(), [0]);
    loop {
        output.read_exact(&mut byte).unwrap();
        if byte == *b"\n" {
            return String::from_utf8(line).unwrap();
        }
        line.extend(byte);
    }
}

#[test]
fn a_signal_loses_no_text() {
    let f = folder("interrupted", false);
    let model = with_short_sentences(&f);
    let raw = format!("--raw=s16le,{}", u7().0);
    for (name, number, full) in [("INT", 2, "SIGINT"), ("TERM", 15, "SIGTERM")] {
        // A sentence is printed when it ends; what follows it comes with the signal. No end of the input is needed.
        let mut child = start(&f, &[&raw], &[&model, "-"]);
        say_much(&mut child);
        let input = child.stdin.take();
        let first = first_line(child.stdout.as_mut().unwrap());
        signal(&child, name);
        let (by, rest) = ended(child);
        drop(input);
        let said = f.read("said");
        assert_eq!(by, Some(number), "{said}");
        assert!(!words(&first).is_empty() && !words(&rest).is_empty(), "{first}{rest}");
        assert!(said.contains(&format!("-: {full} stopped the recognition at ")), "{said}");
        assert!(said.contains(": its text up to there was written"), "{said}");
        assert!(
            said.contains(&format!("ended by {full}: 0 of 1 recordings have their whole text")),
            "{said}"
        );
    }
}

#[test]
fn a_signal_leaves_whole_files_and_names_the_others() {
    let f = folder("interrupted-files", false);
    let model = with_short_sentences(&f);
    let raw = format!("--raw=s16le,{}", u7().0);
    let (_, sound) = u7();
    let whole = f.write("whole.raw", &sound);
    let out = f.path("out");
    let to = format!("--output-dir={out}");
    let lattices = format!("--lattices={}", f.path("kept"));
    let mut child = start(&f, &[&raw, &to, &lattices, "--format=txt,srt"], &[&model, &whole, "-", &whole]);
    say_much(&mut child);
    signal(&child, "TERM");
    let (by, text) = ended(child);
    let said = f.read("said");
    assert_eq!((by, text.as_str()), (Some(15), ""), "{said}");
    let names = |folder: &str| {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let written = names(&out);
    assert_eq!(written.len(), 4, "{written:?} {said}");
    assert!(
        written.contains(&"stdin.txt.incomplete".to_owned())
            && written.contains(&"stdin.srt.incomplete".to_owned())
    );
    let part = f.read("out/stdin.txt.incomplete");
    assert!(!words(&part).is_empty(), "{part}");
    let message =
        format!("its text up to there is in {out}/stdin.txt.incomplete, {out}/stdin.srt.incomplete");
    assert!(said.contains(&message) && said.contains("ended by SIGTERM: 1 of 3 recordings"), "{said}");
    assert!(said.contains("kept/stdin.lat was not written"), "{said}");
    assert!(!names(&f.path("kept")).contains(&"stdin.lat".to_owned()));

    // A file for all recordings is not whole either. A later call that is gets rid of the part.
    let all = f.path("all.csv");
    let mut child = start(&f, &[&raw, "-o", &all], &[&model, &whole, "-"]);
    say_much(&mut child);
    signal(&child, "INT");
    assert_eq!(ended(child).0, Some(2));
    let said = f.read("said");
    assert!(
        said.contains(&format!(
            "{all} was not written: it would lack texts; those so far are in {all}.incomplete"
        )),
        "{said}"
    );
    let part = f.read("all.csv.incomplete");
    assert!(part.starts_with("file,begin") && part.contains("\nwhole,") && part.contains("\n-,"), "{part}");
    assert!(!Path::new(&all).exists());
    let done = run(&f, &format!("nnet3-transcribe {raw} -o @all.csv {model} {whole}"));
    assert!(done.status == 0 && Path::new(&all).exists(), "{}", done.stderr);
    assert!(!Path::new(&f.path("all.csv.incomplete")).exists());
}
