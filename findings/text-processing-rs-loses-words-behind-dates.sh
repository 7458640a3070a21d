#!/usr/bin/env bash
# The Rust crate text-processing-rs writes dates out as words before speech is made of them. It tries the longest part of a sentence first, up to 16
# words, and takes a part that begins with a month, a number and a comma for a date, whatever follows: it returns the date alone. There is no message.
# Seen with text-processing-rs 0.2.2:
#   January 5, we will meet at noon                   january fifth
#   On March 8, the king and the queen came.          On march eighth
#   In May 5, 2024, we met                            In may fifth (the year is lost too)
#   June 3 we met                                     june third we met
# Consequence: up to 13 words behind a date are not spoken. Take out the comma behind a day, or divide sentences at commas first.
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
use text_processing_rs::tn_normalize_sentence;

fn main() {
    for text in [
        "January 5, we will meet at noon",
        "On March 8, the king and the queen came.",
        "We met on May 1, and then we left for good.",
        "December 25, 10 people came",
        "In May 5, 2024, we met",
        "In May 5, 2024 we met",
        "In May 5, 2024",
        "June 3 we met",
        "January 5, a b c d e f g h i j k l m n o p q",
    ] {
        println!("{text}: {}", tn_normalize_sentence(text));
    }
}
RUST
CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
diff seen - <<'EXPECTED'
January 5, we will meet at noon: january fifth
On March 8, the king and the queen came.: On march eighth
We met on May 1, and then we left for good.: We met on may first
December 25, 10 people came: december twenty fifth
In May 5, 2024, we met: In may fifth
In May 5, 2024 we met: In may fifth
In May 5, 2024: In may fifth twenty twenty four
June 3 we met: june third we met
January 5, a b c d e f g h i j k l m n o p q: january fifth n o p q
EXPECTED
echo "as stated"
