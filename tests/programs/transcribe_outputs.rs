//! Tests of `nnet3-transcribe` as a person meets it: forms and places of texts, faults that are found before the model is
//! loaded, raw and silent sound, progress.

use std::process::{Command, Stdio};

use crate::command_lines::{fails, output, run};
use crate::common::{self, Folder};
use crate::online_programs::{folder, model_folder};

const U7: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav");

const FORMS: [(&str, &str); 9] = [
    ("txt", "txt"),
    ("json", "json"),
    ("srt", "srt"),
    ("vtt", "vtt"),
    ("ctm", "ctm"),
    ("csv", "csv"),
    ("tsv", "tsv"),
    ("rttm", "rttm"),
    ("textgrid", "TextGrid"),
];

/// The rate and the samples of the recording.
fn samples() -> (u32, Vec<u8>) {
    crate::serve::client::u7()
}

/// A wave of 16 bits.
pub fn wave(rate: u32, samples: &[u8]) -> Vec<u8> {
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + samples.len() as u32).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(rate.to_le_bytes());
    bytes.extend((2 * rate).to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend((samples.len() as u32).to_le_bytes());
    [bytes, samples.to_vec()].concat()
}

#[test]
fn one_recognition_gives_all_forms() {
    let f = folder("all-forms", false);
    let model = model_folder(&f);
    let names: Vec<&str> = FORMS.iter().map(|(name, _)| *name).collect();
    // The ending of one of the forms makes way for those of all; options stand behind recordings.
    let line = format!("nnet3-transcribe {model} {U7} --format={} -o @talk.srt", names.join(","));
    assert_eq!(run(&f, &line).stdout, "");
    output(&f, &format!("nnet3-transcribe {model} --output-dir @each {U7} --format {}", names.join(",")));
    for (name, suffix) in FORMS {
        let alone = run(&f, &format!("nnet3-transcribe --format={name} {model} {U7}"));
        assert_eq!((alone.status, alone.stderr.as_str()), (0, ""), "{name}");
        assert!(alone.stdout.len() > 5, "{name}: {}", alone.stdout);
        assert_eq!(f.read(&format!("talk.{suffix}")), alone.stdout, "{name}");
        assert_eq!(f.read(&format!("each/u7.{suffix}")), alone.stdout, "{name}");
    }
    // The ending of the file names the form; two recordings share a file, whose table has one head.
    output(&f, &format!("nnet3-transcribe {model} {U7} {U7} --output=@two.csv"));
    let table = f.read("two.csv");
    assert_eq!((table.lines().count(), table.matches("file,begin").count()), (3, 1), "{table}");
    let help = run(&f, "nnet3-transcribe --help").stdout;
    for (name, _) in &FORMS[1..] {
        assert!(
            help.contains(&format!("\n                             {name}: "))
                || help.contains(&format!(" {name}: ")),
            "{name}: {help}"
        );
    }
}

#[test]
fn dashes_end_options() {
    let f = folder("dashes", false);
    let model = model_folder(&f);
    let here = f.path("");
    std::fs::copy(U7, f.path("--times.wav")).unwrap();
    let found = Command::new(common::binary("nnet3-transcribe"))
        .args([&model, "--format=ctm", "--", "--times.wav"])
        .current_dir(&here)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.status.success() && text.starts_with("--times 1 0."), "{text} {found:?}");
    let refused = run(&f, &format!("nnet3-transcribe {model} {U7} --tims"));
    assert!(refused.stderr.contains("did you mean --times?"), "{}", refused.stderr);
}

