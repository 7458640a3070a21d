#!/usr/bin/env bash
# Cuts long recordings with transcripts into utterances. See docs/recognizer.md#long-recordings.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C

driver=segment_long.sh
source "$here/train/messages.sh"
source "$here/common/values.sh"
source "$here/common/folders.sh"
source "$here/jobs/wait.sh"

usage() {
  cat <<'HELP'
usage: segment_long.sh [options] DATA EXPDIR OUT
Cuts the recordings of DATA (wav.scp, and text with the transcript of each whole recording) into utterances, with the recogniser that
recognizer.sh has made in EXPDIR: recognises each recording with a language model of its own transcript, and keeps the stretches between
pauses where what is heard is what the transcript says. OUT is a data folder with segments; with the same options and files, it stays. e.g.:
  segment_long.sh data/lectures exp data/lectures_cut
HELP
  explain_options
}

source "$here/train/options.sh"
heading "Pieces"
option max-seconds number 15 "length of utterances, at most; longer ones are cut at their longest pauses"
option min-pause number 0.15 "seconds without words at which an utterance may begin or end"
option max-unmatched integer 1 "words of the transcript one after another that may be heard as others within an utterance; 0: none"
option skip-bad bool false "leave out recordings that cannot be used, with a warning for each: without a transcript or with an empty one, with two lines, \
without sound. Without it the first of them ends the script"
heading "Recognition"
option window number 30 "seconds that are recognised at a time; windows overlap by a sixth"
option beam number 15 "beam of the search"
heading "Running"
option cmd text run.sh "what runs jobs, with its options"
option nj integer 2 "jobs at a time"

parse_options "$@"
need_arguments "a data folder (DATA)" "the folder of a recogniser (EXPDIR)" "a folder for the results (OUT)"
file_name data DATA "${arguments[0]}"
file_name exp EXPDIR "${arguments[1]}"
for name in "${arguments[2]}" "$PWD" "$here"; do plain_name "the folder" "$name"; done
to=$(realpath -m "${arguments[2]}") exp=$(realpath -m "$exp") data=$(realpath -m "$data")
for name in "$to" "$exp" "$data"; do plain_name "the folder" "$name"; done
within whole 0 1000 max-unmatched
within whole 1 10000 nj
within decimal 1 1000 max-seconds
within decimal 0.03 10 min-pause
within decimal 5 1000 window
within decimal 1 1000 beam
for name in wav.scp text; do [[ -r $data/$name ]] || fail "$data: a data folder needs a file $name, and this one has none"; done
[[ ! -e $data/segments ]] || fail "$data has segments: its recordings are cut already"
for name in lang/L_disambig.fst lang/phones/word_boundary.int tree/tree chain/model/final.mdl data/rate; do
  [[ -r $exp/$name ]] || fail "$exp is no finished folder of recognizer.sh with --word-positions=true: there is no $name"
done
features=mfcc
[[ -e $exp/conf/mfcc.conf ]] || features=fbank
[[ -r $exp/conf/$features.conf ]] || fail "$exp has neither conf/mfcc.conf nor conf/fbank.conf"
dir=$to train_cmd_opts= use_gpu=no # for jobs.sh
source "$here/train/jobs.sh"

claim_folder "$to" segment_long.sh
mkdir -p "$to/log"
make_private "$to"
work=$private
model=$exp/chain/model/final.mdl
# (Recordings that are files count with their size and time.)
inputs=$(describe_inputs "$data/wav.scp" "$data/text" "$model" "$exp/tree/tree" "$exp/lang" "$exp/conf"
  awk 'NF == 2 { print $2 }' "$data/wav.scp" | { xargs -r -d '\n' stat -c '%n %s %Y' -- 2>/dev/null || true; } | cksum)
if is_made "$to" "$inputs" segments; then exit; fi
rm -f "$to/.made-of"

nnet3-am-info --print-args=false "$model" >"$work/info" 2>"$to/log/info.log" || fail_with_log "$model is no acoustic model" "$to/log/info.log"
number ivector_dim whole "columns of the network's i-vectors" "$(awk '$1 == "ivector-dim:" { print $2 }' "$work/info")" -1
(( ivector_dim <= 0 )) || [[ -r $exp/ivector_extractor/ivector_extractor.conf ]] ||
  fail "the network of $exp reads i-vectors, but there is no ivector_extractor/ivector_extractor.conf"

# ---- features of windows ----------------------------------------------------------------------------------------------
program "$to/log/recordings.log" check-long-recordings --print-args=false --skip-bad="$skip_bad" "$data" "$exp/lang/words.txt" "$work"
if $skip_bad; then
  # A job whose recordings are all unreadable would have nothing to write, which is an error.
  wav-to-duration --print-args=false "scp,p:$work/wav.scp" "ark,t:$work/readable" 2>"$to/log/readable.log" || true
  awk 'NR == FNR { readable[$1]; next } $1 in readable' "$work/readable" "$work/wav.scp" >"$work/kept"
  mv "$work/kept" "$work/wav.scp"
  [[ -s $work/wav.scp ]] || fail "no recording can be read; see $to/log/readable.log"
fi
recordings=$(wc -l <"$work/wav.scp")
say "$(counted "$recordings" recording); transcripts of $(awk 'NR == FNR { all += NF - 1; next } { known += NF - 1 }
  END { printf "%d words%s", all, known < all ? ", of which the lexicon lacks " all - known : "" }' "$work/transcripts" "$work/text")"
