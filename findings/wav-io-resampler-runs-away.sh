#!/usr/bin/env bash
# The Rust crate wav_io changes the sample rate by linear interpolation. It adds the step in 32-bit floats, sample by sample. The farther the place, the
# coarser the sum: the step is rounded, sound runs faster or slower, and from sample 16,777,216 on the step is 0, so that one sample lasts to the end.
# Where the rate is halved, the result has one sample more, and that is not a number. There is no message.
# Seen with wav_io 0.1.17, samples that hold their own time in seconds:
#   44.1 to 48 kHz, at 90 % of 10 s and 60 s        8.972, 53.461 (right: 9, 54)
#   44.1 to 48 kHz, 600 s, at 50, 70 and 90 %       321.216, 380.436, 380.436 (right: 300, 420, 540)
#   eight samples from 32 to 16 kHz                 four, and NaN
# Consequence: captions move by half a second a minute, and long recordings end in a constant. One NaN makes all features of a file
# NaN. Resample by other means.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "show"
version = "0.1.0"
edition = "2021"

[dependencies]
wav_io = "=0.1.17"
TOML
cat >src/main.rs <<'RUST'
use wav_io::resample::linear;

fn main() {
    for seconds in [10, 60, 600] {
        let times: Vec<f32> = (0..44100 * seconds).map(|at| at as f32 / 44100.0).collect();
        let result = linear(times, 1, 44100, 48000);
        let places = [10, 50, 70, 90].map(|part| format!("{:.3}", result[48000 * seconds * part / 100]));
        let right = [10, 50, 70, 90].map(|part| format!("{:.3}", (seconds * part) as f32 / 100.0));
        println!("{seconds} s: {} samples, at 10, 50, 70, 90 %: {}, right: {}", result.len(), places.join(" "), right.join(" "));
    }
    let samples: Vec<f32> = (1..9).map(|at| at as f32 / 8.0).collect();
    println!("32 to 16 kHz: {:?}", linear(samples.clone(), 1, 32000, 16000));
    println!("32 to 16 kHz, stereo: {:?}", linear(samples, 2, 32000, 16000));
    for (from, to) in [(48000, 16000), (16000, 8000), (44100, 16000)] {
        let result = linear(vec![0.5; from as usize], 1, from, to);
        println!("{from} to {to} Hz, 1 s: {} samples, the last {}", result.len(), result.last().unwrap());
    }
}
RUST
CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
diff seen - <<'EXPECTED'
10 s: 480000 samples, at 10, 50, 70, 90 %: 1.000 5.011 7.000 8.972, right: 1.000 5.000 7.000 9.000
60 s: 2880000 samples, at 10, 50, 70, 90 %: 6.013 29.866 41.294 53.461, right: 6.000 30.000 42.000 54.000
600 s: 28800000 samples, at 10, 50, 70, 90 %: 59.992 321.216 380.436 380.436, right: 60.000 300.000 420.000 540.000
32 to 16 kHz: [0.1875, 0.4375, 0.6875, 0.9375, NaN]
32 to 16 kHz, stereo: [0.25, 0.375, 0.75, 0.875, NaN, NaN]
48000 to 16000 Hz, 1 s: 16001 samples, the last NaN
16000 to 8000 Hz, 1 s: 8001 samples, the last NaN
44100 to 16000 Hz, 1 s: 16001 samples, the last 0.5
EXPECTED
echo "as stated"
