#!/usr/bin/env bash
# Gives a recogniser a new language model and new words. See docs/your-own-words.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C

driver=adapt_model.sh
source "$here/train/messages.sh"
source "$here/common/values.sh"
source "$here/common/folders.sh"
source "$here/common/trees.sh"

usage() {
  cat <<'HELP'
usage: adapt_model.sh [options] MODEL OUT
Makes the model folder OUT, for nnet3-transcribe and vosk, of the recogniser MODEL: the same acoustic model with another language model and
with new words. MODEL is a published model folder or the folder of recognizer.sh (or the folder model in it). Nothing is trained but n-grams. With the
same options and files, a folder OUT that is there stays. e.g.:
  adapt_model.sh --text=corpus.txt --lexicon=new_words.txt model-ko adapted
  adapt_model.sh --phrases=names.txt --g2p='./phones_of_words.py' exp adapted
HELP
  explain_options
}

source "$here/train/options.sh"
heading "Language"
option text text "" "sentences of what will be said, one a line"
option phrases text "" "phrases, one a line, each as likely as the others: names, titles, commands; [unk] stands for anything else, if the model has a word <unk>"
option lexicon text "" "pronunciations of new words: lines 'word phone phone ...', with the phones that nnet3-lexicon MODEL prints; \
or more pronunciations of known words"
option g2p text "" "program, with its options, that reads words, one a line, and writes lines of a lexicon for those that --lexicon and the model lack. \
'parts' (./parts is a program): the phones of known words that make up a new one"
option oov 'error|g2p|letters' error "words that then still lack a pronunciation: error; g2p: by a model of letters and phones, learned from the lexicon of \
the model; letters: their letters, if phones of the model are letters. OUT/new_words.txt has the pronunciations"
option skip-unknown bool false "leave out sentences with words without a pronunciation, with a warning, instead of stopping"
heading "Mixture"
option old-weight number 0.5 "share of the old language model; 0: only words of --text, --phrases and --lexicon, and a small graph"
option phrases-weight number 0.2 "share of --phrases in what is left, if there is a --text too"
option old-lm text "" "old language model, ARPA or an FST of n-grams (Gr.fst of MODEL, or lm/lm.arpa of a folder of recognizer.sh)"
option lm-order integer 3 "words in the n-grams of --text and --phrases"
heading "Graph"
option tree text "" "tree of the model (MODEL/am/tree, MODEL/tree, tree/tree of a folder of recognizer.sh, or recovered from the graph)"
option silence-probability number 0.5 "probability of a pause between two words"
option look-ahead bool true "a graph of two halves, whose language model can be replaced; false: one graph, for small language models. Models whose tree asks for the \
phone that follows, as Gaussian models, always get one graph"

