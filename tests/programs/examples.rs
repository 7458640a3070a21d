//! The programs in `examples/`, which use the crate `nnet3-toolkit` alone, beside the programs and figures by hand.

use crate::command_lines::{output, run};
use crate::common::{Folder, succeed};
use crate::online_programs::{folder, model_folder};

#[path = "../../examples/align.rs"]
#[allow(dead_code)] // Its `main`, as in the others.
mod align;
#[path = "../../examples/archives.rs"]
#[allow(dead_code)]
mod archives;
#[path = "../../examples/features.rs"]
#[allow(dead_code)]
mod features;
#[path = "../../examples/live.rs"]
#[allow(dead_code)]
mod live;
#[path = "../../examples/onnx.rs"]
#[allow(dead_code)]
mod onnx;
#[path = "../../examples/paths.rs"]
#[allow(dead_code)]
mod paths;
#[path = "../../examples/train.rs"]
#[allow(dead_code)]
mod train;
#[path = "../../examples/transcribe.rs"]
#[allow(dead_code)]
mod transcribe;

const SOUND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound");

/// Makes sentences of the folder end after half a second.
fn with_short_sentences(model: &str) {
    let file = format!("{model}/conf/model.conf");
    let settings = std::fs::read_to_string(&file).unwrap()
        + "--endpoint.silence-phones=1\n--endpoint.rule5.min-utterance-length=0.5\n";
    std::fs::write(file, settings).unwrap();
}

#[test]
fn a_recording_of_any_format_has_the_text_of_nnet3_transcribe() {
    let f = folder("example-transcribe", false);
    let model = model_folder(&f);
    with_short_sentences(&model);
    let sentences = transcribe::transcribe(&model, &format!("{SOUND}/u7.flac")).unwrap();
    assert!(sentences.lines().count() > 1, "{sentences}");
    let spoken = sentences.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        output(&f, &format!("nnet3-transcribe {model} {SOUND}/u7.wav")).trim(),
        format!("u7 {spoken}")
    );
    // Errors name the file that is wrong.
    let error = transcribe::transcribe(&model, "nowhere.wav").unwrap_err();
    assert!(nnet3_toolkit::chain(&*error).contains("nowhere.wav"), "{error}");
    std::fs::remove_file(format!("{model}/graph/HCLG.fst")).unwrap();
    let error = transcribe::transcribe(&model, &format!("{SOUND}/u7.wav")).unwrap_err().to_string();
    assert!(error.ends_with("has neither graph/HCLG.fst nor graph/HCLr.fst"), "{error}");
}

/// README.md shows lines of the façade's example, which the tests of its documentation compile.
#[test]
fn the_rust_lines_of_the_readme_are_those_of_the_facades_example() {
    let root = env!("CARGO_MANIFEST_DIR");
    let readme = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    let shown = readme.split_once("```rust\n").unwrap().1.split_once("```").unwrap().0;
    let facade = std::fs::read_to_string(format!("{root}/crates/nnet3-toolkit/src/lib.rs")).unwrap();
    let comment = facade.lines().map_while(|line| line.strip_prefix("//!"));
    let comment: Vec<&str> = comment.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    assert!(comment.join("\n").contains(shown.trim_end()), "README.md shows other lines:\n{shown}");
}

#[test]
fn sound_that_arrives_has_the_sentences_of_the_recording() {
    let f = folder("example-live", false);
    let model = model_folder(&f);
    let bytes = std::fs::read(format!("{SOUND}/u7.wav")).unwrap();
    let mut sentences = Vec::new();
    live::live(&model, 16000.0, &bytes[44..], |text| sentences.push(text.to_owned())).unwrap();
    let expected = output(&f, &format!("nnet3-transcribe {model} {SOUND}/u7.wav"));
    assert_eq!(format!("u7 {}", sentences.join(" ")), expected.trim());
}

#[test]
fn features_are_those_of_compute_mfcc_feats() {
    let f = Folder::new("example-features");
    let wave = format!("{SOUND}/u7.wav");
    features::features(&format!("ark,t:{}", f.path("found")), std::slice::from_ref(&wave)).unwrap();
    f.write("wav.scp", format!("{wave} {wave}\n"));
    output(&f, "compute-mfcc-feats --dither=0 scp:@wav.scp ark,t:@expected");
    assert_eq!(f.read("found"), f.read("expected"));
}

#[test]
fn means_of_archives_are_those_by_hand() {
    let f = Folder::new("example-archives");
    let table = f.write("feats", "a  [\n 1 2\n 3 6 ]\nb  [\n -1 0.5 ]\n");
    let count = archives::means(&format!("ark:{table}"), &format!("ark,t:{}", f.path("means"))).unwrap();
    assert_eq!(count, 2);
    assert_eq!(f.read("means"), "a  [ 2 4 ]\nb  [ -1 0.5 ]\n");
}

