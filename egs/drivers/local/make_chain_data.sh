#!/usr/bin/env bash
# Usage: make_chain_data.sh <digits> <data>
# Makes of 400 utterances of the digits recipe what the drivers of chain models want.
#   <data>/lang    phones.txt, words.txt, topo (one state a phone, with a pdf of its own for the self-loop), L.fst, what text_to_phones.py reads
#   <data>/train   data folder
#   <data>/lats    lattices of one path, the exact alignment, with a model of context-independent phones
#   <data>/tree    tree (left biphones), final.mdl, alignments
#   <data>/graphs  what training without alignments begins with: tree of context-independent phones, training graphs, phone language model
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source "$here/../../../scripts/common/usage.sh"
plain_usage 2 2 "$@"
digits=$1
mkdir -p "$2" && data=$(realpath "$2")
nj=2

# ---- phones, words, HMMs
lang=$data/lang
mkdir -p "$lang/phones"
awk 'BEGIN { print "<eps> 0" } !/^#/ { print $2, $1 + 1 }' "$digits/conf/phones.txt" >"$lang/phones.txt"
phones=$(( $(wc -l <"$lang/phones.txt") - 1 ))
awk 'BEGIN { print "<eps> 0" } !($1 in seen) { seen[$1] = 1; print $1, ++n }' "$digits/conf/lexicon.txt" >"$lang/words.txt"
awk '{ $1 = $1 "\t1.0"; print }' "$digits/conf/lexicon.txt" >"$lang/lexiconp.txt"
awk '{ $1 = $1 " " $1; print }' "$digits/conf/lexicon.txt" >"$lang/phones/align_lexicon.txt"
echo sil >"$lang/phones/optional_silence.txt"
awk 'NR == 1 { print $1 }' "$digits/conf/lexicon.txt" >"$lang/oov.txt" # there are none
cat >"$lang/topo" <<END
<Topology>
<TopologyEntry>
<ForPhones> $(seq -s ' ' 1 "$phones") </ForPhones>
<State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State>
<State> 1 </State>
</TopologyEntry>
</Topology>
END
utils/lang/make_lexicon_fst.py --sil-prob=0.5 --sil-phone=sil "$lang/lexiconp.txt" |
  fstcompile --isymbols="$lang/phones.txt" --osymbols="$lang/words.txt" --keep_isymbols=false --keep_osymbols=false - - |
  fstarcsort --sort_type=olabel - "$lang/L.fst"

# ---- utterances
train=$data/train
mkdir -p "$train"
head -n 400 "$digits/data/train/utt2spk" | sort >"$train/utt2spk"
utils/utt2spk_to_spk2utt.pl "$train/utt2spk" >"$train/spk2utt"
sort "$digits/data/train/text" | utils/filter_scp.pl "$train/utt2spk" >"$train/text"
sed "s| data/| $digits/data/|" "$digits/data/train/feats.scp" | sort | utils/filter_scp.pl "$train/utt2spk" >"$train/feats.scp"
compute-cmvn-stats --spk2utt=ark:"$train/spk2utt" scp:"$train/feats.scp" ark,scp:"$train/cmvn.ark,$train/cmvn.scp"
feat-to-len scp:"$train/feats.scp" ark,t:"$train/utt2num_frames"
echo 0.01 >"$train/frame_shift"
awk '{ print $1, $2 * 0.01 }' "$train/utt2num_frames" >"$train/utt2dur"
# Lengths of examples that are whole utterances: each utterance is at most four frames longer or shorter.
awk '{ n = 9 * int(($2 + 4) / 9); if (!(n in seen)) { seen[n] = 1; print n } }' "$train/utt2num_frames" | sort -n >"$train/allowed_lengths.txt"
utils/split_data.sh "$train" $nj