parse_options "$@"
need_arguments "a recogniser (MODEL)" "a new folder (OUT)"
file_name model MODEL "${arguments[0]}"
file_name to OUT "${arguments[1]}"
if [[ $to == */ && $to != / ]]; then to=${to%/}; fi
for name in text phrases lexicon tree old-lm; do
  variable=${name//-/_}
  [[ ! ${!variable} ]] || file_name "$variable" "--$name" "${!variable}" # lint: an option's name
  need_file "$name" "${!variable}"
done
plain_words --g2p "$g2p"
[[ $text || $phrases ]] || fail "give --text or --phrases: a language model comes from sentences"
[[ -d $model ]] || fail "$model: there is no such folder"
within decimal 0 1 old-weight phrases-weight
within whole 1 9 lm-order
is_less "$old_weight" 1 || fail "--old-weight=$old_weight: expected less than 1"
is_less 0 "$silence_probability" || fail "--silence-probability=$silence_probability: expected more than 0"
is_less "$silence_probability" 1 || fail "--silence-probability=$silence_probability: expected less than 1"
# The model in a folder of recognizer.sh lacks its tree and its lexicon, which are beside it.
above=$(realpath -m "$model/..")
if [[ ! -e $model/am/tree && -e $model/am/final.mdl && -e $above/lang/phones/align_lexicon.txt ]] &&
  cmp -s "$model/am/final.mdl" "$above/model/am/final.mdl"; then
  say "$model is the model in $above, the folder of recognizer.sh, which has its tree and its lexicon"
  model=$above
fi
parts=("$model")
[[ ! -e $model/lang/phones/align_lexicon.txt ]] || # a folder of recognizer.sh, which has logs and the like, too
  parts=("$model"/{lang,conf,model,lm/lm.arpa,tree/tree,chain/model/final.mdl,gaussian/model/network.mdl})
inputs=$(describe_inputs "${parts[@]}" "$text" "$phrases" "$lexicon" "$old_lm" "$tree")
if [[ -e $to || -L $to ]]; then
  if is_made "$to" "$inputs" am/final.mdl; then exit; fi
  fail "$to is there already, made of other files or with other options; take another folder"
fi
if ! command -v nnet3-recover >/dev/null && [[ -x $here/../target/release/nnet3-recover ]]; then
  PATH=$(cd "$here/../target/release" && pwd):$PATH
fi
command -v nnet3-recover >/dev/null || fail "nnet3-recover is not on the PATH"

parent=$(dirname "$to")
if ! { mkdir -p "$parent" && mkdir "$to" && rmdir "$to"; } 2>/dev/null; then shown "$to"; fail "cannot make the folder $REPLY"; fi
trap remove_private EXIT
make_private "$parent"
work=$private
mkdir "$work/old"
most=268435456 # bytes
for name in text phrases lexicon tree old_lm; do # They are read several times. What is no file may end, or not, as /dev/zero.
  if [[ ! ${!name} || -f ${!name} ]]; then continue; fi # lint: an option's name
  given=--${name//_/-}=${!name} # lint: an option's name
  [[ ! -d ${!name} ]] || fail "$given: expected a file, found a folder" # lint: an option's name
  head -c $(( most + 1 )) "${!name}" >"$work/$name.given" || fail "$given: cannot read it" # lint: an option's name; whole: most
  (( $(stat -c %s "$work/$name.given") <= most )) || fail "$given: expected a file, found more than $most bytes that are in no file" # lint: an option's name
  printf -v "$name" %s "$work/$name.given" # lint: an option's name
done
quietly() { # <what it does> <command> …: the end of its log if it fails, its warnings if not
  local log=$work/command.log
  "${@:2}" >"$log" 2>&1 || fail_with_log "$1 failed" "$log"
  { grep -h '^WARNING' "$log" || true; } | head -n 5 | sed 's/^WARNING ([^ ]*) /adapt_model.sh: WARNING: /' >&2
}

# ---- the old model: tree, phones, lexicon ----------------------------------------------------------------------------
say "the lexicon and the phones of $model"
words_of_grammar=() self_loop_scale=1.0 factor=3
if [[ -e $model/lang/phones/align_lexicon.txt ]]; then # a folder of recognizer.sh
  lang=$model/lang mdl=$model/chain/model/final.mdl conf=$model/conf
  if cmp -s "$model/model/am/final.mdl" "$model/gaussian/model/network.mdl"; then # Gaussian models recognise
    mdl=$model/gaussian/model/network.mdl tree=${tree:-$model/gaussian/model/tree}
    self_loop_scale=0.1 factor=1
  fi
  tree=${tree:-$model/tree/tree} old_lm=${old_lm:-$model/lm/lm.arpa}
  grep -v '^#' "$lang/phones.txt" >"$work/old/phones.txt"
  cp "$lang/phones/align_lexicon.txt" "$work/old/lexicon.txt"
  cp "$lang/phones/optional_silence.txt" "$work/old/silence.txt"
  : >"$work/old/guessed.txt"
  silence_csl=$lang/phones/silence.csl boundaries=$lang/phones/word_boundary.int settings=$model/model/conf
  probabilities=true
else
  mdl=$model/am/final.mdl conf=$model/conf graph=$model/graph
  if [[ ! -e $mdl ]]; then mdl=$model/final.mdl conf=$model graph=$model; fi
  [[ -e $mdl ]] || fail "$model has neither am/final.mdl nor final.mdl: it is no model folder"
  quietly "recovering the lexicon" nnet3-recover --print-args=false "$model" "$work/old"
  for name in "$model/am/tree" "$model/tree"; do
    if [[ ! $tree && -e $name ]]; then tree=$name; fi
  done
  if [[ $tree ]]; then : >"$work/old/guessed.txt"; fi
  tree=${tree:-$work/old/tree}
  if [[ -e $graph/Gr.fst ]]; then old_lm=${old_lm:-$graph/Gr.fst}; fi
  if [[ -e $graph/words.txt ]]; then words_of_grammar=(--words="$graph/words.txt"); fi
  silence_csl='' boundaries=$graph/phones/word_boundary.int settings=$conf
  if [[ ! -e $boundaries ]]; then boundaries=$graph/word_boundary.int; fi
  probabilities=false
fi
for name in "$mdl" "$tree"; do [[ -r $name ]] || fail "cannot read $name"; done
# (A half without the language model is too large where the tree asks for the phones that follow.)
if [[ $look_ahead == true ]] && asks_for_following_phones "$tree"; then
  [[ ! ${option_given[look-ahead]-} ]] ||
    fail "--look-ahead=true: the tree of $model asks for the phone that follows, as those of Gaussian models do: a graph of two halves would be too large. Expected a" \
      "network, which recognizer.sh --model=network trains, or --look-ahead=false"
  look_ahead=false
fi
if [[ ! $old_lm ]] && is_less 0 "$old_weight"; then
  say "WARNING: the language model is within the old graph: the new one is made of --text and --phrases alone (give --old-lm, an ARPA file, to mix)"
  old_weight=0
fi

# ---- words and their pronunciations ----------------------------------------------------------------------------------
files=()
for name in text phrases; do
  if [[ ${!name} ]]; then files+=("--$name=${!name}"); fi # lint: an option's name
done
if is_less 0 "$old_weight"; then
  quietly "reading the old language model" arpa-mix --print-args=false "${words_of_grammar[@]}" "$old_lm" "$work/old/lm.arpa"
  files+=("--old-arpa=$work/old/lm.arpa")
fi
: >"$work/more.txt"
# The options that programs name are those of this script.
renamed=$'--skip-bad=true\t--skip-unknown=true\n--new gives\t--lexicon, --oov=g2p or --oov=letters gives'
adapt() { # <option> … <output>: kinds is LOG to say what it did
  program "$work/command.log" adapt-lexicon --print-args=false --probabilities=$probabilities "${files[@]}" --new="$lexicon" --more="$work/more.txt" --skip-unknown="$skip_unknown" \
    "${@:1:$#-1}" "$work/old" "${*: -1}"
}
if [[ $g2p == parts ]]; then
  adapt --write=parts "$work/g2p.txt"
  cp "$work/g2p.txt" "$work/more.txt"
elif [[ $g2p ]]; then
  adapt --write=missing "$work/missing"
  if [[ -s $work/missing ]]; then
    read -ra command <<<"$g2p"
    "${command[@]}" <"$work/missing" >"$work/g2p.txt" || fail "--g2p: the command failed"
    cp "$work/g2p.txt" "$work/more.txt"
  fi
fi
if [[ $oov != error ]]; then
  adapt --write=missing "$work/missing"
  if [[ -s $work/missing ]]; then
    # The lexicon of the model, without places of phones in words.
    probabilities=$probabilities awk '$1 !~ /^(<eps>|<s>|<\/s>|#0)$/ { for (i = 2; i <= NF; i++) sub(/_[BEIS]$/, "", $i)
      if (ENVIRON["probabilities"] == "true") $2 = ""; print }' "$work/old/lexicon.txt" >"$work/plain_lexicon"
    case $oov in
      g2p) program "$work/command.log" g2p --print-args=false --lexicon="$work/plain_lexicon" --probabilities=false --skip-bad="$skip_unknown" \
        "$work/missing" "$work/new_words.txt" ;;
      letters) program "$work/command.log" spell-words --print-args=false --lexicon="$work/plain_lexicon" "$work/missing" "$work/new_words.txt" ;;
    esac
    say "pronunciations of words that the model lacks, by --oov=$oov ($to/new_words.txt has all $(wc -l <"$work/new_words.txt")):"
    head -n 5 "$work/new_words.txt" | sed 's/^/    /' >&2
    cat "$work/new_words.txt" >>"$work/more.txt"
  fi
