# Data folders for training and tests, from recordings and texts in any form that corpus-to-data reads.

# The words of a lexicon have probabilities behind them: a number with a point or, behind all words, a 1.
has_probabilities() { # <lexicon>
  awk 'NF { lines++; if (NF > 2 && $2 ~ /^[0-9]*[.][0-9]+([eE][-+]?[0-9]+)?$/) decimals++; if (NF > 2 && $2 == "1") ones++
      for (i = 3; i <= NF; i++) if ($i ~ /^[0-9]+$/) numbers++ }
    END { exit !(lines && (decimals || ones == lines && !numbers)) }' "$1"
}

# Makes the data folder FOLDER/SET, and FOLDER/SET/waves, by which later steps notice that recordings have changed. Sets `bad` if the data
# cannot be used, and `named` if that is because of utterances; the messages are out then.
make_set() { # <set> <folder> <corpus> <texts> <speakers of utterances> <rate or 0>
  local set=$1 to=$2/$1 corpus=$3 log=$dir/log/data_$1.log words=() status=0 driver="$driver: $1"
  [[ ! $4 ]] || words+=(--text="$4")
  [[ ! $5 ]] || words+=(--utt2spk="$5")
  if [[ $set == train ]]; then
    [[ ! $speakers ]] || words+=(--speakers="$speakers")
    [[ $oov != error || $oov_word || $skip_bad == false || $letters == true ]] || words+=(--lose-unknown=true)
  fi
  [[ ! $text_extension ]] || words+=(--text-extension="$text_extension")
  [[ ! $tiers ]] || words+=(--tiers="$tiers")
  corpus-to-data --print-args=false --lexicon="${lexicon:-letters}" --unknown-words="$private/unknown_$set.tsv" --faults="$dir/log/faults_$set.tsv" \
    --stamps="$private/waves_$set" --channels="$channels" --sample-frequency="$6" --skip-bad="$skip_bad" --num-threads="$nj" "${words[@]}" \
    "$corpus" "$to" 2>"$log" || status=$?
  # The rule of texts is that of the lexicon: once is enough. --speakers is a rule for --data alone.
  if [[ $set != train ]]; then
    sed -i '/^LOG ([^ ]*) texts: /d; s/; --speakers=one,.*/; utt2spk in a data folder, a tier or a column says who speaks/' "$log"
  fi
  # (The rule in one line.)
  awk '/^LOG \([^ ]*\) texts: / { sub(/^LOG \([^ ]*\) texts: /, ""); rule = rule (rule == "" ? "" : "; ") $0; next }
    rule != "" { print "LOG (rule) texts become words by this rule: " rule; rule = "" } { print }
    END { if (rule != "") print "LOG (rule) texts become words by this rule: " rule }' "$log" >"$private/shown.log"
  say_log "$private/shown.log" LOG
  if (( status != 0 )); then
    grep -q '^ERROR (' "$log" || fail_with_log "corpus-to-data failed with status $status" "$log"
    bad=true
    ! grep -q -e '--skip-bad=true' "$log" || named=true
    return
  fi
  mv "$private/waves_$set" "$to/waves"
}

# Words that the lexicon lacks, of all sets, for people.
list_unknown_words() { # <set> …
  local set
  {
    printf 'set\tword\tcount\tutterances\tfirst place\tremark\n'
    for set; do
      [[ ! -e $private/unknown_$set.tsv ]] || name=$set awk 'NR > 1 { print ENVIRON["name"] "\t" $0 }' "$private/unknown_$set.tsv"
    done
  } >"$private/unknown_words.tsv"
  mv "$private/unknown_words.tsv" "$dir/unknown_words.tsv"
}

