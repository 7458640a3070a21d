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
  to=$dir/$2 out=$private/$2 log=$dir/log/${2//\//_}
  shift 3
  rm -rf "$out"
  mkdir -p "$out" "${to%/*}"
  list_inputs "$@" >"$private/inputs"
  if [[ -d $to ]] && cmp -s "$private/inputs" "$to.inputs"; then
    rm -rf "$out"
    say "$heading: there already"
    return
  fi
  # (What follows is of other inputs, too: results of before would be taken for those of now.)
  [[ $to == "$dir/model" ]] || rm -f "$dir/results.txt" # (The model folder comes last, behind the results.)
  if [[ -d $to ]]; then say "$heading: again, since its inputs are others now"; else say "$heading"; fi
  "$make"
  rm -rf "$to.inputs" "$to"
  mv "$out" "$to"
  mv "$private/inputs" "$to.inputs"
  (( SECONDS - began < 5 )) || say "$heading: $((SECONDS - began)) s"
}

# A training goes on where it was, if it was begun with the same inputs.
training_step() { # <heading> <folder in DIR> <function> <input> …
  local heading=$1 make=$3 began=$SECONDS
  to=$dir/$2
  shift 3
  mkdir -p "${to%/*}"
  list_inputs "$@" >"$private/inputs"
  if [[ -s $to/final.mdl ]] && cmp -s "$private/inputs" "$to.inputs"; then
    say "$heading: there already"
    return
  fi
  rm -f "$to.inputs"
  cmp -s "$private/inputs" "$to.begun" || rm -rf "$to"
  mv "$private/inputs" "$to.begun"
  say "$heading"
  "$make"
  mv "$to.begun" "$to.inputs"
  say "$heading: $((SECONDS - began)) s"
}

# For results that are made in no time: made each time, and taken if they differ from what is there.
refresh() { # <folder in DIR> <command that makes the folder that is its last argument> …
  local to=$dir/$1 new=$private/$1
  shift
  rm -rf "$new"
  "$@" "$new"
  if diff -rq "$to" "$new" >/dev/null 2>&1; then rm -rf "$new"; return; fi
  rm -rf "$to"
  mv "$new" "$to"
}

# Deals the lines of a file out to N files in order: <prefix>1<suffix> …
split_lines() { # <file> <N> <prefix> <suffix>
  n=$2 total=$(wc -l <"$1") prefix=$3 suffix=$4 awk '
    BEGIN { n = ENVIRON["n"]; total = ENVIRON["total"]; prefix = ENVIRON["prefix"]; suffix = ENVIRON["suffix"] }
    { file = prefix int((NR - 1) * n / total) + 1 suffix; if (file != last && last) close(last); last = file; print > file }' "$1"
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
