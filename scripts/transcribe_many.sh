#!/usr/bin/env bash
# Recognises thousands of recordings with many jobs. See docs/transcribe.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C

driver=transcribe_many.sh
source "$here/train/messages.sh"
source "$here/common/values.sh"
source "$here/common/folders.sh"

usage() {
  cat <<'HELP'
usage: transcribe_many.sh --model=MODEL [options] LIST OUT
Recognises the recordings of LIST with nnet3-transcribe, in jobs that --cmd runs. A line of LIST is a file, or a name, a tab and a file; or
LIST is a folder of recordings. OUT/texts gets a text for each recording, OUT/text all of them in the order of LIST (not for subtitles and
TextGrids, whose files begin anew),
OUT/failed the recordings without a text, and OUT/results.tsv a table of all. Its column reason says why there is no text, or has the
warnings about a recording with a text, such as seconds of sound that are missing; the last lines that the script prints count those
recordings. A job that fails does not stop the others. The same command again does what is missing (an emptied text is missing, but an
empty srt, ctm or rttm is that of a recording without words); with another LIST, recordings that are new or have changed since. e.g.:
  transcribe_many.sh --model=model --nj=40 --cmd='slurm.sh' recordings.txt texts
HELP
  explain_options
}

source "$here/train/options.sh"
heading "Recognition"
option model word "" "folder of the model"
option format "text|json|srt|vtt|ctm|csv|tsv|rttm|textgrid" text "format of the texts"
option opts text "" "further options of nnet3-transcribe, with blanks between them"
heading "Running"
option cmd text run.sh "what runs jobs, with its options: run.sh, slurm.sh, k8s.sh, or Kaldi's queue.pl and its relatives"
option nj integer 4 "jobs at a time"
option batch integer 20 "recordings in a job; a job that fails does those that are left again"
option tries integer 2 "times that recordings are tried in a call, if their job was killed or lacked memory and the like; a recording that cannot be read, or has no sound, \
is tried once"

parse_options "$@"
need_arguments "a list or a folder of recordings (LIST)" "a folder for the results (OUT)"
file_name list LIST "${arguments[0]}"
[[ $model ]] || fail "--model is needed: the folder of the model"
file_name model --model "$model"
for name in "${arguments[1]}" "$PWD" "$here"; do plain_name "the folder" "$name"; done
to=$(realpath -m "${arguments[1]}")
plain_name "the folder" "$to"
within whole 1 10000 nj
within whole 1 10000 batch
within whole 1 100 tries
plain_words opts "$opts"
[[ -r $list ]] || fail "$list: cannot read it"
[[ -d $model ]] || fail "--model=$model: there is no such folder"
model=$(realpath "$model")
plain_name "the folder of the model" "$model"
dir=$to train_cmd_opts=
source "$here/train/jobs.sh"

claim_folder "$to" transcribe_many.sh
mkdir -p "$to"/{texts,log}
settings="$model $format $opts"
# The files of the model: a model may be replaced within its folder.
files=$({ find -L "$model" -type f -printf '%P %s %T@\n' 2>/dev/null || true; } | sort | cksum)
if [[ -e $to/settings ]]; then
  [[ $(<"$to/settings") == "$settings" ]] || fail "$to has texts by another model or of other options; take another folder"
  [[ ! -e $to/model || $(<"$to/model") == "$files" ]] || ! compgen -G "$to/texts/*" >/dev/null ||
    fail "$to has texts by the model that was in $model before: its files have other sizes or times; take another folder"
else printf '%s\n' "$settings" >"$to/settings"
fi
printf '%s\n' "$files" >"$to/model"
suffix=$format
case $format in
  text) suffix=txt ;;
  textgrid) suffix=TextGrid ;;
esac
make_private "$to"
work=$private
kinds=LOG program "$to/log/names.log" name-recordings --print-args=false "$list" "$to" "$suffix"
rm -f "$to/log"/try*.log

