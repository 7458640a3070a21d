//! Vectors of utterances: examples and what networks make of them.

use crate::command_lines::{close, fails, numbers, output, run};
use crate::common::Folder;

/// Features of an utterance of 121 frames, and an example of it that the reference made.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/xvector");

/// Statistics of one frame and the next, over 120 frames.
const CONFIG: &str = "\
component name=c type=LinearComponent input-dim=40 output-dim=3
component name=e type=StatisticsExtractionComponent input-dim=3 input-period=1 output-period=1 include-variance=true
component name=p type=StatisticsPoolingComponent input-dim=7 input-period=1 left-context=0 right-context=120 num-log-count-features=0 output-stddevs=true
input-node name=input dim=20
component-node name=c component=c input=Append(input, Offset(input, 1))
component-node name=e component=e input=c
component-node name=p component=p input=e
output-node name=output input=p
";

fn folder(name: &str) -> Folder {
    let f = Folder::new(&format!("xvector-{name}"));
    f.write("config", CONFIG);
    output(&f, "nnet3-init --srand=5 @config @raw");
    f
}

#[test]
fn examples_are_those_of_the_reference() {
    let f = folder("egs");
    let features = format!("ark:{DATA}/features.ark");
    f.write("ranges", "100-1000-0000 0 1 17 53 0\nother 1 2 0 5 3\n");
    let egs = "nnet3-xvector-get-egs --num-pdfs=24";
    let line = format!("{egs} @ranges {features} ark:@1.ark ark:@2.ark");
    let words = ["successfully processed 1 feature files, wrote 1 examples; 0 files had errors."];
    fails(&f, 0, &line, &words);
    assert_eq!(std::fs::read(f.path("1.ark")).unwrap(), std::fs::read(format!("{DATA}/egs.ark")).unwrap());
    assert_eq!(std::fs::read(f.path("2.ark")).unwrap(), b"");

    // One that is moved, one that is too long, an utterance without a request.
    f.write("ranges", "100-1000-0000 0 1 100 60 3\n100-1000-0000 0 1 0 126 3\n");
    f.write("more", run(&f, &format!("copy-feats {features} ark,t:-")).stdout + "z [ 1 2 ]\ny [ 1 2 ]\n");
    let words = [
        "Requested chunk size of 126 but utterance has only 121 frames",
        "utterance z because it has no entry",
        "processed 1 feature files, wrote 1 examples; 2 files had errors.",
    ];
    fails(&f, 1, &format!("{egs} @ranges ark:@more ark,t:@1.ark"), &words);
    assert!(f.read("1.ark").starts_with("100-1000-0000-100-60-3 "));
    f.write("ranges", "other 0 1 100 60 3\n");
    fails(
        &f,
        1,
        &format!("{egs} @ranges {features} ark,t:@1.ark"),
        &["wrote 0 examples; 1 files had errors"],
    );
    assert!(f.read("1.ark").starts_with("100-"), "the old file stays");
    for (ranges, words) in [
        ("u 1 1 0 60 3", "ranges: line 1: Requested output index exceeds number of specified output files."),
        ("u 0 1 0 60", "line 1: Expected 6 fields in line of range file, got 5 instead."),
        ("u 0 1 0 60 24", "label 24: expected a number from 0 to 23"),
    ] {
        f.write("ranges", format!("{ranges}\n"));
        fails(&f, 255, &format!("{egs} @ranges {features} ark:@1.ark"), &[words]);
    }
    fails(&f, 255, &format!("nnet3-xvector-get-egs @ranges {features} ark:@1.ark"), &["--num-pdfs=-1"]);
}

/// Compares with the network's outputs for examples of the same chunks.
#[test]
fn vectors_are_means_of_chunks() {
    let f = folder("compute");
    let features = format!("ark:{DATA}/features.ark");
    let of_chunks = |ranges: &str| {
        f.write("ranges", ranges);
        let egs = "nnet3-xvector-get-egs --compress=false --num-pdfs=6";
        output(&f, &format!("{egs} @ranges {features} ark:@egs"));
        let rows = numbers(&output(&f, "nnet3-compute-from-egs --use-gpu=no @raw ark:@egs ark,t:-"));
        rows.chunks(6).map(<[f64]>::to_vec).collect::<Vec<_>>()
    };
    let range = |start: usize, frames: usize| format!("100-1000-0000 0 0 {start} {frames} 0\n");
    let mean = |rows: &[Vec<f64>], weights: &[f64]| -> Vec<f64> {
        let total: f64 = weights.iter().sum();
        let sum = |d: usize| rows.iter().zip(weights).map(|(row, weight)| weight * row[d]).sum::<f64>();
        (0..6).map(|d| sum(d) / total).collect()
    };
    let compute =
        |options: &str| output(&f, &format!("nnet3-xvector-compute {options} @raw {features} ark,t:-"));
    close(&compute(""), &of_chunks(&range(0, 121))[0], 1e-4);
    let chunks = of_chunks(&[range(0, 50), range(50, 50), range(100, 21)].concat());
    close(&compute("--chunk-size=50 --min-chunk-size=20"), &mean(&chunks, &[50.0, 50.0, 21.0]), 1e-4);
    let dropped = compute("--chunk-size=50 --min-chunk-size=22 --pad-input=false");
    close(&dropped, &mean(&chunks[..2], &[1.0, 1.0]), 1e-4);
    // 120 frames in steps of 39 leave out 3, and gaps of 0, 1, 1 and 1 frames lie around the three chunks.
    let chunks = of_chunks(&[range(0, 40), range(40, 40), range(80, 40)].concat());
    let batched =
        output(&f, &format!("nnet3-xvector-compute-batched --chunk-size=40 @raw {features} ark,t:-"));
    close(&batched, &mean(&chunks, &[1.0; 3]), 1e-4);
}

#[test]
fn what_is_said_of_short_utterances() {
    let f = folder("short");
    let features = format!("ark:{DATA}/features.ark");
    let compute = |options: &str| format!("nnet3-xvector-compute {options} @raw {features} ark,t:@out");
    let words = [
        "Minimum chunk size of 200 is greater than the number of rows in utterance: 100-1000-0000",
        "Done 0 utterances, failed for 1",
    ];
    fails(&f, 1, &compute("--min-chunk-size=200 --pad-input=false"), &words);
    let words = ["all chunks have fewer than --min-chunk-size=60 frames", "failed for 1"];
    fails(&f, 1, &compute("--chunk-size=50 --min-chunk-size=60 --pad-input=false"), &words);
    let log = run(&f, &compute("--chunk-size=200")).stderr;
    let line = "Chunk size of 200 is greater than the number of rows in utterance: 100-1000-0000, using chunk size  of 121";
    assert!(log.contains(line), "{log}");
    fails(&f, 255, &compute("--chunk-size=0"), &["--chunk-size=0: expected -1 or"]);
    let batched =
        |options: &str| format!("nnet3-xvector-compute-batched {options} @raw {features} ark,t:@out");
    let words =
        ["Left/right context is 0, 1", "121 frames are fewer than --chunk-size=150", "wrote 1 xvectors."];
    fails(&f, 0, &batched("--pad-input=false"), &words);
    assert_eq!(numbers(&f.read("out")), [0.0; 6]);
    fails(&f, 255, &batched("--chunk-size=1"), &["more frames than the context of the network, 0 + 1"]);
    // Options of compiling have no prefix here; a cache of one run serves another.
    output(&f, &batched("--optimize=false --debug=false --use-shortcut=false"));
    output(&f, &compute("--cached-compiler-out=@cache"));
    output(&f, &compute("--cached-compiler-in=@cache --cache-capacity=3"));
}
