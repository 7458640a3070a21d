#!/usr/bin/env bash
# Usage: train_lm.sh --arpa --lmtype 3gram-mincount DIR
# Stands for the program of the package kaldi_lm: makes DIR/3gram-mincount/lm_unpruned.gz of DIR/train.gz and the words of DIR/word_map.
set -euo pipefail
[[ $# == 4 && $1 == --arpa && $2 == --lmtype && $3 == 3gram-mincount && -d $4 ]] ||
  { echo "train_lm.sh: expected --arpa --lmtype 3gram-mincount DIR, found '$*'" >&2; exit 1; }
dir=$4/3gram-mincount
mkdir -p "$dir"
awk '{ print $1, NR }' "$4/word_map" >"$dir/words.txt"
gzip -dc "$4/train.gz" >"$dir/text"
make-arpa --print-args=false --keys=false --order=3 --vocabulary="$dir/words.txt" "$dir/text" - | gzip -nc >"$dir/lm_unpruned.gz.part"
mv "$dir/lm_unpruned.gz.part" "$dir/lm_unpruned.gz"
