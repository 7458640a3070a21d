//! Tests of the options of `nnet3-transcribe` that choose words and channels, and of live sound.

use std::collections::BTreeSet;

use crate::command_lines::{fails, output, run};
use crate::common::{self, Folder, succeed};
use crate::online_programs::{folder, model_folder};
use serde_json::Value;

const U7: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav");

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Makes the folder's graph one of two halves, with a language model of a few of its words.
fn two_halves(f: &Folder, model: &str) {
    let arpa = f.write(
        "lm.arpa",
        "\\data\\\nngram 1=7\n\n\\1-grams:\n-0.6 w2\n-0.6 w3\n-0.6 w4\n-0.6 w5\n-0.9 w6\n-99 <s>\n-0.7 </s>\n\n\\end\\\n",
    );
    let at = |name: &str| format!("{model}/graph/{name}");
    let [sorted, pairs] = [f.path("HCL"), f.path("pairs")];
    succeed("fstarcsort", &["--sort_type=olabel", &at("HCLG.fst"), &sorted]);
    let save = format!("--save_relabel_opairs={pairs}");
    succeed("fstconvert", &["--fst_type=olabel_lookahead", &save, &sorted, &at("HCLr.fst")]);
    let names: String = ["<eps> 0", "<s> 300", "</s> 301", "#0 302"]
        .map(str::to_owned)
        .into_iter()
        .chain((1..200).map(|word| format!("w{word} {word}")))
        .map(|line| line + "\n")
        .collect();
    let words = f.write("names.txt", names);
    let table = format!("--read-symbol-table={words}");
    succeed("arpa2fst", &["--disambig-symbol=#0", &table, &arpa, &f.path("G")]);
    succeed("fstrelabel", &[&format!("--relabel_ipairs={pairs}"), &f.path("G"), &f.path("Gr")]);
    succeed("fstarcsort", &["--sort_type=ilabel", &f.path("Gr"), &f.path("Gr.sorted")]);
    succeed("fstconvert", &["--fst_type=const", &f.path("Gr.sorted"), &at("Gr.fst")]);
    std::fs::write(at("disambig_tid.int"), "").unwrap();
    std::fs::remove_file(at("HCLG.fst")).unwrap();
}

#[test]
fn phrases_alone_are_recognised() {
    let f = folder("phrases", false);
    let model = model_folder(&f);
    let file = f.write("phrases", "w2 w3\n\nw5\n[unk]\nzebra w3\nzebra\n");
    let line = format!("nnet3-transcribe --phrases={file} {model} {U7}");
    fails(&f, 255, &line, &["--phrases=", "a graph of two halves", "make_graph.sh --look-ahead=true"]);
    two_halves(&f, &model);
    let words = |text: &str| -> Vec<String> { text.split_whitespace().skip(1).map(str::to_owned).collect() };
    let all = words(&output(&f, &format!("nnet3-transcribe {model} {U7}")));
    assert!(all.iter().any(|word| !["w2", "w3", "w5"].contains(&word.as_str())), "{all:?}");
    let found = run(&f, &line);
    let chosen = words(&found.stdout);
    assert!(!chosen.is_empty() && chosen.iter().all(|word| ["w2", "w3", "w5"].contains(&word.as_str())));
    for message in [
        "phrases, line 4: the word '[unk]' stands for a word that the model lacks: phrases with it are left out",
        "phrases, line 5 and 1 more: the word 'zebra' is not in the vocabulary of the model: phrases with it are left out",
    ] {
        assert!(found.stderr.contains(message), "{}", found.stderr);
    }
    // A phrase with such a word is none without it: the one of line 5 would be the likeliest else.
    f.write("phrases", "w2 w3\nzebra w9\n");
    let chosen = words(&run(&f, &line).stdout);
    assert!(!chosen.is_empty() && !chosen.contains(&"w9".to_owned()), "{chosen:?}");
    f.write("phrases", "zebra w3\n");
    fails(&f, 255, &line, &["no phrase is left: each has a word that the model cannot recognise"]);
    f.write("phrases", "w2\nW3\n");
    let output = crate::command_lines::run(&f, &line);
    let hint = "phrases, line 2: the word 'W3' is recognised as 'w3', which the model has";
    assert!(output.stderr.contains(hint), "{}", output.stderr);
    f.write("phrases", "zebra\n");
    fails(&f, 255, &line, &["has no word of the phrases, which have 'zebra'"]);
    f.write("phrases", b"w2\nw\xff\n");
    fails(&f, 255, &line, &["line 2: expected a phrase in UTF-8"]);
    fails(&f, 255, &line.replace(&file, "@nowhere"), &["nowhere"]);
}

