# Declares, parses and explains options. A script calls `heading` and `option` for each of its options, then
# `parse_options "$@"`, which sets one shell variable an option (`-` becomes `_`) and `arguments`.

source "$(dirname "${BASH_SOURCE[0]}")/document.sh"

option_names=()
declare -A option_type option_default option_help option_heading option_given
current_heading=

heading() { current_heading=$1; }

option() { # <name> <type> <default> <explanation>
  # Types: text, word (text without blanks), bool, number, integer, or words to choose from: 'a|b|c'.
  option_names+=("$1")
  option_type[$1]=$2
  option_default[$1]=$3
  option_help[$1]=$4
  option_heading[$1]=$current_heading
  printf -v "${1//-/_}" %s "$3" # lint: an option's name
}

explain_options() {
  local name heading=
  for name in "${option_names[@]}"; do
    if [[ ${option_heading[$name]} != "$heading" ]]; then
      heading=${option_heading[$name]}
      printf '\n%s:\n' "$heading"
    fi
    printf '  --%s=%s\n' "$name" "$(kind_of_value "$name")"
    printf '%s%s\n' "${option_help[$name]}" "${option_default[$name]:+ (${option_default[$name]})}" |
      fold -s -w 104 | sed 's/^/        /; s/ *$//'
  done
  printf '\n  --config=FILE\n        reads options from a file, one --name=value a line; # begins a comment\n  --help\n        shows this\n'
}

kind_of_value() { # <option>
  case ${option_type[$1]} in
    text | word) echo TEXT ;;
    number) echo NUMBER ;;
    integer) echo N ;;
    bool) echo 'true|false' ;;
    *) echo "${option_type[$1]}" ;;
  esac
}

unknown_option() { # <--name> <where it was written>
  did_you_mean "$1" "${option_names[@]}" help config
  fail "unknown option $1$2$REPLY; see $(basename "$0") --help"
}

# An option for each spelling: --num_epochs and --Num-Epochs are --num-epochs.
set_option() { # <--name> <value> <where it was written>
  local name=${1#--} value=$2 type
  name=${name//_/-}
  name=${name,,}
  [[ $name =~ ^[a-z0-9-]+$ ]] || unknown_option "$1" "$3"
  type=${option_type[$name]-}
  [[ $type ]] || unknown_option "$1" "$3"
  case $type in
    text) [[ ! $value =~ [[:cntrl:]] ]] || fail "$1$3: expected text without line breaks and the like" ;;
    word) [[ ! $value =~ [[:space:][:cntrl:]] ]] || fail "$1=$value$3: expected text without blanks" ;;
    bool)
      case $value in
        true | t | 1 | '') value=true ;;
        false | f | 0) value=false ;;
        *) fail "$1=$value$3: expected true or false" ;;
      esac
      ;;
    integer) number value whole "$1$3" "$value" ;;
    number) number value decimal "$1$3" "$value" ;;
    *) [[ $value != *'|'* && "|$type|" == *"|$value|"* ]] || fail "$1=$value$3: expected ${type//|/ or }" ;;
  esac
  printf -v "${name//-/_}" %s "$value" # lint: an option's name
  option_given[$name]=1
}

read_config() { # <file of lines --name=value>
  local line number=0
  [[ -r $1 ]] || fail "--config=$1: cannot read it"
  while IFS= read -r line || [[ $line ]]; do
    number=$((number + 1))
    line=${line%%#*}
    line=$(sed 's/^[[:space:]]*//; s/[[:space:]]*$//' <<<"$line")
    [[ $line ]] || continue
    [[ $line == --*=* ]] || fail "$1, line $number: '$line': expected --name=value"
    set_option "${line%%=*}" "${line#*=}" " ($1, line $number)"
  done <"$1"
}

# Options of --config files count as if they came before all others.
parse_options() {
  local given=() word
  arguments=()
  while (( $# )); do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --generate=*) generate_document "${1#*=}"; exit 0 ;;
      --) shift; arguments+=("$@"); break ;;
      --config=*) read_config "${1#*=}" ;;
      --config) (( $# > 1 )) || fail "$1 needs a value"; read_config "$2"; shift ;;
      --*=*) given+=("$1") ;;
      --*)
        word=${1#--}
        word=${word//_/-}
        [[ $word =~ ^[A-Za-z0-9-]+$ ]] || unknown_option "$1" ""
        [[ ${option_type[${word,,}]-} ]] || unknown_option "$1" ""
        if [[ ${option_type[${word,,}]-} == bool && ${2-} != @(true|false) ]]; then given+=("$1=true")
        else
          (( $# > 1 )) || fail "$1 needs a value"
          given+=("$1=$2")
          shift
        fi
        ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  for word in "${given[@]}"; do set_option "${word%%=*}" "${word#*=}" ""; done
}

# Ends the script if there are more or fewer arguments than expected.
need_arguments() { # <argument, in words> …
  local expected found
  (( ${#arguments[@]} != $# )) || return 0
  printf -v expected '%s, ' "${@:1:$# - 1}"
  if (( $# == 1 )); then expected=$1; else expected="${expected%, } and ${!#}"; fi
  case ${#arguments[@]} in
    0) found="no arguments" ;;
    1) found="one argument, ${arguments[0]}" ;;
    *) found="${#arguments[@]} arguments, ${arguments[*]}" ;;
  esac
  shown "$found"
  fail "ERROR: expected $expected; found $REPLY; see $(basename "$0") --help"
}

# All options but those under a heading, one a line.
options_except() { # <heading>
  local name variable
  for name in "${option_names[@]}"; do
    [[ ${option_heading[$name]} != "$1" ]] || continue
    variable=${name//-/_}
    echo "--$name=${!variable}"
  done
}

# ---- what has to hold ------------------------------------------------------------------------------------------------
need_file() { [[ ! $2 || -r $2 ]] || { shown "$2"; fail "--$1=$REPLY: cannot read it"; }; } # <option> <file>

within() { # <whole|decimal> <least> <most> <option> …
  local kind=$1 least=$2 most=$3 name variable
  shift 3
  for name; do
    variable=${name//-/_}
    number "$variable" "$kind" "--$name" "${!variable}" "$least" "$most" # lint: an option's name
  done
}
