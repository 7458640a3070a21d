//! Pitch, PLP and spectra of sound: figures of the reference, and messages about input that does not fit.

use crate::command_lines::{close, fails, numbers, output, run};
use crate::common::Folder;

/// A recording of 1.6 s (`a.wav`), and the reference's results for it; of spectra and PLP the first frames.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/pitch");

fn folder(name: &str) -> Folder {
    let f = Folder::new(&format!("pitch-{name}"));
    f.write("wav.scp", format!("a {DATA}/a.wav\n"));
    f
}

fn figure(f: &Folder, name: &str) -> Vec<f64> {
    numbers(&output(f, &format!("copy-feats ark:{DATA}/{name}.ark ark,t:-")))
}

/// Rows `0:last` of a feature file.
fn first_rows(f: &Folder, last: usize) -> String {
    f.write("first.scp", f.read("f.scp").trim_end().to_owned() + &format!("[0:{last}]\n"));
    output(f, "copy-feats scp:@first.scp ark,t:-")
}

#[test]
fn plp_and_spectra_are_those_of_the_reference() {
    let f = folder("spectra");
    let options = "--use-energy=false --lpc-order=10 --num-ceps=9 --compress-factor=0.3 --cepstral-lifter=15 \
                   --cepstral-scale=2 --num-mel-bins=20 --low-freq=100 --high-freq=-500 --snip-edges=false";
    let warped = "--vtln-warp=1.1 --htk-compat=true --energy-floor=1.0 --raw-energy=false --cepstral-lifter=0 \
                  --window-type=hamming";
    for (name, options) in [("plp", ""), ("plp.options", options), ("plp.vtln", warped)] {
        output(&f, &format!("compute-plp-feats --dither=0 {options} scp:@wav.scp ark,scp:@f.ark,@f.scp"));
        close(&first_rows(&f, 39), &figure(&f, name), 2e-3);
    }
    let mean = "--frame-length=20 --frame-shift=20 --round-to-power-of-two=false --subtract-mean=true";
    for (name, every, last, options, tolerance) in [
        ("spec", 4, 4, "", 0.01),
        ("spec.mean", 7, 4, mean, 0.01),
        ("spec.fft", 20, 1, "--return-raw-fft=true", 1.0),
    ] {
        output(&f, &format!("compute-spectrogram-feats --dither=0 {options} scp:@wav.scp ark:@s.ark"));
        output(&f, &format!("subsample-feats --n={every} ark:@s.ark ark,scp:@f.ark,@f.scp"));
        let (found, expected) = (numbers(&first_rows(&f, last)), figure(&f, name));
        assert_eq!(found.len(), expected.len(), "{name}");
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= tolerance), "{name}");
    }
    // HTK's header: frames, 100 ns a frame, bytes a frame, the kind (PLP with the zeroth cepstrum).
    output(&f, "compute-plp-feats --dither=0 --output-format=htk scp:@wav.scp ark:@h.ark");
    let header = &std::fs::read(f.path("h.ark")).unwrap()[2..14];
    assert_eq!(header, [&161i32.to_be_bytes()[..], &100_000i32.to_be_bytes(), &[0, 52, 0o40, 0o13]].concat());
}

#[test]
fn features_of_pitch_with_the_noise_of_the_reference() {
    let f = folder("features");
    close(&output(&f, "compute-kaldi-pitch-feats scp:@wav.scp ark,t:-"), &figure(&f, "pitch"), 1e-4);
    let process = |options: &str, name: &str| {
        let line = format!("process-kaldi-pitch-feats {options} ark:{DATA}/pitch.ark ark,t:-");
        close(&output(&f, &line), &figure(&f, name), 1e-4);
    };
    process("", "process");
    process(
        "--srand=3 --pitch-scale=1.5 --pov-scale=3 --pov-offset=0.2 --delta-pitch-scale=5 \
         --normalization-left-context=20 --normalization-right-context=10 --delta-window=3 --delay=4",
        "process.options",
    );
    close(
        &output(&f, "compute-and-process-kaldi-pitch-feats scp:@wav.scp ark,t:-"),
        &figure(&f, "both.noise"),
        1e-3,
    );
    let online = "--delta-pitch-noise-stddev=0 --frames-per-chunk=10 --simulate-first-pass-online=true \
                  --normalization-right-context=5 --max-frames-latency=5";
    let line = format!("compute-and-process-kaldi-pitch-feats {online} scp:@wav.scp ark,t:-");
    close(&output(&f, &line), &figure(&f, "both.online"), 1e-3);
    let log = run(&f, "compute-kaldi-pitch-feats --verbose=3 scp:@wav.scp ark:-").stderr;
    let lines = [
        "Pitch-tracking Viterbi cost is 0.99",
        " per frame, over 161 frames.",
        "Done 1 utterances, 0 with errors.",
    ];
    lines.iter().for_each(|line| assert!(log.contains(line), "{line}: {log}"));
}

