#!/usr/bin/env bash
# Usage: words.sh <words.txt> <lattices rspecifier> <weight of the language model> <penalty for a word>
# The best words of each lattice, as text.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/common/usage.sh"
plain_usage 4 4 "$@"
lattice-scale --inv-acoustic-scale="$3" "$2" ark:- | lattice-add-penalty --word-ins-penalty="$4" ark:- ark:- |
  lattice-best-path --word-symbol-table="$1" ark:- ark,t:- |
  awk 'NR == FNR { word[$2] = $1; next } { line = $1; for (i = 2; i <= NF; i++) line = line " " word[$i]; print line }' "$1" -