/// The model has no network, which would be an error if it were loaded.
#[test]
fn faults_are_found_before_the_model_is_loaded() {
    let f = folder("early", false);
    let model = model_folder(&f);
    std::fs::remove_file(format!("{model}/am/final.mdl")).unwrap();
    std::fs::create_dir_all(f.path("sounds")).unwrap();
    f.write("empty.wav", "");
    let line = |rest: &str| format!("nnet3-transcribe {model} {rest}");
    fails(&f, 255, &line(U7), &["has no am/final.mdl"]);
    for (recording, words) in [
        ("@nowhere.wav", "No such file"),
        ("@empty.wav", "the file is empty"),
        ("@sounds", "it is a folder: give its recordings ("),
        (
            "https://example.org/a.wav",
            "addresses are not read: give a file, or the command 'curl -sSfL https://",
        ),
    ] {
        let found = run(&f, &line(recording));
        let name = recording.replace('@', &f.path(""));
        assert_eq!(found.status, 1, "{}", found.stderr);
        assert!(
            found.stderr.contains(words)
                && found.stderr.contains(") 1 of 1 files could not")
                && !found.stderr.contains("os error"),
            "{}",
            found.stderr
        );
        let named = found
            .stderr
            .lines()
            .next()
            .unwrap()
            .split("curl")
            .next()
            .unwrap()
            .matches(&format!("{name}: "))
            .count();
        assert_eq!(named, 1, "{}", found.stderr);
        assert!(found.stderr.lines().last().unwrap().starts_with("ERROR ("), "{}", found.stderr);
    }
    std::fs::copy(U7, f.path("own.txt")).unwrap();
    for (rest, words) in [
        (
            format!("{U7} --format=txt,srt"),
            "--format=text,srt: standard output takes one form; --output=FILE",
        ),
        (format!("{U7} {U7} --format=txt,textgrid -o @x"), "--format=textgrid is for one file, found 2"),
        (format!("{U7} -o @x --output-dir=@y"), "--output and --output-dir: expected one of them"),
        (format!("{U7} --output=@no/such/folder/x.srt"), "no/such/folder/x.srt"),
        (format!("{U7} --output-dir=@empty.wav"), "empty.wav: expected a folder, found a file; --output="),
        (format!("{U7} -o @sounds"), "sounds: expected a file, found a folder; --output-dir="),
        (format!("{U7} -o @sounds/"), "sounds/: expected a file, found a folder; --output-dir="),
        (format!("{U7} -o @none.d/"), "none.d/: expected a file, found a folder; --output-dir="),
        (
            format!("{U7} -o @a.docx"),
            "the ending .docx names no form; expected .txt, .json, .srt, .vtt, .ctm, .csv, .tsv, .rttm, .TextGrid, or the form",
        ),
        (format!("{U7} --threads=2"), "Invalid option --threads=2 (did you mean --num-threads?)"),
        ("@own.txt --output=@own.txt".to_owned(), "expected a file to write, found one of the recordings"),
        (format!("{U7} --format=doc"), "expected one of text, json, srt, vtt, ctm, csv, tsv, rttm, textgrid"),
        (format!("{U7} --format=srt --times"), "--times is for --format=text"),
        (format!("{U7} --phrases=@nowhere.txt"), "nowhere.txt"),
        (format!("{U7} --raw=s16le"), "expected CODING,RATE[,CHANNELS]"),
        (
            format!("{U7} --speakers=@nowhere"),
            "/nowhere: expected the folder of a speaker model, but there is no such folder",
        ),
        (
            format!("{U7} --speakers=@own.txt"),
            "own.txt: expected the folder of a speaker model, found a file",
        ),
    ] {
        let found = run(&f, &line(&rest));
        assert!(found.status == 255 && found.stderr.contains(words), "{rest}: {}", found.stderr);
        assert!(!found.stderr.contains("final.mdl"), "{rest}: {}", found.stderr);
    }
    assert_eq!(std::fs::read(f.path("own.txt")).unwrap(), std::fs::read(U7).unwrap());
    // A form that is chosen may have any ending, and a name without one is that of plain text.
    let whole = folder("early-whole", false);
    let model = model_folder(&whole);
    for rest in ["-o @talk", "-o @talk.log --format=text", "-o @talk.text", "-o /dev/null"] {
        let found = run(&whole, &format!("nnet3-transcribe {model} {U7} {rest}"));
        assert_eq!((found.status, found.stderr.as_str()), (0, ""), "{rest}");
    }
    assert!(["talk", "talk.log", "talk.text"].iter().all(|name| whole.read(name).starts_with("u7 w")));
    // The message describes a file that is no recording.
    whole.write("notes.txt", "root:x:0:0:root:/root:/bin/bash\nübung");
    std::fs::write(whole.path("samples.raw"), [0x13u8, 0xfa, 0x07, 0xf1].repeat(4000)).unwrap();
    // A text is told before the model is loaded.
    let found = run(&whole, &format!("nnet3-transcribe {model} @notes.txt"));
    assert!(found.stderr.contains("notes.txt: expected a recording, found a text\n"), "{}", found.stderr);
    assert_eq!(found.status, 1);
    let found = run(&whole, &format!("nnet3-transcribe {model} @samples.raw"));
    let words = "expected a recording, found bytes of no known form (";
    assert!(found.status == 1 && found.stderr.contains(words), "{}", found.stderr);
    assert!(found.stderr.contains("; --raw=CODING,RATE reads samples without a header"), "{}", found.stderr);
    // A file that is no sound is named once, too.
    for rest in [format!("{U7} --channels=3"), "@text.wav".to_owned()] {
        whole.write("text.wav", "no sound at all");
        let found = run(&whole, &format!("nnet3-transcribe {model} {rest}"));
        let name = if rest.starts_with('@') { whole.path("text.wav") } else { U7.to_owned() };
        assert_eq!(found.stderr.matches(&name).count(), 1, "{}", found.stderr);
    }
}