# Gives words of the training data that the lexicon lacks a pronunciation, or another word in their place, or sets `bad`.
treat_unknown_words() { # <folder>
  local list=$private/unknown_train.tsv count
  [[ -e $list ]] || return 0
  count=$(($(wc -l <"$list") - 1))
  (( count > 0 )) || return 0
  if [[ $oov_word ]]; then
    say "train: the word '$oov_word' stands for $(counted "$count" word) that the lexicon lacks ($dir/unknown_words.tsv)"
    return
  fi
  if [[ $oov == error ]]; then
    [[ $skip_bad == false ]] || return 0
    say "the lexicon $lexicon lacks $(counted "$count" word) of the transcripts; see $dir/unknown_words.tsv. --oov=g2p and --oov=letters pronounce" \
      "them, --oov-word=WORD puts a word in their place, --skip-bad=true leaves their utterances out"
    bad=true named=true
    return
  fi
  awk -F'\t' 'NR > 1 { print $1 }' "$list" >"$private/words"
  case $oov in
    g2p) program "$dir/log/g2p.log" g2p --print-args=false --lexicon="$lexicon" --probabilities=false --skip-bad="$skip_bad" \
      --num-threads="$nj" "$private/words" "$1/new_words.txt" ;;
    letters) program "$dir/log/letters.log" spell-words --print-args=false --lexicon="$lexicon" "$private/words" "$1/new_words.txt" ;;
  esac
  say "train: pronunciations of words that the lexicon lacks, by --oov=$oov ($dir/data/new_words.txt has all $(wc -l <"$1/new_words.txt")):"
  head -n 5 "$1/new_words.txt" | sed "s/^/    /" >&2
  add_to_lexicon "$1/lexicon.txt" "$1/new_words.txt"
  # With --skip-bad, words may be left without one.
  awk 'NR == FNR { known[$1]; next } { for (i = 2; i <= NF; i++) if (!($i in known)) next; print $1 }' "$1/lexicon.txt" "$1/train/text" >"$private/keys"
  keep_utterances "$1/train" "$private/keys"
}

# (A model of digits took digits that follow each other without a pause for the garbage word.)
warn_of_single_words() { # <texts>
  awk '{ n++; if (NF == 2) single++ } END { exit !(n && single >= 0.95 * n) }' "$1" || return 0
  say "WARNING: train: nearly all texts have one word, so the model takes several words without pauses between them for noise (<unk>). Let speakers pause" \
    "between words, add recordings of several words, or train with --garbage=false"
}

# Puts --oov-word in the place of words that the lexicon lacks. (In texts of tests such words stay: they count as wrong.)
put_oov_word() { # <data folder>
  oov_word="$oov_word" awk 'NR == FNR { known[$1]; next } { for (i = 2; i <= NF; i++) if (!($i in known)) $i = ENVIRON["oov_word"]; print }' \
    "$lexicon" "$1/text" >"$private/text"
  mv "$private/text" "$1/text"
}

# Copies the lexicon, with more lines of words and phones, and takes the copy.
add_to_lexicon() { # <new lexicon> <lines>
  local weight=''
  if has_probabilities "$lexicon"; then weight=1.0; fi
  { cat "$lexicon"; echo; weight=$weight awk '{ if (ENVIRON["weight"]) $1 = $1 " " ENVIRON["weight"]; print }' "$2"; } >"$private/lexicon.txt"
  mv "$private/lexicon.txt" "$1"
  lexicon=$1
}

# Leaves in a data folder the utterances whose keys a file lists, with their recordings.
keep_utterances() { # <folder> <keys>
  local name recordings=$2
  for name in text utt2spk utt2dur segments; do
    [[ ! -e $1/$name ]] || { awk 'NR == FNR { wanted[$1]; next } $1 in wanted' "$2" "$1/$name" >"$private/kept" && mv "$private/kept" "$1/$name"; }
  done
  if [[ -e $1/segments ]]; then
    cut -d' ' -f2 "$1/segments" >"$private/recordings"
    recordings=$private/recordings
  fi
  for name in wav.scp reco2dur waves; do
    [[ ! -e $1/$name ]] || { awk 'NR == FNR { wanted[$1]; next } $1 in wanted' "$recordings" "$1/$name" >"$private/kept" && mv "$private/kept" "$1/$name"; }
  done
  write_spk2utt "$1"
}

