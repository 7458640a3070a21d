//! The programs that Home Assistant's speech-to-phrase calls after it has heard a sentence: samples on standard input, a lattice in
//! a temporary file, the best sentences, and their match with a graph of phrases from which words may be left out.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::process::{Command, Stdio};

use crate::command_lines::{fails, output};
use crate::common::{Folder, Output, binary};
use crate::online_programs::{folder, model_folder};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
const SCALES: &str = "--max-active=7000 --lattice-beam=8.0 --acoustic-scale=1.0 --beam=24.0 --frame-subsampling-factor=3 \
     --frames-per-chunk=15";

/// Runs a command of the shell with our programs first on the PATH.
fn shell(f: &Folder, command: &str, input: &[u8]) -> Output {
    let own = binary("nnet3").parent().unwrap().display().to_string();
    let mut child = Command::new("bash")
        .args(["-c", &format!("set -o pipefail; {}", command.replace('@', &f.path("")))])
        .env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap_or_default()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // (A program that refuses its options reads nothing.)
    let _refused = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

fn recognize(options: &str) -> String {
    format!(
        "online2-cli-nnet3-decode-faster --config=@online.conf {SCALES} {options} @model @HCLG.fst \
         @folder/graph/words.txt ark:@lattice"
    )
}

fn samples() -> Vec<u8> {
    std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap()[44..].to_vec()
}

fn ready(name: &str, ivectors: bool) -> Folder {
    let f = folder(name, ivectors);
    model_folder(&f);
    f.write("online.conf", format!("--mfcc-config={}\n--endpoint.silence-phones=1:2\n", f.path("mfcc.conf")));
    f.write("wav.scp", format!("utt {DATA}/sound/u7.wav\n"));
    f.write("spk2utt", "utt utt\n");
    f
}

/// The lattice is that of the program for waves in pieces of as many samples, also with i-vectors, which depend on the pieces.
#[test]
fn samples_on_standard_input_give_the_lattice_of_the_wave() {
    for (name, ivectors) in [("lattice", false), ("lattice-ivectors", true)] {
        let f = ready(name, ivectors);
        let more = if ivectors { "--ivector-extraction-config=@ivector.conf" } else { "" };
        let seen = shell(&f, &recognize(more), &samples());
        assert_eq!(seen.status, 0, "{}", seen.stderr);
        assert!(seen.stderr.contains("\nutt "), "{}", seen.stderr);
        output(
            &f,
            &format!(
                "online2-wav-nnet3-latgen-faster --config=@online.conf {SCALES} {more} --chunk-length=0.064 @model \
                 @HCLG.fst ark:@spk2utt scp:@wav.scp ark:@expected"
            ),
        );
        assert!(f.read_bytes("lattice") == f.read_bytes("expected"), "{name}");
    }
}

#[test]
fn faults_of_samples_are_told() {
    let f = ready("faults", false);
    let none = shell(&f, &recognize(""), &[]);
    assert_eq!(none.status, 1, "{}", none.stderr);
    assert!(none.stderr.contains("standard input has 0 samples, too few for a frame"), "{}", none.stderr);
    let odd = shell(&f, &recognize(""), &samples()[..20_001]);
    assert_eq!(odd.status, 0, "{}", odd.stderr);
    assert!(odd.stderr.contains("standard input has 20001 bytes, an odd number"), "{}", odd.stderr);
    let wave = shell(&f, &recognize(""), &std::fs::read(format!("{DATA}/sound/u7.wav")).unwrap());
    assert!(wave.stderr.contains("standard input begins with 'RIFF'"), "{}", wave.stderr);
    // Before any sound comes.
    fails(&f, 255, &recognize("--samp-freq=-8000"), &["--samp-freq=-8000: expected from 1000 to 192000"]);
    fails(&f, 255, &recognize("--samp-freq=8000"), &["16000", "8000", "mismatch"]);
}

/// The phrase is the third sentence with one word less: two penalties of the third sentence, and one of the word.
#[test]
fn the_chain_of_programs_finds_the_phrase() {
    let f = ready("chain", false);
    // The client has a temporary file open, and reads the lattice's bytes by this handle.
    let path = f.write("lattice", "");
    let mut open = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let scaled = recognize("").replace("--acoustic-scale=1.0", "--acoustic-scale=0.2");
    assert_eq!(shell(&f, &scaled, &samples()).status, 0);
    let mut bytes = Vec::new();
    open.rewind().and_then(|()| open.read_to_end(&mut bytes)).unwrap();
    assert!(!bytes.is_empty() && bytes == f.read_bytes("lattice"));
    drop::<File>(open);
    let nbest = "lattice-to-nbest --n=3 --acoustic-scale=0.9 ark:@lattice ark:- | \
                 nbest-to-linear ark:- ark:/dev/null ark,t:-";
    let nbest = shell(&f, nbest, &[]);
    assert_eq!(nbest.status, 0, "{}", nbest.stderr);
    let lines: Vec<Vec<&str>> = nbest.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let names: Vec<&str> = lines.iter().map(|line| line[0]).collect();
    assert!(names == ["utt-1", "utt-2", "utt-3"] && lines.iter().all(|line| line.len() == 2), "{lines:?}");
    // The phrase is the third sentence; loops leave words out.
    let (third, extra) = (lines[2][1], lines[0][1]);
    let mut text = format!("0 1 w{third} said\n1\n");
    for (state, word) in (0..2).flat_map(|state| (0..200).map(move |word| (state, word))) {
        text += &format!("{state} {state} w{word} <eps> 1.0\n");
    }
    f.write("fuzzy.txt", text);
    let mut symbols: String =
        (0..200).map(|word| format!("w{word} {}\n", if word == 0 { 200 } else { word })).collect();
    symbols += "<eps> 0\n";
    symbols += "said 300\n";
    f.write("symbols", symbols);
    let compile = "fstcompile --isymbols=@symbols --osymbols=@symbols --keep_isymbols=true --keep_osymbols=true @fuzzy.txt - | \
                   fstarcsort --sort_type=ilabel - @fuzzy.fst";
    let compiled = shell(&f, compile, &[]);
    assert_eq!(compiled.status, 0, "{}", compiled.stderr);
    // All sentences, with a word behind each; each word of a later sentence costs 0.1 more.
    let mut acceptor = String::new();
    for (number, words) in lines.iter().map(|line| [line[1], extra]).enumerate() {
        let (middle, penalty) = (1 + 2 * number, 0.1 * number as f64);
        let [first, second] = words;
        acceptor += &format!("0 {middle} {first} {first} {penalty}\n");
        acceptor += &format!("{middle} {} {second} {second} {penalty}\n{}\n", middle + 1, middle + 1);
    }
    let find = "fstcompile | fstcompose - @fuzzy.fst | fstshortestpath | fstrmepsilon | fsttopsort | \
                fstproject --project_type=output | fstprint --osymbols=@symbols";
    let found = shell(&f, find, acceptor.as_bytes());
    assert_eq!(found.status, 0, "{}", found.stderr);
    let (mut said, mut cost) = (Vec::new(), 0.0);
    for line in found.stdout.lines() {
        let parts: Vec<&str> = line.split_whitespace().collect();
        if parts.len() < 4 {
            continue;
        }
        cost += parts.get(4).map_or(0.0, |cost| cost.parse::<f64>().unwrap());
        said.extend(Some(parts[3]).filter(|&word| word != "<eps>"));
    }
    assert!(said == ["said"] && (cost - 1.4_f64).abs() < 1e-6, "{}", found.stdout);
}
