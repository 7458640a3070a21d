#!/usr/bin/env bash
# Usage: get_word_map.pl BEGIN END UNKNOWN <WORDS
# Stands for the program of the package kaldi_lm, which maps words to short names: here every word is its own name.
set -euo pipefail
(( $# == 3 )) || { echo "get_word_map.pl: found $# arguments; expected BEGIN END UNKNOWN" >&2; exit 1; }
unknown=$3 awk '{ print $1, $1; seen[$1] = 1 } END { if (!(ENVIRON["unknown"] in seen)) print ENVIRON["unknown"], ENVIRON["unknown"] }'
