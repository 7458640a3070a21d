# Bash reads this file before each script of a recipe (BASH_ENV names it). A script with a variable `stage` that was killed goes on with the
# stage where it was; so does a script that it calls in that stage. RESUME_PLACE is the file, or the beginning of the name of files, where
# scripts note the stages that they begin: `PLACE.SCRIPT` for the first script, `PLACE.SCRIPT.STAGE.SCRIPT` for one that it calls. A file with
# `.times` after such a name has the times of these stages. A stage that trains with `--stage $train_stage` in the folder `$dir` goes on with the
# iteration where it was; a file with `.iterations` and the stage in its name notes them. RESUME_COMMANDS names a script without stages: its commands of the folders steps,
# utils and local count as stages.

# Looks at a command that is about to run. It uses no `[[ =~ ]]`, whose results the script may need.
resume_stage() { # <command>
  case $0 in
    run.sh | ./run.sh | local/*) ;;
    *) trap - DEBUG; return 0 ;;
  esac
  case $1 in
    *'$train_stage'*) resume_training; return 0 ;;
    *'$stage'* | *'${stage}'*) ;;
    *) return 0 ;;
  esac
  if test -z "${resume_record:-}"; then
    resume_record=$RESUME_PLACE.${0##*/}
    resume_last
    resume_traps
  fi
  case $1 in
    '[ '* | '[[ '* | 'test '*) ;;
    *) return 0 ;;
  esac
  local rest=${1#*stage}
  rest=${rest#\}}
  rest=${rest#\"}
  case $rest in
    ' -le '*) ;; # lint: a text
    *) return 0 ;;
  esac
  rest=${rest#' -le '} # lint: a text
  rest=${rest%%[!0-9-]*}
  if test -n "$rest" && test "$stage" -le "$rest"; then # lint: test evaluates nothing
    echo "$rest" >>"$resume_record"
    resume_now=$rest
    resume_time "$rest"
    export RESUME_PLACE=$resume_record.$rest
  fi
}

# Sets `train_stage` to the iteration of the training in `$dir` or `$nnet_dir` that was killed, the last one whose model is complete. A recurrent language
# model has two files an iteration, of which one may be missing: such a training begins anew.
resume_training() {
  local model name last='' folder=${dir:-${nnet_dir:-}}
  if test "${resume_from:-}" != "${resume_now:-none}" || test ! -d "$folder" || test -e "$folder/special_symbol_opts.txt"; then return 0; fi
  for model in "$folder"/*.mdl "$folder"/*.raw; do
    name=${model##*/}
    name=${name%.*}
    case $name in
      *[!0-9]*) continue ;;
    esac
    if test "$name" -gt "${last:--1}"; then last=$name; fi # lint: test evaluates nothing
  done
  if test -n "$last" && test "$last" -gt "$train_stage"; then # lint: test evaluates nothing
    train_stage=$last
    echo "$last" >>"$resume_record.$resume_now.iterations"
  fi
}

# Notes the time, and the processor time of this script and of those that it called; `stage_times` in steps.sh reads it.
resume_time() { # <stage, or end>
  { echo "$1 $$ $EPOCHREALTIME"; times; } >>"$resume_record.times"
}

# Notes the end of the script, and that it succeeded in this start of the recipe. The next call in the same start is another one, which begins
# at its beginning: a stage may score two decodings by one script.
resume_end() { # <status>
  resume_time end
  test "$1" != 0 || echo "end.$RESUME_START" >>"$resume_record"
}

# Lets the end of the script be noted; to the DEBUG trap, the commands of that look like the script's last one. A signal ends it at once: without a
# trap of its own, bash first looks at the commands that follow.
resume_traps() {
  trap 'resume_status=$?; trap - DEBUG; resume_end "$resume_status"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# Prints the last stage of the record; an empty line if there is none, or if the script ended in this start of the recipe.
resume_at() {
  local at='' line
  if test -f "$resume_record"; then
    while read -r line; do
      case $line in
        "end.$RESUME_START") at='' ;;
        end.*) ;;
        *) at=$line ;;
      esac
    done <"$resume_record"
  fi
  echo "$at"
}

# Sets `stage` to the last stage that this script began.
resume_last() {
  local at
  at=$(resume_at)
  if test -z "$at" || test "$at" -lt "$stage"; then return 0; fi # lint: test evaluates nothing
  stage=$at
  resume_from=$at
  resume_clean "$at"
}

# Some of Kaldi's scripts refuse a data folder that has features, and take a part of a data folder as whole: those that were made since the
# last stage began go, unless that stage called a script that has stages itself and knows better.
resume_clean() { # <stage>
  local nested
  for nested in "$resume_record.$1".*; do
    test ! -e "$nested" || return 0
  done
  test -d data || return 0
  find data -type d -name 'split[0-9]*' -prune -newer "$resume_record" -exec rm -rf {} +
  find data -type d -name 'split[0-9]*' -prune -o -name feats.scp -newer "$resume_record" -exec rm -f {} +
}

# Looks at a command of a script without stages; false if it was done before the script was killed. Ends the script if the one before failed.
resume_command() { # <command>
  local status=$?
  if test -n "${resume_begun:-}"; then
    resume_begun=
    test "$status" = 0 || exit "$status"
  fi
  case $1 in
    steps/* | utils/* | local/*) ;;
    *) return 0 ;;
  esac
  test "$BASH_SUBSHELL" = 0 || return 0
  if test -z "${resume_record:-}"; then
    shopt -s extdebug # a false result skips the command
    resume_record=$RESUME_PLACE.${0##*/}
    resume_number=0
    resume_from=$(resume_at)
    resume_traps
  fi
  resume_number=$((resume_number + 1))
  test "$resume_number" -ge "${resume_from:-0}" || return 1 # lint: test evaluates nothing
  test "$resume_number" != "${resume_from:-0}" || resume_clean "$resume_number"
  echo "$resume_number" >>"$resume_record"
  resume_time "$resume_number"
  export RESUME_PLACE=$resume_record.$resume_number
  resume_begun=true
}

export RESUME_START=${RESUME_START:-$$}
if test "${RESUME_COMMANDS:-}" = "$0"; then
  trap 'resume_command "$BASH_COMMAND"' DEBUG
elif test -z "${BASH_EXECUTION_STRING:-}"; then
  trap 'resume_stage "$BASH_COMMAND"' DEBUG
fi
