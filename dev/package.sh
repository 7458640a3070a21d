#!/usr/bin/env bash
# Usage: package.sh [--debug] [--offline] [--static-openblas] [--kaldi S5] wheel|deb|library|test|check [PART ...]
# Packages of the programs, in target/package:
#   wheel   nnet3-*.whl for pip: the binary, a short script of each program's name, the Python module. Linked by zig, so that it
#           runs with glibc 2.28 or later; installs maturin and zig (packaging/requirements.txt) with pip into packaging/.venv
#   deb     nnet3_*.deb for Debian and its like: the binary, a link of each program's name, manual pages, completions, the
#           drivers of trainings and recognisers in /usr/share/nnet3/scripts
#   library libvosk.so, with the functions of vosk (docs/vosk.md)
#   test    with --static-openblas: the tests of products, networks and recognition, with OpenBLAS inside, in a build folder of its own
#   check   tests the packages that are there in empty environments; PARTs: wheel, deb, image (all)
# --debug packs the debug build, which is there after the tests: for testing what is around the binary. --offline: what is missing
# is an error instead of a download. --static-openblas: programs, module and library have OpenBLAS inside (libopenblas-dev of Debian), so that they
# are fast on machines without it. --kaldi: check also runs a training driver of Kaldi from the packages; S5 is egs/wsj/s5 of a checkout, which
# need not be built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../scripts/common/usage.sh"
source "$here/../scripts/common/values.sh"
export LC_ALL=C.UTF-8
debug=false offline=false static_openblas=false kaldi=
while [[ ${1-} == --debug || ${1-} == --offline || ${1-} == --static-openblas || ${1-} == --kaldi ]]; do
  if [[ $1 == --kaldi ]]; then
    [[ -f ${2-}/steps/nnet3/train_raw_dnn.py ]] || refuse_usage "--kaldi: '${2-}' has no steps/nnet3/train_raw_dnn.py"
    kaldi=$(realpath "$2")
    shift
  else
    name=${1#--}
    printf -v "${name//-/_}" true # lint: --debug, --offline or --static-openblas
  fi
  shift
done
plain_usage 1 4 "$@"
case $1 in
  wheel | deb | library | check) ;;
  test) $static_openblas || refuse_usage "test goes with --static-openblas; scripts/test.sh tests the other build" ;;
  *) refuse_usage "unknown task '$1'; --help says what there is" ;;
esac
cd "$here/.."

say() { echo "package.sh: $*" >&2; }
fail() { say "$*"; exit 1; }

target=$(cargo metadata --no-deps --format-version 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
out=$target/package
cache=$PWD/packaging/.cache # what tests have downloaded
mkdir -p "$out" "$cache"
build_options=(--release) build_folder=release
if $debug; then
  build_options=()
  build_folder=debug
fi
if $offline; then export CARGO_NET_OFFLINE=true; fi
source "$here/package/openblas.sh"
features=()
if $static_openblas; then
  use_static_openblas
  features=(--features static-openblas)
fi

programs() { # the names of all programs
  # The first line of a program has its name.
  sed -n '1s,^//! `\([a-z0-9-]*\)`: .*,\1,p' --separate src/bin/*/*.rs
}

# Installs tools with pip into packaging/.venv, in the versions of packaging/requirements.txt, unless they are there.
tools=packaging/.venv
install_tools() { # <package> ...
  local missing=() package wanted
  for package; do
    wanted=$(grep "^$package==" packaging/requirements.txt)
    grep -qxF "$wanted" "$tools/installed" 2>/dev/null || missing+=("$wanted")
  done
  (( ${#missing[@]} )) || return 0
  if $offline; then fail "$tools lacks ${missing[*]}"; fi
  say "installing with pip into $tools: ${missing[*]}"
  "$tools/bin/python" -c '' 2>/dev/null || { rm -rf "$tools"; python3 -m venv "$tools"; }
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check "${missing[@]}"
  printf '%s\n' "${missing[@]}" >>"$tools/installed"
}

source "$here/package/wheel.sh"
source "$here/package/deb.sh"
source "$here/package/library.sh"

task=$1
shift
case $task in
  wheel) make_wheel ;;
  deb) make_deb ;;
  library) make_library ;;
  test)
    # (Features of one crate hold for all that are built with it.)
    tested=(-p nnet3-matrix -p nnet3-primitives-suite -p nnet3-base -p nnet3-component -p nnet3-network -p nnet3-learning -p nnet3-compiler -p nnet3-core -p nnet3-train -p nnet3-chain -p nnet3-online -p nnet3-export)
    cargo nextest run --no-fail-fast --features nnet3-matrix/static-openblas --target-dir "$target/static-openblas" "${tested[@]}"
    ;;
  check)
    source "$here/package/check.sh"
    check_parts "$@"
    ;;
esac
