#!/usr/bin/env bash
# Usage: diarize.sh features|vectors|scores|clusters
# A step of the recipe callhome, in its folder. local/callhome.sh calls it, with the settings of run.sh in the environment.
set -eo pipefail
source "$here/../../scripts/common/usage.sh"
plain_usage 1 1 "$@"
# shellcheck disable=SC1091 # a file of Kaldi, which sets PATH
source ./path.sh

# Features and voice activity; then features without the mean, and segments with speech.
features() {
  local name
  for name in sre callhome1 callhome2; do
    steps/make_mfcc.sh --mfcc-config conf/mfcc.conf --nj "$nj" --cmd run.pl --write-utt2num-frames true "data/$name" exp/make_mfcc mfcc
    sid/compute_vad_decision.sh --nj "$nj" --cmd run.pl "data/$name" exp/make_vad mfcc
    local/nnet3/xvector/prepare_feats.sh --nj "$nj" --cmd run.pl "data/$name" "data/${name}_cmn" "exp/${name}_cmn"
    cp "data/$name/vad.scp" "data/${name}_cmn/"
    utils/fix_data_dir.sh "data/${name}_cmn"
    echo 0.01 >"data/${name}_cmn/frame_shift"
    diarization/vad_to_segments.sh --nj "$nj" --cmd run.pl "data/${name}_cmn" "data/${name}_cmn_segmented"
  done
}

vectors() {
  local net=exp/xvector_nnet_1a part # lint: whole: part
  for part in 1 2; do
    diarization/nnet3/xvector/extract_xvectors.sh --cmd run.pl --nj "$nj" --window 1.5 --period 0.75 --apply-cmn false --min-segment 0.5 \
      $net "data/callhome${part}_cmn_segmented" "$net/xvectors_callhome$part"
  done
  diarization/nnet3/xvector/extract_xvectors.sh --cmd run.pl --nj "$nj" --window 3.0 --period 10.0 --min-segment 1.5 --apply-cmn false \
    --hard-min true $net data/sre_cmn_segmented $net/xvectors_sre
}

# As run.sh does, scores of each half come from a model that was whitened with the other half.
scores() {
  local net=exp/xvector_nnet_1a part # lint: whole: part
  for part in 1 2; do
    ivector-compute-plda "ark:$net/xvectors_sre/spk2utt" "ark:ivector-subtract-global-mean scp:$net/xvectors_sre/xvector.scp ark:- |
      transform-vec $net/xvectors_callhome$part/transform.mat ark:- ark:- | ivector-normalize-length ark:- ark:- |" \
      "$net/xvectors_callhome$part/plda"
  done
  for part in 1 2; do
    diarization/nnet3/xvector/score_plda.sh --cmd run.pl --nj "$nj" "$net/xvectors_callhome$((3 - part))" "$net/xvectors_callhome$part" \
      "$net/xvectors_callhome$part/plda_scores"
  done
}

# The threshold for one half is the best one of the other half; `num_spk` knows the number of speakers.
clusters() {
  local net=exp/xvector_nnet_1a part threshold rate best # lint: whole: part
  mkdir -p $net/tuning
  for part in 1 2; do
    for threshold in -0.3 -0.2 -0.1 -0.05 0 0.05 0.1 0.2 0.3; do
      diarization/cluster.sh --cmd run.pl --nj "$nj" --threshold $threshold "$net/xvectors_callhome$part/plda_scores" \
        "$net/xvectors_callhome$part/t$threshold" >&2 # standard output has the rates
      rate=$("$python" "$here/local/der.py" "data/callhome$part/ref.rttm" "$net/xvectors_callhome$part/t$threshold/rttm")
      echo "$rate $threshold"
    done | sort -k2,2n | head -n 1 >"$net/tuning/callhome$part"
  done
  for part in 1 2; do
    best=$(awk '{print $3}' "$net/tuning/callhome$((3 - part))")
    cp "$net/xvectors_callhome$part/t$best/rttm" "$net/tuning/threshold.$part.rttm"
    diarization/cluster.sh --cmd run.pl --nj "$nj" --reco2num-spk "data/callhome$part/reco2num_spk" "$net/xvectors_callhome$part/plda_scores" \
      "$net/xvectors_callhome$part/num_spk"
    cp "$net/xvectors_callhome$part/num_spk/rttm" "$net/tuning/num_spk.$part.rttm"
  done
  for best in threshold num_spk; do
    "$python" "$here/local/der.py" <(cat data/callhome?/ref.rttm) <(cat $net/tuning/$best.?.rttm) | sed "s/$/ $best/"
  done >results.txt
}

case $1 in
  features | vectors | scores | clusters) "$1" ;;
  *) echo "diarize.sh: there is no step '$1'" >&2; exit 2 ;;
esac