# ---- faults that stay ---------------------------------------------------------------------------------------------------
# Reasons that may be gone the next time.
passing='memory|allocat|too many open files|temporarily|no space left|quota|timed? ?out|input/output error|stale|connection|network|interrupted|signal|busy|cuda|gpu'

# Prints the names of recordings that a job named, and then came to its end: their faults are in the recordings. (A job that was killed may
# have warned of a recording that it was at.)
settled() { # <log> …
  passing=$passing links="$work/batches/" awk '
    function end_of_log(   name) {
      if (ended) for (name in reason) if (tolower(reason[name]) !~ ENVIRON["passing"]) print name
      split("", reason); ended = 0
    }
    FNR == 1 { end_of_log() }
    / files could not be transcribed/ { ended = 1 }
    /WARNING|ERROR/ && (at = index($0, ENVIRON["links"])) {
      file = substr($0, at + length(ENVIRON["links"]))
      why = file
      if (!sub(/^[^:]*: /, "", why)) why = ""
      sub(/: .*/, "", file); sub(/^[0-9]+\//, "", file); sub(/\.[^.]*$/, "", file)
      reason[file] = why
    }
    END { end_of_log() }' "$@"
}

# Ends the script if all jobs ended with an error of their own before any recording: of the model, or of --opts.
check_jobs() { # <log> …
  local log error=''
  for log; do
    grep -q '^# Ended (code 255) ' "$log" && ! grep -qF "$work/batches/" <(grep -e '^WARNING' -e '^ERROR' "$log") || return 0
    error=$(grep -m1 '^ERROR (' "$log") || return 0
  done
  [[ $error && ! ${error,,} =~ $passing ]] || return 0
  fail "no recording was tried: ${error#ERROR (*) }; see $1"
}

# ---- jobs -----------------------------------------------------------------------------------------------------------
read -ra words <<<"$opts"
size=$batch left=$to # lint: whole: size
: >"$work/settled"
for ((try = 1; try <= tries; try++)); do
  rm -rf "$work/batches"
  jobs=$(program "$to/log/batches.log" batch-recordings --print-args=false --size="$size" "$left" "$suffix" "$work/batches") || exit 1
  number jobs whole "number of jobs" "$jobs"
  (( jobs > 0 )) || break
  say "try $try: $(counted "$jobs" job) of at most $(counted "$size" recording); logs are in $to/log"
  start --max-jobs-run "$nj" JOB=1:"$jobs" "$to/log/try$try.JOB.log" nnet3-transcribe --format="$format" --output-dir="$to/texts" "${words[@]}" \
    "$model" "$work/batches/JOB/*"
  wait "$process" || true # texts say what is missing
  logs=("$to/log/try$try".*.log)
  check_jobs "${logs[@]}"
  settled "${logs[@]}" >>"$work/settled"
  # What is left is a folder with the same texts and fewer names.
  mkdir -p "$work/left"
  ln -sfn "$to/texts" "$work/left/texts"
  awk -F'\t' 'FILENAME == ARGV[1] { settled[$1]; next } !($1 in settled)' "$work/settled" "$to/names" >"$work/left/names"
  left=$work/left
  size=$(( size > 5 ? size / 5 : 1 ))
done

kept=$(sort -u "$work/settled" | wc -l) # lint: whole: kept
(( kept == 0 || tries == 1 )) || say "$(counted "$kept" "recording has a fault that would stay" "recordings have faults that would stay"): tried once"
program "$to/log/collect.log" collect-texts --print-args=false "$to" "$suffix" "$work/batches" >&2
number missing whole "number of recordings without a text" "$(wc -l <"$to/failed")"
number there whole "number of texts" "$(( $(wc -l <"$to/names") - missing ))"
say "$(counted "$there" text) in $to/texts"
(( missing == 0 )) || fail "no text: $(counted "$missing" recording), see $to/failed; logs are in $to/log"