write_spk2utt() { # <data folder>
  speakers_of "$1/utt2spk" >"$private/spk2utt"
  mv "$private/spk2utt" "$1/spk2utt"
}

# The first names of speakers, and how many there are besides.
some_speakers() { # <utt2spk>
  awk '!($2 in seen) { seen[$2]; if (++n <= 10) list = list (n > 1 ? ", " : "") $2 } END { print list (n > 10 ? " and " n - 10 " more" : "") }' "$1"
}

# Takes utterances for tests out of FOLDER/train, and makes FOLDER/held_out of them: those of --test-speakers, or some at random.
hold_out() { # <folder>
  local speaker wanted
  if [[ $test_speakers ]]; then
    IFS=, read -ra wanted <<<"$test_speakers"
    for speaker in "${wanted[@]}"; do
      speaker=$speaker awk '$2 == ENVIRON["speaker"] { found = 1; exit } END { exit !found }' "$1/train/utt2spk" ||
        fail "--test-speakers: the data have no speaker '$speaker'; there are $(some_speakers "$1/train/utt2spk")"
    done
    speakers=$test_speakers awk 'BEGIN { n = split(ENVIRON["speakers"], list, ","); for (i = 1; i <= n; i++) wanted[list[i]] } $2 in wanted { print $1 }' \
      "$1/train/utt2spk" >"$private/held_out"
  else
    # Each utterance is taken with the probability that makes the sum right. (Numbers by Park and Miller: any awk has the same.)
    n=$num_test seed=$srand total=$(wc -l <"$1/train/utt2spk") awk '
      BEGIN { left = ENVIRON["total"]; n = int(left / 10); if (n > ENVIRON["n"]) n = ENVIRON["n"] + 0
        x = (ENVIRON["seed"] * 7919 + 12345) % 2147483646 + 1; for (i = 0; i < 10; i++) x = x * 16807 % 2147483647 }
      { x = x * 16807 % 2147483647; if (x / 2147483647 * left < n) { print $1; n-- } left-- }' "$1/train/utt2spk" >"$private/held_out"
  fi
  awk 'NR == FNR { out[$1]; next } !($1 in out) { print $1 }' "$private/held_out" "$1/train/utt2spk" >"$private/rest"
  if (( $(wc -l <"$private/rest") < 2 )) || [[ ! -s $private/held_out ]]; then
    fail "found $(counted "$(wc -l <"$1/train/utt2spk")" utterance): too few to train on some and test on others"
  fi
  cp -r "$1/train" "$1/held_out"
  keep_utterances "$1/held_out" "$private/held_out"
  keep_utterances "$1/train" "$private/rest"
}

# Adds sounds that are no words, with the garbage word for a transcript, to FOLDER/train, and the word to the lexicon.
add_garbage() { # <folder> <rate>
  local train=$1/train stamp name share
  if ! word="$garbage_word" awk '$1 == ENVIRON["word"] { found = 1; exit } END { exit !found }' "$lexicon"; then
    phone="$garbage_phone" awk '{ for (i = 2; i <= NF; i++) if ($i == ENVIRON["phone"]) { found = 1; exit } } END { exit !found }' "$lexicon" &&
      fail "$lexicon: the phone '$garbage_phone' is that of the garbage word; rename it, or --garbage=false"
    echo "$garbage_word $garbage_phone" >"$private/garbage_word"
    add_to_lexicon "$1/lexicon.txt" "$private/garbage_word"
  elif [[ $lexicon != "$1/lexicon.txt" ]]; then
    cp "$lexicon" "$1/lexicon.txt"
    lexicon=$1/lexicon.txt
  fi
  # Eight sounds for a hundred utterances, or as many as take eight seconds for a hundred of speech. (They have 2.25 s each on the average.)
  share=$(awk '{ n++; seconds += $2 } END { mean = seconds / n; printf "%.5f", 0.08 * (mean < 2.25 ? mean / 2.25 : 1) }' "$train/utt2dur")
  program "$dir/log/garbage.log" garbage-sounds --print-args=false --share="$share" --srand="$srand" --sample-frequency="$2" --num-threads="$nj" "$train" "$1/garbage"
  # The sounds are those of these files.
  stamp=$(cat "$train"/{wav.scp,waves,text} "$1/garbage/utt2dur" | cksum | cut -d' ' -f1)-$srand
  add() { cat "$train/$1" - | sort -o "$private/added" && mv "$private/added" "$train/$1"; }
  local lengths=$1/garbage/utt2dur
  to="$dir/data/garbage" awk '{ print $1, ENVIRON["to"] "/" $1 ".wav" }' "$lengths" | add wav.scp
  word="$garbage_word" awk '{ print $1, ENVIRON["word"] }' "$lengths" | add text
  awk '{ print $1, $1 }' "$lengths" | add utt2spk
  stamp=$stamp rate=$2 awk '{ print $1, 0, ENVIRON["stamp"], ENVIRON["rate"], $2 }' "$lengths" | add waves
  for name in utt2dur reco2dur; do [[ ! -e $train/$name ]] || add $name <"$lengths"; done
  [[ ! -e $train/segments ]] || awk '{ print $1, $1, 0, $2 }' "$lengths" | add segments
  write_spk2utt "$train"
}

