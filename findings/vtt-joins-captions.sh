#!/usr/bin/env bash
# The Rust crate vtt reads and writes WebVTT. Between two captions it writes one line break, where WebVTT wants an empty line, and so a file that it
# writes is one caption: the times of the others are lines of its text. Its code says that it puts an empty line there. There is no message.
# Seen with vtt 1.0.0:
#   three captions, written and read again by vtt     1 caption, "one", with the times and texts of the others as words behind it
# Consequence: a player shows the first caption, with times as words, and no other. Write captions one by one, with an empty line between them.
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
vtt = "=1.0.0"
TOML
cat >src/main.rs <<'RUST'
use std::str::FromStr;
use vtt::WebVtt;

fn main() {
    let text = "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\none\n\n00:00:03.000 --> 00:00:04.000\ntwo\n\n00:00:05.000 --> 00:00:06.000\nthree\n";
    let captions = WebVtt::from_str(text).unwrap();
    println!("read: {} captions", captions.cues.len());
    let written = captions.to_string();
    println!("{written}");
    let again = WebVtt::from_str(&written).unwrap();
    println!("read again: {} captions, the first {:?}", again.cues.len(), again.cues[0].payload);
}
RUST
CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
diff seen - <<'EXPECTED'
read: 3 captions
WEBVTT

00:00:01.000 --> 00:00:02.000
one
00:00:03.000 --> 00:00:04.000
two
00:00:05.000 --> 00:00:06.000
three
read again: 1 captions, the first "one\n00:00:03.000 --> 00:00:04.000\ntwo\n00:00:05.000 --> 00:00:06.000\nthree"
EXPECTED
echo "as stated"
