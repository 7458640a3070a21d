# The calling convention of Kaldi's job runners (run.pl, queue.pl, slurm.pl):
#   CMD [options] [JOB=1:N] LOG command arguments …
# Sourced by run.sh, slurm.sh and k8s.sh, which set `runner_options` (name → variable) and call `parse_arguments "$@"`. That sets
#   job_name first last   the variable, and its range (empty, 1, 1 without one)
#   log                   the log's name, with job_name in it
#   command               one line of shell, with job_name in it
# and the variables of the options.

runner=${BASH_SOURCE[1]##*/} # the script that reads this one
source "${BASH_SOURCE[0]%/*}/logs.sh"
declare -F number >/dev/null || source "${BASH_SOURCE[0]%/*}/../common/values.sh" # drivers have read it already

refuse() { echo "$runner: $*" >&2; exit 1; }

unknown_option() { # <--name>
  did_you_mean "$1" "${!runner_options[@]}" help
  refuse "unknown option $1$REPLY; see $runner --help"
}

set_option() { # <--name> <value>
  local name=${1#--} value=$2
  [[ $value != --* ]] || echo "$runner: WARNING: the value of $1 begins with '--': $value" >&2
  name=${name//_/-}
  [[ $name && ${runner_options[$name]-} ]] || unknown_option "$1"
  [[ ! $value =~ [[:cntrl:]] ]] || refuse "$1: expected a value without line breaks and the like"
  printf -v "${runner_options[$name]}" %s "$value" # lint: a name of this script
}

parse_options() { # sets `rest`
  while [[ ${1-} == -* ]]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      -V) ;;
      -tc) (( $# > 1 )) || refuse "$1 needs a value"; set_option --max-jobs-run "$2"; shift ;;
      -sync | -l | -q) (( $# > 1 )) || refuse "$1 needs a value"; shift ;; # Grid Engine's: nothing to do here
      -pe) (( $# > 2 )) || refuse "$1 needs two values"; set_option --num-threads "$3"; shift 2 ;;
      --*=*) set_option "${1%%=*}" "${1#*=}" ;;
      --*) (( $# > 1 )) || { set_option "$1" ''; refuse "$1 needs a value"; }; set_option "$1" "$2"; shift ;;
      *) unknown_option "$1" ;;
    esac
    shift
  done
  rest=("$@")
}

parse_arguments() {
  job_name= first=1 last=1
  parse_options "$@"
  if [[ ${rest[0]-} =~ ^([A-Za-z_][A-Za-z0-9_]*)=([0-9]+)(:([0-9]+))?$ ]]; then
    local from=${BASH_REMATCH[2]} to=${BASH_REMATCH[4]:-${BASH_REMATCH[2]}}
    job_name=${BASH_REMATCH[1]}
    number first whole "${rest[0]}" "$from" 1 1000000
    number last whole "${rest[0]}" "$to" "$first" 1000000
    parse_options "${rest[@]:1}" # options may follow, too
  fi
  case ${#rest[@]} in
    0) refuse "ERROR: expected LOG and COMMAND, found no arguments; see $runner --help" ;;
    1) shown "${rest[0]}"; refuse "ERROR: expected LOG and COMMAND, found one argument, $REPLY; see $runner --help" ;;
  esac
  log=${rest[0]}
  [[ ! $log =~ ^[A-Za-z_][A-Za-z0-9_]*=[^/]*$ ]] || refuse "$log: expected NAME=FIRST:LAST with 1 <= FIRST <= LAST, such as JOB=1:4"
  [[ $log && ! $log =~ [[:cntrl:]] ]] || refuse "the log's name is empty, or has a line break in it"
  if (( last > first )) && [[ $log != *"$job_name"* ]]; then
    refuse "several jobs would write one log: there is no $job_name in its name, $log"
  fi
  quote_command "${rest[@]:1}"
}

check_shared_options() { # those that all runners have
  number max_jobs_run whole --max-jobs-run "$max_jobs_run" 0
  number num_threads whole --num-threads "$num_threads" 1 1000000
  number gpu whole --gpu "$gpu" 0 1000000
  number retries whole --retries "$retries" 0
  local unit=${mem##*[0-9]}
  [[ $unit == ?([KMGTkmgt]) ]] || refuse "--mem $mem: expected a size such as 4G"
  number mem whole --mem "${mem%"$unit"}" 0 1000000000000
  [[ $mem == 0 ]] || mem+=$unit
}

log_of() { # <job>
  if [[ $job_name ]]; then echo "${log//$job_name/$1}"; else echo "$log"; fi
}

command_of() { # <job>
  if [[ $job_name ]]; then echo "${command//$job_name/$1}"; else echo "$command"; fi
}

report_failures() { # <failed job> …
  local job
  echo "$runner: $# of $((last - first + 1)) failed: ${command:0:60}…" >&2
  for job in "${@:1:5}"; do
    echo "$runner: the log of ${job_name:+$job_name=$job is }$(log_of "$job"); errors in it, and its end:" >&2
    show_failure "$(log_of "$job")"
  done
}

keep_log_of_attempt() { # <job> <number>
  cp -f "$(log_of "$1")" "$(log_of "$1").attempt$2" 2>/dev/null || true
}
