# What the corpora of this recipe are, as data folders; trainings on them; lines of the table of results.

# Lines of recognizer.sh for people: of the iterations of a training one now and then, and, where nothing is said for long, how long that has been.
quiet=20 # seconds
progress() { # <name>
  local line part='' step=beginning shown=$SECONDS since=$SECONDS status # lint: whole: shown since status
  while true; do
    status=0
    IFS= read -r -t "$quiet" line || status=$? # lint: seconds
    if (( status > 128 )); then
      part+=$line
      echo "    … $1: $step (for $((SECONDS - since)) s)"
      shown=$SECONDS
      continue
    fi
    line=$part$line part=
    if (( status == 0 )) && [[ $line == *' iteration '* ]]; then
      step=${line#train.sh: } since=$SECONDS
      if (( SECONDS - shown >= quiet )); then
        echo "    … $1: $step"
        shown=$SECONDS
      fi
    elif [[ $line ]]; then
      echo "$line"
      step=${line#*: } since=$SECONDS shown=$SECONDS
    fi
    (( status == 0 )) || break
  done
}

# Trains a recogniser if it is not there, and adds lines to the table: of the model folder, and, if speakers have transforms, adapted to them.
recogniser() { # <name> <folder of data> <lexicon> [<option of recognizer.sh> …]
  local name=$1 data=$2 lexicon=$3 out=$dir/${1// /_} began=$SECONDS
  shift 3
  if [[ ! -s $out.result ]]; then
    ../../scripts/recognizer.sh --nj="$nj" --data="$data/train" --test-data="$data/test" --lexicon="$lexicon" "$@" "$out" 2>&1 | tee "$out.log" | progress "$name"
    result "$name" "$out/decode/test" $((SECONDS - began)) >"$private/result"
    [[ ! -d $out/adapted/decode/test ]] || result "$name, adapted" "$out/adapted/decode/test" '' >>"$private/result"
    remark_worse "$private/result"
    mv "$private/result" "$out.result"
  fi
  cat "$out.result" >>"$table"
}

# Adds a last column: a remark where the adapted model makes more word errors than the one of the line before.
remark_worse() { # <lines of the table>
  awk -F'\t' '{ print $0 "\t" (NR > 1 && $5 > before ? "worse than without adaptation" : ""); before = $5 + 0 }' "$1" >"$1.remarks"
  mv "$1.remarks" "$1"
}

# A line of the table. (The first column of a recogniser's table of results has 26 characters, and blanks in it.)
result() { # <name> <folder of a recognition> <seconds>
  printf '%s\t%.1f\t' "$1" "$(awk '{ n += $2 } END { print n / 60 }' "$data/train/utt2dur")"
  awk '{ $0 = substr($0, 27); printf "%s\t%s\t%s\t", $1, $2, $3 }' "$2/result"
  character_errors "$data/test/text" "$2/text"
  printf '\t%s\n' "$3"
}

character_errors() { # <reference> <recognised>
  letters "$1" >"$private/reference"
  letters "$2" >"$private/recognised"
  compute-wer --print-args=false --text --mode=all "ark:$private/reference" "ark:$private/recognised" 2>/dev/null | awk '$1 == "%WER" { printf "%s", $2 }'
}

letters() { # <text>: the characters of each utterance as words, words apart by _
  LC_ALL=C.UTF-8 awk '{ key = $1; $1 = ""; sub(/^ /, ""); gsub(/ /, "_"); print key "\t" $0 }' "$1" |
    LC_ALL=C.UTF-8 sed 's/\(.\)/\1 /g; s/^\([^\t]*\)\t/\1\t/' | awk -F'\t' '{ gsub(/ /, "", $1); print $1 " " $2 }'
}

corpus_to_data() { # with its messages as those of a script
  corpus-to-data --print-args=false "$@" 2> >(sed 's/^LOG ([^ ]*) /corpus-to-data: /; s/^\(WARNING\|ERROR\) ([^ ]*) /corpus-to-data: \1: /' >&2)
}

# Utterances whose keys match (or with `not` do not match) a pattern, as a folder of their own.
part_of() { # <folder> <pattern> <yes|not> <new folder>
  local name
  mkdir -p "$4"
  for name in wav.scp text utt2spk utt2dur; do
    pattern=$2 how=$3 awk '($1 ~ ENVIRON["pattern"]) == (ENVIRON["how"] == "yes")' "$1/$name" >"$4/$name"
  done
}

train_yesno() { # 60 recordings of eight words in Hebrew, whose names say which: 1 is yes. The test is the second half, as in Kaldi's recipe.
  local waves=$yesno data=$dir/data/yesno wave name
  [[ ! -d $yesno/waves_yesno ]] || waves=$yesno/waves_yesno
  mkdir -p "$data"
  printf 'YES Y\nNO N\n' >"$data/lexicon.txt"
  for wave in "$waves"/*.wav; do
    name=${wave##*/} name=${name%.wav}
    echo "$name ${name//_/ }" | awk '{ for (i = 2; i <= NF; i++) $i = $i == 1 ? "YES" : "NO"; print }'
  done >"$data/text"
  rm -rf "$data/all"
  corpus_to_data --text="$data/text" "$waves" "$data/all"
  part_of "$data/all" '^0' yes "$data/train"
  part_of "$data/all" '^0' not "$data/test"
  recogniser yesno "$data" "$data/lexicon.txt"
}

# Sets names to those of --speakers, which the corpus has to have.
chosen_speakers() {
  local known=" ${names[*]} " name
  IFS=, read -ra names <<<"$speakers"
  for name in "${names[@]}"; do
    [[ $known == *" $name "* ]] || { echo "run.sh: --speakers=$speakers: the speakers are$known" >&2; exit 2; }
  done
}

train_digits() { # names are DIGIT_SPEAKER_NUMBER
  local data=$dir/data/digits speaker names
  mkdir -p "$data"
  cat >"$data/lexicon.txt" <<'END'
zero Z IH R OW
zero Z IY R OW
one W AH N
two T UW
three TH R IY
four F AO R
five F AY V
six S IH K S
seven S EH V AH N
eight EY T
nine N AY N
END
  find "$digits/recordings" -name '*.wav' | sed 's,.*/,,; s/\.wav$//' | sort |
    awk 'BEGIN { split("zero one two three four five six seven eight nine", word, " ") } { print $1, word[substr($1, 1, 1) + 1] }' >"$data/text"
  rm -rf "$data/all"
  corpus_to_data --text="$data/text" --speakers=field:2 "$digits/recordings" "$data/all"
  if [[ $speakers == true || $speakers == false ]]; then
    part_of "$data/all" '_[0-4]$' not "$data/split/train"
    part_of "$data/all" '_[0-4]$' yes "$data/split/test"
    recogniser "digits" "$data/split" "$data/lexicon.txt"
    [[ $speakers == true ]] || return 0
  fi
  mapfile -t names < <(awk '{ print $2 }' "$data/all/utt2spk" | sort -u)
  [[ $speakers == true ]] || chosen_speakers
  local number=0 began=$SECONDS here left
  for speaker in "${names[@]}"; do
    number=$((number + 1)) here=$SECONDS left=
    (( number == 1 )) || left=", about $(((here - began) * (${#names[@]} - number + 1) / (number - 1))) s left"
    echo "-- speaker $number of ${#names[@]}, $speaker: $((here - began)) s so far$left"
    part_of "$data/all" "_${speaker}_" not "$data/$speaker/train"
    part_of "$data/all" "_${speaker}_" yes "$data/$speaker/test"
    recogniser "digits without $speaker" "$data/$speaker" "$data/lexicon.txt"
  done
  awk -F'\t' '/^digits without/ { how = $1; if (!sub(/.*, /, ", ", how)) how = ""; n[how]++; sum[how] += $5; s[how] += $7 }
    END { for (how in n) printf "digits, mean of %d speakers%s\t\t\t\t%.2f\t\t%d\t\n", n[how], how, sum[how] / n[how], s[how] }' "$table" | sort >"$dir/mean"
  cat "$dir/mean" >>"$table"
}

train_mboshi() { # a letter is a sound
  local data=$dir/data/mboshi from=$mboshi/full_corpus_newsplit set most
  mkdir -p "$data"
  for set in train dev; do
    rm -rf "${data:?}/$set"
    corpus_to_data --text-extension=mb.cleaned --speakers=field:1 --lexicon=letters "$from/$set" "$data/$set"
  done
  [[ $minutes == none ]] || for most in ${minutes//,/ }; do # lint: words of this script
    some_minutes "$most" "$data/$most"
    recogniser "Mboshi $most minutes" "$data/$most" letters
  done
  mkdir -p "$data/whole"
  ln -sfn ../train "$data/whole/train"
  ln -sfn ../dev "$data/whole/test"
  recogniser "Mboshi" "$data/whole" letters
  local/curve.sh "$table" >"$private/curve.svg"
  mv "$private/curve.svg" "$dir/mboshi.svg"
}

# A training set of so many minutes of all speakers, from anywhere.
some_minutes() { # <minutes> <new folder>
  local keys=$2/keys name
  mkdir -p "$2/train"
  ln -sfn ../dev "$2/test"
  # (The remainder of a product is as good as chance, and the same everywhere.)
  awk '{ print (NR * 7919) % 10007, $1, $2 }' "$data/train/utt2dur" | sort -k1,1n -k2,2 |
    most="$1" awk 'sum < 60 * ENVIRON["most"] { print $2; sum += $3 }' >"$keys"
  for name in wav.scp text utt2spk utt2dur; do
    awk 'NR == FNR { keys[$1]; next } $1 in keys' "$keys" "$data/train/$name" >"$2/train/$name"
  done
}
