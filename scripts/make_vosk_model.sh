#!/usr/bin/env bash
# Collects a recogniser's files into a model folder as vosk and nnet3-transcribe read it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C

say() { echo "make_vosk_model.sh: $*" >&2; }
fail() { say "$*"; exit 1; }

usage() {
  cat <<'HELP'
usage: make_vosk_model.sh [options] EXPDIR OUT
Makes the model folder OUT (am/, conf/, graph/, and ivector/ where the network reads i-vectors) of a recogniser in EXPDIR: a folder of
recognizer.sh, or one of Kaldi's prepare_online_decoding.sh with --graph. Pieces that are missing or do not fit each other are named, and the
folder is tried with nnet3-transcribe before it appears. With the same options and files, a folder OUT that is there stays. e.g.:
  make_vosk_model.sh exp model
  make_vosk_model.sh --graph=exp/chain/tree/graph exp/chain/tdnn_online model
HELP
  explain_options
}

source "$here/common/values.sh"
source "$here/common/folders.sh"
source "$here/train/options.sh"
heading "Pieces that are not where EXPDIR has them"
option mdl text "" "acoustic model (EXPDIR/final.mdl, EXPDIR/chain/model/final.mdl)"
option graph text "" "folder with HCLG.fst, or HCLr.fst, Gr.fst and disambig_tid.int; words.txt, phones/silence.csl, phones/word_boundary.int \
(EXPDIR/graph)"
option conf text "" "folder with mfcc.conf or fbank.conf (EXPDIR/conf)"
option ivector text "" "folder of the i-vector extractor (EXPDIR/ivector_extractor)"
option global-cmvn text "" "statistics whose mean is subtracted from features; those of EXPDIR are for a running mean that begins with it \
(EXPDIR/feats/train/global_cmvn.stats)"
heading "Settings for conf/model.conf"
option silence-phones word "" "numbers of the phones that are silence, separated by colons (phones/silence.csl of the graph)"
option beam number 13 "beam of the search"
option lattice-beam number 6 "beam of lattices"
option max-active integer 7000 "hypotheses at a time, at most"
option acoustic-scale number 1.0 "scale of the network's outputs; 1.0 for chain models"
option frame-subsampling-factor integer 3 "frames for each output; 3 for chain models"
option test bool true "try the folder with nnet3-transcribe"