model() { # <tree> <model>: a transition model with the topology, in front of some network
  local pdfs
  pdfs=$(tree-info "$1" | awk '/^num-pdfs/ { print $2 }')
  printf '%s\n' "input-node name=input dim=40" \
    "component name=a type=AffineComponent input-dim=40 output-dim=$pdfs" \
    "component-node name=a component=a input=input" "output-node name=output input=a" >"$data/any.config"
  nnet3-init "$data/any.config" - | nnet3-am-init "$1" "$lang/topo" - "$2"
  rm "$data/any.config"
}

# ---- context-independent phones: pdfs 2p and 2p + 1 of phone p + 1, whose transition-ids are 2p + 1 (stay) and 2p + 2 (leave)
graphs=$data/graphs lats=$data/lats
mkdir -p "$graphs" "$lats"
{
  echo "ContextDependency 1 0 ToPdf TE 0 $((phones + 1)) ( NULL"
  for ((p = 0; p < phones; p++)); do echo "TE -1 2 ( CE $((2 * p)) CE $((2 * p + 1)) )"; done
  echo ") EndContextDependency"
} >"$graphs/tree"
model "$graphs/tree" "$graphs/final.mdl"
cp "$graphs/final.mdl" "$lang/phones.txt" "$lats"
echo $nj >"$lats/num_jobs"
# Phones as segments: in these HMMs the way out is taken first, then the self-loops.
copy-int-vector "ark:$digits/data/train/ali.ark" ark,t:- | sort | utils/filter_scp.pl "$train/utt2spk" >"$data/phones.txt"
for ((job = 1; job <= nj; job++)); do
  utils/filter_scp.pl "$train/split$nj/$job/utt2spk" "$data/phones.txt" |
    awk '{ tids = ""
           for (i = 2; i <= NF; i++) tids = tids (i > 2 ? "_" : "") (i == 2 || $i != $(i - 1) ? 2 * $i + 2 : 2 * $i + 1)
           print $1 "\n0 1 1 0,0," tids "\n1 0,0,\n" }' | lattice-copy ark:- ark:- | gzip -c >"$lats/lat.$job.gz"
done

# ---- biphones
tree=$data/tree
mkdir -p "$tree"
cp "$here/../conf/chain.tree" "$tree/tree"
model "$tree/tree" "$tree/final.mdl"
cp "$lang/phones.txt" "$tree"
echo $nj >"$tree/num_jobs"
: >"$tree/cmvn_opts"
# The driver asks the alignments for phones only: each phone gets the ids of its first transition-state.
show-transitions "$lang/phones.txt" "$tree/final.mdl" >"$tree/transitions.txt"
for ((job = 1; job <= nj; job++)); do
  utils/filter_scp.pl "$train/split$nj/$job/utt2spk" "$data/phones.txt" |
    awk 'NR == FNR { if ($0 ~ /^Transition-state/ && !($5 in state)) state[$5] = $2 + 0; next }
         FILENAME == ARGV[2] { name[$2 - 1] = $1; next }
         { for (i = NF; i > 1; i--) $i = 2 * state[name[$i]] - (i > 2 && $i == $(i - 1)); print }' \
      "$tree/transitions.txt" "$lang/phones.txt" - | copy-int-vector ark,t:- ark:- | gzip -c >"$tree/ali.$job.gz"
done
rm "$data/phones.txt" "$tree/transitions.txt"

# ---- training graphs
copy-transition-model "$graphs/final.mdl" "$graphs/0.trans_mdl"
cp "$lang/phones.txt" "$graphs"
echo $nj >"$graphs/num_jobs"
for ((job = 1; job <= nj; job++)); do
  compile-train-graphs "$graphs/tree" "$graphs/final.mdl" "$lang/L.fst" \
    "ark:utils/sym2int.pl -f 2- $lang/words.txt $train/split$nj/$job/text |" "ark,scp:$graphs/fst.$job.ark,$graphs/fst.$job.scp"
done
steps/nnet3/chain/e2e/text_to_phones.py --edge-silprob 1 --between-silprob 0.3 "$lang" <"$train/text" |
  utils/sym2int.pl -f 2- "$lang/phones.txt" | chain-est-phone-lm --num-extra-lm-states=100 ark:- "$graphs/phone_lm.fst"
