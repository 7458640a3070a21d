# Steps of a recipe that are done once, with their times. Sourced by run.sh; needs `work` (the recipe's folder), `programs` (the folder of
# the programs) and `kaldi` (the checkout).

# Copies folders of the checkout into the recipe's folder, once.
checkout() { # <folder> …
  local folder
  for folder; do
    [[ ! -e $work/$folder ]] || continue
    [[ -d $kaldi/$folder ]] || refuse_value "$kaldi has no folder $folder; is it a checkout of Kaldi?"
    mkdir -p "$work/$(dirname "$folder")"
    cp -r "$kaldi/$folder" "$work/$folder.part"
    mv "$work/$folder.part" "$work/$folder"
  done
}

# What a user edits in Kaldi: jobs run on this machine.
local_jobs() { # <recipe's folder>
  local name
  for name in train_cmd decode_cmd mkgraph_cmd cuda_cmd; do echo "export $name=run.pl"; done >"$work/$1/cmd.sh"
}

# The environment of Kaldi's scripts: our programs alone. `python` is Python 3.
recipe_environment() {
  mkdir -p "$work/src/bin" "$work/commands"
  command -v python >/dev/null || ln -sf "$(command -v python3)" "$work/commands/python"
  export PATH=$programs:$PATH:$work/commands KALDI_ROOT=$work NNET3_GPU=optional
}

# Ends the script if a program of Kaldi or OpenFst that is not ours could be called.
only_ours() { # <file with names>
  local name found
  while read -r name; do
    found=$(command -v "$name") || continue
    [[ $found == "$programs/$name" ]] || refuse_value "$found would be called; expected programs of $programs alone"
  done <"$1"
}

# Runs a command in a folder, unless it has been done; its output is in logs/STEP.log, its time in steps.tsv.
step() { # <step> <folder below the recipe's> <command> …
  local step=$1 folder=$2 status=0 times
  shift 2
  mkdir -p "$work/logs" "$work/done"
  [[ ! -e $work/done/$step ]] || return 0
  echo "$recipe: $step" >&2
  local TIMEFORMAT='%R %U %S'
  times=$({ time in_folder "$work/$folder" "$@" >>"$work/logs/$step.log" 2>&1; } 2>&1) || status=$?
  echo "$step $status $times" | awk '{ printf "%s\t%d\t%d\t%d\n", $1, $3, $4 + $5, $2 }' >>"$work/steps.tsv"
  if (( status )); then
    echo "$recipe: $step failed with status $status; the end of $work/logs/$step.log:" >&2
    tail -n 15 "$work/logs/$step.log" >&2
    return 1
  fi
  : >"$work/done/$step"
}

in_folder() { # <folder> <command> …
  cd "$1" && shift && "$@"
}

# Runs a script that has the option --stage from the stage where it was when it was last killed (resume.sh).
from_stage() { # <name> <first stage> <script> [<option> …]
  local name=$1 first=$2
  shift 2
  mkdir -p .stages
  RESUME_PLACE=$PWD/.stages/$name BASH_ENV=$here/local/resume.sh bash "$@" --stage "$first"
}

# Prints the word error rates below a folder, one line a decoding: the lowest of all scales of the language model.
error_rates() { # <folder of the recipe>
  local folder=$work/$1 decoding best
  for decoding in "$folder"/exp/*/decode* "$folder"/exp/*/*/decode*; do
    best=$(cat "$decoding"/scoring_kaldi/best_wer "$decoding"/wer_* "$decoding"/cer_* 2>/dev/null | grep -oE '^%WER [0-9.]+' | sort -k2,2n | head -n 1) || true
    if [[ $best ]]; then echo "$best ${decoding#"$folder"/exp/}"; fi
  done
}

# Prints the steps with their times, and the results.
report() {
  printf '\n== %s\n%-24s %9s %14s\n' "$recipe" step seconds 'of processor'
  awk -F'\t' '{ printf "%-24s %9d %14d%s\n", $1, $2, $3, $4 ? "  failed" : ""; wall += $2; cpu += $3 }
    END { printf "%-24s %9d %14d\n", "all", wall, cpu }' "$work/steps.tsv"
  if [[ -f $work/results.txt ]]; then cat "$work/results.txt"; fi
}
