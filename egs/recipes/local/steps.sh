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

# Ends the script unless a recipe can run with these options, and with what the checkout has.
check() { # <recipe> <its folder>
  local recipe=$1 work=$2 folder
  local -a recipe_folders
  check_recipe() { :; }
  # shellcheck disable=SC1090 # the recipe, whose name run.sh has checked
  source "$here/local/$recipe.sh"
  for folder in "${recipe_folders[@]}"; do
    [[ -e $work/$folder || -d $kaldi/$folder ]] || refuse_value "the recipe $recipe: $kaldi has no folder $folder; is it a whole checkout of Kaldi?"
  done
  check_recipe
}

# What a user edits in Kaldi: jobs run on this machine.
local_jobs() { # <recipe's folder>
  local name
  for name in train_cmd decode_cmd mkgraph_cmd cuda_cmd; do echo "export $name=run.pl"; done >"$work/$1/cmd.sh"
}

# The environment of Kaldi's scripts: our programs alone. `python` is Python 3. sox takes the same random numbers in each run (-R), so that
# features of perturbed speech, and all that follows, are the same bytes again.
recipe_environment() {
  mkdir -p "$work/src/bin" "$work/commands"
  command -v python >/dev/null || ln -sf "$(command -v python3)" "$work/commands/python"
  export PATH=$programs:$PATH:$work/commands KALDI_ROOT=$work NNET3_GPU=optional SOX_OPTS=-R
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

# Fewer jobs in scripts, for little data on one machine: most of the time of small jobs goes into starting programs.
few_jobs() { # <file> …
  sed -i --follow-symlinks -E 's/(--nj)([= ])[0-9]+/\1\2'"$nj"'/' "$@"
}

# Smaller Gaussian models, for little data: numbers of leaves and of Gaussians that stand before a data folder, or at the end of a line.
few_gaussians() { # <file> …
  sed -i -E 's/(^|.* )[0-9]{4} [0-9]{5,6} (data|\\$)/\1800 4000 \2/' "$@"
}

# Runs a script without stages from the command where it was when it was last killed (resume.sh). A command that fails ends it.
from_command() { # <name> <script>
  mkdir -p .stages
  RESUME_PLACE=$PWD/.stages/$1 RESUME_COMMANDS=$2 BASH_ENV=$here/local/resume.sh bash "$2"
}

# Runs a script that has the option --stage from the stage where it was when it was last killed (resume.sh).
from_stage() { # <name> <first stage> [<option of bash> …] <script> [<option> …]
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

# Ends the script if a decoding has no error rate in results.txt: some of Kaldi's scripts go on after a failure, and end with status 0.
expect_rates() { # <decoding> …
  local decoding
  for decoding; do
    name=$decoding awk '$3 == ENVIRON["name"] { found = 1 } END { exit !found }' "$work/results.txt" ||
      refuse_value "$recipe: $decoding has no error rate; see the files in $work/logs"
  done
}

# Prints stages of scripts with the seconds and processor seconds that they took, in all starts together. Those of less than a second are left out.
stage_times() {
  local file name
  find "$work" -path '*/.stages/*.times' | sort -V | while read -r file; do
    name=${file##*/}
    name=${name%.times}
    name=${name//.sh/} # STEP.SCRIPT, or STEP.SCRIPT.STAGE.SCRIPT
    name=${name//./ } awk '
      function seconds(text,   part) { split(text, part, /[ms]/); return 60 * part[1] + part[2] }
      NR % 3 == 1 { stage = $1; process = $2; time = $3 }
      NR % 3 == 2 { cpu = seconds($1) + seconds($2) }
      NR % 3 == 0 {
        cpu += seconds($1) + seconds($2)
        if (process == last_process) { wall[last] += time - last_time; used[last] += cpu - last_cpu }
        if (stage != "end" && !(stage in known)) { known[stage]; order[++n] = stage }
        last = stage; last_process = process; last_time = time; last_cpu = cpu
      }
      END {
        for (i = 1; i <= n; i++) {
          stage = order[i]
          if (wall[stage] >= 1) printf "  %-32s %9d %14d\n", ENVIRON["name"] " " stage, wall[stage], used[stage]
        }
      }' "$file"
  done
}

# Prints the steps with their times, and the results.
report() {
  printf '\n== %s\n%-34s %9s %14s\n' "$recipe" step seconds 'of processor'
  awk -F'\t' '{ printf "%-34s %9d %14d%s\n", $1, $2, $3, $4 ? "  failed" : ""; wall += $2; cpu += $3 }
    END { printf "%-34s %9d %14d\n", "all", wall, cpu }' "$work/steps.tsv"
  stage_times
  if [[ -f $work/results.txt ]]; then cat "$work/results.txt"; fi
}