fn piped(f: &Folder, arguments: &[&str], input: &[u8]) -> String {
    let file = f.write("input", input);
    let found = Command::new(common::binary("nnet3-transcribe"))
        .args(arguments)
        .stdin(Stdio::from(std::fs::File::open(file).unwrap()))
        .output()
        .unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    String::from_utf8(found.stdout).unwrap()
}

#[test]
fn live_lines_have_no_name_and_raw_samples_have_the_words_of_the_wave() {
    let f = folder("raw", false);
    let model = model_folder(&f);
    let (rate, samples) = samples();
    let live = piped(&f, &[&model, "-"], &std::fs::read(U7).unwrap());
    assert!(live.starts_with('w'), "{live}");
    let raw = format!("--raw=s16le,{rate}");
    assert_eq!(piped(&f, &[&raw, &model, "-"], &samples), live);
    let swapped: Vec<u8> = samples.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    assert_eq!(piped(&f, &[&format!("--raw=s16be,{rate}"), &model, "-"], &swapped), live);
    // A file of samples has a name, and the words of the wave.
    let file = f.write("u7.raw", &samples);
    let text = output(&f, &format!("nnet3-transcribe {raw} {model} {file}"));
    assert_eq!(text, output(&f, &format!("nnet3-transcribe {model} {U7}")));
    // A command that fails is an error.
    let broken = common::run("nnet3-transcribe", &[&raw, &model, &format!("cat {file}; exit 3 |")]);
    assert!(broken.status == 1 && broken.stderr.contains("exit"), "{}", broken.stderr);
}

/// A rule ends sentences soon. Steps of 0.2 s end the first one at 0.75 s, pieces of 0.05 s at 0.6 s.
#[test]
fn a_file_a_pipe_and_a_command_have_the_same_words() {
    let f = folder("ways-in", false);
    let model = model_folder(&f);
    let settings = std::fs::read_to_string(format!("{model}/conf/model.conf")).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.5\n";
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    let ctm = |text: String| text.replace("stdin ", "u7 ").replace("- 1", "u7 1");
    for file in [U7.to_owned(), U7.replace(".wav", ".flac")] {
        let expected = run(&f, &format!("nnet3-transcribe --format=ctm {model} {file}")).stdout;
        assert!(expected.lines().count() > 1, "{expected}");
        let bytes = std::fs::read(&file).unwrap();
        assert_eq!(ctm(piped(&f, &[&model, "-", "--format=ctm"], &bytes)), expected, "standard input");
        // A command that gives the bytes in one piece, and one that gives them in small ones.
        for command in [format!("cat {file} |"), format!("dd bs=1001 if={file} 2>/dev/null |")] {
            let found = common::run("nnet3-transcribe", &[&model, &command, "--format=ctm"]);
            let words = |text: &str| -> Vec<String> {
                text.lines().map(|line| line.rsplitn(5, ' ').take(4).collect::<Vec<_>>().join(" ")).collect()
            };
            assert_eq!(words(&found.stdout), words(&expected), "{command}: {}", found.stderr);
        }
    }
}

