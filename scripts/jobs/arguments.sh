# The calling convention of Kaldi's job runners (run.pl, queue.pl, slurm.pl):
#   CMD [options] [JOB=1:N] LOG command arguments …
# Sourced by run.sh and slurm.sh, which set `runner_options` (name → variable) and call `parse_arguments "$@"`. That sets
#   job_name first last   the variable, and its range (empty, 1, 1 without one)
#   log                   the log's name, with job_name in it
#   command               one line of shell, with job_name in it
# and the variables of the options.

runner=${BASH_SOURCE[1]##*/} # the script that reads this one
source "${BASH_SOURCE[0]%/*}/logs.sh"

refuse() { echo "$runner: $*" >&2; exit 1; }

whole_number() { # <option> <value> <least>
  [[ $2 =~ ^[0-9]+$ ]] && (( $2 >= $3 )) || refuse "$1 $2: expected a whole number from $3"
}

set_option() { # <--name> <value>
  local name=${1#--} value=$2
  [[ $value != --* ]] || echo "$runner: WARNING: the value of $1 begins with '--': $value" >&2
  name=${name//_/-}
  [[ ${runner_options[$name]-} ]] || refuse "unknown option $1; see $runner --help"
  printf -v "${runner_options[$name]}" %s "$value"
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
      *) refuse "unknown option $1; see $runner --help" ;;
    esac
    shift
  done
  rest=("$@")
}

parse_arguments() {
  job_name= first=1 last=1
  parse_options "$@"
  if [[ ${rest[0]-} =~ ^([A-Za-z_][A-Za-z0-9_]*)=([0-9]+)(:([0-9]+))?$ ]]; then
    job_name=${BASH_REMATCH[1]} first=${BASH_REMATCH[2]} last=${BASH_REMATCH[4]:-${BASH_REMATCH[2]}}
    (( first >= 1 && first <= last )) || refuse "${rest[0]}: expected NAME=FIRST:LAST with 1 <= FIRST <= LAST"
    parse_options "${rest[@]:1}" # options may follow, too
  fi
  (( ${#rest[@]} >= 2 )) || { usage >&2; exit 1; }
  log=${rest[0]}
  if (( last > first )) && [[ $log != *"$job_name"* ]]; then
    refuse "several jobs would write one log: there is no $job_name in its name, $log"
  fi
  quote_command "${rest[@]:1}"
}

check_shared_options() { # those that all runners have
  whole_number --max-jobs-run "$max_jobs_run" 0
  whole_number --num-threads "$num_threads" 1
  whole_number --gpu "$gpu" 0
  whole_number --retries "$retries" 0
  [[ $mem =~ ^[0-9]+[KMGTkmgt]?$ ]] || refuse "--mem $mem: expected a size such as 4G"
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
