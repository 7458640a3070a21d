#!/usr/bin/env bash
# The Rust crate number-to-words-ru takes any 64-bit number and leaves out what is above 999,999,999,999: 10^12 has no words, and 2 * 10^12 + 5 those of
# 5. The Russian words of 15 to 19 are misspelt, with a soft sign within, and that of 17 in another way where it stands alone. There is no message.
# Seen with number-to-words-ru 0.1.1:
#   1,000,000,000,000          nothing (right: один триллион)
#   2,000,000,000,005          пять
#   15, 16, 17, 17,000         пятьнадцать, шестьнадцать, семтьнадцать, семьнадцать тысяч (right: пятнадцать, шестнадцать, семнадцать)
# Consequence: speech of large amounts is of others, and dictionaries of pronunciation do not have the words of 15 to 19.
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
number-to-words-ru = "=0.1.1"
TOML
cat >src/main.rs <<'RUST'
use number_to_words_ru::number_to_words;

fn main() {
    for number in [14, 15, 16, 17, 18, 19, 20, 115, 17_000, 999_999_999_999, 1_000_000_000_000, 2_000_000_000_005, i64::MAX] {
        println!("{number}: {}", number_to_words(number));
    }
}
RUST
CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
diff seen - <<'EXPECTED'
14: четырнадцать
15: пятьнадцать
16: шестьнадцать
17: семтьнадцать
18: восемьнадцать
19: девятьнадцать
20: двадцать
115: сто пятьнадцать
17000: семьнадцать тысяч
999999999999: девятьсот девяносто девять миллиардов девятьсот девяносто девять миллионов девятьсот девяносто девять тысяч девятьсот девяносто девять
1000000000000: 
2000000000005: пять
9223372036854775807: тридцать шесть миллиардов восемьсот пятьдесят четыре миллиона семьсот семьдесят пять тысяч восемьсот семь
EXPECTED
echo "as stated"