fi
kinds=LOG adapt "$work/words"
mv "$work/words"/* "$work"

# ---- language model and graph ----------------------------------------------------------------------------------------
models=() weights=
add_model() { models+=("$1") weights+=${weights:+,}$2; }
both=0
if [[ -s $work/text.txt && -s $work/phrases.txt ]]; then both=1; fi
read -r text_weight phrases_weight < <(w=$old_weight p=$phrases_weight both=$both awk 'BEGIN {
  w = 1 - ENVIRON["w"]; p = ENVIRON["p"]; print ENVIRON["both"] ? w * (1 - p) " " w * p : w " " w }')
for name in text phrases; do
  weight=${name}_weight weight=${!weight} # lint: an option's name
  if [[ ! -s $work/$name.txt ]] || ! is_less 0 "$weight"; then continue; fi
  program "$work/command.log" make-arpa --print-args=false --keys=false --order="$lm_order" --vocabulary="$work/vocabulary" "$work/$name.txt" "$work/$name.arpa"
  add_model "$work/$name.arpa" "$weight"
done
if is_less 0 "$old_weight"; then add_model "$work/old/lm.arpa" "$old_weight"; fi
quietly "mixing the language models" arpa-mix --print-args=false --weights="$weights" "${models[@]}" "$work/lm.arpa"
say "language model: $(awk '/^ngram/ { split($2, n, "="); print n[2] }' "$work/lm.arpa" | paste -sd' ') n-grams of 1, 2, … words"

program "$work/command.log" prepare-lang --print-args=false --phones="$work/old/phones.txt" --silence-phones="$(<"$work/old/silence.txt")" \
  --silence-probability="$silence_probability" "$work/lexicon.txt" "$work/lang"
fstcompile --print-args=false "$work/lang/L_disambig.fst.txt" | fstarcsort --print-args=false --sort_type=olabel >"$work/lang/L_disambig.fst"
rm "$work/lang"/*.fst.txt
if [[ -e $boundaries ]]; then cp "$boundaries" "$work/lang/phones/word_boundary.int"; fi
rm -f "$work/lang/phones/silence.csl"
if [[ $silence_csl ]]; then cp "$silence_csl" "$work/lang/phones/silence.csl"; fi
say "the graph"
quietly "making the graph" "$here/make_graph.sh" --look-ahead="$look_ahead" --self-loop-scale="$self_loop_scale" "$work/lm.arpa" "$work/lang" "$tree" "$mdl" "$work/graph"

# ---- the folder ------------------------------------------------------------------------------------------------------
more=()
if [[ ! $silence_csl ]]; then
  [[ -r $settings/model.conf ]] || fail "cannot read $settings/model.conf"
  silence=$(sed -n 's/^--endpoint.silence-phones=//p' "$settings/model.conf" | tail -n 1)
  more+=(--silence-phones="${silence:-$(awk 'NR == FNR { name = $1; next } $1 == name { print $2 }' "$work/old/silence.txt" "$work/old/phones.txt")}")
fi
if [[ -d $model/ivector ]]; then more+=(--ivector="$model/ivector"); fi
if [[ -e $model/am/global_cmvn.stats ]]; then more+=(--global-cmvn="$model/am/global_cmvn.stats"); fi
quietly "making the model folder" "$here/make_vosk_model.sh" --mdl="$mdl" --frame-subsampling-factor="$factor" --graph="$work/graph" --conf="$conf" "${more[@]}" "$model" "$work/model"
rm -rf "$work/model/adaptation" # (Its lexicon lacks the new words.)
cp "$tree" "$work/model/am/tree"
cp "$work/old/phones.txt" "$work/model/graph/phones.txt"
for name in model.conf online_cmvn.conf edges.conf bands.conf; do
  if [[ -e $settings/$name ]]; then cp "$settings/$name" "$work/model/conf/"; fi
done
[[ ! -s $work/new_words.txt ]] || cp "$work/new_words.txt" "$work/model/"
keep_inputs "$work/model" "$inputs"
mv -T "$work/model" "$to" 2>/dev/null || fail "$to is there already: something else has made it meanwhile"
say "$to: $(du -sh "$to" | cut -f1)"
say "no recording was recognised: compare both models on some whose words you know (docs/your-own-words.md#is-it-better); the new one may be worse on others"
