#!/usr/bin/env bash
# A wave may keep samples of 24 bits in 32: its extensible header has both numbers, and Microsoft puts the valid bits at the top and zeros below.
# The Rust crate hound reads the lowest 24 bits, so that the 8 loudest bits of each sample are missing, and it writes such files with the samples at
# the bottom. Its seek counts 3 bytes a sample in both. Its documentation says that such containers are supported. There is no message.
# Seen with hound 3.5.1; soundfile 0.13.1, the same file:
#   samples at 0, 1/2, -1/2, 1/128, 3/2^23 of full scale     read by hound 0, 0, 0, 0, 768 (right: 0, 4194304, -4194304, 65536, 3)
#   sample 0.5 that hound writes, read by soundfile          0.00195, 48 dB below
#   seek to sample 4 of 8 that hound has written             sample 5, and an error at the end (right: samples 4 to 7)
# Consequence: recordings of drivers that have 24 bits in 32 are silence with crackles. Read the 32 bits by other means, or make files of 24 in 24.
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
hound = "=3.5.1"
TOML
cat >src/main.rs <<'RUST'
use hound::{SampleFormat, WavReader, WavSpec, WavSpecEx, WavWriter};

fn samples<R: std::io::Read>(reader: &mut WavReader<R>) -> Vec<String> {
    reader.samples::<i32>().map(|sample| sample.map_or("error".into(), |sample| sample.to_string())).collect()
}

fn main() {
    for name in ["24-in-24.wav", "24-in-32.wav"] {
        let mut reader = WavReader::open(name).unwrap();
        println!("{name} in hound: {} bits, {}", reader.spec().bits_per_sample, samples(&mut reader).join(" "));
    }
    let spec = WavSpec { channels: 1, sample_rate: 16000, bits_per_sample: 24, sample_format: SampleFormat::Int };
    let file = std::fs::File::create("written.wav").unwrap();
    let mut writer = WavWriter::new_with_spec_ex(file, WavSpecEx { spec, bytes_per_sample: 4 }).unwrap();
    (0..8).for_each(|at| writer.write_sample(at << 19).unwrap());
    writer.finalize().unwrap();
    let mut reader = WavReader::open("written.wav").unwrap();
    println!("written.wav in hound: {}", samples(&mut reader).join(" "));
    reader.seek(0).unwrap();
    println!("  behind seek to 0: {}", samples(&mut reader).join(" "));
    let mut reader = WavReader::open("written.wav").unwrap();
    reader.seek(4).unwrap();
    println!("  from the beginning to 4: {}", samples(&mut reader).join(" "));
}
RUST
cat >waves.py <<'PYTHON'
import struct
import sys

import soundfile

if sys.argv[1] == "make":
    for name, width in (("24-in-24.wav", 3), ("24-in-32.wav", 4)):
        data = b"".join(struct.pack("<i", sample << 8)[4 - width:] for sample in (0, 1 << 22, -1 << 22, 1 << 16, 3))
        form = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 16000, 16000 * width, width, 8 * width, 22, 24, 4)
        form += bytes.fromhex("0100000000001000800000aa00389b71")
        chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
        with open(name, "wb") as wave:
            wave.write(b"RIFF" + struct.pack("<I", len(chunks)) + chunks + b"\0" * (len(data) % 2))
        print(name, "in soundfile:", *soundfile.read(name, dtype="int32")[0] >> 8)
else:
    print("written.wav in soundfile:", *soundfile.read("written.wav")[0].round(5))
PYTHON
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check soundfile==0.13.1 numpy==2.2.6
venv/bin/python waves.py make | tee seen
CARGO_TARGET_DIR=$work/target cargo run --quiet | tee -a seen
venv/bin/python waves.py read | tee -a seen
diff seen - <<'EXPECTED'
24-in-24.wav in soundfile: 0 4194304 -4194304 65536 3
24-in-32.wav in soundfile: 0 4194304 -4194304 65536 3
24-in-24.wav in hound: 24 bits, 0 4194304 -4194304 65536 3
24-in-32.wav in hound: 24 bits, 0 0 0 0 768
written.wav in hound: 0 524288 1048576 1572864 2097152 2621440 3145728 3670016
  behind seek to 0: 1048576 1572864 2097152 2621440 3145728 3670016 error error
  from the beginning to 4: 1572864 2097152 2621440 3145728
written.wav in soundfile: 0.0 0.00024 0.00049 0.00073 0.00098 0.00122 0.00146 0.00171
EXPECTED
echo "as stated"
