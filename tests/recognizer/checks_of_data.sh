# Checks of dev/test-recognizer.sh: data, lexicons and options, as people have them and wrong ones.

takes_kaldi_folders() { # a recording of two utterances that comes from a command
  local folder=$work/folder a=toy-000 b=toy-001 first both
  mkdir -p "$folder"
  python3 - "$toy/wav/$a.wav" "$toy/wav/$b.wav" "$folder/both.wav" <<'PYTHON'
import sys, wave
parts = [wave.open(name) for name in sys.argv[1:3]]
with wave.open(sys.argv[3], "wb") as both:
    both.setparams(parts[0].getparams())
    for part in parts:
        both.writeframes(part.readframes(part.getnframes()))
PYTHON
  seconds() { python3 -c "import wave; w = wave.open('$1'); print(w.getnframes() / w.getframerate())"; } # lint: names of this script
  first=$(seconds "$toy/wav/$a.wav") both=$(seconds "$folder/both.wav")
  { echo "both cat $folder/both.wav |"; tail -n +3 "$toy/text" | wav="$toy/wav" awk 'BEGIN { wav = ENVIRON["wav"] } { print $1, wav "/" $1 ".wav" }'; } >"$folder/wav.scp"
  { echo "$a both 0 $first"; echo "$b both $first $both"; tail -n +3 "$toy/text" | awk '{ print $1, $1, 0, 0.5 }'; } >"$folder/segments"
  cp "$toy"/{text,utt2spk} "$folder"
  scripts/recognizer.sh --data="$folder" --sample-frequency=8000 --lexicon="$toy/lexicon.txt" --test-speakers=speaker1,speaker3 --num-test=5 \
    --garbage=false --last-part=features "$work/from_folder" || return 1
  diff <(awk '$2 == "speaker1" || $2 == "speaker3" { print $1 }' "$toy/utt2spk") <(cut -d' ' -f1 "$work/from_folder/data/held_out/text") &&
    grep -q "^$a " "$work/from_folder/feats/train/utt2num_frames" && [[ $(grep -c . "$work/from_folder/feats/train/utt2num_frames") == 45 ]]
}