#[test]
fn what_does_not_fit() {
    let f = folder("misfits");
    let pitch = |options: &str| format!("compute-kaldi-pitch-feats {options} scp:@wav.scp ark:@out");
    f.write("out", "before");
    for (options, words) in [
        ("--sample-frequency=8000", "you specified 8000 but data has 16000 (use --sample-frequency option)"),
        ("--min-f0=500", "pitch from 500 to 400 Hz"),
        ("--frames-per-chunk=-1", "--frames-per-chunk=-1: expected a number that is not negative"),
        ("--simulate-first-pass-online=true", "needs --frames-per-chunk"),
        ("--channel=-2", "--channel=-2: expected -1 or the number"),
    ] {
        fails(&f, 255, &pitch(options), &[words]);
    }
    fails(&f, 1, &pitch("--channel=1"), &["id a has 1 channels", "Done 0 utterances, 1 with errors."]);
    assert_eq!(f.read("out"), "before");
    // A recording that is too short has no frames, and counts.
    let wave = std::fs::read(format!("{DATA}/a.wav")).unwrap();
    f.write("short.wav", &wave[..44 + 300]);
    f.write("short.scp", format!("s {}\n", f.path("short.wav")));
    let words = ["No frames output in pitch extraction", "Done 1 utterances, 0 with errors."];
    fails(&f, 0, "compute-kaldi-pitch-feats scp:@short.scp ark:@out", &words);
    fails(
        &f,
        0,
        "compute-and-process-kaldi-pitch-feats scp:@short.scp ark:-",
        &["No features output since wave file too short"],
    );
    f.write("bad", "a [ 0.5 100\n 0.5 0 ]\nb [ 1 2 3 ]\nc [ 0.5 100 ]\n");
    let words = [
        "a: frame 1 has NCCF 0.5 and pitch 0",
        "b: 3 columns: expected 2",
        "Post-processed pitch for 1 utterances.",
    ];
    fails(&f, 0, "process-kaldi-pitch-feats ark:@bad ark:-", &words);
    let none = "--add-pov-feature=false --add-delta-pitch=false --add-normalized-log-pitch=false";
    fails(&f, 255, &format!("process-kaldi-pitch-feats {none} ark:@bad ark:-"), &["no feature is chosen"]);
    fails(&f, 1, "compute-plp-feats --sample-frequency=8000 scp:@wav.scp ark:-", &["16000 .vs 8000"]);
    fails(&f, 255, "compute-plp-feats --num-ceps=14 scp:@wav.scp ark:-", &["14 cepstra", "at most 13"]);
    fails(&f, 255, "compute-spectrogram-feats --num-mel-bins=9 scp:@wav.scp ark:-", &["num-mel-bins"]);
    // Silence has no prediction: features that are not numbers, as in the reference, with a warning.
    f.write("zero.wav", [&wave[..44], &[0; 2000][..]].concat());
    f.write("zero.scp", format!("z {}\n", f.path("zero.wav")));
    fails(
        &f,
        0,
        "compute-plp-feats --dither=0 scp:@zero.scp ark,t:@out",
        &["z: 4 of 4 frames have features that are not numbers"],
    );
}

#[test]
fn pitch_of_the_older_kind() {
    let f = folder("older");
    f.write("pairs", "a [ 0.5 100\n 0.9 200\n 0.1 100 ]\nb [ 0.5 0 ]\n");
    let line =
        "process-pitch-feats --normalization-window-size=151 --average-window-size=1 ark:@pairs ark,t:-";
    let odds = |p: f64| ((p + 0.0001) / (1.0001 - p)).ln();
    let third = 2f64.ln() / 3.0;
    let expected = [0.0, -third, odds(0.9), 2.0 * third, odds(0.1), -third];
    fails(&f, 0, line, &["b: frame 0 has probability 0.5 and pitch 0", "Done 1 utterances, 1 with errors."]);
    close(&run(&f, line).stdout, &expected, 1e-5);
    fails(
        &f,
        255,
        &line.replace("=151", "=150"),
        &["--normalization-window-size=150: expected an odd number"],
    );
}

#[test]
fn products_and_maxima() {
    let f = folder("products");
    f.write("v1", "a [ 1 2 3 ]\nb [ 1 2 ]\nc [ 4 ]\n");
    f.write("v2", "a [ 5 6 ]\nb [ 3 4 ]\n");
    let words = ["Missing utt c from input ark:", "Done 2 utts, errors on 1"];
    let line = "multiply-vectors --length-tolerance=1 ark:@v1 ark:@v2 ark:@v1 ark,t:-";
    fails(&f, 0, line, &words);
    close(&run(&f, line).stdout, &[5.0, 24.0, 3.0, 16.0], 0.0);
    let words = ["Length mismatch 3 vs. 2 for utt a exceeds tolerance 0", "Done 1 utts, errors on 2"];
    fails(&f, 0, "multiply-vectors ark:@v1 ark:@v2 ark:-", &words);
    f.write("x", "[ 2 3 ]");
    f.write("y", "[ 5 7 ]");
    output(&f, "multiply-vectors --binary=false @x @y @x @z");
    assert_eq!(numbers(&f.read("z")), [20.0, 63.0]);
    fails(&f, 255, "multiply-vectors ark:@v1 @x @z", &["is a table"]);

    f.write("m", "a [ 1 -2\n 3 4 ]\nb [ 0 -1 ]\nc [ 1 ]\n");
    f.write("spk2utt", "s a b no c\nt no\n");
    let words = [
        "No matrix for utterance no of speaker s",
        "c: 1 columns, those before have 2",
        "Cropping rows of matrix a from 2 to 1",
        "Computed max for 1 speakers (1 with no utterances), consisting of 2 utterances (2 absent from input).",
    ];
    let line = "matrix-max ark:@spk2utt ark:@m ark,t:-";
    fails(&f, 0, line, &words);
    close(&run(&f, line).stdout, &[1.0, 0.0], 0.0);
}