# The keys of a file of texts: the first word of a line or, in Sphinx's form, the last one in brackets.
keys_of_texts() { awk '{ sub(/\r$/, ""); print $1; if ($NF ~ /^\(.*\)$/) print substr($NF, 2, length($NF) - 2) }' "$@"; } # <file> …

# Writes the lines of --utt2spk for the texts of a set. The file is empty if there are none.
speakers_of_set() { # <file of texts> <file>
  : >"$2"
  [[ ! $utt2spk ]] || keys_of_texts "$1" | awk 'NR == FNR { wanted[$1]; next } $1 in wanted' - "$utt2spk" >"$2"
}

# Counts lines of --utt2spk for which there is no text.
count_unused_speakers() {
  local unused
  [[ $utt2spk ]] || return 0
  unused=$(keys_of_texts "$text" ${test_text:+"$test_text"} | awk 'NR == FNR { known[$1]; next } NF && !($1 in known) { n++; if (n == 1) first = $1 }
    END { if (n) print n, first }' - "$utt2spk")
  [[ ! $unused ]] || say "WARNING: $utt2spk: $(counted "${unused%% *}" line) without a transcript, such as '${unused#* }'"
}

# All of the folder `data`: a folder for each set, rate, hours, tests, transcripts, and maybe lexicon.txt and new_words.txt.
make_data() { # <folder>
  local folders=() folder name names=(train) rate=$sample_frequency bad=false named=false
  mkdir -p "$1"
  if [[ $oov_word ]]; then
    word="$oov_word" awk '$1 == ENVIRON["word"] { found = 1; exit } END { exit !found }' "$lexicon" ||
      fail "--oov-word=$oov_word: this word is not in the lexicon $lexicon itself"
  fi
  make_set train "$1" "${data:-$wav}" "$text" "$utt2spk" "$rate"
  count_unused_speakers
  # Tests have the rate of the training data, which is the lowest of its recordings.
  [[ ! -e $1/train/waves || $rate != 0 ]] || rate=$(awk '$4 > 0 && (!least || $4 < least) { least = $4 } END { print least + 0 }' "$1/train/waves")
  IFS=, read -ra folders <<<"$test_data"
  for folder in "${folders[@]}"; do
    [[ $folder ]] || continue
    if [[ $folder == */ ]]; then folder=${folder%/}; fi
    name=${folder##*/}
    [[ " ${names[*]} " != *" $name "* ]] || fail "--test-data: two sets are called '$name'; give folders with different names"
    names+=("$name")
    make_set "$name" "$1" "$folder" '' '' "$rate"
  done
  if [[ $test_wav ]]; then
    names+=(test)
    speakers_of_set "$test_text" "$private/test_utt2spk"
    if [[ -s $private/test_utt2spk ]]; then make_set test "$1" "$test_wav" "$test_text" "$private/test_utt2spk" "$rate"
    else make_set test "$1" "$test_wav" "$test_text" '' "$rate"
    fi
  fi
  list_unknown_words "${names[@]}"
  if [[ $letters == true ]]; then
    if [[ -e $1/train/text ]]; then
      program "$dir/log/letters.log" spell-words --print-args=false --keys=true --arpa="$arpa" "$1/train/text" "$1/lexicon.txt"
      lexicon=$1/lexicon.txt
    fi
  else treat_unknown_words "$1"
  fi
  if [[ $named == true ]]; then fail "stopped: the data have to be put right; --skip-bad=true leaves out the utterances named above"; fi
  [[ $bad == false ]] || fail "stopped: the data have to be put right"
  (( $(wc -l <"$1/train/utt2spk") >= 2 )) || fail "found $(counted "$(wc -l <"$1/train/utt2spk")" utterance): too few to train on some and test on others"
  names=("${names[@]:1}")
  if (( ${#names[@]} == 0 )) || [[ $test_speakers ]]; then
    hold_out "$1"
    names=(held_out "${names[@]}")
  fi
  [[ ! $oov_word ]] || put_oov_word "$1/train"
  (( rate > 0 )) || rate=16000 # lint: whole: rate
  echo "$rate" >"$1/rate"
  awk '{ n += $2 } END { printf "%.3f\n", n / 3600 }' "$1/train/utt2dur" >"$1/hours"
  printf '%s\n' "${names[@]}" >"$1/tests"
  if [[ $garbage == true ]]; then
    warn_of_single_words "$1/train/text"
    add_garbage "$1" "$rate"
  fi
  # The language model has one sentence in a hundred with the garbage word, so that short words are not taken for it.
  word="$garbage_word" awk 'NF == 2 && $2 == ENVIRON["word"] { garbage[++n] = $0; next } { print; words++ }
    END { for (i = 1; i <= n && i <= 1 + words / 100; i++) print garbage[i] }' "$1/train/text" >"$1/transcripts"
  # What is a version of which utterance: if one is kept for validation, none may be trained on.
  awk '{ print $1, $1 }' "$1/train/text" >"$1/train/utt2uniq"
  [[ $perturb == false ]] || perturb_data "$1/train"
}

# Adds copies at 0.9 and 1.1 of the speed to a data folder, and gives each recording a volume at random, from 0.125 to 2: the factors of
# Kaldi's recipes. Recordings are changed by pipes of wav-perturb, when they are read.
perturb_data() { # <data folder>
  local name
  for name in wav.scp segments text utt2spk utt2uniq waves utt2dur reco2dur; do
    [[ -e $1/$name ]] || continue
    table=$name seed=$srand awk '
      BEGIN { table = ENVIRON["table"]; n = split("1.0 0.9 1.1", speeds, " ")
        x = (ENVIRON["seed"] * 7919 + 54321) % 2147483646 + 1; for (i = 0; i < 10; i++) x = x * 16807 % 2147483647 }
      function quoted(file) { gsub(/\047/, "\047\\\047\047", file); return "\047" (file ~ /^-/ ? "./" : "") file "\047" }
      {
        key = $1
        rest = substr($0, length(key) + 2)
        for (i = 1; i <= n; i++) {
          speed = speeds[i]
          prefix = i == 1 ? "" : "sp" speed "-"
          new = rest
          if (table == "wav.scp") {
            x = x * 16807 % 2147483647
            command = sprintf("wav-perturb --print-args=false --speed=%s --volume=%.3f", speed, 0.125 + 1.875 * x / 2147483647)
            new = rest ~ /\|$/ ? rest " " command " - - |" : command " " quoted(rest) " - |"
          } else if (table == "segments") new = sprintf("%s%s %.3f %.3f", prefix, $2, $3 / speed, $4 / speed)
          else if (table == "utt2spk") new = prefix rest
          else if (table ~ /dur$/) new = sprintf("%.3f", rest / speed)
          print prefix key, new
        }
      }' "$1/$name" | sort >"$private/perturbed"
    mv "$private/perturbed" "$1/$name"
  done
  write_spk2utt "$1"
}