parse_options "$@"
need_arguments "the folder of a recogniser (EXPDIR)" "a new folder (OUT)"
file_name exp EXPDIR "${arguments[0]}"
file_name to OUT "${arguments[1]}"
if [[ $to == */ && $to != / ]]; then to=${to%/}; fi
[[ -d $exp ]] || fail "$exp: there is no such folder"
for name in mdl graph conf ivector global-cmvn; do
  variable=${name//-/_}
  [[ ! ${!variable} ]] || file_name "$variable" "--$name" "${!variable}" # lint: an option's name
done
within whole 1 1000000000 max-active frame-subsampling-factor
within decimal 0 1000000 beam lattice-beam acoustic-scale
inputs=$(describe_inputs "$mdl" "$exp"/{final.mdl,am/final.mdl,chain/model/final.mdl} "${graph:-$exp/graph}" "${conf:-$exp/conf}" \
  "${ivector:-$exp/ivector_extractor}" "$global_cmvn" "$exp/feats/train/global_cmvn.stats")
if [[ -e $to || -L $to ]]; then
  if is_made "$to" "$inputs" am/final.mdl; then exit; fi
  fail "$to is there already, made of other files or with other options; take another folder"
fi
if ! command -v nnet3-transcribe >/dev/null && [[ -x $here/../target/release/nnet3-transcribe ]]; then
  PATH=$(cd "$here/../target/release" && pwd):$PATH
fi
command -v nnet3-transcribe >/dev/null || fail "nnet3-transcribe is not on the PATH (cargo build --release builds it)"

parent=$(dirname "$to")
if ! { mkdir -p "$parent" && mkdir "$to" && rmdir "$to"; } 2>/dev/null; then shown "$to"; fail "cannot make the folder $REPLY"; fi
trap remove_private EXIT
make_private "$parent"
out=$private/model log=$private/log
mkdir -p "$out"/{am,conf,graph}

# ---- where the pieces are -------------------------------------------------------------------------------------------
# Sets REPLY to the first of some files that is there.
find_file() { # <file> …
  for REPLY; do if [[ -n $REPLY && -f $REPLY ]]; then return; fi; done
  REPLY=
}

needed() { # <what it is> <option that names it> <file> …
  local what=$1 option=$2
  shift 2
  find_file "$@"
  [[ $REPLY ]] || fail "there is no $what: looked for $(printf '%s, ' "$@" | sed 's/^, //; s/, $//'); give --$option"
}

needed "acoustic model" mdl "$mdl" "$exp/final.mdl" "$exp/am/final.mdl" "$exp/chain/model/final.mdl"
cp "$REPLY" "$out/am/final.mdl"
nnet3-am-info --print-args=false "$out/am/final.mdl" >"$log" 2>&1 || fail "$REPLY is no acoustic model: $(tail -n 1 "$log")"
read -r input_dim ivector_dim < <(awk '$1 == "input-dim:" { i = $2 } $1 == "ivector-dim:" { v = $2 } END { print i, v + 0 }' "$log")
number input_dim whole "columns of the network's input" "$input_dim"
number ivector_dim whole "columns of the network's i-vectors" "$ivector_dim"

conf=${conf:-$exp/conf}
needed "configuration of features" conf "$conf/mfcc.conf" "$conf/fbank.conf"
features=$REPLY
cp "$features" "$out/conf/"

graph=${graph:-$exp/graph}
[[ -d $graph ]] || fail "there is no decoding graph: looked for $graph; give --graph"
if [[ -f $graph/HCLG.fst ]]; then
  cp "$graph/HCLG.fst" "$out/graph/"
  [[ ! -d $graph/phrases ]] || cp -r "$graph/phrases" "$out/graph/"
else
  needed "decoding graph" graph "$graph/HCLG.fst" "$graph/HCLr.fst"
  for name in Gr.fst disambig_tid.int; do [[ -f $graph/$name ]] || fail "$graph has HCLr.fst, but no $name"; done
  cp "$graph"/{HCLr.fst,Gr.fst,disambig_tid.int} "$out/graph/"
fi
if [[ -f $graph/words.txt ]]; then cp "$graph/words.txt" "$out/graph/"
elif [[ -f $graph/HCLG.fst ]]; then fail "$graph has no words.txt, the names of the words"
fi
# (Names of phones, for lexicons and alignments. No recogniser needs them.)
if [[ -f $graph/phones.txt ]]; then cp "$graph/phones.txt" "$out/graph/"; fi
if [[ -f $graph/phones/word_boundary.int ]]; then
  mkdir -p "$out/graph/phones"
  cp "$graph/phones/word_boundary.int" "$out/graph/phones/"
else say "there is no $graph/phones/word_boundary.int: times of words will be those of the search, which are less exact"
fi
[[ $silence_phones || ! -f $graph/phones/silence.csl ]] || silence_phones=$(<"$graph/phones/silence.csl")
[[ $silence_phones ]] ||
  fail "which phones are silence? There is no $graph/phones/silence.csl; give --silence-phones, numbers separated by colons"
numbers silence_phones : "the phones that are silence (--silence-phones, or $graph/phones/silence.csl)" "$silence_phones" 1

find_file "$global_cmvn" "$exp/feats/train/global_cmvn.stats" "$exp/global_cmvn.stats" "$exp/am/global_cmvn.stats"
[[ ! $global_cmvn || $REPLY == "$global_cmvn" ]] || fail "--global-cmvn=$global_cmvn: there is no such file"
if [[ $REPLY ]]; then
  cp "$REPLY" "$out/am/global_cmvn.stats"
  # Without options of a running mean, the mean of the statistics is subtracted as it is. vosk does so in any case.
  if [[ $REPLY == "$exp/feats/train/global_cmvn.stats" ]]; then : >"$out/conf/online_cmvn.conf"
  elif [[ -f $conf/online_cmvn.conf ]]; then cp "$conf/online_cmvn.conf" "$out/conf/"
  fi
  [[ ! -e $out/conf/online_cmvn.conf ]] ||
    say "the network reads features minus a running mean, but vosk subtracts a fixed one: for vosk, train without (recognizer.sh without --cmvn=true)"
fi

# ---- what belongs to a network of recognizer.sh ----------------------------------------------------------------------
# The silence that it hears around recordings, bands that sound may lack, and the models by which nnet3-adapt-speaker adapts it.
for folder in "$exp/model" "$exp"; do
  if [[ -f $folder/am/final.mdl ]] && cmp -s "$folder/am/final.mdl" "$out/am/final.mdl"; then
    for name in edges.conf bands.conf; do [[ ! -f $folder/conf/$name ]] || cp "$folder/conf/$name" "$out/conf/"; done
    [[ ! -d $folder/adaptation ]] || cp -r "$folder/adaptation" "$out/"
    break
  fi
done

# ---- i-vectors ------------------------------------------------------------------------------------------------------
collect_ivectors() {
  local folder=${ivector:-$exp/ivector_extractor} name
  mkdir -p "$out/ivector"
  for name in final.ie final.dubm final.mat global_cmvn.stats; do
    needed "$name of the i-vectors that the network reads" ivector "$folder/$name"
    cp "$REPLY" "$out/ivector/$name"
  done
  for name in online_cmvn.conf splice.conf; do
    needed "$name of the i-vectors that the network reads" ivector "$folder/$name" "$exp/conf/$name" "$conf/$name"
    cp "$REPLY" "$out/ivector/$name"
  done
}
if (( ivector_dim > 0 )); then collect_ivectors
elif [[ $ivector ]]; then fail "--ivector=$ivector: the network reads no i-vectors"
fi

# ---- what has to fit ------------------------------------------------------------------------------------------------
setting() { # <option> <default>: what the configuration of features says
  local value
  value=$(sed -n "s/^[[:space:]]*--$1=\([^[:space:]#]*\).*/\1/p" "$features" | tail -n 1)
  echo "${value:-$2}"
}
case $features in
  */mfcc.conf) number columns whole "$features: --num-ceps" "$(setting num-ceps 13)" 1 1000000 ;;
  *)
    number columns whole "$features: --num-mel-bins" "$(setting num-mel-bins 23)" 1 1000000
    [[ $(setting use-energy false) != t* ]] || columns=$((columns + 1))
    ;;
