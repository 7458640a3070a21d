#!/usr/bin/env bash
# Runs random command lines over all programs: none may panic, abort, be ended by a signal or take more than half a minute.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/values.sh"
usage() {
  cat <<'HELP'
usage: fuzz-command-lines.sh [COUNT [SEED]]
Runs COUNT random command lines (10000) from the seed SEED (1); the same seed gives the same lines. Status 0 if each ended
by itself, without a panic; the others are printed. tests/hostile/command_lines.rs says what they are made of.
HELP
}
case ${1-} in
  -h | --help) usage; exit 0 ;;
  -*) refuse_option "$1" 1 "$(usage)" ;;
esac
(( $# <= 2 )) || { usage >&2; exit 1; }
number count whole COUNT "${1:-10000}" 1
number seed whole SEED "${2:-1}" 0
cd "$(dirname "${BASH_SOURCE[0]}")/.."
NNET3_COMMAND_LINES=$count NNET3_SEED=$seed \
  cargo test --test hostile -- --exact --nocapture command_lines::random_command_lines_end_by_themselves