number jobs whole "number of recordings" "$(( recordings < nj ? recordings : nj ))" 1 # lint: whole: recordings nj
split_lines() { # <file> <prefix> <suffix>
  n=$jobs total=$(wc -l <"$1") prefix=$2 suffix=$3 awk 'BEGIN { n = ENVIRON["n"]; total = ENVIRON["total"] }
    { print > (ENVIRON["prefix"] int((NR - 1) * n / total) + 1 ENVIRON["suffix"]) }' "$1"
}
split_lines "$work/wav.scp" "$work/wav." .scp
sounds=scp
if $skip_bad; then sounds=scp,p; fi
cmvn=(copy-feats ark:- ark:-)
[[ ! -e $exp/feats/train/global_cmvn.stats ]] || cmvn=(apply-cmvn-online "$exp/feats/train/global_cmvn.stats" ark:- ark:-)
run --max-jobs-run "$nj" JOB=1:"$jobs" "$to/log/features.JOB.log" "compute-$features-feats" --config="$exp/conf/$features.conf" \
  "$sounds:$work/wav.JOB.scp" ark:- \| "${cmvn[@]}" \| copy-feats --compress=true ark:- "ark,scp:$work/feats.JOB.ark,$work/feats.JOB.scp"
# Sound that is missing at the end of a recording, and the like.
{ grep -h '^WARNING' "$to"/log/features.*.log || true; } | awk '{ sub(/^WARNING \([^ ]*\) /, "") } NR <= 20 { print "segment_long.sh: WARNING: " $0 }
  END { if (NR > 20) print "segment_long.sh: " (NR - 20) " more warnings in log/features.*.log" }' >&2
cat "$work"/feats.*.scp >"$work/feats.scp"
run "$to/log/lengths.log" feat-to-len "scp:$work/feats.scp" "ark,t:$work/lengths"
if $skip_bad; then program "$to/log/present.log" select-long-recordings --print-args=false "$work/lengths" "$work"; fi

# ---- recognition, each recording with its own words --------------------------------------------------------------------
words_of() { awk 'NR == FNR { for (i = 2; i <= NF; i++) said[$i]; next } $1 in said || $1 ~ /^[<#]/' "$1" "$exp/lang/words.txt"; } # <text>
recognise() { # <key> <number>
  local part=$work/$2 ivectors=()
  mkdir -p "$part"
  key=$1 awk '$1 == ENVIRON["key"]' "$work/text" >"$part/text"
  program "$to/log/lm.$2.log" text-to-pieces --print-args=false "$part/text" "$part/sentences"
  words_of "$part/text" >"$part/words"
  program "$to/log/lm.$2.log" make-arpa --print-args=false --order=3 --keys=false --vocabulary="$part/words" "$part/sentences" "$part/lm.arpa"
  run "$to/log/graph.$2.log" "$here/make_graph.sh" --self-loop-scale=1.0 "$part/lm.arpa" "$exp/lang" "$exp/tree/tree" "$model" "$part/graph"
  key=$1 awk 'NR == FNR { n[$1] = $2; next } $1 == ENVIRON["key"]' "$work/lengths" "$work/feats.scp" >"$part/feats.scp"
  program "$to/log/windows.$2.log" feats-to-windows --print-args=false --window="$window" "$part/feats.scp" "$work/lengths" "$part/windows"
  if (( ivector_dim > 0 )); then
    awk '{ print $1, $1 }' "$part/windows" >"$part/spk2utt"
    run "$to/log/ivectors.$2.log" ivector-extract-online2 --config="$exp/ivector_extractor/ivector_extractor.conf" --ivector-period=10 \
      "ark:$part/spk2utt" "scp:$part/windows" "ark,scp:$part/ivectors.ark,$part/ivectors.scp"
    ivectors=(--online-ivectors="scp:$part/ivectors.scp" --online-ivector-period=10)
  fi
  run "$to/log/recognition.$2.log" nnet3-latgen-faster --frame-subsampling-factor=3 --frames-per-chunk=150 --acoustic-scale=1.0 --beam="$beam" \
    --lattice-beam=2 --allow-partial=true "${ivectors[@]}" "$model" "$part/graph/HCLG.fst" "scp:$part/windows" ark:- \| \
    lattice-1best --acoustic-scale=1.0 ark:- ark:- \| lattice-align-words "$exp/lang/phones/word_boundary.int" "$model" ark:- ark:- \| \
    nbest-to-ctm --frame-shift=0.03 ark:- "$work/ctm.$2"
  rm -rf "$part"
}
count=0 ended='' processes=()
recognised() { # waits for one
  wait_for_one "${processes[@]}" || exit 1
  local pid rest=()
  for pid in "${processes[@]}"; do [[ $pid == "$ended" ]] || rest+=("$pid"); done
  processes=("${rest[@]}")
}
while read -r -u 3 key; do
  count=$((count + 1))
  recognise "$key" "$count" &
  processes+=($!)
  if (( ${#processes[@]} >= nj )); then recognised; fi
done 3<"$work/recordings"
while (( ${#processes[@]} )); do recognised; done
cat "$work"/ctm.* >"$work/ctm"

# ---- utterances -------------------------------------------------------------------------------------------------------
mkdir -p "$work/out"
kinds=LOG program "$to/log/utterances.log" cut-long-recordings --print-args=false --max-seconds="$max_seconds" --min-pause="$min_pause" \
  --max-unmatched="$max_unmatched" --window="$window" "$data" "$exp/lang/words.txt" "$work" "$work/out"
for name in wav.scp segments text utt2spk; do mv "$work/out/$name" "$to/$name"; done
keep_inputs "$to" "$inputs"
