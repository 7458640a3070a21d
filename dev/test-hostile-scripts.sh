#!/usr/bin/env bash
# Usage: test-hostile-scripts.sh [--quick] [WORDS]
# Runs the scripts with hostile values: in every option and argument, in files that they read, and as names of files. Each call has to
# work, or to end with a sentence and a status of its own; no command within a value may run, no file of the user may change, no file may
# appear but where results belong. Programs are stand-ins that fail, so that a call goes as far as its first job; tests of files that
# programs read take the real ones from the PATH, and are left out if there are none. --quick: some values for each option, in less
# than a minute. With WORDS, only the tests with these words in their names. Ends with the line `N passed, N failed`.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common/usage.sh"
quick=false
if [[ ${1-} == --quick ]]; then
  quick=true
  shift
fi
plain_usage 0 1 "$@"
words=${1-}
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
export LC_ALL=C OPENBLAS_NUM_THREADS=1
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/test-hostile-scripts.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# Commands that such a value would run leave a file `canary` in the folder where they run.
numbers=('a[$(touch canary)]' 08 010 99999999999999999999 -5 1e999 0x10 '')
texts=('$(touch canary)' '`touch canary`' 'x&touch canary&' "x';touch canary;'" 'x";touch canary;"' '10;touch canary;:' 'touch canary|'
  '|touch canary' $'x\ntouch canary\n' 'x[$(touch canary)]' '%s\n' '@' '-x' '--x')
names=('a&touch canary&b' 'a|b' 'a<b' 'a>b' 'a(b' 'a*b' 'a?b' 'a[b' 'a[$(touch canary)]' 'a#b' 'a~b' '~' 'a!b' 'a\b' 'a{b' '{a,b}' 'a,b' 'a=b' 'a b'
  ' a' '-a' '-' '.' '..' '/' 'a;touch canary' '$(touch canary)' '`touch canary`' "a'b" 'a"b' $'a\nb' 'aJOBb' 'a:7' 'a]' 'a%d')

# ---- a folder of a user -----------------------------------------------------------------------------------------------
user=$work/user
tmp=.tmp # names that scripts once took for their own
mkdir -p "$user"/{data/train,conf,lang/phones,feats,tree,lm,graph,decode,model,flat,chain,log,wav,egs/info,q,fit,bin,cache,logs,train,dev,digits} "$user/out$tmp"
for name in data/train/text conf/mfcc.conf lang/words.txt feats/a lm/lm.arpa graph/words.txt decode/a model/a flat/a chain/a log/mine.log q/a \
  fit/a bin/a cache/a logs/a train/a dev/a digits/a "out$tmp/a" "out$tmp.log" notes.txt tree/tree setup "lm.arpa$tmp" "new$tmp"; do
  echo "mine: $name" >"$user/$name"
