//! Recognition of sound as it arrives, beside the programs that do one thing after another.

use std::path::Path;

use crate::command_lines::{fails, output, run};
use crate::common::{Folder, succeed};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

/// A model with a random network of two cepstra (and an i-vector of three dimensions, if `ivectors`), and two utterances of
/// a speaker.
fn folder(name: &str, ivectors: bool) -> Folder {
    let f = Folder::new(&format!("online-{name}"));
    let decode = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/nnet3-decode/tests/data");
    let (dim, node, input) = match ivectors {
        true => (9, "input-node name=ivector dim=3\n", ", ReplaceIndex(ivector, t, 0)"),
        false => (6, "", ""),
    };
    let config = f.write(
        "config",
        format!(
            "input-node name=input dim=2
             {node}component name=a type=AffineComponent input-dim={dim} output-dim=44 param-stddev=0.3 bias-stddev=1
             component name=s type=LogSoftmaxComponent dim=44
             component-node name=a component=a input=Append(Offset(input, -1), input, Offset(input, 2){input})
             component-node name=s component=s input=a
             output-node name=output input=s"
        ),
    );
    let mono = decode.join("mono.mdl").to_str().unwrap().to_owned();
    std::fs::copy(decode.join("decode/HCLG.fst"), f.path("HCLG.fst")).unwrap();
    succeed("nnet3-init", &["--srand=3", &config, &f.path("raw")]);
    succeed("nnet3-am-init", &[&mono, &f.path("raw"), &f.path("model")]);
    f.write(
        "mfcc.conf",
        "--dither=0\n--num-mel-bins=4\n--num-ceps=2\n--use-energy=false\n--cepstral-lifter=0\n",
    );
    f.write(
        "ivector.conf",
        format!(
            "--lda-matrix={DATA}/ivectors/final.mat\n--global-cmvn-stats={DATA}/ivectors/global_cmvn.stats\n\
             --cmvn-config={DATA}/ivectors/online_cmvn.conf\n--splice-config={DATA}/ivectors/splice.conf\n\
             --diag-ubm={DATA}/ivectors/final.dubm\n--ivector-extractor={DATA}/ivectors/final.ie\n--max-count=5\n"
        ),
    );
    f.write("wav.scp", format!("u7 {DATA}/sound/u7.wav\n"));
    f.write("segments", "a u7 0 0.62\nb u7 0.4 1.0\n");
    output(&f, "extract-segments scp:@wav.scp @segments ark:@waves");
    f.write("spk2utt", "s a b\n");
    f
}

const SCALES: &str =
    "--acoustic-scale=1.0 --frame-subsampling-factor=3 --frames-per-chunk=15 --beam=12 --lattice-beam=6";

fn online(options: &str) -> String {
    format!(
        "online2-wav-nnet3-latgen-faster --mfcc-config=@mfcc.conf {SCALES} {options} @model @HCLG.fst ark:@spk2utt \
         ark:@waves ark,t:@online.lat"
    )
}

/// What the programs find that take whole tables of features and i-vectors.
fn step_by_step(f: &Folder, options: &str) -> String {
    let line = format!(
        "nnet3-latgen-faster-looped {SCALES} {options} @model @HCLG.fst ark:@feats ark,t:@looped.lat"
    );
    output(f, &line);
    f.read("looped.lat")
}

#[test]
fn pieces_of_any_length_give_the_lattices_of_whole_utterances() {
    let f = folder("pieces", false);
    output(&f, "compute-mfcc-feats --config=@mfcc.conf ark:@waves ark:@feats");
    let expected = step_by_step(&f, "");
    assert!(expected.starts_with("a \n0\t") && expected.contains("\nb \n"), "{expected}");
    for length in ["0.18", "0.013", "-1", "100"] {
        output(&f, &online(&format!("--chunk-length={length}")));
        assert_eq!(f.read("online.lat"), expected, "{length}");
    }
    let log = run(&f, &online("--verbose=2")).stderr;
    let lines = [
        "Decoded utterance a\n",
        "Likelihood per frame for utterance b is ",
        "Timing stats: real-time factor was ",
        "Average delay was ",
        "Percentage of time spent idling was ",
        "Longest delay was ",
        "Decoded 2 utterances, 0 with errors.",
        " per frame over 40 frames.",
    ];
    lines.iter().for_each(|line| assert!(log.contains(line), "{line}: {log}"));
}

