# Steps whose results are folders. A result appears as a whole, and beside it, as FOLDER.inputs, what it was made of; if that is the same
# when the step is to be done again, the result stays. Inputs are words, @FILE for what is in a file, and =FOLDER for another step's result:
# what that was made of, and its model if it has one.

list_inputs() { # <input> …
  local input
  for input; do
    case $input in
      @*) echo "${input#@} $(cksum <"${input#@}")" ;;
      =*)
        input=${input#=}
        echo "$input $(cat "$dir/$input.inputs" "$dir/$input/final.mdl" 2>/dev/null | cksum)"
        ;;
      *) printf '%s\n' "$input" ;;
    esac
  done
}

# Sets out, the folder that the function fills, to, the folder's later name, and log, the beginning of names of logs.
step() { # <heading> <folder in DIR> <function> <input> …
  local heading=$1 make=$3 began=$SECONDS
  to=$dir/$2 out=$dir/$2.tmp log=$dir/log/${2//\//_}
  shift 3
  rm -rf "$out"
  mkdir -p "$out"
  list_inputs "$@" >"$to.begun"
  if [[ -d $to ]] && cmp -s "$to.begun" "$to.inputs"; then
    rm -rf "$out" "$to.begun"
    say "$heading: there already"
    return
  fi
  say "$heading"
  "$make"
  rm -rf "$to.inputs" "$to"
  mv "$out" "$to"
  mv "$to.begun" "$to.inputs"
  (( SECONDS - began < 5 )) || say "$heading: $((SECONDS - began)) s"
}

# A training goes on where it was, if it was begun with the same inputs.
training_step() { # <heading> <folder in DIR> <function> <input> …
  local heading=$1 make=$3 began=$SECONDS
  to=$dir/$2
  shift 3
  list_inputs "$@" >"$to.tmp"
  if [[ -s $to/final.mdl ]] && cmp -s "$to.tmp" "$to.inputs"; then
    rm -f "$to.tmp"
    say "$heading: there already"
    return
  fi
  rm -f "$to.inputs"
  cmp -s "$to.tmp" "$to.begun" || rm -rf "$to"
  mv "$to.tmp" "$to.begun"
  say "$heading"
  "$make"
  mv "$to.begun" "$to.inputs"
  say "$heading: $((SECONDS - began)) s"
}

# For results that are made in no time: made each time, and taken if they differ from what is there.
refresh() { # <folder in DIR> <command that makes the folder that is its last argument> …
  local to=$dir/$1
  shift
  rm -rf "$to.tmp"
  "$@" "$to.tmp"
  if diff -rq "$to" "$to.tmp" >/dev/null 2>&1; then rm -rf "$to.tmp"; return; fi
  rm -rf "$to"
  mv "$to.tmp" "$to"
}

# Deals the lines of a file out to N files in order: <prefix>1<suffix> …
split_lines() { # <file> <N> <prefix> <suffix>
  awk -v n="$2" -v total="$(wc -l <"$1")" -v prefix="$3" -v suffix="$4" \
    '{ file = prefix int((NR - 1) * n / total) + 1 suffix; if (file != last && last) close(last); last = file; print > file }' "$1"
}

jobs_for() { # <file>: no more jobs than lines
  local lines
  lines=$(wc -l <"$1")
  echo $((lines < nj ? lines : nj))
}

numbers_of_words() { # <text>: the words as numbers
  awk 'NR == FNR { id[$1] = $2; next } { for (i = 2; i <= NF; i++) { if (!($i in id)) { bad = $i; exit } $i = id[$i] } print }
    END { if (bad != "") { print "recognizer.sh: " $1 ": the word " bad " is not in the symbol table" >"/dev/stderr"; exit 1 } }' "$dir/lang/words.txt" "$1"
}

names_of_words() { # numbers of words on standard input, after a key, as words
  awk 'NR == FNR { word[$2] = $1; next } { for (i = 2; i <= NF; i++) { if (!($i in word)) { bad = $i; exit } $i = word[$i] } print }
    END { if (bad != "") { print "recognizer.sh: " $1 ": Word-id " bad " not in symbol table" >"/dev/stderr"; exit 1 } }' "$dir/lang/words.txt" -
}