done
echo elsewhere >"$user/target"
ln -s target "$user/new.log"
printf '%s\n' "u1 wav/u1.wav" "u2 wav/u2.wav" >"$user/data/wav.scp"
printf '%s\n' "u1 a" "u2 a" >"$user/data/text"
echo "a A" >"$user/lexicon.txt"
touch "$user/lang/lexicon_disambig.fst" "$user/lang/phones/disambig.int"
printf '%s\n' "input dim=4 name=input" "output-layer name=output dim=3" >"$user/net.xconfig"
echo "u1 feats.ark:3" >"$user/feats.scp"
: >"$user/ali.ark"
for name in "${names[@]}"; do # as files, and as folders with something in them
  [[ $name != */* && $name != . && $name != .. ]] || continue
  cp "$user/net.xconfig" "$user/f$name"
  mkdir -p "$user/d$name"
  echo mine >"$user/d$name/mine"
done

# ---- stand-ins ----------------------------------------------------------------------------------------------------------
stubs=$work/stubs
mkdir -p "$stubs"
printf '%s\n' '#!/bin/sh' 'echo "stub: ${0##*/} fails" >&2' 'exit 1' >"$stubs/fails"
while read -r name; do ln -s fails "$stubs/$name"; done < <({
  find src/bin -name '*.rs' -printf '%f\n' | sed 's/\.rs$//'
  printf '%s\n' nnet3 cargo apt-get sudo maturin dpkg-deb espeak-ng pip nvidia-smi debootstrap
} | sort -u)
# Python makes no environments: a package of a recipe would be installed from the network for each value.
real_python=$(command -v python3)
cat >"$stubs/python3" <<PYTHON
#!/bin/sh
case "\$1 \$2" in "-m venv") echo "stub: python3 -m venv fails" >&2; exit 1 ;; esac
exec "$real_python" "\$@"
PYTHON
# Schedulers that run the tasks at once.
cat >"$stubs/sbatch" <<'SBATCH'
#!/usr/bin/env bash
for word; do
  case $word in --array=*) tasks=${word#--array=} ;; esac
done
tasks=${tasks%%\%*}
for task in ${tasks//,/ }; do SLURM_ARRAY_TASK_ID=$task bash "${@: -1}" >/dev/null 2>&1; done
echo 17
SBATCH
printf '%s\n' '#!/bin/sh' 'exit 0' >"$stubs/squeue"
cp "$stubs/squeue" "$stubs/scancel"
cat >"$stubs/kubectl" <<'KUBECTL'
#!/usr/bin/env bash
[[ " $* " != *" get job "* ]] || echo Complete
if [[ " $* " == *" patch "* ]]; then
  for word; do case $word in --filename=*) exec cat "${word#--filename=}" ;; esac; done
fi
[[ " $* " == *" create "* ]] || exit 0
exec python3 -c '
import json, os, subprocess, sys
job = json.load(open([word for word in sys.argv if word.startswith("--filename=")][0].partition("=")[2]))
pod = job["spec"]["template"]["spec"]["containers"][0]
for index in range(job["spec"]["completions"]):
    subprocess.run(pod["command"], cwd=pod["workingDir"], env={**os.environ, "JOB_COMPLETION_INDEX": str(index)}, capture_output=True)
' "$@"
KUBECTL
chmod +x "$stubs"/{fails,python3,sbatch,squeue,scancel,kubectl}
real_path=$PATH

# ---- attempts -----------------------------------------------------------------------------------------------------------
box=$work/box status=0 attempts=0
# A line for each file in a folder but folders, whose times change when something is made in them.
manifest() { (cd "$1" && find . -mindepth 1 ! -type d -printf '%P\t%y %s %T@ %l\0' | tr '\n\0' '?\n' | sort); } # <folder>
at_top() { (cd "$1" && find . -mindepth 1 -maxdepth 1 -printf '%P\0' | tr '\n\0' '?\n' | sort); } # <folder>
fresh_box() {
  rm -rf "$box"
  cp -a "$user" "$box"
  remember_box
}
remember_box() {
  manifest "$box" >"$work/before"
  at_top "$box" >"$work/top"
}
fresh_box

# Runs a command in the user's folder, and says what is wrong with what it did. What it makes may be named `new…`, or as $made. It may
# replace the file $replaced.
made='' replaced=''
attempt() { # <command> …
  local wrong='' said
  attempts=$((attempts + 1))
  (cd "$box" && exec timeout -k 5 "${limit:-20}" "$@") >"$work/out" 2>"$work/err" </dev/null
  status=$?
  said=$(grep -v '^ *$' "$work/err" | head -n 5)
  if [[ -n $(find "$work" -name 'canary*' -print -quit) ]]; then
    wrong+="a command in the value was run; "
    find "$work" -name 'canary*' -delete
  fi
  manifest "$box" >"$work/after"
  export REPLACED=${replaced//$'\n'/?}
  local place=${made%%/} # a folder's name with a slash behind it
  if ! cmp -s "$work/before" "$work/after"; then
    comm -23 "$work/before" "$work/after" | awk 'BEGIN { FS = "\t" } $1 != ENVIRON["REPLACED"]' >"$work/changed"
    [[ ! -s $work/changed ]] || wrong+="files of the user changed: $(head -n 2 "$work/changed" | tr '\n' ' '); "
    stray=$(comm -13 "$work/top" <(at_top "$box") | grep -v -e '^new' -e '^canary' | grep -vxF -e "${place//$'\n'/?}" | head -n 3 | tr '\n' ' ')
    [[ -z $stray ]] || wrong+="files appeared: $stray; "
    fresh_box
  fi
  if (( status == 124 || status == 137 )); then wrong+="it took more than ${limit:-20} s; "
  elif (( status > 128 )); then wrong+="ended by a signal, status $status; "
  elif (( status != 0 )) && [[ -z $said && ! -s $work/out ]]; then wrong+="status $status without a sentence; "
  fi
  if grep -aqE '\.sh: line [0-9]+: |syntax error|unbound variable|bad substitution|Traceback|bad array|value too great|arithmetic|ambiguous redirect' "$work/err"; then
    wrong+="words of a shell or of Python: $(grep -aE -m1 '\.sh: line [0-9]+: |syntax error|unbound|bad |Traceback|too great|ambiguous' "$work/err"); "
  fi
  [[ -z $wrong ]] || { printf '%q ' "$@"; printf '\n      %s\n' "$wrong"; } >>"$work/wrong"
}

check() { # <what> <function> …
  [[ $1 == *"$words"* ]] || return 0
  local began=$attempts since=$SECONDS
  : >"$work/wrong"
  "${@:2}" >"$work/check.log" 2>&1 || echo "the test itself failed: $(tail -n 3 "$work/check.log")" >>"$work/wrong"
  if [[ -s $work/wrong ]]; then
    failed=$((failed + 1))
    echo "FAILED  $1 ($((attempts - began)) calls, $((SECONDS - since)) s)"
    head -n "${shown_lines:-16}" "$work/wrong" | cut -c1-400 | sed 's/^/        /'
  else
    passed=$((passed + 1))
    echo "ok      $1 ($((attempts - began)) calls, $((SECONDS - since)) s)"
  fi
}

wrong() { echo "$*" >>"$work/wrong"; }
refused() { # <part of the sentence> <command> …
  attempt "${@:2}"
  (( status != 0 )) || wrong "not refused: ${*:2}"
  grep -qF -- "$1" "$work/err" || wrong "expected '$1', found: $(head -n 3 "$work/err")"
}

# Sets `values` to those that an option is tried with: all, or with --quick three that differ from option to option.
turn=0
values_for() { # <kind of value>
  case $1 in
    N | NUMBER) values=("${numbers[@]}" "${texts[@]:0:7}") ;;
    *) values=("${texts[@]}" "${names[@]}" "${names[@]/#/f}" "${names[@]/#/d}" 'a[$(touch canary)]' '') ;;
  esac
  if $quick; then
    local all=("${values[@]}") count=${#values[@]}
    turn=$((turn + 1))
    values=("${all[turn * 7 % count]}")
    (( turn % 2 )) || values=('a[$(touch canary)]')
  fi
}

# Each option that the help of a script lists, with hostile values.
options_of() { # <script> <words before the option> … -- <words after it> …
  local script=$1 before=() option kind value
  shift
  while [[ $1 != -- ]]; do before+=("$1"); shift; done
  shift
  while IFS='= ' read -r option kind; do
    values_for "${kind%% *}"
    for value in "${values[@]}"; do
      if [[ $separator == blank ]]; then attempt "$script" "${before[@]}" "$option" "$value" "$@"
      else attempt "$script" "${before[@]}" "$option=$value" "$@"
      fi
    done
  done < <("$script" --help | sed -n 's/^ *\(--[a-z][a-z0-9-]*\)[= ]\([A-Z|a-z]*\).*/\1 \2/p' | grep -v -e '--config' -e '--help')
}

# Hostile names in the place of each argument.
arguments_of() { # <script> <argument> …
  local script=$1 i value all
  shift
  for ((i = 1; i <= $#; i++)); do
    values_for NAME
    for value in "${values[@]}"; do
      all=("$@")
      all[i - 1]=$value
      made=$value replaced=
      if (( i == $# )); then replaced=$value; fi # the last argument is what is made
      attempt "$script" "${all[@]}"
    done
  done
  made='' replaced=''
}

# ---- the drivers, with stand-ins ----------------------------------------------------------------------------------------
PATH=$stubs:$real_path
separator='='
s=$root/scripts
dev=$root/dev
training=(--feats=scp:feats.scp --targets=ark:ali.ark --xconfig=net.xconfig --use-gpu=no)
hostile_names() { # <script> <words before the name> …: as the folder of results, not yet there and with files in it
  local name
  for name in "${names[@]}"; do
    $quick && (( turn++ % 5 )) && continue
    made=$name
    attempt "$@" -- "$name"
    if [[ $name != */* && $name != . && $name != .. ]]; then
      made=d$name
      attempt "$@" -- "d$name"
      (( status != 0 )) || wrong "d$name has a file of the user, and was taken"
    fi
  done
  made=
}
check "train.sh: options" options_of "$s/train.sh" "${training[@]}" -- new
check "train.sh: names of its folder" hostile_names "$s/train.sh" "${training[@]}"
$quick || check "train.sh: options for a chain model" options_of "$s/train.sh" --objective=chain --feats=data --tree-dir=tree --lat-dir=lm \
  --xconfig=net.xconfig -- new
check "recognizer.sh: options" options_of "$s/recognizer.sh" --data=data --lexicon=lexicon.txt -- new
check "recognizer.sh: names of its folder" hostile_names "$s/recognizer.sh" --data=data --lexicon=lexicon.txt
check "segment_long.sh: options" options_of "$s/segment_long.sh" -- data graph new
check "segment_long.sh: names" arguments_of "$s/segment_long.sh" data graph new
check "make_vosk_model.sh: options" options_of "$s/make_vosk_model.sh" -- data new
check "make_vosk_model.sh: names" arguments_of "$s/make_vosk_model.sh" data new
check "adapt_model.sh: options" options_of "$s/adapt_model.sh" --text=data/text -- model new
check "adapt_model.sh: names" arguments_of "$s/adapt_model.sh" --text=data/text model new
check "transcribe_many.sh: options" options_of "$s/transcribe_many.sh" --model=model -- data/wav.scp new
check "transcribe_many.sh: names" arguments_of "$s/transcribe_many.sh" --model=model data/wav.scp new
check "make_graph.sh: names" arguments_of "$s/make_graph.sh" lm/lm.arpa lang tree/tree net.xconfig new
options_of_make_graph() {
  local option value
  for option in --self-loop-scale --transition-scale --look-ahead --phrases; do
    for value in "${numbers[@]}" "${texts[@]}"; do
      $quick && (( turn++ % 9 )) && continue
      attempt "$s/make_graph.sh" "$option=$value" lm/lm.arpa lang tree/tree net.xconfig new
    done
  done
}
check "make_graph.sh: options" options_of_make_graph

a_config_file() { # options from a file
  local value
  for value in "${numbers[@]}" "${texts[@]}"; do
    $quick && (( turn++ % 9 )) && continue
    printf '%s\n' "--srand=$value" "--cmvn-opts=$value" >"$box/data/options"
    remember_box
    attempt "$s/train.sh" --config=data/options "${training[@]}" new
    attempt "$s/train.sh" "${training[@]}" "--$value=x" new
    attempt "$s/recognizer.sh" "--$value" new
  done
  fresh_box
}
check "options from a file, and names of options" a_config_file

# ---- runners ----------------------------------------------------------------------------------------------------------------
separator=blank
export NNET3_K8S_IMAGE=image NNET3_K8S_VOLUME=host:/tmp
for runner in run slurm k8s; do
  check "$runner.sh: options" options_of "$s/$runner.sh" -- new/x.log true
  ranges() {
    local value
    for value in 1:99999999999999999999 99999999999999999999 1:08x 1: :3 '1:a[$(touch canary)]' 3:1 0:1 '$(touch canary)' 1:1000001; do
      attempt "$s/$runner.sh" "JOB=$value" new/x.JOB.log true
      (( status != 0 )) || wrong "JOB=$value was taken"
    done
    made=
    attempt "$s/$runner.sh" --num-threads 08 JOB=08:010 new/x.JOB.log echo number JOB
    (( status == 0 )) || wrong "JOB=08:010 is 8 to 10: $(cat "$work/err")"
  }
  check "$runner.sh: ranges of jobs" ranges
  logs() {
    local name
    for name in "${names[@]}"; do
      [[ $name != . && $name != .. && $name != / ]] || continue
      $quick && (( turn++ % 9 )) && continue
      attempt "$s/$runner.sh" "new/$name.log" true
      attempt "$s/$runner.sh" "new $name/x.log" true
      made=$name.log
      attempt "$s/$runner.sh" "$name.log" true
      made=
    done
  }
  check "$runner.sh: names of logs" logs
  folders() { # that it is called in
    local name
    for name in "${names[@]}"; do
      [[ -d $box/d$name && $name != */* ]] || continue
      $quick && (( turn++ % 9 )) && continue
      attempt env -C "d$name" "$s/$runner.sh" new.log true
      rm -rf "$box"/d*/new.log
    done
    fresh_box
  }
  check "$runner.sh: names of the folder that it is called in" folders
done
an_environment() { # that jobs get
  NNET3_A='$(touch canary)' NNET3_B=$'\ndeclare -x NNET3_C="$(touch canary)"' NNET3_D='";touch canary;"' attempt "$s/k8s.sh" new/x.log true
  (( status == 0 )) || wrong "$(cat "$work/err")"
}
check "k8s.sh: the environment of jobs" an_environment

# ---- programs of scripts ------------------------------------------------------------------------------------------------------
separator='='
printf '%s\n' a b >"$user/vocabulary"
fresh_box
parts() {
  local value
  for value in "${numbers[@]}" "${names[@]}"; do
    $quick && (( turn++ % 19 )) && continue
    attempt check-long-recordings --print-args=false --skip-bad="$value" data lang/words.txt new
    attempt feats-to-windows --print-args=false --window="$value" data lang/words.txt new/windows
    attempt batch-recordings --print-args=false --size="$value" data txt new/batches
  done
}
check "programs of segment_long.sh and transcribe_many.sh: options" parts

# ---- scripts with few arguments -------------------------------------------------------------------------------------------------
few_arguments() {
  local value script
  for value in "${numbers[@]}" "${texts[@]}" "${names[@]}"; do
    $quick && (( turn++ % 29 )) && continue
    for script in io-speed on-the-fly-memory fuzz-command-lines conformance chain-figures training-figures graph-figures gpu-check \
      package test-train test-recognizer test-slurm test-k8s test-gridengine; do
      case $script in
        # These would go on, as the value is one that they have a use for.
        test-recognizer | test-train) [[ $value == -* ]] || continue ;;
        gpu-check) [[ $value == -* || $value == *touch* ]] || continue ;;
        test-gridengine) [[ $value != / && $value != . && $value != .. && $value != '~' ]] || continue ;;
      esac
      attempt "$dev/$script.sh" "$value"
    done
    attempt "$s/test.sh" "$value"
    [[ $value != -* && $value != *touch* ]] || attempt "$s/common/install_packages.sh" "$value"
    attempt "$dev/benchmark.sh" "--repeats=$value"
    attempt "$dev/benchmark.sh" "--waiting=$value"
    made=$value
    attempt "$s/jobs/job.sh" "new/$value" "$value" true
    made=
  done
}
check "scripts with few arguments" few_arguments

# ---- recipes, in a copy of their own ----------------------------------------------------------------------------------------------
copy_recipes() {
  mkdir -p "$work/repository"
  tar -c --exclude=.venv --exclude=exp --exclude=data --exclude=__pycache__ scripts egs | tar -x -C "$work/repository"
}
recipes() {
  local recipe option value wanted
  copy_recipes
  : >"$work/repository/Cargo.toml"
  mkdir -p "$work/kaldi/egs/wsj/s5/steps"
  for recipe in chars commands digits drivers images onnx published recipes speakers; do
    # A folder of the user's where the recipe would put its own.
    box=$work/repository/egs/$recipe
    mkdir -p "$box/mine/train"
    for name in mine/train/a mine/notes; do echo mine >"$box/$name"; done
    rm -rf "$work/kept"
    cp -a "$box" "$work/kept"
    user=$work/kept
    fresh_box
    wanted=()
    [[ $recipe != drivers ]] || wanted=("$work/s5")
    [[ $recipe != recipes ]] || wanted=("$work/kaldi")
    mkdir -p "$work/s5/steps/nnet3"
    : >"$work/s5/steps/nnet3/train_raw_dnn.py"
    while read -r option; do
      values_for NAME
      for value in "${values[@]}" mine; do
        made=exp # where results go
        [[ $option != --dir ]] || made=$value
        attempt "$box/run.sh" "$option" "$value" "${wanted[@]}"
      done
    done < <("$box/run.sh" --help | sed -n 's/^ *\(--[a-z][a-z0-9-]*\) [A-Z].*/\1/p')
  done
  made=
  box=$work/box user=$work/user
  fresh_box
}
$quick || check "recipes: options" recipes

# ---- folders that are not ours ----------------------------------------------------------------------------------------------------
keeps_folders() {
  refused 'holds files that recognizer.sh did not make' "$s/recognizer.sh" --data=data/train --lexicon=lexicon.txt .
  refused 'holds files that recognizer.sh did not make' "$s/recognizer.sh" --data=data --lexicon=lexicon.txt .
  refused 'holds files that train.sh did not make' "$s/train.sh" "${training[@]}" .
  refused 'holds files that train.sh did not make' "$s/train.sh" "${training[@]}" --restart=true . # there is a file `setup`
  refused 'holds files that make_graph.sh did not make' "$s/make_graph.sh" lm/lm.arpa lang tree/tree net.xconfig graph
  refused 'is there already' "$s/make_vosk_model.sh" data model
  attempt "$s/make_vosk_model.sh" data out # leaves out.tmp and out.tmp.log, and the link
  attempt "$s/make_vosk_model.sh" data new
}
check "folders and files of the user stay" keeps_folders

# ---- files that scripts read, with the real programs -------------------------------------------------------------------------------
PATH=$real_path
if ! command -v nnet3-train >/dev/null; then
  echo "left out: tests with the programs, which are not on the PATH"
elif $quick; then
  echo "left out: tests with the programs (without --quick)"
else
  limit=300
  toy=$work/toy
  tests/train/toy_data.sh "$toy" 20 60
  trained=(--feats="scp:$toy/feats.scp" --targets="ark:$toy/ali.ark" --xconfig="$toy/tdnn.xconfig" --use-gpu=no --num-epochs=1 --report=false
    --num-jobs-final=1 --minibatch-size=16)
  info_files() {
    local name
    (cd "$work" && "$s/train.sh" "${trained[@]}" "$work/toy_exp") >/dev/null 2>&1 || { wrong "the toy was not trained"; return; }
    for name in num_archives left_context right_context left_context_initial right_context_final feat_dim ivector_dim frames_per_eg; do
      rm -rf "$box/egs"
      cp -r "$work/toy_exp/egs" "$box/egs"
      echo 'dir[$(touch canary)]' >"$box/egs/info/$name"
      remember_box
      refused "egs/info/$name" "$s/train.sh" --egs-dir=egs --xconfig="$toy/tdnn.xconfig" --use-gpu=no --num-epochs=1 --report=false new
    done
    fresh_box
  }
  check "train.sh: files of examples" info_files
  an_ivector_period() {
    mkdir -p "$box/ivectors"
    cp "$toy/feats.scp" "$box/ivectors/ivector_online.scp"
    echo '10;touch canary;:' >"$box/ivectors/ivector_period"
    remember_box
    refused ivector_period "$s/train.sh" "${trained[@]}" --online-ivector-dir=ivectors new
    fresh_box
  }
  check "train.sh: the period of i-vectors" an_ivector_period
  as_decimal() { # the same training: 010 is ten, 08 is eight
    "$s/train.sh" "${trained[@]}" --chunk-width=08 --minibatch-size=016 --num-utts-subset=010 --srand=09 "$work/with" &&
      "$s/train.sh" "${trained[@]}" --chunk-width=8 --minibatch-size=16 --num-utts-subset=10 --srand=9 "$work/without" &&
      cmp "$work/with/final.raw" "$work/without/final.raw"
  }
  check "train.sh: numbers that begin with 0 are decimal" as_decimal
  hostile_waves() { # names below --wav
    user=$work/with_waves
    cp -a "$work/user" "$user"
    python3 - "$root/tests/recognizer" "$user/wav" <<'PYTHON'
import sys
sys.path.append(sys.argv[1])
import toy_speech
from pathlib import Path
for number, name in enumerate(["x\nu9 touch canary |\ny", "a b", "a|b", "a;touch canary;", "$(touch canary)", "a[1]", "-x", "a'b", "a\\b", *"cdefghi"]):
    folder = Path(sys.argv[2]) / name
    folder.mkdir(parents=True)
    toy_speech.write_wave(folder / f"u{number}.wav", [0.1, 0.2, -0.1, -0.2] * 2000)
PYTHON
    printf 'u%d a\n' {0..15} >"$user/text"
    fresh_box
    refused 'the name has a line break' "$s/recognizer.sh" --wav=wav --text=text --lexicon=lexicon.txt --last-part=features new
    rm -rf "$user"/wav/x*
    sed -i 1d "$user/text"
    fresh_box
    attempt "$s/recognizer.sh" --wav=wav --text=text --lexicon=lexicon.txt --num-test=1 --last-part=features new
    (( status == 0 )) || wrong "names that are none of a shell's business: $(tail -n 3 "$work/err")"
    user=$work/user
    fresh_box
  }
  check "recognizer.sh: names of waves" hostile_waves
  a_model() {
    local exp=$work/user/new_exp value
    mkdir -p "$exp"/{conf,graph/phones}
    "$root/tests/train/toy_chain.sh" "$toy" "$work/chain_data" >/dev/null 2>&1
    cp "$work/chain_data/tree/final.mdl" "$exp/final.mdl" 2>/dev/null || true
    nnet3-am-init "$work/chain_data/tree/final.mdl" "$work/toy_exp/final.raw" "$exp/final.mdl" >/dev/null 2>&1 || true
    [[ -s $exp/final.mdl ]] || { wrong "there is no model"; return; }
    : >"$exp/graph/HCLG.fst"
    echo "a 1" >"$exp/graph/words.txt"
    echo 1 >"$exp/graph/phones/silence.csl"
    for value in 'exp[$(touch canary)]' '$(touch' 99999999999999999999 -1; do
      printf '%s\n' "--num-ceps=$value" "--sample-frequency=$value" >"$exp/conf/mfcc.conf"
      fresh_box
      refused 'mfcc.conf: --num-ceps: expected a whole number' "$s/make_vosk_model.sh" new_exp new_model
    done
    echo --num-ceps=010 >"$exp/conf/mfcc.conf"
    fresh_box
    refused 'makes 10 columns of a frame' "$s/make_vosk_model.sh" new_exp new_model
    echo '1:a[$(touch canary)]' >"$exp/graph/phones/silence.csl"
    fresh_box
    refused 'silence.csl): expected a whole number' "$s/make_vosk_model.sh" new_exp new_model
    rm -rf "$exp"
    fresh_box
  }
  check "make_vosk_model.sh: configuration of features" a_model
fi

printf '\n%d passed, %d failed (%d calls)\n' "$passed" "$failed" "$attempts"
(( failed == 0 ))
