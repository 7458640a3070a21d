#!/usr/bin/env bash
# Commands to a house, from nothing to a recogniser: has synthetic voices speak them in quiet and noisy rooms, and trains on their waves,
# transcripts and a lexicon alone, with scripts/recognizer.sh. See README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C OPENBLAS_NUM_THREADS=1 # two jobs run at a time
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --first           a tenth of the speech and Gaussian models, without a network: half a minute, for a first transcript
  --quick           a fifth of the speech and small networks: a minute or two on two idle cores, for a first look
  --dir DIR         experiment folder, relative to egs/commands (exp; with --quick exp/quick, with --first exp/first)
  --data DIR        data folder, relative to egs/commands (data; with --quick data/quick, with --first data/first)
  --nj N            parallel jobs (2)
  --options WORDS   further options of recognizer.sh, separated by blanks
Started again, it goes on where it was.
END
}

dir='' data='' nj=2 size=whole more=
while (( $# )); do
  case $1 in
    --dir | --data | --nj | --options)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; } ;;&
    --first | --quick) size=${1#--} ;;
    --dir) dir=$2; shift ;;
    --data) data=$2; shift ;;
    --nj) nj=$2; shift ;;
    --options) more=$2; shift ;;
    --help | -h) usage; exit 0 ;;
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
  shift
done
number nj whole --nj "$nj" 1 10000
# Without the garbage word, so that figures can be compared with those of the reference's programs (--options --garbage=true trains it).
case $size in
  whole) num_train=2400 num_test=120 training=(--start=flat --decode-flat=true --garbage=false --network=tiny --num-epochs=6 --flat-epochs=4) ;;
  quick) num_train=480 num_test=40 training=(--start=flat --decode-flat=true --garbage=false --network=tiny --num-epochs=4 --flat-epochs=3) ;;
  first) num_train=240 num_test=20 training=(--model=gaussian --garbage=false) ;;
esac
if [[ $size != whole ]]; then dir=${dir:-exp/$size} data=${data:-data/$size}; fi
dir=${dir:-exp} data=${data:-data}
plain_words --options "$more"
read -ra more <<<"$more"
plain_name --dir "$dir"
plain_name --data "$data"
started=$SECONDS
[[ -f $data/made_by ]] || claim_folder "$data" egs/commands/run.sh
say() { printf '\n== %s\n' "$*"; }

say "What the recipe needs"
../digits/local/install.sh
say "The programs"
programs=$(../digits/local/programs.sh)
PATH=$programs:$PATH

say "Speech"
recipe=(local/make_speech.py local/grammar.py conf/grammar.txt conf/voices.txt ../digits/local/{espeak,lang,sound}.py)
made_by="$num_train and $num_test utterances in $(realpath -m "$data"), $(cat "${recipe[@]}" | cksum)"
if [[ -f $data/made_by && $(<"$data/made_by") == "$made_by" ]]; then echo "$data is there already"
else
  claim_folder "$data" egs/commands/run.sh
  rm -rf "${data:?}"/{made_by,train,seen_clean,seen_noisy,unseen_clean,unseen_noisy}
  .venv/bin/python local/make_speech.py --dir "$data" --num-train "$num_train" --num-test "$num_test" --nj "$nj"
  echo "$made_by" >"$data/made_by"
fi

say "The recogniser"
../../scripts/recognizer.sh --data="$data/train" --test-data="$data/seen_clean,$data/seen_noisy,$data/unseen_clean,$data/unseen_noisy" \
  --lexicon=conf/lexicon.txt --nj="$nj" --use-gpu=no "${training[@]}" "${more[@]}" "$dir"

say "The model folder, as others use it: nnet3-transcribe"
for set in seen_noisy unseen_noisy; do
  nnet3-transcribe --print-args=false "$dir/model" "$data/$set"/wav/*.wav 2>"$dir/log/transcribe.log" |
    compute-wer --print-args=false --text --mode=all "ark:$data/$set/text" ark:- 2>>"$dir/log/transcribe.log" | sed -n "s/^%WER/$set: WER/p"
done
echo "(The table above has the likeliest sentences. nnet3-transcribe, as vosk, has the words with the fewest expected errors, and counts the language model 0.9 times.)"

if [[ $size == first ]]; then
  say "The first recordings of voices that it was not trained on"
  find "$data/unseen_noisy/wav" -name '*.wav' | sort | head -n 4 >"$dir/log/first"
  mapfile -t waves <"$dir/log/first"
  nnet3-transcribe --print-args=false "$dir/model" "${waves[@]}" 2>>"$dir/log/transcribe.log" | tee "$dir/first.txt"
  echo "(said: $(cut -d' ' -f1 "$dir/first.txt" | while read -r key; do sed -n "s/^$key //p" "$data/unseen_noisy/text"; done | paste -sd';'))"
  echo "(Gaussian models do not understand sound without high frequencies: MP3s of 24 kbit/s, calls at 8 kHz. A network does: --quick.)"
  printf '\nDone in %d s. Model folder: %s; now: nnet3-transcribe %s some.wav\n' "$((SECONDS - started))" "$(realpath "$dir/model")" "$(realpath "$dir/model")"
  exit
fi

say "Pictures"
python3 local/pictures.py "$dir" unseen_noisy "$dir/figures"
printf '\nDone in %d min %02d s. Model folder: %s; pictures: %s\n' $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)) \
  "$(realpath "$dir/model")" "$(realpath "$dir/figures")"
