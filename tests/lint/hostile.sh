#!/usr/bin/env bash
# What dev/lint-shell.py has to find (lines that end with `found`), and what it must let pass. Nobody runs this.
set -euo pipefail
source ../../scripts/common/values.sh
shopt -s extglob

# ---- numbers that nobody has checked
epochs=$1
if (( epochs > 3 )); then echo many; fi # found
echo $((epochs + 1)) # found
echo "$(( 2 * $2 ))" # found
echo "$[epochs]" # found
period=$(<egs/info/period)
for ((i = 0; i < period; i++)); do echo "$i"; done # found
list=(a b c)
echo "${list[epochs]}" # found
echo "${list[@]:epochs:2}" # found
list[epochs]=x # found
twice=$epochs
(( twice < 3 )) || exit # found
while read -r count name; do
  if ((count)); then echo "$name"; fi # found
done </dev/null
if (( $(head -n 1 "$1") > 2 )); then echo; fi # found
from_below() {
  local width=$1
  echo $((width * 2)) # found
}
inside="x $(echo "y $((epochs))")" # found

# ---- other ways of evaluating
eval "echo $1" # found
let epochs++ # found
declare -i total # found
printf -v "$1" %s x # found
[[ -v list[$1] ]] # found
[[ $epochs -gt 3 ]] # found
awk -v x="$1" 'BEGIN { print x }' # found
awk '{ print x }' x="$1" file # found
python3 -c "print($1)" # found
bash -c "echo $1" # found
unset "$1" # found
for word in $1; do echo "$word"; done # found
mv a "$1.tmp" # found

# ---- checked, or not of this kind
number layers whole --layers "$3" 1 100
echo $((layers + 1)) "${list[layers]}" "${list[@]:layers}"
number_in frames whole egs/info/frames
last=$((frames * layers))
(( last > ${#list[@]} )) || exit
lines=$(wc -l <"$1")
(( lines > 0 && SECONDS < 5 )) || exit
for ((i = 1; i <= layers; i++)); do echo "$i, ((epochs))" '$((epochs)) [[ 1 -gt 2 ]]'; done
# lint: whole: $1
claimed() { # <number>
  echo $(($1 + 1))
}
declare -A of
of[$1]=$((layers))
x=$1 awk 'BEGIN { if ((ENVIRON["x"])) print }'
python3 -c 'print(1)' "$1"
for name in one two; do echo "$name"; done
eval "echo fixed" # lint: words of this script
cat <<'TEXT'
$((epochs)) eval "$1"
TEXT
cat <<TEXT
((epochs)) eval
TEXT
