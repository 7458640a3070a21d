# Bash reads this file before each script of a recipe (BASH_ENV names it). A script with a variable `stage` that was killed goes on with the
# stage where it was; so does a script that it calls in that stage. RESUME_PLACE is the file, or the beginning of the name of files, where
# scripts note the stages that they begin: `PLACE.SCRIPT` for the first script, `PLACE.SCRIPT.STAGE.SCRIPT` for one that it calls.

# Looks at a command that is about to run. It uses no `[[ =~ ]]`, whose results the script may need.
resume_stage() { # <command>
  case $0 in
    run.sh | ./run.sh | local/*) ;;
    *) trap - DEBUG; return 0 ;;
  esac
  case $1 in
    *'$stage'* | *'${stage}'*) ;;
    *) return 0 ;;
  esac
  if test -z "${resume_record:-}"; then
    resume_record=$RESUME_PLACE.${0##*/}
    resume_last
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
    export RESUME_PLACE=$resume_record.$rest
  fi
}

# Sets `stage` to the last stage that this script began. Some of Kaldi's scripts refuse a data folder that has features: those that were
# made since then go, if no script that was called in that stage knows better.
resume_last() {
  local at='' line nested
  test -f "$resume_record" || return 0
  while read -r line; do at=$line; done <"$resume_record"
  if test -z "$at" || test "$at" -lt "$stage"; then return 0; fi # lint: test evaluates nothing
  stage=$at
  for nested in "$resume_record.$at".*; do
    test ! -e "$nested" || return 0
  done
  if test -d data; then find data -name feats.scp -newer "$resume_record" -delete; fi
}

if test -z "${BASH_EXECUTION_STRING:-}"; then trap 'resume_stage "$BASH_COMMAND"' DEBUG; fi