#[test]
fn paths_of_a_composition_are_those_by_hand() {
    let f = Folder::new("example-paths");
    // Sound 1 is word 1 or word 2; a language model prefers word 2.
    let first = f.write("first.txt", "0 1 1 1 0.5\n0 1 1 2 0.25\n1 2 2 3\n2\n");
    let second = f.write("second.txt", "0 1 2 2 0.125\n0 1 1 1 2\n1 2 3 3 1\n2 0.5\n");
    let words = f.write("words.txt", "<eps> 0\none 1\nwon 2\ntwo 3\n");
    let [first, second] = [first, second].map(|text| {
        let fst = format!("{text}.fst");
        succeed("fstcompile", &[&text, &fst]);
        nnet3_toolkit::fst::read_fst(&fst).unwrap()
    });
    let words = nnet3_toolkit::fst::Symbols::load(&words).unwrap();
    let found = paths::paths(&first, second.clone(), &words, 5).unwrap();
    assert_eq!(found, "1.88 won two\n4.00 one two\n");
    assert_eq!(paths::paths(&first, second, &words, 1).unwrap(), "1.88 won two\n");
}

#[test]
fn a_tiny_network_learns_and_goes_to_onnx() {
    let (network, [first, last]) = train::train(300).unwrap();
    assert!(first < -0.3 && last > -0.2, "{first} {last}");
    // Points far from the border are certain.
    let points = nnet3_toolkit::Matrix::from_rows(&[[-1.0, 1.0], [1.0, -1.0]]);
    let outputs = train::outputs(&network, &points).unwrap();
    assert!(outputs.row(0)[0] > -0.1 && outputs.row(1)[1] > -0.1, "{outputs:?}");
    let f = Folder::new("example-onnx");
    network.save(&f.path("raw"), true).unwrap();
    run(&f, "nnet3-export @raw @model.onnx");
    assert_eq!(onnx::onnx(&network).unwrap(), f.read_bytes("model.onnx"));
}

/// Words that are tones, with pauses between them: their times are known.
#[test]
fn words_of_recordings_have_their_times() {
    const RATE: usize = 16000;
    const TONES: [(&str, f32); 3] = [("low", 300.0), ("mid", 1000.0), ("high", 2600.0)];
    let f = Folder::new("example-align");
    let lexicon = f.write("lexicon.txt", "low L\nmid M\nhigh H\n");
    std::fs::create_dir_all(f.path("corpus/anna")).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut expected = Vec::new();
    for number in 0..12 {
        let mut samples: Vec<i16> = Vec::new();
        let mut text = Vec::new();
        let mut part = |samples: &mut Vec<i16>, length: usize, tone: Option<f32>| {
            for i in 0..length {
                let phase = tone.map_or(0.0, |tone| tone * i as f32 / RATE as f32 * std::f32::consts::TAU);
                samples.push((8000.0 * phase.sin() + 200.0 * (random.f32() - 0.5)) as i16);
            }
        };
        part(&mut samples, RATE / 2, None);
        for word in 0..4 {
            let (name, tone) = TONES[(number + word * (1 + number % 2)) % 3];
            let begin = samples.len() as f64 / RATE as f64;
            part(&mut samples, RATE / 4 + 800 * (word % 3), Some(tone));
            expected.push((format!("{number:02}"), begin, samples.len() as f64 / RATE as f64, name));
            text.push(name);
            part(&mut samples, RATE / 4, None);
        }
        let size = 2 * samples.len() as u32;
        let mut wave = b"RIFF".to_vec();
        wave.extend((36 + size).to_le_bytes());
        wave.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data");
        wave.extend(size.to_le_bytes());
        wave.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
        f.write(&format!("corpus/anna/{number:02}.wav"), wave);
        f.write(&format!("corpus/anna/{number:02}.lab"), text.join(" "));
    }
    let found = align::align(&f.path("corpus"), &lexicon).unwrap();
    assert_eq!(found.lines().count(), expected.len(), "{found}");
    for (line, (utterance, begin, end, word)) in found.lines().zip(&expected) {
        let fields: Vec<&str> = line.split(' ').collect();
        assert!(fields[0].contains(utterance.as_str()) && fields[3] == *word, "{line} {utterance} {word}");
        let times = [&fields[1], &fields[2]].map(|time| time.parse::<f64>().unwrap());
        assert!((times[0] - begin).abs() < 0.06 && (times[1] - end).abs() < 0.06, "{line}: {begin} {end}");
    }
}
