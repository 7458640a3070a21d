//! From sound to features: figures of the reference, and messages about waves that do not fit.

use std::path::Path;

use crate::command_lines::{self, close, fails, numbers, output};
use crate::common::{Folder, binary, run};

/// A second of synthetic speech, and the first 90 frames of features that the reference made of the recording.
const SOUND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound");

fn folder(name: &str) -> Folder {
    let f = Folder::new(&format!("sound-{name}"));
    f.write("wav.scp", format!("u7 {SOUND}/u7.wav\n"));
    f
}

/// A wave file with one sample for each channel at a time.
fn wave(rate: u32, channels: u16, samples: &[i16]) -> Vec<u8> {
    let (block, data) = (2 * channels, 2 * samples.len() as u32);
    let mut bytes = [&b"RIFF"[..], &(36 + data).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0"].concat();
    bytes.extend(channels.to_le_bytes());
    bytes.extend([rate.to_le_bytes(), (rate * u32::from(block)).to_le_bytes()].concat());
    bytes.extend([block.to_le_bytes(), 16u16.to_le_bytes()].concat());
    bytes.extend([&b"data"[..], &data.to_le_bytes()].concat());
    bytes.extend(samples.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

#[test]
fn features_are_those_of_the_reference() {
    let f = folder("figures");
    let cases = [
        (
            "mfcc.energy",
            "--raw-energy=false --energy-floor=2.0 --window-type=hamming --preemphasis-coefficient=0.9 \
                         --cepstral-lifter=0 --num-ceps=20",
            0.005,
        ),
        (
            "mfcc.htk",
            "--htk-compat=true --use-energy=false --frame-shift=8 --frame-length=32 --window-type=hanning \
                      --remove-dc-offset=false",
            0.005,
        ),
        (
            "mfcc.nosnip",
            "--snip-edges=false --use-energy=false --num-mel-bins=40 --num-ceps=40 --low-freq=20 \
                         --high-freq=-400",
            0.005,
        ),
        (
            "mfcc.down",
            "--sample-frequency=8000 --allow-downsample=true --round-to-power-of-two=false \
                       --window-type=blackman",
            0.01,
        ),
        ("fbank.energy", "--use-energy=true --num-mel-bins=40 --energy-floor=1.0", 0.005),
        (
            "fbank.htk",
            "--use-energy=true --htk-compat=true --raw-energy=false --window-type=rectangular",
            0.005,
        ),
        (
            "fbank.up",
            "--sample-frequency=22050 --allow-upsample=true --num-mel-bins=24 --max-feature-vectors=2",
            0.01,
        ),
        ("fbank.vtln", "--vtln-warp=0.88 --window-type=sine --preemphasis-coefficient=0", 0.005),
    ];
    for (name, options, tolerance) in cases {
        let kind = name.split('.').next().unwrap();
        output(&f, &format!("compute-{kind}-feats --dither=0 {options} scp:@wav.scp ark,scp:@f.ark,@f.scp"));
        f.write("first.scp", f.read("f.scp").trim_end().to_owned() + "[0:89]\n");
        let expected = numbers(&output(&f, &format!("copy-feats ark:{SOUND}/{name}.ark ark,t:-")));
        assert!(expected.len() >= 90 * 13, "{name}");
        close(&output(&f, "copy-feats scp:@first.scp ark,t:-"), &expected, tolerance);
    }
    let options =
        "--use-power=false --use-log-fbank=false --snip-edges=false --low-freq=100 --high-freq=3800";
    output(&f, &format!("compute-fbank-feats --dither=0 {options} scp:@wav.scp ark,scp:@f.ark,@f.scp"));
    f.write("first.scp", f.read("f.scp").trim_end().to_owned() + "[0:89]\n");
    let expected = numbers(&output(&f, &format!("copy-feats ark:{SOUND}/fbank.magnitude.ark ark,t:-")));
    let found = numbers(&output(&f, "copy-feats scp:@first.scp ark,t:-"));
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1.5e-4 * b.abs()));
}

/// All figures of the reference, if they are there; those of the model need its folder in NNET3_MODEL_DIR.
#[test]
fn all_figures_of_the_reference() {
    let Some(figures) = kaldi_io::testing::data_folder("NNET3_DECODING_DIR") else {
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("dev/online-figures.py");
    let mut command = std::process::Command::new(script);
    command.arg(binary("nnet3").parent().unwrap()).arg(figures);
    command.args(std::env::var_os("NNET3_MODEL_DIR"));
    let found = command.output().unwrap();
    let text = String::from_utf8_lossy(&found.stdout);
    assert!(found.status.success() && text.contains("agrees"), "{text}");
}

#[test]
fn forms_of_output() {
    let f = folder("forms");
    let said =
        command_lines::run(&f, "compute-mfcc-feats --verbose=2 --dither=0 scp:@wav.scp ark:@m.ark").stderr;
    assert!(
        said.contains(
            "VLOG[2] (compute-mfcc-feats[5.5]:main():compute-mfcc-feats.cc:1) Processed features for key "
        ),
        "{said}"
    );
    let expected = numbers(&output(&f, "copy-feats ark:@m.ark ark,t:-"));
    let line = "compute-mfcc-feats --dither=0 --output-format=htk --write-utt2dur=ark,t:@dur scp:@wav.scp ark:@h.ark";
    output(&f, line);
    assert_eq!(f.read("dur"), "u7 1 \n");
    close(&output(&f, "copy-feats --htk-in=true ark:@h.ark ark,t:-"), &expected, 0.0);
    // Frames, 100 ns a frame, bytes a frame, and the kind: cepstra with energy.
    let header = &std::fs::read(f.path("h.ark")).unwrap()[3..15];
    assert_eq!(header, [&98i32.to_be_bytes()[..], &100_000i32.to_be_bytes(), &[0, 52, 0, 0o106]].concat());
    output(&f, "compute-mfcc-feats --dither=0 --subtract-mean=true scp:@wav.scp ark:@s.ark");
    let sums = numbers(&output(&f, "matrix-sum-rows ark:@s.ark ark,t:-"));
    assert!(sums.len() == 13 && sums.iter().all(|sum| sum.abs() < 0.01), "{sums:?}");
    fails(&f, 255, "compute-mfcc-feats --output-format=csv scp:@wav.scp ark:-", &["csv", "kaldi or htk"]);
    // A configuration file, and the log of the filters.
    f.write("mfcc.conf", "--dither=0 # none\n--debug-mel=true\n");
    let shown = run(
        "compute-mfcc-feats",
        &[&format!("--config={}", f.path("mfcc.conf")), &format!("scp:{}", f.path("wav.scp")), "ark:-"],
    );
    assert!(shown.stderr.contains("bin 22, offset = ") && shown.stderr.matches("MEL BANKS:").count() == 98);
}

#[test]
fn warp_factors_of_speakers() {
    let f = folder("warps");
    output(&f, "compute-fbank-feats --dither=0 --vtln-warp=0.9 scp:@wav.scp ark:@w.ark");
    let expected = numbers(&output(&f, "copy-feats ark:@w.ark ark,t:-"));
    f.write("utt2spk", "u7 sam\n");
    f.write("warps", "sam 0.9\n");
    f.write("others", "eve 0.9\n");
    let line = "compute-fbank-feats --dither=0 --vtln-map=ark,t:@warps --utt2spk=ark:@utt2spk scp:@wav.scp ark:@w.ark";
    output(&f, line);
    close(&output(&f, "copy-feats ark:@w.ark ark,t:-"), &expected, 0.0);
    let other = line.replace("@warps", "@others");
    fails(&f, 1, &other, &["No vtln-map entry", "u7", " Done 0 out of 1 utterances."]);
    fails(&f, 255, "compute-fbank-feats --utt2spk=ark:@utt2spk scp:@wav.scp ark:-", &["--vtln-map"]);
    fails(&f, 1, "compute-fbank-feats --vtln-warp=100 scp:@wav.scp ark:-", &["u7", "warp factor of 100"]);
}

#[test]
fn waves_that_do_not_fit() {
    let f = folder("misfits");
    let stereo: Vec<i16> = (0..1600).map(|i| if i % 2 == 0 { 100 } else { (i * 37 % 400) as i16 }).collect();
    f.write("stereo.wav", wave(16000, 2, &stereo));
    let right: Vec<i16> = stereo.iter().skip(1).step_by(2).copied().collect();
    f.write("right.wav", wave(16000, 1, &right));
    f.write("stereo.scp", format!("s {}\n", f.path("stereo.wav")));
    f.write("right.scp", format!("s {}\n", f.path("right.wav")));
    let expected = numbers(&output(&f, "compute-fbank-feats --dither=0 scp:@right.scp ark,t:-"));
    assert_eq!(expected.len(), 3 * 23);
    close(&output(&f, "compute-fbank-feats --dither=0 --channel=1 scp:@stereo.scp ark,t:-"), &expected, 0.0);
    fails(
        &f,
        0,
        "compute-fbank-feats scp:@stereo.scp ark:-",
        &["WARNING", "Channel not specified", "2 channels"],
    );
    fails(
        &f,
        1,
        "compute-fbank-feats --channel=2 scp:@stereo.scp ark:-",
        &["id s has 2 channels", "channel 2"],
    );
    fails(&f, 255, "compute-fbank-feats --channel=-2 scp:@stereo.scp ark:-", &["--channel=-2"]);
    fails(
        &f,
        1,
        "compute-fbank-feats --min-duration=0.1 scp:@stereo.scp ark:-",
        &["s is too short (0.05 sec)"],
    );
    let mismatch = ["utterance s", "16000 .vs 8000", "--allow-downsample=true", " Done 0 out of 1"];
    fails(&f, 1, "compute-mfcc-feats --sample-frequency=8000 scp:@stereo.scp ark:-", &mismatch);

    f.write("short.wav", wave(16000, 1, &[1; 399]));
    f.write("cut.wav", &wave(16000, 1, &[1; 1000])[..44 + 1600]);
    f.write("no.wav", wave(16000, 1, &[]));
    f.write("flac.wav", "fLaC, and what follows");
    for (name, status, words) in [
        ("short", 0, &["x: 399 samples are not a whole frame"][..]),
        ("cut", 0, &["x: Expected 2000 bytes", "only 1600"]),
        ("no", 255, &["key 'x'", "no sound data"]),
        ("flac", 255, &["key 'x'", "flac.wav", "FLAC"]),
        ("missing", 255, &["key 'x'", "missing.wav"]),
    ] {
        f.write("x.scp", format!("x {}\n", f.path(&format!("{name}.wav"))));
        fails(&f, status, "compute-fbank-feats scp:@x.scp ark:-", words);
    }
    // Through a pipe, and one that fails.
    f.write("pipes.scp", format!("s cat {} |\n", f.path("right.wav")));
    close(&output(&f, "compute-fbank-feats --dither=0 scp:@pipes.scp ark,t:-"), &expected, 0.0);
    f.write("pipes.scp", format!("s cat {} && exit 3 |\n", f.path("right.wav")));
    fails(&f, 255, "compute-fbank-feats scp:@pipes.scp ark:-", &["key 's'"]);
}

#[test]
fn copies_and_segments() {
    let f = folder("segments");
    output(&f, "wav-copy scp:@wav.scp ark:@w.ark");
    output(&f, "wav-copy @w.ark:3 @copy.wav");
    let original = std::fs::read(format!("{SOUND}/u7.wav")).unwrap();
    assert!(std::fs::read(f.path("copy.wav")).unwrap() == original);
    fails(&f, 255, "wav-copy ark:@w.ark @copy.wav", &["is a table"]);

    let lines = "a u7 0.25 0.5\nb u7 0.75 -1\nc u7 0.8 1.25\nd u7 0.2 0.25\ne u7 2 3\nf u7 0 2\ng no 0 1\nh u7 0\ni u7 0 1 1\n";
    f.write("segments", lines);
    let warnings = [
        "Segment d too short",
        "start is out of file data range [0, 1s]; skipping segment 'e u7 2 3'",
        "end is too far out",
        "Could not find recording no, skipping segment g",
        "[expected 4 or 5 fields]: h u7 0",
        "Invalid channel 1 >= 1. Skipping segment i",
        "Successfully processed 3 lines out of 9",
    ];
    fails(&f, 0, "extract-segments scp:@wav.scp @segments ark:@s.ark", &warnings);
    assert_eq!(output(&f, "wav-to-duration ark:@s.ark ark,t:-"), "a 0.25 b 0.25 c 0.2");
    let bytes = std::fs::read(f.path("s.ark")).unwrap();
    assert_eq!(bytes[2 + 44..2 + 44 + 8000], original[44 + 8000..44 + 16000]);
    f.write("stereo.wav", wave(16000, 2, &[5; 16000]));
    f.write("stereo.scp", format!("r {}\n", f.path("stereo.wav")));
    f.write("stereo", "a r 0 0.25\n");
    fails(&f, 255, "extract-segments scp:@stereo.scp @stereo ark:-", &["segment a", "2 channels"]);
}

/// All programs read the second half of a recording with samples in two chunks, and warn of a size that is too small.
#[test]
fn chunks_of_samples() {
    let f = folder("chunks");
    let whole = std::fs::read(format!("{SOUND}/u7.wav")).unwrap();
    let half = whole[44..].len() / 4 * 2;
    let chunk = |bytes: &[u8]| [&b"data"[..], &(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let mut two = [&whole[..36], &chunk(&whole[44..44 + half]), &chunk(&whole[44 + half..])].concat();
    let size = two.len() as u32 - 8;
    two[4..8].copy_from_slice(&size.to_le_bytes());
    let mut short = whole.clone();
    short[40..44].copy_from_slice(&(half as u32).to_le_bytes());
    // A list of 3 bytes and its byte of padding, before the samples and behind them.
    let list = b"LIST\x03\0\0\0abc\0";
    let odd = [&whole[..36], list, &whole[36..], list].concat();
    output(&f, "compute-mfcc-feats --dither=0 scp:@wav.scp ark:@whole.ark");
    let expected = numbers(&output(&f, "copy-feats ark:@whole.ark ark,t:-"));
    for (name, bytes) in [("two", &two), ("short", &short), ("odd", &odd)] {
        f.write("x.scp", format!("x {}\n", f.write("x.wav", bytes)));
        f.write("pipe.scp", format!("x cat {} |\n", f.path("x.wav")));
        f.write("segments", "x x 0 -1\n");
        f.write("spk2utt", "x x\n");
        for line in [
            "wav-to-duration scp:@x.scp ark,t:-",
            "wav-to-duration --read-entire-file=true scp:@x.scp ark,t:-",
            "wav-to-duration --read-entire-file=true scp:@pipe.scp ark,t:-",
            "wav-copy scp:@x.scp ark:@copy.ark",
            "wav-copy scp:@pipe.scp ark:@copy.ark",
            "wav-copy @x.wav @copy.wav",
            "extract-segments scp:@x.scp @segments ark:@copy.ark",
            "compute-mfcc-feats --dither=0 scp:@x.scp ark:@x.ark",
        ] {
            let output = command_lines::run(&f, line);
            assert_eq!(output.status, 0, "{line}: {}", output.stderr);
            let left = format!("{} bytes behind the samples are not used", whole.len() - 44 - half);
            assert_eq!(output.stderr.contains(&left), name == "short", "{name}: {line}: {}", output.stderr);
            let seconds = if name == "short" { "x 0.5 \n" } else { "x 1 \n" };
            assert!(!line.contains("ark,t:-") || output.stdout == seconds, "{line}: {}", output.stdout);
        }
        let frames = numbers(&output(&f, "copy-feats ark:@x.ark ark,t:-"));
        let kept = if name == "short" { 48 * 13 } else { expected.len() };
        assert!(frames.len() == kept && expected.starts_with(&frames), "{name}");
    }
}

/// The message names the kind of a file that is no wave, and a command that converts it.
#[test]
fn other_kinds_of_files() {
    let f = folder("kinds");
    for (bytes, name) in [
        (&b"\xff\xfb\x90\x64"[..], "an MP3 file"),
        (b"\0\0\0\x20ftypM4A ", "an M4A file"),
        (b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "a WebM file"),
        (b"riff\x2e\x91\xcf\x11\xa5\xd6", "Wave64 (W64)"),
        (b"\xff\xf1\x50\x80", "an AAC file"),
        (b"caff\0\x01\0\0", "CAF"),
        (b"fLaC\0\0\0\x22", "a FLAC file"),
        (b"OggS\0\x02", "an Ogg file"),
        (b"#!AMR\n", "an AMR file"),
        (b"NIST_1A\n   1024\n", "a NIST SPHERE file"),
        (&wave(8000, 1, &[1; 9])[..20], "ends within"),
    ] {
        f.write("x.scp", format!("x {}\n", f.write("x.snd", bytes)));
        let advice = format!("'ffmpeg -nostdin -v error -i {} -f wav - |'", f.path("x.snd"));
        let expected = if name == "ends within" { vec![name] } else { vec![name, &advice, "key 'x'"] };
        fails(&f, 255, "compute-mfcc-feats scp:@x.scp ark:-", &expected);
    }
    f.write("x.scp", format!("x cat {} |\n", f.write("x.snd", b"fLaC\0\0\0\x22")));
    let advice = format!("'cat {} | ffmpeg -nostdin -v error -i - -f wav - |' would do", f.path("x.snd"));
    fails(&f, 255, "wav-to-duration scp:@x.scp ark,t:-", &["a FLAC file", &advice]);
    f.write("x.scp", "x no-such-program x.wav |\n");
    fails(&f, 255, "wav-to-duration scp:@x.scp ark,t:-", &["command 'no-such-program x.wav' failed"]);
    f.write("x.scp", format!("x {}\n", f.write("empty.wav", b"")));
    fails(&f, 255, "wav-to-duration scp:@x.scp ark,t:-", &["empty.wav is empty"]);
}

/// An impulse response, noise, pitch of the older kind, and the reference's results for them and for a recording (every
/// 40th sample).
const CHANGED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/changed");
const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sound/pitch/a.wav");

/// Compares samples with those of the reference: at most one step apart, and that in one of ten.
fn same_sound(bytes: &[u8], name: &str, samples: usize) {
    let found: Vec<f64> =
        bytes[44..].chunks_exact(2).map(|x| i16::from_le_bytes([x[0], x[1]]).into()).collect();
    assert_eq!(found.len(), samples, "{name}");
    let all = std::fs::read_to_string(format!("{CHANGED}/waves.txt")).unwrap();
    let line = all.lines().find(|line| line.starts_with(name)).unwrap();
    let expected: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let differences: Vec<f64> = found.iter().step_by(40).zip(&expected).map(|(a, b)| (a - b).abs()).collect();
    assert_eq!(differences.len(), expected.len());
    assert!(differences.iter().all(|&d| d <= 1.0), "{name}");
    assert!(differences.iter().sum::<f64>() <= 0.1 * expected.len() as f64, "{name}");
}

#[test]
fn rooms_noise_and_silence_are_those_of_the_reference() {
    let f = Folder::new("changed-sound");
    let read = || std::fs::read(f.path("out.wav")).unwrap();
    output(&f, &format!("wav-reverberate --impulse-response={CHANGED}/rir.wav {RECORDING} @out.wav"));
    same_sound(&read(), "reverb", 26000);
    let noise = format!("--additive-signals={CHANGED}/noise.wav --snrs=5 --start-times=0.2");
    output(&f, &format!("wav-reverberate {noise} --duration=2 --volume=0.5 {RECORDING} @out.wav"));
    same_sound(&read(), "noise", 32000);
    let silence = "extend-wav-with-silence --extra-silence-length=0.6";
    output(&f, &format!("{silence} {RECORDING} @out.wav"));
    same_sound(&read(), "silence", 35600);
    f.write("wav.scp", format!("a {RECORDING}\n"));
    output(&f, &format!("{silence} scp:@wav.scp ark:@out.ark"));
    assert_eq!(std::fs::read(f.path("out.ark")).unwrap()[2..], read());

    let before = read();
    let reverberate = |options: &str| format!("wav-reverberate {options} {RECORDING} @out.wav");
    for (options, words) in [
        (format!("--additive-signals={CHANGED}/noise.wav"), "requires --snrs and --start-times"),
        (noise.replace("=5", "=5,6"), "1 additive signals, 2 SNRs and 1 start times"),
        (noise.replace("=5", "=loud"), "--snrs=loud: expected numbers"),
        (noise.replace("=0.2", "=-1"), "-1 is before the start"),
        ("--input-wave-channel=1".to_owned(), "channel 1 of the recording: it has 1 channels"),
    ] {
        fails(&f, 255, &reverberate(&options), &[words]);
    }
    let words = ["a: 26000 samples: expected at least 32000", "Successfully extended 0 files."];
    fails(&f, 1, "extend-wav-with-silence --silence-search-length=2 scp:@wav.scp ark:@out.ark", &words);
    fails(&f, 255, &format!("{silence} --silence-extract-shift=0 {RECORDING} @out.wav"), &["steps of 0 s"]);
    assert_eq!(read(), before);
    let loud = command_lines::run(&f, &reverberate("--volume=1e4"));
    assert!(loud.stderr.contains("samples out of total 26000. Reduce volume?"), "{}", loud.stderr);
}

#[test]
fn copies_of_features_do_not_depend_on_how_the_data_are_split() {
    let f = folder("copies-of-features");
    f.write("two.scp", format!("u7 {SOUND}/u7.wav\nu8 {SOUND}/u7.wav\n"));
    f.write("mfcc.conf", "--num-mel-bins=20\n--num-ceps=20\n--use-energy=false\n--dither=0\n");
    output(&f, "compute-mfcc-feats --config=@mfcc.conf scp:@two.scp ark,scp:@feats,@feats.scp");
    let copies = |options: &str, from: &str| {
        let line = format!("augment-feats --mfcc-config=@mfcc.conf {options} {from} ark,t:-");
        let ran = command_lines::run(&f, &line);
        assert_eq!(ran.status, 0, "{line}: {}", ran.stderr);
        ran.stdout
    };
    let keys = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.split_once("  [")).map(|(key, _)| key.to_owned()).collect()
    };
    let both = copies("--num-copies=2", "scp:@feats.scp");
    assert_eq!(keys(&both), ["aug1-u7", "aug2-u7", "u7", "aug1-u8", "aug2-u8", "u8"]);
    let scp = std::fs::read_to_string(f.path("feats.scp")).unwrap();
    f.write("second.scp", scp.lines().nth(1).unwrap());
    assert!(both.ends_with(&copies("--num-copies=2", "scp:@second.scp")));
    let without = copies("--num-copies=1 --keep-original=false", "scp:@feats.scp");
    assert_eq!(keys(&without), ["aug1-u7", "aug1-u8"]);

    // A table with an empty matrix and one with other columns: the rest is there.
    f.write("bad.txt", format!("a  [ ]\nb  [\n  1 2 ]\n{}", copies("--num-copies=0", "scp:@second.scp")));
    let ran = command_lines::run(&f, "augment-feats --mfcc-config=@mfcc.conf ark:@bad.txt ark,t:-");
    assert_eq!((ran.status, keys(&ran.stdout)), (0, vec!["aug1-u8".to_owned(), "u8".to_owned()]));
    for words in [
        "Empty feature matrix for utterance a",
        "b: there are 2 columns: expected 20",
        "1 copies of 1 of 3 utterances",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    f.write("few.conf", "--use-energy=false\n");
    fails(
        &f,
        255,
        "augment-feats --mfcc-config=@few.conf scp:@feats.scp ark:-",
        &["few.conf", "13 cepstra of 23 mel bins: expected as many, so that energies can be had back"],
    );
    fails(&f, 255, "augment-feats scp:@feats.scp ark:-", &["expected --mfcc-config or --fbank-config"]);
}

#[test]
fn sound_at_another_speed_and_volume() {
    let f = Folder::new("perturbed-sound");
    let read = || std::fs::read(f.path("out.wav")).unwrap();
    let seconds = || {
        f.write("wav.scp", format!("a {}\n", f.path("out.wav")));
        output(&f, "wav-to-duration scp:@wav.scp ark,t:-")
    };
    output(&f, &format!("wav-perturb {RECORDING} @out.wav"));
    let same = read();
    output(&f, &format!("wav-copy {RECORDING} @out.wav"));
    assert_eq!(read(), same);
    // 26000 samples at 16 kHz.
    output(&f, &format!("wav-perturb --speed=1.25 --volume=0.5 {RECORDING} @out.wav"));
    close(seconds().trim().trim_start_matches("a "), &[1.3], 1e-6);
    output(&f, &format!("wav-perturb --speed=0.8 {RECORDING} @out.wav"));
    close(seconds().trim().trim_start_matches("a "), &[2.03125], 1e-6);

    let before = read();
    for (options, words) in [
        ("--speed=0", "a speed of 0: expected one from 0.1 to 10"),
        ("--speed=nan", "Option --speed=nan is not a number"),
        ("--volume=-1", "a volume of -1: expected a finite one, at least 0"),
    ] {
        fails(&f, 255, &format!("wav-perturb {options} {RECORDING} @out.wav"), &[words]);
    }
    assert_eq!(read(), before);
    let loud = command_lines::run(&f, &format!("wav-perturb --volume=1e4 {RECORDING} @out.wav"));
    assert!(loud.stderr.contains("samples out of total 26000. Reduce volume?"), "{}", loud.stderr);
}

#[test]
fn interpolated_pitch_is_that_of_the_reference() {
    let f = Folder::new("interpolated-pitch");
    let options = "--pitch-interval=3 --interpolator-factor=0.0001 --max-voicing-prob=0.8 --max-pitch-change-per-frame=12";
    for (name, options, line) in [
        ("", "", "Over 560 frames, 57.5% were zero at input, and 2.32143% were not zero but were changed."),
        (".linear", "--linear-interpolation=true", "Done 5 utterances, 0 with errors."),
        (".options", options, "57.5% were zero at input, and 2.5% were not zero"),
    ] {
        let command = format!("interpolate-pitch {options} ark:{CHANGED}/sacc.ark ark,t:-");
        let found = command_lines::run(&f, &command);
        let expected = output(&f, &format!("copy-feats ark:{CHANGED}/interpolate{name}.ark ark,t:-"));
        close(&found.stdout, &numbers(&expected), 1e-4);
        assert!(found.stderr.contains(line), "{}", found.stderr);
    }
    f.write("bad", "a [ 0.5 100\n 0.5 -1 ]\nb [ 0.5 100 ]\nc [ ]\n");
    let words = [
        "a: frame 1 has probability 0.5 and pitch -1",
        "Empty feature matrix for utterance c",
        "Done 1 utterances, 2 with errors.",
    ];
    fails(&f, 0, "interpolate-pitch ark:@bad ark:-", &words);
    fails(&f, 255, "interpolate-pitch --pitch-interval=0 ark:@bad ark:-", &["a pitch interval of 0"]);
}

#[test]
fn silence_around_features_does_not_depend_on_how_the_data_are_split() {
    let f = Folder::new("silence-around-features");
    let names: Vec<String> = (0..12).map(|i| format!("u{i:02}")).collect();
    f.write("wav.scp", names.iter().map(|name| format!("{name} {SOUND}/u7.wav\n")).collect::<String>());
    f.write("mfcc.conf", "--num-mel-bins=20\n--num-ceps=20\n--use-energy=false\n--dither=0\n");
    output(&f, "compute-mfcc-feats --config=@mfcc.conf scp:@wav.scp ark,scp:@feats,@feats.scp");
    let pad = |options: &str, from: &str| {
        output(&f, &format!("pad-feats --mfcc-config=@mfcc.conf --multiple=3 {options} {from} ark:@padded"));
        command_lines::run(&f, "feat-to-len ark:@padded ark,t:-").stdout
    };
    let whole = pad("--write-silence=ark,t:@silence", "scp:@feats.scp");
    let table = std::fs::read_to_string(f.path("silence")).unwrap();
    let mut padded = 0;
    for (line, length) in table.lines().zip(whole.lines()) {
        let numbers: Vec<usize> =
            line.split(' ').skip(1).filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect();
        let [before, words, after] = numbers[..] else { panic!("{line}") };
        assert_eq!(length.split(' ').nth(1).unwrap(), (before + words + after).to_string());
        assert!(before % 3 == 0 && before <= 60 && after <= 60 && (before > 0) == (after > 0), "{line}");
        padded += usize::from(before > 0);
    }
    assert!((2..=10).contains(&padded) && table.lines().count() == 12, "{table}");
    let scp = std::fs::read_to_string(f.path("feats.scp")).unwrap();
    f.write("later.scp", scp.lines().skip(5).map(|line| format!("{line}\n")).collect::<String>());
    assert!(whole.ends_with(&pad("", "scp:@later.scp")));
    assert_ne!(whole, pad("--srand=1", "scp:@feats.scp"));

    f.write("bad.txt", "a  [ ]\nb  [\n  1 2 ]\n");
    let ran = command_lines::run(&f, "pad-feats --part=1 --mfcc-config=@mfcc.conf ark:@bad.txt ark,t:-");
    for words in [
        "Empty feature matrix for utterance a",
        "b: there are 2 columns: expected 20",
        "around 0 of 2 utterances",
    ] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    for (option, words) in [
        ("--part=1.5", "a part of utterances of 1.5"),
        ("--digital=-1", "a part of digital silence of -1"),
        ("--max-frames=2", "at most 2 frames of silence in steps of 3"),
        ("--min-snr=70", "ratios from 70 to 60 dB"),
    ] {
        let line = format!("pad-feats --mfcc-config=@mfcc.conf --multiple=3 {option} scp:@feats.scp ark:-");
        fails(&f, 255, &line, &[words]);
    }
}
