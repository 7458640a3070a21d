# Commands as runners get them, and what their logs say of failures.

# What contains blanks is quoted, all else is for the shell: so '|', '&&' and '$[JOB+1]' work as arguments of their own, and
# "ark:gunzip -c a.gz |" stays one word.
quote_command() { # <word> …
  local word
  command=
  for word; do
    if [[ $word =~ ^[^[:space:]]+$ ]]; then command+="$word "
    elif [[ $word == *\"* ]]; then command+="'${word//\'/\'\\\'\'}' "
    else command+="\"$word\" "
    fi
  done
}

# Errors in a log, and its end.
show_failure() { # <log>
  # The program that failed first may have written its reason long before the end.
  { grep -v '^#' "$1" | head -n -3 | grep '^ERROR' | head -n 3
    grep -v '^#' "$1" | tail -n 3; grep '^# Ended' "$1"; } 2>/dev/null |
    cut -c1-300 | sed 's/^/    /' >&2
}
