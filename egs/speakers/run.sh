#!/usr/bin/env bash
# Speakers, from nothing: has synthetic voices speak in noise, trains a network whose vectors tell them apart, and finds out who speaks when in
# recordings of voices that it has never heard. See README.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C OPENBLAS_NUM_THREADS=1 # two jobs run at a time
source ../../scripts/common/values.sh
source ../../scripts/common/folders.sh

usage() {
  cat <<'END'
usage: run.sh [options]
  --quick       a third of the speech and of the training, for a first look
  --dir DIR     experiment folder, relative to egs/speakers (exp, with --quick exp/quick)
  --data DIR    data folder, relative to egs/speakers (data, with --quick data/quick)
  --nj N        parallel jobs (2)
Started again, it goes on where it was.
END
}

dir='' data='' nj=2 quick=false
while (( $# )); do
  case $1 in
    --dir | --data | --nj)
      (( $# > 1 )) || { echo "run.sh: $1 needs a value" >&2; exit 2; } ;;&
    --quick) quick=true ;;
    --dir) dir=$2; shift ;;
    --data) data=$2; shift ;;
    --nj) nj=$2; shift ;;
    --help | -h) usage; exit 0 ;;
    *) refuse_option "$1" 2 "$(usage)" ;;
  esac
  shift
done
number nj whole --nj "$nj" 1 10000
speakers=100 backend=40 utterances=12 mixed=8 epochs=3
if $quick; then
  dir=${dir:-exp/quick} data=${data:-data/quick}
  speakers=60 backend=25 utterances=10 mixed=4 epochs=2
fi
dir=${dir:-exp} data=${data:-data}
plain_name --dir "$dir"
plain_name --data "$data"
claim_folder "$dir" egs/speakers/run.sh
started=$SECONDS
[[ -f $data/made_by ]] || claim_folder "$data" egs/speakers/run.sh
say() { printf '\n== %s\n' "$*"; }

say "What the recipe needs"
../digits/local/install.sh
say "The programs"
programs=$(../digits/local/programs.sh)
PATH=$programs:$PATH

say "Speech"
recipe=(local/make_voices.py conf/variants.txt ../commands/local/{make_speech,grammar}.py ../commands/conf/grammar.txt ../digits/local/{espeak,sound}.py)
made_by="$speakers $backend $utterances $mixed in $(realpath -m "$data"), $(cat "${recipe[@]}" | cksum)"
if [[ -f $data/made_by && $(<"$data/made_by") == "$made_by" ]]; then echo "$data is there already"
else
  claim_folder "$data" egs/speakers/run.sh
  rm -rf "${data:?}"/{made_by,train,backend,unseen,mixed_dev,mixed}
  .venv/bin/python local/make_voices.py --dir "$data" --num-speakers "$speakers" --num-backend "$backend" --num-utterances "$utterances" --num-mixed "$mixed" --nj "$nj"
  echo "$made_by" >"$data/made_by"
fi
mkdir -p "$dir/log"
source local/steps.sh

say "Features, without silence"
for set in train backend unseen mixed_dev mixed; do make_features "$set"; done

say "The network"
make_examples
../../scripts/train.sh --restart=changed --egs-dir="$dir/egs" --xconfig="$dir/network.xconfig" --chunk-width=1 --minibatch-size=32 --num-epochs="$epochs" \
  --initial-effective-lrate=0.002 --final-effective-lrate=0.0002 --num-jobs-initial=1 --num-jobs-final=2 --max-models-combine=3 --use-gpu=no "$dir/xvector"

say "Vectors, and the model of their variation (PLDA)"
cut_backend
make_vectors backend "scp:$dir/backend/all.scp"
make_vectors unseen "scp:$dir/unseen/speech.scp"
make_speaker_model
verify_speakers

say "Who speaks when"
for set in mixed_dev mixed; do diarize "$set"; done
choose_threshold
found_turns mixed "$(<"$dir/model-spk/threshold")"
{
  cat "$dir/eer"
  echo "mixed recordings of unseen voices: $(<"$dir/mixed/score")"
} | tee "$dir/results.txt"

say "Pictures"
mkdir -p "$dir/figures"
project_vectors mixed
python3 local/pictures.py "$data/mixed/rttm" "$dir/mixed" "$dir/figures/speakers.svg"
cp "$dir/xvector/report.html" "$dir/figures/training.html"
printf '\nDone in %d min %02d s. Speaker model: %s (nnet3-transcribe --speakers, vosk'"'"'s SpkModel); pictures: %s\n' $(((SECONDS - started) / 60)) \
  $(((SECONDS - started) % 60)) "$(realpath "$dir/model-spk")" "$(realpath "$dir/figures")"
