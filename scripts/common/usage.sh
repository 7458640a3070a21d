# Sourced by scripts that take no options, or few: `plain_usage LEAST MOST "$@"` answers --help and -h with the comment at the
# head of the script, and refuses what else begins with - and wrong numbers of arguments.

show_usage() { sed -n '2,${/^#/!q; s/^# \{0,1\}//p}' "$0"; }

refuse_usage() { # <what is wrong>
  echo "$(basename "$0"): $*" >&2
  show_usage | sed -n '/^Usage:/p' >&2
  exit 1
}

plain_usage() { # <least> <most> [<argument> ...]
  local least=$1 most=$2 argument # lint: whole: least most
  shift 2
  for argument; do
    case $argument in
      --help | -h) show_usage; exit 0 ;;
      -*)
        declare -F refuse_option >/dev/null || source "$(dirname "${BASH_SOURCE[0]}")/values.sh"
        refuse_option "$argument" 1 "$(show_usage)"
        ;;
    esac
  done
  if (( $# >= least && $# <= most )); then return; fi
  local expected="$least to $most arguments"
  if (( least == most )); then expected="$least arguments"; fi
  if (( most == 0 )); then expected="no arguments"; fi
  refuse_usage "ERROR: expected $expected, found $#; --help says what they are"
}
