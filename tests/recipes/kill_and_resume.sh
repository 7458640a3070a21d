#!/usr/bin/env bash
# Usage: kill_and_resume.sh KALDI PROGRAMS FOLDER [SECONDS [RECIPE]]
# Runs a recipe (mini_librispeech) with --quick twice in FOLDER: once as a whole, and once killed after every SECONDS (300) and started again.
# Both have to end with the same results. The whole run is kept, and used again. A start in which no stage began is followed by one that may take
# twice as long.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../../scripts/common/usage.sh"
source "$here/../../scripts/common/values.sh"
plain_usage 3 5 "$@"
kaldi=$1 programs=$2 folder=$(realpath -m "$3") recipe=${5:-mini_librispeech}
number period whole SECONDS "${4:-300}" 1 100000
[[ $recipe =~ ^[a-z_]+$ ]] || refuse_value "RECIPE: there is no recipe '$recipe'"
run=("$here/../../egs/recipes/run.sh" --quick --only "$recipe" --programs "$programs")

# Steps, stages and iterations of trainings that the run has begun or done. (Each start notes the stage where it goes on once more.)
progress() {
  find "$folder/killed" \( -path '*/.stages/*' -o -path '*/done/*' \) -type f ! -name '*.times' -exec sed '/^end/d; s,^,{} ,' {} ';' -exec echo {} ';' | sort -u | wc -l
}

mkdir -p "$folder"
"${run[@]}" --dir "$folder/whole" "$kaldi" >"$folder/whole.log" 2>&1 || refuse_value "the run as a whole failed; see $folder/whole.log"

rm -rf "$folder/killed"
mkdir "$folder/killed"
kills=0 status=
until [[ $status ]]; do
  before=$(progress)
  # A process group of its own, which is killed as a whole.
  setsid "${run[@]}" --dir "$folder/killed" "$kaldi" >>"$folder/killed.log" 2>&1 &
  group=$!
  for (( second = 0; second < period; second++ )); do # lint: whole: period
    kill -0 "$group" 2>/dev/null || break
    sleep 1
  done
  if kill -KILL -- "-$group" 2>/dev/null; then
    wait "$group" 2>/dev/null || true
    kills=$((kills + 1))
    if (( $(progress) <= before )); then period=$((2 * period)); fi # lint: whole: before
  else
    wait "$group" && status=0 || status=$?
  fi
done

if (( status )); then refuse_value "the run that was killed $kills times ended with status $status; see $folder/killed.log"; fi # lint: whole: status
diff "$folder/whole/$recipe/results.txt" "$folder/killed/$recipe/results.txt" || refuse_value "results differ after $kills kills"
echo "kill_and_resume.sh: $recipe was killed $kills times, and ended with the same results"
