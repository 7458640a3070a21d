#!/usr/bin/env bash
# The Rust crate rwer computes word error rates, and has steps that prepare texts: one of them expands contractions. It knows them in small letters
# alone and writes "I" large: behind ToLower "I'm" becomes "I am", and before it "I'm" stays. Whichever comes first, "I'm" and "I am" differ. Its
# documentation says that the step expands common contractions, not in which case. There is no message.
# Seen with rwer 0.2.2, reference "I am here", hypothesis "I'm here":
#   no preparation                                         2 errors in 3 words
#   ToLower, then ExpandCommonEnglishContractions          "i am here", "I am here": 1 error (right: 0)
#   ExpandCommonEnglishContractions, then ToLower          "i am here", "i'm here": 2 errors (right: 0)
# Consequence: each "I'm", "I'll", "I've" or "I'd" of a recogniser is an error. Put ToLower both before and behind.
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
rwer = "=0.2.2"
TOML
cat >src/main.rs <<'RUST'
use rwer::{Compose, ExpandCommonEnglishContractions, ToLower, Transform};

fn main() {
    let lower_first = Compose::new(vec![Box::new(ToLower), Box::new(ExpandCommonEnglishContractions)]);
    let lower_last = Compose::new(vec![Box::new(ExpandCommonEnglishContractions), Box::new(ToLower)]);
    let both = Compose::new(vec![Box::new(ToLower), Box::new(ExpandCommonEnglishContractions), Box::new(ToLower)]);
    let pairs = [("I am here", "I'm here"), ("I will go", "I'll go"), ("It is Monday", "It's Monday"), ("you are right", "you're right")];
    for (reference, hypothesis) in pairs {
        println!("{reference:?} and {hypothesis:?}: {:.3}", rwer::wer(reference, hypothesis));
        for (name, steps) in [("lower first", &lower_first), ("lower last", &lower_last), ("lower first and last", &both)] {
            let (reference, hypothesis) = (steps.transform(reference), steps.transform(hypothesis));
            println!("  {name}: {reference:?} and {hypothesis:?}: {:.3}", rwer::wer(&reference, &hypothesis));
        }
    }
}
RUST
CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=$work/target cargo run --quiet | tee seen
diff seen - <<'EXPECTED'
"I am here" and "I'm here": 0.667
  lower first: "i am here" and "I am here": 0.333
  lower last: "i am here" and "i'm here": 0.667
  lower first and last: "i am here" and "i am here": 0.000
"I will go" and "I'll go": 0.667
  lower first: "i will go" and "I will go": 0.333
  lower last: "i will go" and "i'll go": 0.667
  lower first and last: "i will go" and "i will go": 0.000
"It is Monday" and "It's Monday": 0.667
  lower first: "it is monday" and "it is monday": 0.000
  lower last: "it is monday" and "it's monday": 0.667
  lower first and last: "it is monday" and "it is monday": 0.000
"you are right" and "you're right": 0.667
  lower first: "you are right" and "you are right": 0.000
  lower last: "you are right" and "you are right": 0.000
  lower first and last: "you are right" and "you are right": 0.000
EXPECTED
echo "as stated"