/// Offline, the i-vector of a chunk is that of the whole utterance, which `ivector-extract-online2` gives with look-ahead. What
/// is known of the speaker goes to the second utterance.
#[test]
fn ivectors_are_those_of_the_program_for_them() {
    let f = folder("ivectors", true);
    output(&f, "compute-mfcc-feats --config=@mfcc.conf ark:@waves ark:@feats");
    let extract = "ivector-extract-online2 --config=@ivector.conf --greedy-ivector-extractor=true --ivector-period=10 \
                   ark:@spk2utt ark:@feats ark:@ivectors";
    output(&f, extract);
    let ivectors = "--online-ivectors=ark:@ivectors --online-ivector-period=10";
    let expected = step_by_step(&f, ivectors);
    let offline = online("--ivector-extraction-config=@ivector.conf --online=false");
    output(&f, &offline);
    assert_eq!(f.read("online.lat"), expected);
    // Another speaker for each utterance is something else.
    f.write("spk2utt", "s a\nt b\n");
    output(&f, &offline);
    assert_ne!(f.read("online.lat"), expected);
    output(&f, extract);
    assert_eq!(f.read("online.lat"), step_by_step(&f, ivectors));
    assert!(run(&f, &offline).stderr.contains("Timing stats: real-time factor for offline decoding was "));
    // While sound arrives, early i-vectors are of what there is; weights of silence change them.
    let live = online("--ivector-extraction-config=@ivector.conf --chunk-length=0.1");
    output(&f, &live);
    let all = f.read("online.lat");
    assert_ne!(all, expected);
    let phones: Vec<String> = (1..=20).map(|phone| phone.to_string()).collect();
    let weights = format!(
        "--ivector-silence-weighting.silence-phones={} --ivector-silence-weighting.silence-weight=0.01 --verbose=0",
        phones.join(":")
    );
    output(&f, &live.replace("--chunk-length", &format!("{weights} --chunk-length")));
    assert_ne!(f.read("online.lat"), all);
}

#[test]
fn normalised_features() {
    let f = folder("cmvn", false);
    f.write("cmvn.conf", "--cmn-window=30\n--norm-vars=true\n--global-frames=20\n");
    output(&f, "compute-mfcc-feats --config=@mfcc.conf ark:@waves ark:@plain");
    let stats = format!("{DATA}/ivectors/global_cmvn.stats");
    output(
        &f,
        &format!(
            "apply-cmvn-online --config=@cmvn.conf --spk2utt=ark:@spk2utt {stats} ark:@plain ark:@feats"
        ),
    );
    let expected = step_by_step(&f, "");
    output(&f, &online(&format!("--cmvn-config=@cmvn.conf --global-cmvn-stats={stats}")));
    assert_eq!(f.read("online.lat"), expected);
}

#[test]
fn endpoints() {
    let f = folder("endpoints", false);
    let options = "--do-endpointing=true --endpoint.silence-phones=1:2 --endpoint.rule5.min-utterance-length=0.4 \
                   --chunk-length=0.05 --verbose=3";
    let log = run(&f, &online(options)).stderr;
    // 15 new frames a chunk and 2 of context: after 45 frames 15 have come out, of 30 ms each.
    for line in
        ["a: endpoint by rule5 after 8000 samples", " a samples 8000 frames 15 trailing ", "over 30 frames."]
    {
        assert!(log.contains(line), "{line}: {log}");
    }
    assert!(!log.contains("a samples 8800"), "{log}");
    let without = run(&f, &online(&options.replace("--do-endpointing=true", ""))).stderr;
    assert!(
        without.contains("a samples 9920 frames 20 ") && without.contains("over 40 frames."),
        "{without}"
    );
}

#[test]
fn what_does_not_fit() {
    let f = folder("misfits", true);
    let ivectors = "--ivector-extraction-config=@ivector.conf";
    let cases = [
        ("", &["'ivector'", "nothing is given for it"][..]),
        ("--feature-type=plp", &["--feature-type=plp: there are no PLP features"]),
        ("--add-pitch=true", &["--add-pitch=true: there are no pitch features"]),
        ("--do-endpointing=true", &["nonempty --endpoint.silence-phones"]),
        ("--determinize-lattice=false", &["--determinize-lattice=false is not supported"]),
        ("--num-threads-startup=0", &["--num-threads-startup=0"]),
        ("--beam=-1", &["--beam=-1"]),
        ("--frames-per-chunk=0", &["--frames-per-chunk"]),
        ("--word-symbol-table=@none", &["none"]),
        ("--mfcc-config=@none", &["--mfcc-config: Cannot open config file"]),
        ("--mfcc-config=@three.conf", &["dimension 3, those that i-vectors are estimated of 2"]),
    ];
    f.write("three.conf", "--num-ceps=3\n");
    for (option, words) in cases {
        let ivectors = if option.is_empty() { "" } else { ivectors };
        fails(&f, 255, &online(&format!("{ivectors} {option}")), words);
    }
    // What concerns one utterance does not end the others.
    f.write("spk2utt", "s a c b\n");
    fails(&f, 0, &online(ivectors), &["c: no sound in ark:", "Decoded 2 utterances, 1 with errors."]);
    f.write("spk2utt", "s a short b\n");
    f.write("segments", "a u7 0 0.62\nshort u7 0 0.02\nb u7 0.4 1.0\n");
    output(&f, "extract-segments --min-segment-length=0.01 scp:@wav.scp @segments ark:@waves");
    fails(
        &f,
        0,
        &online(ivectors),
        &["short: 320 samples are too few", "Decoded 2 utterances, 1 with errors."],
    );
    f.write("mfcc.conf", f.read("mfcc.conf") + "--sample-frequency=8000\n");
    fails(&f, 1, &online(ivectors), &["a: ", "16000 .vs 8000", "Decoded 0 utterances, 3 with errors."]);
}