#[test]
fn several_texts_and_unsure_words() {
    let f = folder("alternatives", false);
    let model = model_folder(&f);
    let settings = std::fs::read_to_string(format!("{model}/conf/model.conf")).unwrap();
    let settings = settings
        .replace("acoustic-scale=1.0", "acoustic-scale=0.05")
        .replace("lattice-beam=6", "lattice-beam=12");
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    let with = |options: &str| output(&f, &format!("nnet3-transcribe {options} {model} {U7}"));
    let plain = json(&with("--format=json"));
    let several = json(&with("--format=json --alternatives=4"));
    let texts = several["segments"][0]["alternatives"].as_array().unwrap().clone();
    assert_eq!((texts.len(), &several["text"]), (4, &plain["text"]));
    let number = |text: &Value, name: &str| text[name].as_f64().unwrap();
    assert!(texts.is_sorted_by(|a, b| number(a, "confidence") >= number(b, "confidence")), "{texts:?}");
    assert!(texts.iter().map(|text| number(text, "probability")).sum::<f64>() <= 1.002, "{texts:?}");
    let lines = run(&f, &format!("nnet3-transcribe --alternatives=4 {model} {U7}")).stdout;
    for (rank, (line, text)) in (1..).zip(lines.lines().zip(&texts)) {
        let begin = format!("u7 0.00 {rank} {:.3} ", number(text, "probability"));
        assert_eq!(line, begin + text["text"].as_str().unwrap());
    }
    let refused = |options: &str, words: &str| {
        fails(&f, 255, &format!("nnet3-transcribe {options} {model} {U7}"), &[words]);
    };
    refused("--alternatives=3 --format=srt", "--alternatives is for --format=text and --format=json");
    refused("--alternatives=-1", "--alternatives=-1: expected a number from 0 to 1000");
    refused("--min-confidence=1.5", "--min-confidence=1.5: expected a number from 0 to 1");
    refused("--min-confidence=nan", "--min-confidence=nan is not a number");

    let words = plain["segments"][0]["words"].as_array().unwrap().clone();
    let most = words.iter().map(|word| number(word, "conf")).fold(0.0, f64::max);
    assert_eq!(
        with(&format!("--min-confidence={}", most - 0.01)),
        format!("u7 {}", plain["text"].as_str().unwrap())
    );
    assert_eq!(with(&format!("--min-confidence={}", most + 0.01)), "u7");
}

/// A wave with these channels of 16-bit samples, at 8000 Hz.
fn wave(channels: &[Vec<i16>]) -> Vec<u8> {
    let count = channels.len() as u16;
    let mut bytes = Vec::new();
    for i in 0..channels[0].len() {
        channels.iter().for_each(|channel| bytes.extend(channel[i].to_le_bytes()));
    }
    let mut out = b"RIFF".to_vec();
    out.extend((36 + bytes.len() as u32).to_le_bytes());
    out.extend(b"WAVEfmt \x10\0\0\0\x01\0");
    out.extend(count.to_le_bytes());
    out.extend(16_000u32.to_le_bytes());
    out.extend((32_000 * u32::from(count)).to_le_bytes());
    out.extend((2 * count).to_le_bytes());
    out.extend(b"\x10\0data");
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
    out
}

