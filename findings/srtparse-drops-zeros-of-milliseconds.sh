#!/usr/bin/env bash
# The Rust crates srtparse and subrip read SubRip, and their items print themselves as SubRip. Neither pads milliseconds, so that 50 ms are ",50".
# Readers take the digits behind the comma as a fraction: half a second. srtparse also leaves out the line break behind the text, so that the next
# number joins it; subrip drops the zeros of hours, minutes and seconds as well. Both read their own times as they meant them.
# Seen with srtparse 0.3.0, subrip 0.1.1; read by pysubs2 1.8.1:
#   00:00:01,050 --> 00:00:02,007    of srtparse 00:00:01,50-->00:00:02,7, of subrip 0:0:1,50 --> 0:0:2,7
#   begin and end read by pysubs2    1500 and 2700 ms (right: 1050 and 2007)
#   two captions one after another   of srtparse "first2" and then "second" without a number
# Consequence: each time with less than 100 ms behind the second moves by up to 0.9 s, and the others do not. Write times with {:03} yourself.
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
srtparse = "=0.3.0"
subrip = "=0.1.1"
TOML
cat >src/main.rs <<'RUST'
use std::fs::write;

fn main() {
    let text = "1\n00:00:01,050 --> 00:00:02,007\nfirst\n\n2\n00:00:03,000 --> 00:00:04,250\nsecond\n";
    let items = srtparse::from_str(text).unwrap();
    let items: Vec<String> = items.iter().map(|item| item.to_string()).collect();
    println!("srtparse:\n{}", items.concat());
    write("srtparse.srt", items.join("\n\n")).unwrap();
    let items: Vec<String> = subrip::parse(text).unwrap().iter().map(|item| item.to_string()).collect();
    print!("subrip:\n{}", items.concat());
    write("subrip.srt", items.concat()).unwrap();
}
RUST
CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pysubs2==1.8.1
venv/bin/python - <<'PYTHON' | tee -a seen
import pysubs2

for name in ("srtparse.srt", "subrip.srt"):
    print(name, "in pysubs2:", [(line.start, line.end, line.text) for line in pysubs2.load(name)])
PYTHON
diff seen - <<'EXPECTED'
srtparse:
1
00:00:01,50-->00:00:02,7
first2
00:00:03,0-->00:00:04,250
second
subrip:
1
0:0:1,50 --> 0:0:2,7
first


2
0:0:3,0 --> 0:0:4,250
second


srtparse.srt in pysubs2: [(1500, 2700, 'first'), (3000, 4250, 'second')]
subrip.srt in pysubs2: [(1500, 2700, 'first'), (3000, 4250, 'second')]
EXPECTED
echo "as stated"
