#!/usr/bin/env bash
# The Rust crate wav_io writes and reads waves. As 8 bits it writes the lowest sample, -1, as 255, the highest, and silence as 127, which is -0.0078
# when it is read. Of a wave with more than two channels it gives all samples and a header that says one channel. There is no message.
# Seen with wav_io 0.1.17:
#   -1, -0.99, 0, 1 as 8 bits, and read again     0.996, -0.996, -0.0078, 0.996
#   a wave of 4 channels, 1 s at 16 kHz           1 channel, 64,000 samples at 16 kHz: 4 s
# Consequence: full-scale speech clicks, and recordings of arrays of microphones are four times as long, with the channels mixed. Read the header
# yourself.
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
use wav_io::reader::Reader;

fn read(bytes: Vec<u8>) -> (wav_io::header::WavHeader, Vec<f32>) {
    let mut reader = Reader::from_vec(bytes).unwrap();
    (reader.read_header().unwrap(), reader.get_samples_f32().unwrap())
}

fn main() {
    let header = wav_io::new_header(16000, 8, false, true);
    let samples = vec![0.0, 0.5, -0.5, 0.99, -0.99, 1.0, -1.0];
    let bytes = wav_io::write_to_bytes(&header, &samples).unwrap();
    println!("{samples:?} as 8 bits: {:?}", &bytes[44..51]);
    println!("read again: {:.4?}", read(bytes).1);
    for channels in [1, 2, 3, 4] {
        let mut header = wav_io::new_header(16000, 16, false, true);
        header.channels = channels;
        let bytes = wav_io::write_to_bytes(&header, &vec![0.5; 16000 * channels as usize]).unwrap();
        let written = bytes[22];
        let (header, samples) = read(bytes);
        println!("{written} channels in the file: {} channels, {} samples", header.channels, samples.len());
    }
}
RUST
CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
diff seen - <<'EXPECTED'
[0.0, 0.5, -0.5, 0.99, -0.99, 1.0, -1.0] as 8 bits: [127, 191, 63, 253, 1, 255, 255]
read again: [-0.0078, 0.4941, -0.5098, 0.9804, -0.9961, 0.9961, 0.9961]
1 channels in the file: 1 channels, 16000 samples
2 channels in the file: 2 channels, 32000 samples
3 channels in the file: 1 channels, 48000 samples
4 channels in the file: 1 channels, 64000 samples
EXPECTED
echo "as stated"