/// A stack of 64 kB ended the program by SIGABRT.
#[test]
fn a_small_stack_is_enough() {
    let f = folder("transcribe-stack", false);
    let model = model_folder(&f);
    let expected = common::run("nnet3-transcribe", &[&model, U7]);
    assert!(expected.status == 0 && expected.stdout.starts_with("u7 w"), "{}", expected.stderr);
    for (program, arguments, stdout) in [
        ("nnet3-transcribe", vec![model.as_str(), U7], Some(expected.stdout)),
        ("nnet3-serve", vec!["--decode", "--print-args=false"], None),
    ] {
        let mut command = Command::new("bash");
        command
            .args(["-c", "ulimit -s 64; exec \"$@\"", "bash"])
            .arg(common::binary(program))
            .args(arguments);
        let found = command.stdin(std::fs::File::open(U7).unwrap()).output().unwrap();
        assert_eq!(found.status.code(), Some(0), "{program}: {}", String::from_utf8_lossy(&found.stderr));
        if let Some(stdout) = stdout {
            assert_eq!(String::from_utf8_lossy(&found.stdout), stdout);
        }
    }
}

#[test]
fn digital_silence_has_no_words() {
    let f = folder("silence", false);
    let model = model_folder(&f);
    // A rule that ends sentences soon, so that there are many.
    let settings = std::fs::read_to_string(format!("{model}/conf/model.conf")).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.3\n";
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    let (rate, speech) = samples();
    let noise: Vec<u8> = (0..2 * rate).flat_map(|i| ((i * 7919 % 601) as i16 - 300).to_le_bytes()).collect();
    let silence: Vec<u8> = (0..3 * rate).flat_map(|i| ((i % 7) as i16 - 3).to_le_bytes()).collect();
    let ctm = |name: &str, parts: &[&[u8]]| {
        let file = f.write(name, wave(rate, &parts.concat()));
        run(&f, &format!("nnet3-transcribe --format=ctm {model} {file}")).stdout
    };
    let begins = |ctm: &str| -> Vec<f64> {
        ctm.lines().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect()
    };
    // The model of the test hears words in anything, but in silence.
    assert!(!begins(&ctm("noise.wav", &[&noise])).is_empty());
    assert_eq!(ctm("silence.wav", &[&silence]), "");
    let seconds = |bytes: &[u8]| bytes.len() as f64 / 2.0 / f64::from(rate);
    let both = begins(&ctm("both.wav", &[&speech, &silence, &noise]));
    let (begin, end) = (seconds(&speech), seconds(&speech) + 3.0);
    assert!(both.iter().any(|&time| time < begin) && both.iter().any(|&time| time > end - 0.2), "{both:?}");
    assert!(!both.iter().any(|&time| time > begin + 0.1 && time < end - 0.3), "{both:?}");
}

/// Runs a command line on a terminal of its own. Returns all that the terminal shows.
fn on_terminal(command: &str, environment: &[(&str, &str)]) -> Option<String> {
    let found = Command::new("script")
        .args(["-qec", command, "/dev/null"])
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&found.stdout).into_owned())
}

#[test]
fn a_terminal_shows_a_bar_and_colours() {
    let f = folder("terminal", false);
    let model = model_folder(&f);
    let (rate, speech) = samples();
    let long = f.write("long.wav", wave(rate, &speech.repeat(8)));
    let program = common::binary("nnet3-transcribe").display().to_string();
    let command = format!("{program} {model} {long} /nowhere.wav -o {}", f.path("text"));
    let began = std::time::Instant::now();
    let Some(shown) = on_terminal(&command, &[]) else {
        eprintln!("the program script is not there: nothing compared");
        return;
    };
    assert!(shown.contains("\x1b[1;33mWARNING\x1b[0m ("), "{shown:?}");
    assert!(shown.contains("░") && shown.contains(" %  ") && shown.contains("/0.1 min"), "{shown:?}");
    let most = 10.0 * began.elapsed().as_secs_f64() + 2.0;
    assert!((shown.matches("/0.1 min").count() as f64) < most, "{shown:?}");
    let plain = on_terminal(&command, &[("NO_COLOR", "1")]).unwrap();
    assert!(plain.contains("WARNING (nnet3-transcribe") && !plain.contains("\x1b[1;33m"), "{plain:?}");
    // Nothing but faults is said without a terminal, and more with --verbose.
    let quiet = run(&f, &format!("nnet3-transcribe {model} {U7}"));
    assert_eq!(quiet.stderr, "");
    let verbose = run(&f, &format!("nnet3-transcribe --verbose=1 {model} {U7}"));
    assert!(verbose.stderr.contains("LOG (nnet3-transcribe"), "{}", verbose.stderr);
}
