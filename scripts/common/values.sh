# Values from options, files and names, before a script computes with them or puts them into a command. Every script reads this file.
# Each of these functions takes a value as it should be, or ends the script with a sentence: what was wrong, what was expected and found.
# (A shell evaluates the text of a variable within arithmetic and subscripts, commands included: dev/lint-shell.py looks for such
# places with other variables than those that are checked here.)

refuse_value() { # <sentence>
  printf '%s: %s\n' "${runner:-${driver:-${0##*/}}}" "$1" >&2
  exit 1
}

shown() { # <text>: sets REPLY to a text that may be part of a sentence
  REPLY=${1//[[:cntrl:]]/?}
  (( ${#REPLY} <= 80 )) || REPLY="${REPLY:0:60}… (${#1} characters)"
}

# Sets a variable to a number that an option or a file gives. Whole numbers are decimal, however many zeros they begin with, and have at
# most 15 digits; decimal numbers are finite, as they were written.
number() { # <variable> <whole|decimal> <option or file> <text> [<least> [<most>]]
  local LC_ALL=C text=$4 least=${5-} most=${6-} wanted='a number' good=false
  [[ $2 == decimal ]] || wanted='a whole number'
  if [[ $2 == whole && $text =~ ^[[:space:]]*([-+]?)0*([0-9]{1,15})[[:space:]]*$ ]]; then
    # lint: whole: text least most
    text=$((10#${BASH_REMATCH[2]})) good=true
    if [[ ${BASH_REMATCH[1]} == - ]]; then text=$((-text)); fi
    [[ ! $least ]] || (( text >= least )) || good=false
    [[ ! $most ]] || (( text <= most )) || good=false
  elif [[ $2 == decimal && $text =~ ^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$ ]] && is_less -1e300 "$text" && is_less "$text" 1e300; then
    good=true
    if [[ $least ]] && is_less "$text" "$least"; then good=false; fi
    if [[ $most ]] && is_less "$most" "$text"; then good=false; fi
  fi
  if $good; then printf -v "$1" %s "$text"; return; fi # lint: the variable's name is in the call
  if [[ $least && $most ]]; then wanted+=" from $least to $most"
  elif [[ $least ]]; then wanted+=", at least $least"
  fi
  shown "$4"
  refuse_value "$3: expected $wanted, found '$REPLY'"
}

# The same, from a file with one line.
number_in() { # <variable> <whole|decimal> <file> [<least> [<most>]]
  local text
  [[ -f $3 && -r $3 ]] || refuse_value "$3: cannot read this file, which should have a number in it"
  text=$(head -c 100 "$3" | tr -d '\0')
  number "$1" "$2" "$3" "$text" "${@:4}"
}

# Numbers between separators, as 150,110,90.
numbers() { # <variable> <separator> <option or file> <text> [<least> [<most>]]
  local part list='' rest=$4$2 value
  while [[ $rest ]]; do
    part=${rest%%"$2"*} rest=${rest#*"$2"}
    number value whole "$3" "$part" "${@:5}"
    list+=${list:+$2}$value
  done
  printf -v "$1" %s "$list" # lint: the variable's name is in the call
}

is_less() { less_a=$1 less_b=$2 awk 'BEGIN { exit !(ENVIRON["less_a"] + 0 < ENVIRON["less_b"] + 0) }'; } # <number> <number>

counted() { # <number> <noun> [<plural>]: prints `1 recording`, `2 recordings`
  if [[ $1 == 1 ]]; then echo "1 $2"; else echo "$1 ${3:-$2s}"; fi
}

# ---- options --------------------------------------------------------------------------------------------------------
# Sets REPLY to ` (did you mean --NAME?)` if a wrong option is like one of these names, else to nothing. The nearest one differs in some
# letters, or has all words of the wrong one or the other way round (--jobs, --num-jobs), or begins with it.
did_you_mean() { # <wrong option> <name> …
  local wrong=${1#--}
  wrong=${wrong%%=*} wrong=${wrong//_/-} wrong=${wrong,,}
  shift
  REPLY=
  [[ $wrong =~ ^[a-z0-9-]{1,100}$ ]] || return 0
  REPLY=$(printf '%s\n' "$@" | wrong=$wrong awk '
    function least(x, y) { return x < y ? x : y }
    function letters(a, b,   i, j, d) { # that differ; two that have changed places count once
      for (i = 0; i <= length(a); i++) d[i, 0] = i
      for (j = 0; j <= length(b); j++) d[0, j] = j
      for (i = 1; i <= length(a); i++) for (j = 1; j <= length(b); j++) {
        d[i, j] = least(d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1)), least(d[i - 1, j], d[i, j - 1]) + 1)
        if (i > 1 && j > 1 && substr(a, i, 1) == substr(b, j - 1, 1) && substr(a, i - 1, 1) == substr(b, j, 1)) d[i, j] = least(d[i, j], d[i - 2, j - 2] + 1)
      }
      return d[length(a), length(b)]
    }
    function has_all(all, some,   words, n, i) { # words of a name
      n = split(some, words, "-")
      if (length(some) - n + 1 < 3) return 0
      for (i = 1; i <= n; i++) if (index("-" all "-", "-" words[i] "-") == 0) return 0
      return 1
    }
    function far(option, wrong,   d, a, b) { # the less, the nearer; -1: not like it
      d = letters(option, wrong)
      if (d <= 1 + int(length(option) / 5)) return d
      if (length(wrong) < 3) return -1
      if (has_all(option, wrong) || has_all(wrong, option)) {
        d = split(option, a, "-") - split(wrong, b, "-")
        return 1000 + (d < 0 ? -d : d)
      }
      return index(option, wrong) == 1 ? 2000 + length(option) : -1
    }
    BEGIN { wrong = ENVIRON["wrong"]; best = -1 }
    {
      d = far($0, wrong)
      if (d >= 0 && (best < 0 || d < best || d == best && $0 < name)) { best = d; name = $0 }
    }
    END { if (best >= 0) printf " (did you mean --%s?)", name }')
}

# Ends a script with a sentence about an option that its help does not name.
refuse_option() { # <option> <status> <help>
  local names REPLY='' option
  mapfile -t names < <(grep -oE -e '--[a-z][a-z0-9-]*' <<<"$3" | sed 's/^--//' | sort -u)
  shown "$1"
  option=$REPLY
  did_you_mean "$1" "${names[@]}" help
  printf "%s: unknown option '%s'%s; --help says what there is\n" "${0##*/}" "$option" "$REPLY" >&2
  exit "$2"
}

# ---- names ----------------------------------------------------------------------------------------------------------
# Ends the script unless a name may stand in a command line, a table's name and a list of files as it is.
plain_name() { # <option, or what it is> <name>
  local LC_ALL=C bad
  shown "$2"
  [[ $2 ]] || refuse_value "$1: the name is empty"
  [[ $2 != -* ]] || refuse_value "$1: '$REPLY': names of files must not begin with a hyphen (./$REPLY would do)"
  [[ $2 != *JOB* ]] || refuse_value "$1: '$REPLY': JOB in names would be taken for the number of a job"
  [[ ! $2 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] || refuse_value "$1: '$REPLY': this would be taken for an assignment (./$REPLY would do)"
  if [[ $2 =~ [[:space:][:cntrl:]] ]]; then bad=blanks
  elif [[ $2 =~ [\]\&\|\<\>\(\)\*\?\[\#\~\!\\\{\},\"\'\`\$\;] ]]; then bad=${BASH_REMATCH[0]}
  else return 0
  fi
  refuse_value "$1: '$REPLY': names of files must not have blanks, quotes or any of \$ & | ; < > ( ) [ ] { } * ? # ~ ! , \\ \` in them (found $bad)"
}

# Sets a variable to the name of a file that programs are given as an argument of its own, so that it is one for each of them. Ends the
# script if programs would take it for a pipe, a range or a place within a file.
file_name() { # <variable> <option, or what it is> <name>
  local LC_ALL=C name=$3
  shown "$name"
  [[ $name ]] || refuse_value "$2: the name is empty"
  [[ ! $name =~ [[:cntrl:]] ]] || refuse_value "$2: '$REPLY': names of files must not have line breaks or the like in them"
  [[ ! $name =~ (\||\]|[[:space:]]|:[0-9]+)$ ]] ||
    refuse_value "$2: '$REPLY': names of files must not end with |, ], a blank, or a colon and a number: programs would take it for something else"
  [[ $name == [A-Za-z0-9_./]* && ! $name =~ ^[A-Za-z_][A-Za-z0-9_]*[=:] ]] || name=./$name
  printf -v "$1" %s "$name" # lint: the variable's name is in the call
}

# Ends the script unless further options of a program are words that a shell takes as they are.
plain_words() { # <option> <words>
  local LC_ALL=C
  shown "$2"
  [[ ! $2 =~ [^][:alnum:]_./+@%:^,=[:blank:]-] ]] ||
    refuse_value "$1: '$REPLY': expected options separated by blanks, without quotes or other signs of the shell (found ${BASH_REMATCH[0]})"
}

# Ends the script unless a table's name is that of files, or a command that can be quoted as a whole.
plain_table() { # <option> <rspecifier or folder>
  if [[ ! $2 ]]; then return; fi
  if [[ $2 != *'|' ]]; then plain_name "$1" "${2//,/}"
  elif [[ $2 != *[[:blank:]]* ]]; then
    shown "$2"
    refuse_value "$1: '$REPLY': expected a blank before the | of a command"
  elif [[ $2 == *\'* && ( $2 == *\"* || $2 == *[\$\`\\]* ) || $2 =~ [[:cntrl:]] ]]; then
    shown "$2"
    refuse_value "$1: '$REPLY': a command may have single quotes, or double quotes, \$, \` and \\, but not both kinds, and no line breaks"
  fi
}
