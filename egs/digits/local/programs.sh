#!/usr/bin/env bash
# Usage: programs.sh [--built]
# Prints the folder of this repository's programs, and says on standard error which they are: those on the PATH; else those that are built
# in target/release; else builds them, with Cargo's messages on standard error. --built: builds nothing, and ends with status 1 if none are there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
source scripts/common/usage.sh
build=true
if [[ ${1-} == --built ]]; then build=false; shift; fi
plain_usage 0 0 "$@"

# A program of Kaldi has the name nnet3-train, too; nnet3 is of this repository alone. (A folder of links may lack nnet3 itself.)
on_path=$(command -v nnet3-train || true)
if [[ $on_path && ( -x ${on_path%/*}/nnet3 || $(basename "$(realpath "$on_path")") == nnet3 ) ]]; then
  echo "programs: those on the PATH, in ${on_path%/*}" >&2
  echo "${on_path%/*}"
  exit
fi
folder=${CARGO_TARGET_DIR:-target}/release
if [[ -x $folder/nnet3 && -x $folder/nnet3-train ]]; then
  folder=$(realpath "$folder")
  changed=
  [[ -z $(find src crates Cargo.lock -name '*.rs' -newer "$folder/nnet3" -print -quit 2>/dev/null) ]] || changed="; sources have changed since"
  echo "programs: those built before, in $folder (\`cargo build --release\` builds them anew$changed)" >&2
  echo "$folder"
  exit
fi
$build || { echo "programs: none on the PATH, and none built in $folder" >&2; exit 1; }
if ! command -v cargo >/dev/null && [[ -x $HOME/.cargo/bin/cargo ]]; then PATH=$HOME/.cargo/bin:$PATH; fi
command -v cargo >/dev/null || { echo "programs.sh: there is no cargo; install a Rust toolchain first (https://rustup.rs)" >&2; exit 1; }
echo "programs: none on the PATH, and none built in $folder: cargo builds them, which takes some minutes" >&2
cargo build --release --bin nnet3 >&2
realpath "$folder"
