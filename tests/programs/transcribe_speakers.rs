//! Tests of `nnet3-transcribe --speakers`: vectors of speakers beside those that the programs for tables make.

use crate::command_lines::{fails, output, run};
use crate::common::Folder;
use crate::online_programs::{folder, model_folder};

const TRANSFORM: &str = " [\n  1 0 0.5 1\n  0 1 2 0 ]\n";
const U7: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/u7.wav");

/// A folder of a speaker model, whose network is random.
pub fn speaker_folder(f: &Folder) -> String {
    let speakers = f.path("spk");
    std::fs::create_dir_all(&speakers).unwrap();
    f.write("spk/mfcc.conf", "--dither=0\n--num-ceps=5\n");
    f.write("spk/mean.vec", " [ 0.1 -0.2 0.3 0.4 ]\n");
    f.write("spk/transform.mat", TRANSFORM);
    f.write(
        "spk/config",
        "input-node name=input dim=5
         component name=e type=StatisticsExtractionComponent input-dim=5 input-period=1 output-period=1 include-variance=true
         component-node name=e component=e input=input
         component name=p type=StatisticsPoolingComponent input-dim=11 input-period=1 left-context=0 right-context=10000 num-log-count-features=0 output-stddevs=true
         component-node name=p component=p input=e
         component name=a type=AffineComponent input-dim=10 output-dim=4 param-stddev=0.3 bias-stddev=1
         component-node name=a component=a input=p
         output-node name=output input=a",
    );
    output(f, "nnet3-init --srand=5 @spk/config @spk/final.ext.raw");
    speakers
}

#[test]
fn sentences_have_the_vectors_of_the_programs_for_tables() {
    let f = folder("speakers", false);
    let model = model_folder(&f);
    let speakers = speaker_folder(&f);

    let line = |options: &str| format!("nnet3-transcribe {options} {model} {U7}");
    let plain = output(&f, &line(""));
    let words = plain.trim().strip_prefix("u7 ").unwrap();
    assert_eq!(output(&f, &line(&format!("--speakers={speakers}"))), format!("u7 Speaker 1: {words}"));

    // All frames are speech, as the model of the test has no silence phones.
    f.write("wav.scp", format!("u7 {U7}\n"));
    output(&f, "compute-mfcc-feats --config=@spk/mfcc.conf scp:@wav.scp ark:@feats");
    output(&f, "apply-cmvn-sliding --center=true --cmn-window=300 ark:@feats ark:@normal");
    output(&f, "nnet3-xvector-compute --min-chunk-size=1 @spk/final.ext.raw ark:@normal ark:@raw");
    output(&f, "ivector-subtract-global-mean @spk/mean.vec ark:@raw ark:@centred");
    output(&f, "transform-vec @spk/transform.mat ark:@centred ark:@turned");
    let expected = output(&f, "ivector-normalize-length ark:@turned ark,t:-");
    let expected: Vec<f64> = expected.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    let frames = output(&f, "feat-to-len ark:@feats ark,t:-");
    let text = output(&f, &line(&format!("--format=json --speakers={speakers}")));
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    let segment = &object["segments"][0];
    assert_eq!(segment["words"][0]["speaker"], 1);
    assert_eq!(format!("u7 {}", segment["spk_frames"]), frames.trim());
    let found: Vec<f64> = segment["spk"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert_eq!((found.len(), expected.len()), (2, 2));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }

    let refused = |options: &str, words: &str| {
        fails(&f, 255, &line(&format!("--speakers={speakers} {options}")), &[words]);
    };
    refused("--channels=each", "--speakers is not for --channels=each, whose channels are the speakers");
    // All forms name the speaker.
    let shown = |format: &str| output(&f, &line(&format!("--format={format} --speakers={speakers}")));
    for (format, begin) in [
        ("srt", "Speaker 1: w"),
        ("vtt", "<v Speaker 1>w"),
        ("ctm", " lex speaker1"),
        ("rttm", "<NA> <NA> speaker1 <NA> <NA>"),
        ("csv", ",1,1,"),
        ("textgrid", "\"Speaker 1 - words\""),
        ("text --times=true", "] Speaker 1: w"),
    ] {
        let text = shown(format);
        assert!(text.contains(begin), "{format}: {text}");
    }
    f.write("spk/threshold", "high\n");
    refused("", "threshold: expected a number, found 'high'");
    let threshold = run(&f, &line(&format!("--speakers={speakers} --speaker-threshold=0.5")));
    assert_eq!(threshold.status, 0, "{}", threshold.stderr);
    f.write("spk/threshold", "0.25\n");
    f.write("spk/transform.mat", " [\n  1 0 0.5 1 2\n  0 1 2 0 3 ]\n");
    refused("", "columns of the transform of speaker vectors: expected 4 dimensions, found 5");
    f.write("spk/transform.mat", TRANSFORM);
    std::fs::remove_file(f.path("spk/mean.vec")).unwrap();
    refused("", "the folder of the speaker model has no mean.vec");
}
