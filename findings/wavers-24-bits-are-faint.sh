#!/usr/bin/env bash
# The Rust crate wavers converts samples as it reads and writes waves. It divides samples of 24 bits by 2^31 as it makes floats of them, so that they
# are 48 dB too quiet, and writes floats as 24 bits by the lowest 24 of 32 bits, so that they are silence and noise. There is no message.
# Seen with wavers 1.5.1, i24 1.0.1:
#   24-bit samples at 1/2, -1/2, 1/4 read as floats            0.00195, -0.00195, 0.00098
#   floats 0.5, -0.5, 0.25, 0.3, -0.7 written as 24 bits       0, 0, 0, 0.8, 0.8 of full scale
#   the same as 16 and as 32 bits                              right
# Consequence: recordings of 24 bits are as faint as -48 dB to a recogniser, and those written from floats are lost. Read them as i32.
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
wavers = "=1.5.1"
i24 = "=1.0.1"
TOML
cat >src/main.rs <<'RUST'
use i24::i24;
use wavers::{read, write, Samples};

fn main() {
    let whole = [0, 1 << 22, -1 << 22, 1 << 21].map(i24::from_i32);
    write("integers.wav", &Samples::from(&whole[..]), 16000, 1).unwrap();
    let (samples, _) = read::<f32, _>("integers.wav").unwrap();
    println!("24 bits at 0, 1/2, -1/2, 1/4 as floats: {:?}", samples.as_ref());
    let (samples, _) = read::<i32, _>("integers.wav").unwrap();
    println!("  as i32, of full scale: {:?}", samples.as_ref().iter().map(|sample| *sample as f64 / 2f64.powi(31)).collect::<Vec<_>>());

    let floats = Samples::from(vec![0.0f32, 0.5, -0.5, 0.25, 0.3, -0.7]);
    for bits in [16, 24, 32] {
        match bits {
            16 => write("floats.wav", &floats.clone().convert::<i16>(), 16000, 1).unwrap(),
            24 => write("floats.wav", &floats.clone().convert::<i24>(), 16000, 1).unwrap(),
            _ => write("floats.wav", &floats.clone().convert::<i32>(), 16000, 1).unwrap(),
        }
        let (samples, _) = read::<i32, _>("floats.wav").unwrap();
        let samples: Vec<String> = samples.as_ref().iter().map(|sample| format!("{:.3}", *sample as f64 / 2f64.powi(31))).collect();
        println!("floats 0, 0.5, -0.5, 0.25, 0.3, -0.7 as {bits} bits: {}", samples.join(", "));
    }
}
RUST
CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
diff seen - <<'EXPECTED'
24 bits at 0, 1/2, -1/2, 1/4 as floats: [0.0, 0.001953125, -0.001953125, 0.0009765625]
  as i32, of full scale: [0.0, 0.5, -0.5, 0.25]
floats 0, 0.5, -0.5, 0.25, 0.3, -0.7 as 16 bits: 0.000, 0.500, -0.500, 0.250, 0.300, -0.700
floats 0, 0.5, -0.5, 0.25, 0.3, -0.7 as 24 bits: 0.000, 0.000, 0.000, 0.000, 0.800, 0.800
floats 0, 0.5, -0.5, 0.25, 0.3, -0.7 as 32 bits: 0.000, 0.500, -0.500, 0.250, 0.300, -0.700
EXPECTED
echo "as stated"
