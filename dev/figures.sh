# What the scripts have in common that compare figures of the reference with ours. They source this with `top` set to the
# repository; there must be a folder `ours` for what is in passing.

# Programs from the PATH, or built.
if ! command -v nnet3-train >/dev/null; then
  (cd "$top" && cargo build --release --bins) || exit 1
  PATH=$(cd "$top" && cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release:$PATH
fi

agree=0 differ=0
printf '%-64s %14s %14s %12s %12s\n' figure expected ours 'ratio/diff' allowed

verdict() { # <name> <expected> <ours> <shown> <allowed> <1 if it agrees>
  local good=$6 # lint: whole: good
  # What awk makes of a comparison with it depends on the awk.
  [[ $3 != *nan* || $2 == *nan* ]] || good=0
  printf '%-64s %14s %14s %12s %12s%s\n' "$1" "$2" "$3" "$4" "$5" "$( ((good)) || echo '   DIFFERS')"
  if (( good )); then agree=$((agree + 1)); else differ=$((differ + 1)); fi
}

# A number that should agree within a part of it.
ratio() { # <name> <expected> <ours> <largest relative difference>
  local shown good # lint: whole: good
  read -r shown good < <(a="$2" b="$3" t="$4" awk 'BEGIN { a = ENVIRON["a"]; b = ENVIRON["b"]; t = ENVIRON["t"];
    if (a == "" || b == "") { print "missing 0"; exit }
    d = b - a; if (d < 0) d = -d
    m = a < 0 ? -a : a
    printf "%s %d\n", (a == 0 ? (b == 0 ? "1" : "inf") : sprintf("%.6f", b / a)), d <= t * m }')
  verdict "$1" "${2:-none}" "${3:-none}" "$shown" "$(t="$4" awk 'BEGIN { t = ENVIRON["t"]; printf "+-%g %%", 100 * t }')" "$good"
}

same_bytes() { # <name> <expected file> <our file>
  local good=1
  cmp -s "$2" "$3" || good=0
  verdict "$1" "$(wc -c <"$2") bytes" "$(wc -c <"$3") bytes" "$( ((good)) && echo same || echo different)" same $good
}

# ---- figures in logs ------------------------------------------------------------------------------------------------
number_after() { # <text> <log> [<which>]: the number that follows a text
  grep -F -- "$1" "$2" | sed "${3:-1}!d" | text="$1" awk 'BEGIN { text = ENVIRON["text"] } { split(substr($0, index($0, text) + length(text)), a, " "); print a[1] }'
}

compare_numbers() { # <name> <text before the number> <expected log> <our log> <relative difference>
  ratio "$1" "$(number_after "$2" "$3")" "$(number_after "$2" "$4")" "$5"
}

# Lists such as `… are [ name:value name:value ]`: name by name.
compare_lists() { # <name> <text before the list> <expected log> <our log> <relative difference>
  local item name
  while read -r item; do
    name=${item%:*}
    ratio "$1 $name" "${item##*:}" "$(list_of "$2" "$4" | sed -n "s/^$name://p")" "$5"
  done < <(list_of "$2" "$3")
}

list_of() { # <text> <log>
  grep -F -- "$1" "$2" | sed 's/.*\[ \(.*\) \].*/\1/' | tr ' ' '\n'
}

# Components of two models: ||difference|| / ||parameters||, as nnet3-show-progress prints it.
compare_models() { # <name> <expected model> <our model> <largest relative difference>
  local item found
  nnet3-show-progress --use-gpu=no "$2" "$3" 2>ours/difference.log
  while read -r item; do
    found=${item##*:}
    # Of parameters that are all zero, only the difference itself is a number.
    [[ $found != *nan ]] || found=$(list_of ' Parameter differences per layer are' ours/difference.log | sed -n "s/^${item%:*}://p")
    verdict "$1 ${item%:*}: relative difference" 0 "$found" "$found" "$4" "$(d="$found" t="$4" awk 'BEGIN { d = ENVIRON["d"]; t = ENVIRON["t"]; print d <= t }')"
  done < <(list_of 'Relative parameter differences per layer are' ours/difference.log)
}

run_as() { # <command file> <what to replace in it by what>: runs the reference's command with our output
  bash -c "$(sed "$2" "$1")" # lint: it is a command
}

# ||difference|| / ||reference|| over a whole table.
norm() { # <rspecifier of matrices>: root of the sum of squares
  copy-matrix "$1" ark,t:- 2>>ours/norm.log | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[-+.0-9]/) s += $i * $i } END { printf "%.8g\n", sqrt(s) }'
}

compare_tables() { # <name> <expected table> <our table> <largest relative difference>
  local expected difference relative
  matrix-sum --scale1=1 --scale2=-1 "ark:$3" "ark:$2" ark:ours/difference.ark 2>>ours/norm.log
  expected=$(norm "ark:$2") difference=$(norm ark:ours/difference.ark)
  relative=$(d="$difference" r="$expected" awk 'BEGIN { d = ENVIRON["d"]; r = ENVIRON["r"]; printf "%.3g", d / r }')
  verdict "$1: norm, relative difference" "$expected" "$(norm "ark:$3")" "$relative" "$4" \
    "$(x="$relative" t="$4" awk 'BEGIN { x = ENVIRON["x"]; t = ENVIRON["t"]; print x <= t }')"
}

summary() { # the last line; fails if some figure differs
  printf '\n%d figures agree, %d do not\n' "$agree" "$differ"
  (( differ == 0 ))
}
