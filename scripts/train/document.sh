# Manual pages and completions of scripts, made from their options: `SCRIPT --generate=man|bash|zsh|fish`.

declare -A option_type option_default option_help option_heading # as options.sh has them

generate_document() { # <man|bash|zsh|fish>
  case $1 in
    man) manual_page ;;
    bash) bash_completion ;;
    zsh) zsh_completion ;;
    fish) fish_completion ;;
    *) shown "$1"; fail "--generate=$REPLY: expected man, bash, zsh or fish" ;;
  esac
}

script_name() { basename "$0"; }

roff() { sed 's/\\/\\e/g; s/^[.'"'"']/\\\&&/; s/-/\\-/g'; } # text → text of a manual page

# What the script does: sentences, and examples that are indented.
purpose() { usage | sed -n '2,/^$/p'; }

manual_page() {
  local name heading= script
  script=$(script_name)
  printf '.TH "%s" 1 "" "" "nnet3 scripts"\n.SH NAME\n' "${script^^}"
  printf '%s \\- %s\n' "$script" "$(purpose | tr '\n' ' ' | sed 's/[.:;] .*//; s/ *$//' | roff)"
  printf '.SH SYNOPSIS\n%s\n.SH DESCRIPTION\n' "$(usage | sed -n '1s/^usage: //p' | roff)"
  purpose | roff | sed 's/^  \(.*\)$/.br\n\1/'
  for name in "${option_names[@]}"; do
    if [[ ${option_heading[$name]} != "$heading" ]]; then
      heading=${option_heading[$name]}
      printf '.SH "%s"\n' "$(roff <<<"${heading^^}")"
    fi
    printf '.TP\n\\fB%s\\fR=\\fI%s\\fR\n' "$(roff <<<"--$name")" "$(kind_of_value "$name" | roff)"
    printf '%s%s\n' "${option_help[$name]}" "${option_default[$name]:+ (${option_default[$name]})}" | roff
  done
}

choices_of() { # <option>: the values to choose from, with blanks between them
  case ${option_type[$1]} in
    bool) echo 'true false' ;;
    *'|'*) tr '|' ' ' <<<"${option_type[$1]}" ;;
  esac
}

bash_completion() {
  local name script function
  script=$(script_name)
  function=_${script//[^A-Za-z0-9]/_}
  printf '%s() {\n  local word=${COMP_LINE:0:COMP_POINT} choices=\n  word=${word##*[[:space:]]}\n  COMPREPLY=()\n  case $word in\n' "$function"
  for name in "${option_names[@]}"; do
    [[ ! $(choices_of "$name") ]] || printf "    --%s=*) choices='%s' ;;\n" "$name" "$(choices_of "$name")"
  done
  printf '    --*=*) return ;;\n    --*) choices='"'"
  printf -- '--%s= ' "${option_names[@]}" config
  cat <<SCRIPT
--help' ;;
    *) return ;;
  esac
  if [[ \$word != --*=* ]]; then
    COMPREPLY=(\$(compgen -W "\$choices" -- "\$word"))
    if [[ \${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  elif [[ \$COMP_WORDBREAKS == *=* ]]; then COMPREPLY=(\$(compgen -W "\$choices" -- "\${word#*=}"))
  else COMPREPLY=(\$(compgen -P "\${word%%=*}=" -W "\$choices" -- "\${word#*=}"))
  fi
}
complete -F $function -o bashdefault -o default $script
SCRIPT
}

# The explanation of an option up to its first colon, semicolon or full stop, without signs that shells take for something else.
short_help() { # <option>
  local LC_ALL=C.UTF-8 text=${option_help[$1]}
  text=${text%%[.:;]*}
  printf %s "${text//[][\'\"\\\`\$]/}"
}

zsh_completion() {
  local name choices script
  script=$(script_name)
  printf '#compdef %s\n_arguments \\\n' "$script"
  for name in "${option_names[@]}"; do
    choices=$(choices_of "$name")
    printf "  '--%s=[%s]:value:%s' \\\\\n" "$name" "$(short_help "$name")" "${choices:+($choices)}"
  done
  printf "  '--config=[file of options]:file:_files' '--help[explains the options]' '*:file:_files'\n"
}

fish_completion() {
  local name choices script
  script=$(script_name)
  for name in "${option_names[@]}"; do
    choices=$(choices_of "$name")
    printf "complete -c %s -l %s -r -d '%s'%s\n" "$script" "$name" "$(short_help "$name")" "${choices:+ -f -a '$choices'}"
  done
  printf "complete -c %s -l config -r -d 'file of options'\ncomplete -c %s -l help -d 'explains the options'\n" "$script" "$script"
}