broken() { # <what changes a copy of the data in $copy> <part of a sentence> [<options> …]
  copy=$work/broken
  rm -rf "$copy" "$work/refused"
  cp -r "$toy" "$copy"
  eval "$1" # lint: words of this script
  says "$2" scripts/recognizer.sh --wav="$copy/wav" --text="$copy/text" --utt2spk="$copy/utt2spk" --lexicon="$copy/lexicon.txt" \
    --last-part=features "${@:3}" "$work/refused" && [[ ! -e $work/refused/data && ! -e $work/refused/feats ]]
}
no_utterance_is_named() { # --skip-bad=true does not help where a line of the lexicon is wrong
  local said
  said=$(broken 'echo zebra >>$copy/lexicon.txt' "the word 'zebra' has no pronunciation") || { echo "$said"; return 1; }
  [[ $said == *"stopped: the data have to be put right"* && $said != *skip-bad* ]] || { echo "$said"; return 1; }
  said=$(broken 'sed -i "5s/$/ zebra/" $copy/text' "stopped: the data have to be put right; --skip-bad=true leaves out the utterances named above") || { echo "$said"; return 1; }
}
three() { printf '%s\n' "\$copy/wav/toy-00"{3,5,7}.wav | paste -sd' '; } # more than 2 % of the utterances
lexicon() { # <lines> [<options> …]: what prepare-lang says about a lexicon
  rm -rf "$work/lexicon.lang"
  printf %b "$1" >"$work/lexicon"
  prepare-lang --print-args=false "${@:2}" "$work/lexicon" "$work/lexicon.lang"
}
phones_may_be_numbers() {
  lexicon 'one 1 2\ntwo 3 1\n' --word-positions=false && grep -qx '1 .*' "$work/lexicon.lang/phones.txt" &&
    lexicon 'peu p 2\noeuf 9 f\n' && grep -q '^9_B ' "$work/lexicon.lang/phones.txt" &&
    lexicon 'one 0.5 W AH N\ntwo 1 T UW\n' && grep -q '^one 0.5 W_B AH_I N_E$' "$work/lexicon.lang/phones/align_lexicon.txt"
}
only_ascii_blanks_separate() { # U+00A0, U+3000, U+0085, U+2028
  local said
  said=$(lexicon 'a\xc2\xa0b P\nc\xe3\x80\x80d Q\ne\xc2\x85f R\ng\xe2\x80\xa8h S\nx\tT\r\n' 2>&1) || { echo "$said"; return 1; }
  echo "$said"
  diff <(cut -d' ' -f1 "$work/lexicon.lang/words.txt" | sed -n 2,6p) <(printf 'a\xc2\xa0b\nc\xe3\x80\x80d\ne\xc2\x85f\ng\xe2\x80\xa8h\nx\n' | sort) &&
    [[ $said == *"line 1: 'a"*"has U+00A0 inside; only ASCII blanks separate words"* && $said == *U+3000* && $said == *U+0085* && $said == *U+2028* ]]
}
# Capitals, punctuation and other forms of letters become those of the lexicon. One recording of another rate and one that is cut by a little
# do no harm. A table is as good as a data folder.
takes_what_people_have() {
  local copy=$work/people
  mkdir -p "$copy/sound"
  cp "$toy"/wav/*.wav "$copy/sound"
  awk '{ key = $1; $1 = ""; sub(/^ /, ""); print "sound/" key ".wav|" toupper(substr($0, 1, 1)) substr($0, 2) "!" }' "$toy/text" >"$copy/metadata.csv"
  sox "$toy/wav/toy-003.wav" -r 16000 "$copy/sound/toy-003.wav" 2>/dev/null || cp "$toy/wav/toy-003.wav" "$copy/sound"
  truncate -s -200 "$copy/sound/toy-004.wav"
  scripts/recognizer.sh --data="$copy/metadata.csv" --lexicon="$toy/lexicon.txt" --garbage=false --last-part=language "$work/from_people" || return 1
  diff <(cut -d' ' -f2- "$toy/text" | sort) <(cat "$work"/from_people/data/{train,held_out}/text | cut -d' ' -f2- | sort)
}
pronounces() { # <--oov> <lexicon> <line of new_words.txt>
  local copy=$work/oov
  rm -rf "$copy" "$work/pronounced"
  cp -r "$toy" "$copy"
  sed -i '5s/$/ lomi/' "$copy/text"
  scripts/recognizer.sh --wav="$copy/wav" --text="$copy/text" --lexicon="$2" --oov="$1" --garbage=false --last-part=language "$work/pronounced" &&
    grep -x "$3" "$work/pronounced/data/new_words.txt" && grep -q '^lomi ' "$work/pronounced/lang/words.txt" &&
    grep -q "^train"$'\t'"lomi"$'\t'"1"$'\t'"1" "$work/pronounced/unknown_words.tsv" && grep -q ' lomi$' "$work"/pronounced/data/*/text
}
finds_wrong_texts() { # five texts of others
  awk 'NR % 18 == 7 { print $1, "ru ru ru ru"; next } { print }' "$toy/text" >"$work/wrong_texts"
  scripts/recognizer.sh --wav="$toy/wav" --text="$work/wrong_texts" --utt2spk="$toy/utt2spk" --lexicon="$toy/lexicon.txt" --garbage=false --num-test=1 --skip-bad=true \
    --last-part=copies "$work/wrong" || return 1
  cat "$work/wrong/doubtful_texts.tsv"
  # Nor does the network learn from copies of those that are left out.
  awk -F'\t' '$4 == "no" { print $2 }' "$work/wrong/doubtful_texts.tsv" >"$work/left_out"
  [[ -s $work/left_out ]] && ! grep -wFf "$work/left_out" "$work/wrong/feats/copies/feats.scp" || return 1
  grep ' ru ru ru ru$' "$work/wrong/data/train/text" | cut -d' ' -f1 >"$work/wrong_keys"
  (( $(wc -l <"$work/wrong_keys") >= 4 )) &&
    diff "$work/wrong_keys" <(tail -n +2 "$work/wrong/doubtful_texts.tsv" | head -n "$(wc -l <"$work/wrong_keys")" | cut -f2 | sort)
}
an_instant() { # a wave that is one, but too short for anything
  cp -r "$toy" "$work/instant"
  python3 -c "import sys; sys.path.append('tests/recognizer'); import toy_speech; toy_speech.write_wave('$work/instant/wav/toy-003.wav', [0.0] * 600)" # lint: names of this script
  says "without features, or shorter than a tenth of a second: 1 utterance of train, such as toy-003" scripts/recognizer.sh \
    --wav="$work/instant/wav" --text="$toy/text" --lexicon="$toy/lexicon.txt" --last-part=features "$work/too_short" && [[ ! -e $work/too_short/feats/train ]]
}

