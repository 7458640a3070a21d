#!/usr/bin/env bash
# The Rust crate text-processing-rs writes numbers of recognised speech as digits. Two numbers with "to" between them are a time: "ten to twenty" is
# 19:50, and larger numbers are times that do not exist. Of "five million two hundred thousand" it reads all before the last word as one number, and of
# thousands of dollars it joins the digits. "One third" is "fourth". There is no message.
# Seen with text-processing-rs 0.2.2, normalize_sentence:
#   we need five to ten people                    we need 09:55 people (right: 5 to 10)
#   it takes seventy to eighty days               it takes 79:-10 days (right: 70 to 80)
#   five million two hundred thousand people      5000200 thousand people (right: 5200000)
#   it costs ten thousand five hundred dollars    it costs $1000500 (right: $10500)
#   one third of them                             4th of them (right: 1/3)
# Consequence: amounts in transcripts are 100 to 1,000 times too large, and ranges become times. Leave such words as they are.
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
text-processing-rs = "=0.2.2"
TOML
cat >src/main.rs <<'RUST'
use text_processing_rs::normalize_sentence;

fn main() {
    for text in [
        "we need five to ten people",
        "two to three times",
        "from ten to twenty",
        "we work nine to five",
        "it takes seventy to eighty days",
        "one hundred to two hundred",
        "two hundred thousand people",
        "five million two hundred thousand people",
        "two billion five hundred million",
        "two billion five hundred",
        "it costs five hundred dollars",
        "it costs ten thousand five hundred dollars",
        "one thousand five hundred dollars",
        "one thousand five hundred and fifty dollars",
        "one third of them",
        "one fifth",
        "two and a half hours",
    ] {
        println!("{text}: {}", normalize_sentence(text));
    }
}
RUST
CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
diff seen - <<'EXPECTED'
we need five to ten people: we need 09:55 people
two to three times: 02:58 times
from ten to twenty: from 19:50
we work nine to five: we work 04:51
it takes seventy to eighty days: it takes 79:-10 days
one hundred to two hundred: 199:-40
two hundred thousand people: 200 thousand people
five million two hundred thousand people: 5000200 thousand people
two billion five hundred million: 2000000500 million
two billion five hundred: 2000000500
it costs five hundred dollars: it costs $500
it costs ten thousand five hundred dollars: it costs $1000500
one thousand five hundred dollars: $100500
one thousand five hundred and fifty dollars: $1550
one third of them: 4th of them
one fifth: 6th
two and a half hours: 2 half hours
EXPECTED
echo "as stated"