fn samples() -> Vec<i16> {
    let bytes = std::fs::read(U7).unwrap();
    bytes[44..].chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
}

#[test]
fn channels_of_a_call() {
    let f = folder("call", false);
    let model = model_folder(&f);
    let (u7, silence) = (samples(), vec![0; samples().len()]);
    let words = |text: &str| text.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    let mono = f.write("mono.wav", wave(std::slice::from_ref(&u7)));
    let expected = words(&output(&f, &format!("nnet3-transcribe {model} {mono}")));
    // One channel after the other: the second one begins with a second of silence.
    let later: Vec<i16> = silence.iter().chain(&u7).copied().collect();
    let earlier: Vec<i16> = u7.iter().chain(&silence).copied().collect();
    let call = f.write("call.wav", wave(&[later, earlier]));
    let each = |options: &str| run(&f, &format!("nnet3-transcribe --channels=each {options} {model} {call}"));
    let second = words(&output(&f, &format!("nnet3-transcribe --channels=2 {model} {call}")));
    let first = words(&output(&f, &format!("nnet3-transcribe --channels=1 {model} {call}")));
    let object = json(&each("--format=json").stdout);
    let segments = object["segments"].as_array().unwrap();
    let of_channel = |channel: u64| -> String {
        let texts = segments.iter().filter(|segment| segment["channel"] == channel);
        texts.map(|segment| segment["text"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((of_channel(1), of_channel(2)), (first.clone(), second.clone()));
    assert!(segments.is_sorted_by(|a, b| a["start"].as_f64() <= b["start"].as_f64()));
    let text = each("").stdout;
    assert!(text.contains("call Channel 1: ") && text.contains("call Channel 2: "), "{text}");
    let ctm = each("--format=ctm").stdout;
    let count = |channel: &str| ctm.lines().filter(|line| line.starts_with(channel)).count();
    assert_eq!(count("call 1 "), first.split(' ').count());
    assert_eq!(count("call 2 "), second.split(' ').count());
    assert!(each("--format=vtt").stdout.contains("<v Channel 2>"));

    let quiet = f.write("quiet.wav", wave(&[silence, u7]));
    let found = run(&f, &format!("nnet3-transcribe {model} {quiet}"));
    let warning =
        "quiet.wav: channel 1 is silent, but channel 2 is not; see --channels (--channels=2 takes that one)";
    assert!(found.status == 0 && found.stderr.contains(warning), "{}", found.stderr);
    assert!(found.stderr.contains("the first of 2 channels is taken"), "{}", found.stderr);
    let chosen = run(&f, &format!("nnet3-transcribe --channels=2 {model} {quiet}"));
    assert_eq!(words(&chosen.stdout), expected);
    assert!(!chosen.stderr.contains("silent"), "{}", chosen.stderr);
}

/// The word for anything unknown is left out, or another one stands for it, in all forms.
#[test]
fn the_unknown_word_can_be_left_out_or_replaced() {
    let f = folder("unknown", false);
    let model = model_folder(&f);
    let plain = output(&f, &format!("nnet3-transcribe {model} {U7}"));
    let words: Vec<&str> = plain.split(' ').skip(1).collect();
    let unknown = words[0];
    let others: Vec<&str> = words.iter().copied().filter(|word| *word != unknown).collect();
    let file = format!("{model}/graph/words.txt");
    let names = std::fs::read_to_string(&file).unwrap();
    for name in ["<unk>", "[unk]", "<UNK>"] {
        std::fs::write(&file, names.replace(&format!("{unknown} "), &format!("{name} "))).unwrap();
        let text = |options: &str| output(&f, &format!("nnet3-transcribe {options} {model} {U7}"));
        assert_eq!(text("").matches(name).count(), words.len() - others.len());
        assert_eq!(text("--unknown="), format!("u7 {}", others.join(" ")).trim_end());
        for format in ["json", "srt", "vtt", "ctm", "csv", "tsv", "textgrid"] {
            let with = |option: &str| text(&format!("--format={format} {option}"));
            let escaped = if format == "vtt" {
                name.replace('<', "&lt;").replace('>', "&gt;")
            } else {
                name.to_owned()
            };
            let (before, left, other) = (with(""), with("--unknown="), with("--unknown=(noise)"));
            assert!(before.contains(&escaped) && !left.contains(&escaped), "{format}: {left}");
            assert_eq!(other, before.replace(&escaped, "(noise)"), "{format}");
        }
        let all = text("--alternatives=3 --unknown=");
        assert!(text("--alternatives=3").contains(name) && !all.contains(name), "{all}");
    }
    // A text of this word alone has a warning.
    let warned = |text: &str| {
        std::fs::write(&file, text).unwrap();
        run(&f, &format!("nnet3-transcribe {model} {U7}"))
            .stderr
            .contains("u7.wav: the text has no word but the one for sounds")
    };
    let said: BTreeSet<&str> = words.iter().copied().collect();
    let unknown_ones = ["<unk>", "[unk]", "<UNK>"];
    assert!(said.len() <= unknown_ones.len(), "{said:?}");
    let all_unknown = said.iter().zip(unknown_ones).fold(names.clone(), |names, (word, unknown)| {
        names.replace(&format!("{word} "), &format!("{unknown} "))
    });
    assert!(!warned(&names) && warned(&all_unknown));
    std::fs::write(&file, &names).unwrap();
    let wrong = common::run("nnet3-transcribe", &["--unknown=a b", &model, U7]);
    let why = "--unknown=\"a b\": expected a word without blanks";
    assert!(wrong.status == 255 && wrong.stderr.contains(why), "{}", wrong.stderr);
}

/// Sentences of live sound come one by one, as objects.
#[test]
fn live_sentences_are_objects() {
    let f = folder("live-json", false);
    let model = model_folder(&f);
    let settings = std::fs::read_to_string(format!("{model}/conf/model.conf")).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.5\n";
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    let pipe = format!("cat {U7} |");
    let found = common::run("nnet3-transcribe", &["--format=json", &model, &pipe]);
    let objects: Vec<Value> = found.stdout.lines().map(json).collect();
    assert!(objects.len() > 1, "{}", found.stdout);
    let texts: Vec<&str> = objects.iter().map(|object| object["text"].as_str().unwrap()).collect();
    assert!(objects.iter().all(|object| object["file"] == pipe.as_str() && object["words"].is_array()));
    let lines = common::run("nnet3-transcribe", &[&model, &pipe]).stdout;
    let shown: Vec<&str> =
        lines.lines().map(|line| line.split_once("|_ ").map_or(line, |(_, text)| text)).collect();
    let without_name: Vec<String> = shown
        .iter()
        .map(|line| line.split(' ').filter(|word| word.starts_with('w')).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(without_name, texts);
}

/// A client that speaks in real time has each text within 0.3 s after the endpoint of its sentence. (A busy machine makes
/// some texts late, so the soonest counts.)
#[test]
fn live_sentences_come_soon() {
    use std::io::{BufRead, Write};
    use std::time::{Duration, Instant};

    use nnet3_online::{Model, ModelOptions, Recognizer, State};

    let f = folder("live-soon", false);
    let model = model_folder(&f);
    let settings = std::fs::read_to_string(format!("{model}/conf/model.conf")).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.8\n";
    std::fs::write(format!("{model}/conf/model.conf"), settings).unwrap();
    let sound = samples().repeat(5);
    // The moments, in seconds of sound, at which pieces of 0.1 s complete sentences.
    let opened = Model::open(&model, &ModelOptions::default()).unwrap();
    let mut recognizer = Recognizer::new(&opened, 16000.0, opened.options()).unwrap();
    let mut endpoints = Vec::new();
    for (i, piece) in sound.chunks(1600).enumerate() {
        let piece: Vec<f32> = piece.iter().map(|&sample| sample.into()).collect();
        if let State::Endpoint { .. } = recognizer.accept(&piece).unwrap()
            && !recognizer.result().unwrap().words.is_empty()
        {
            endpoints.push((i + 1) as f64 * 0.1);
        }
    }
    assert!(endpoints.len() > 2, "{endpoints:?}");
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_nnet3"))
        .args(["nnet3-transcribe", "--format=json", &model, "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut input = program.stdin.take().unwrap();
    let output = std::io::BufReader::new(program.stdout.take().unwrap());
    let bytes = wave(&[sound]);
    let began = Instant::now();
    let feeding = std::thread::spawn(move || {
        let (header, samples) = bytes.split_at(44);
        input.write_all(header).unwrap();
        for (i, piece) in samples.chunks(3200).enumerate() {
            // A piece is there when it has been spoken.
            let spoken = Duration::from_secs_f64((i + 1) as f64 * 0.1);
            std::thread::sleep(spoken.saturating_sub(began.elapsed()));
            input.write_all(piece).unwrap();
            input.flush().unwrap();
        }
    });
    let arrivals: Vec<f64> = output
        .lines()
        .map(|line| {
            assert!(json(&line.unwrap())["words"].is_array());
            began.elapsed().as_secs_f64()
        })
        .collect();
    feeding.join().unwrap();
    assert!(program.wait().unwrap().success());
    assert!(arrivals.len() >= endpoints.len(), "{arrivals:?} {endpoints:?}");
    let delays: Vec<f64> = arrivals.iter().zip(&endpoints).map(|(arrival, end)| arrival - end).collect();
    let soonest = delays.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((0.0..0.5).contains(&soonest), "{delays:?}");
}

/// `scripts/transcribe_many.sh` goes on after a failure, and does what is missing when it is started again.
#[test]
fn many_recordings() {
    let f = folder("many", false);
    let model = model_folder(&f);
    let bytes = std::fs::read(U7).unwrap();
    for part in ["a", "b"] {
        std::fs::create_dir_all(f.path(part)).unwrap();
    }
    let [one, two, three] = ["a/x.wav", "b/x.wav", "b/y z.wav"].map(|name| f.write(name, &bytes));
    let bad = f.write("bad.wav", &bytes[..10]);
    let list = f.write("list", format!("{one}\n{two}\n{bad}\ncall\t{three}\n"));
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_nnet3")).parent().unwrap().to_owned();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/transcribe_many.sh");
    let out = f.path("out");
    let many = |options: &[&str]| {
        let done = std::process::Command::new("bash")
            .arg(script)
            .args(options)
            .args([&format!("--model={model}"), "--nj=2", "--batch=2", &list, &out])
            .env("PATH", &path)
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let (status, log) = many(&[]);
    assert_eq!(status, Some(1), "{log}");
    assert!(
        log.contains("no text: 1 recording, see") && log.contains("has a fault that would stay: tried once"),
        "{log}"
    );
    assert!(!log.contains("try 2"), "{log}");
    assert_eq!(f.read("out/failed"), format!("bad\t{bad}\n"));
    let words = output(&f, &format!("nnet3-transcribe {model} {U7}"));
    let words = words.split_once(' ').unwrap().1;
    assert_eq!(f.read("out/text"), format!("x {words}\nx-2 {words}\ncall {words}\n"));

    // Texts that are there stay.
    f.write("out/texts/x.txt", "x mine\n");
    f.write("bad.wav", &bytes);
    let (status, log) = many(&[]);
    assert_eq!(status, Some(0), "{log}");
    assert_eq!(f.read("out/text"), format!("x mine\nx-2 {words}\nbad {words}\ncall {words}\n"));
    assert_eq!(f.read("out/failed"), "");
    let (status, log) = many(&["--format=json"]);
    assert!(status == Some(1) && log.contains("has texts by another model or of other options"), "{log}");
}