leaves_out() {
  local copy=$work/partly said
  cp -r "$toy" "$copy"
  sed -i '5s/$/ zebra/' "$copy/text"
  rm "$copy/wav/toy-003.wav"
  said=$(scripts/recognizer.sh --wav="$copy/wav" --text="$copy/text" --lexicon="$copy/lexicon.txt" --skip-bad=true --garbage=false --last-part=features "$work/part" 2>&1) ||
    return 1
  printf '%s\n' "$said"
  [[ $said == *"no adaptation to speakers: 0 speakers have several utterances"* ]] && [[ $(cat "$work"/part/data/{train,held_out}/text | wc -l) == 88 ]] && ! grep -q -e toy-003 -e toy-004 "$work"/part/data/*/text
}
stands_in() {
  local copy=$work/standing
  cp -r "$toy" "$copy"
  sed -i '5s/$/ zebra/' "$copy/text"
  echo "unknown S" >>"$copy/lexicon.txt"
  scripts/recognizer.sh --wav="$copy/wav" --text="$copy/text" --lexicon="$copy/lexicon.txt" --oov-word=unknown --last-part=language "$work/standin" &&
    grep -q '^toy-004 .* \(unknown\|zebra\)$' "$work"/standin/data/{train,held_out}/text && ! grep zebra "$work/standin/data/train/text" &&
    diff <(awk '$1 == "unknown" { print $2 }' "$work/standin/lang/words.txt") "$work/standin/lang/oov.int"
}

# Parts that end before a network is trained.
data() {
  work=$own
  check "Kaldi's data folders: segments, commands, speakers for the test" takes_kaldi_folders
  check "wrong: a word that the lexicon lacks" broken 'sed -i "5s/$/ zebra/" $copy/text' "'zebra' 1 time, first in $work/broken/text, line 5"
  check "wrong: a word that the lexicon lacks, with advice" broken 'sed -i "5s/$/ zebra/" $copy/text' "the lexicon $work/broken/lexicon.txt lacks 1 word of the transcripts; see "
  check "wrong: a line of a lexicon, for which no utterance can be left out" no_utterance_is_named
  check "wrong: no transcript" broken 'sed -i "5,7s/ .*//" $copy/text' "text, line 5: the text is empty"
  check "wrong: no transcripts at all" broken ': >$copy/text' "there is no text for it"
  check "wrong: a key twice" broken 'sed -n 3,5p $toy/text >>$copy/text' "text, line 91: 'toy-002' is in line 3 already"
  check "wrong: no wave for a transcript" broken "rm $(three)" "text, line 4: there is no 'toy-003' in"
  check "wrong: no wave at all" broken 'rm $copy/wav/*' "expected recordings, found no file with the ending of a sound"
  check "wrong: something else than a wave" broken "for i in $(three); do echo RIFF0000000000 >\$i; done" "toy-003.wav cannot be used"
  check "wrong: a wave whose header contradicts itself" broken "for i in $(three); do printf '\\x08' | dd of=\$i bs=1 seek=34 conv=notrunc status=none; done" \
    "2 bytes a sample and 16000 a second do not fit PCM, 8 bits, 1 channels"
  check "wrong: waves that are cut off" broken "truncate -s 4000 $(three)" "are there ("
  check "wrong: a rate below the one asked for" broken ': nothing' "has 8000 samples per second, fewer than 16000" --sample-frequency=16000
  check "wrong: text that is not UTF-8" broken 'printf "toy-000 \xff\n" >$copy/text' "not UTF-8"
  check "wrong: all problems at once" broken "rm $(three); "'sed -i "20,30s/$/ zebra/" $copy/text' "'zebra' 11 times"
  check "wrong: a word without a pronunciation" says "lexicon.txt, line 8: the word 'zebra' has no pronunciation" \
    bash -c "cp -r $toy $work/l1; echo zebra >>$work/l1/lexicon.txt; prepare-lang $work/l1/lexicon.txt $work/l1/lang" # lint: names of this script
  check "wrong: a word that graphs use" says "line 8: '<s>' has a meaning of its own" \
    bash -c "cp -r $toy $work/l2; echo '<s> P' >>$work/l2/lexicon.txt; prepare-lang $work/l2/lexicon.txt $work/l2/lang" # lint: names of this script
  check "wrong: a word without probability" says "lexicon, line 3: the word 'two' has no probability, but line 1 has one" \
    lexicon 'one 0.5 W AH N\none 0.5 W AA N\ntwo T UW\n'
  check "wrong: a probability above 1" says "lexicon, line 1: expected a probability above 0 and at most 1 behind 'one', found '1.2'" \
    lexicon 'one 1.2 W AH N\ntwo 0.7 T UW\n'
  check "wrong: a probability of 0" says "lexicon, line 2: expected a probability above 0 and at most 1 behind 'two', found '0'" \
    lexicon 'one 0.5 W AH N\ntwo 0 T UW\n'
  check "wrong: one word with a probability of 1" says "lexicon, line 2: the word 'two' has no probability" lexicon 'one 1 W AH N\ntwo T UW\n'
  check "wrong: a probability with a comma" says "line 1: expected a probability above 0 and at most 1 behind 'one', found '0,5'" \
    lexicon 'one 0,5 W AH N\ntwo 0,7 T UW\n'
  check "wrong: several numbers behind a word" says "line 1: '0.9' is a number, not a phone" lexicon 'one 0.5 0.9 W AH N\ntwo 0.7 0.8 T UW\n'
  check "wrong: a lexicon that is not UTF-8" says "lexicon, line 2: this is not UTF-8" lexicon 'one W AH N\ntw\xff T UW\n'
  check "wrong: a language model's text that is not UTF-8" says "text, line 1: this is not UTF-8" bash -c \
    "mkdir $work/l3; printf 'k a\\xff\\n' >$work/l3/text; echo a 1 >$work/l3/words; make-arpa --vocabulary=$work/l3/words $work/l3/text -" # lint: names of this script
  check "lexicon: phones may be numbers" phones_may_be_numbers
  check "lexicon: only ASCII blanks separate" only_ascii_blanks_separate
  check "a table of recordings, capitals, punctuation, another rate, a cut wave" takes_what_people_have
  awk '{ n = split($1, l, ""); line = $1; for (i = 1; i <= n; i++) line = line " " l[i]; print line }' "$toy/lexicon.txt" | sort -u >"$work/letters.txt"
  check "--oov=letters: a new word has its letters" pronounces letters "$work/letters.txt" 'lomi l o m i'
  check "--oov=g2p: a new word has the sounds of its letters" pronounces g2p "$work/letters.txt" 'lomi l o m i'
  check "wrong: --oov=letters with other phones" says "its phones are no letters" pronounces letters "$toy/lexicon.txt" x
  check "texts that are not what is said are listed, the worst first" finds_wrong_texts
  check "wrong: an option" says "unknown option --flat-epoch (did you mean --flat-epochs?); see recognizer.sh --help" recognizer no --flat-epoch=3
  check "wrong: an option of --train-opts" says "--train-opts: unknown option --reprot (did you mean --report?)" recognizer no --train-opts=--reprot=false
  check "wrong: a number" says "--num-epochs: expected a number, found 'many'" recognizer no --num-epochs=many
  check "wrong: no lexicon" says "give a --lexicon" scripts/recognizer.sh --wav="$toy/wav" --text="$toy/text" "$work/no"
  check "wrong: a network without outputs" says "expected layers with @TARGETS@" recognizer no --network="$toy/text"
  check "wrong: a speaker that nobody is" says "--test-speakers: the data have no speaker 'nobody'" recognizer no --test-speakers=nobody
  check "wrong: an utterance of an instant" an_instant
  check "--skip-bad leaves out what cannot be used" leaves_out
  check "--oov-word stands for words that the lexicon lacks" stands_in
}