esac
(( columns == input_dim )) || fail "$features makes $columns columns of a frame, but the network reads $input_dim"

model_phones=$(am-info --print-args=false "$out/am/final.mdl" 2>/dev/null | sed -n 's/^number of phones //p')
if [[ -f $out/graph/phones/word_boundary.int ]]; then
  named=$(wc -l <"$out/graph/phones/word_boundary.int")
  number model_phones whole "number of phones of the model" "$model_phones"
  (( named == model_phones )) || fail "$graph/phones/word_boundary.int has $named phones, but the model has $model_phones"
fi
# What is wrong with a list of types of phones, beside names of phones that end as Kaldi's do.
wrong_types() { # <word_boundary.int> <phones.txt, or /dev/null>
  awk 'BEGIN { split("_B begin _E end _I internal _S singleton", words, " "); for (i = 1; i < 9; i += 2) type[words[i]] = words[i + 1] }
    FILENAME == ARGV[1] { name[$2] = $1; next }
    NF != 2 || $2 !~ /^(nonword|begin|end|internal|singleton)$/ {
      printf "line %d: expected a phone and one of nonword, begin, end, internal, singleton, found %s\n", FNR, $0; exit
    }
    $1 in name {
      suffix = substr(name[$1], length(name[$1]) - 1)
      expected = suffix in type ? type[suffix] : "nonword"
      if ($2 != expected) { printf "line %d: phone %d, %s, has the type %s; expected %s\n", FNR, $1, name[$1], $2, expected; exit }
    }' "$2" "$1"
}
if [[ -f $out/graph/phones/word_boundary.int ]]; then
  find_file "$graph/phones.txt" "$exp/lang/phones.txt" "$exp/phones.txt"
  wrong=$(wrong_types "$out/graph/phones/word_boundary.int" "${REPLY:-/dev/null}")
  [[ ! $wrong ]] || fail "$graph/phones/word_boundary.int, $wrong"
fi
IFS=: read -ra phones <<<"$silence_phones"
number model_phones whole "number of phones of the model" "$model_phones"
for phone in "${phones[@]}"; do # lint: whole: phone
  (( phone >= 1 && phone <= model_phones )) || fail "silence phone $phone is not one of the model's $model_phones phones"
done

printf '%s\n' --min-active=200 --max-active="$max_active" --beam="$beam" --lattice-beam="$lattice_beam" --acoustic-scale="$acoustic_scale" \
  --frame-subsampling-factor="$frame_subsampling_factor" --endpoint.silence-phones="$silence_phones" \
  --endpoint.rule2.min-trailing-silence=0.5 --endpoint.rule3.min-trailing-silence=1.0 --endpoint.rule4.min-trailing-silence=2.0 \
  >"$out/conf/model.conf"

# ---- a try ----------------------------------------------------------------------------------------------------------
# lint: whole: $1
bytes() { printf "\\\\x%02x" $(( $1 & 255 )) $(( $1 >> 8 & 255 )) $(( $1 >> 16 & 255 )) $(( $1 >> 24 & 255 )); } # <number>: 4 bytes for printf

# lint: whole: $1
write_silence() { # <rate> <file>: a second
  # shellcheck disable=SC2059
  printf "RIFF$(bytes $((36 + 2 * $1)))WAVEfmt $(bytes 16)\x01\x00\x01\x00$(bytes "$1")$(bytes $((2 * $1)))\x02\x00\x10\x00data$(bytes $((2 * $1)))"
  head -c $((2 * $1)) /dev/zero
}

if [[ $test == true ]]; then
  number rate decimal "$features: --sample-frequency" "$(setting sample-frequency 16000)" 1 10000000
  number rate whole "$features: --sample-frequency" "$(rate=$rate awk 'BEGIN { printf "%d", ENVIRON["rate"] }')"
  write_silence "$rate" >"$out/test.wav"
  nnet3-transcribe --print-args=false "$out" "$out/test.wav" >/dev/null 2>"$log" ||
    fail "the pieces do not fit each other: $(grep -m1 -e ERROR "$log" || tail -n 1 "$log")"
  rm "$out/test.wav"
fi
keep_inputs "$out" "$inputs"
mv -T "$out" "$to" 2>/dev/null || fail "$to is there already: something else has made it meanwhile"
say "$to: $(du -sh "$to" | cut -f1), $(cd "$to" && find . -path ./adaptation -prune -o -type f ! -name .made-of -print | sort | sed 's|^\./||' | paste -sd' ')"
