#!/usr/bin/env bash
# Usage: decode.sh <digits> <work>
# From a lexicon to times of words by Kaldi's scripts, with the network of the digits recipe; in a folder with steps/ and utils/.
#   <work>/lang, <work>/graph             by prepare_lang.sh and mkgraph.sh
#   <work>/test                           40 utterances of the set test_seen
#   <work>/decode, <work>/ctm             by decode.sh with local/score.sh, get_ctm.sh, get_ctm_fast.sh and get_ctm_conf.sh
#   <work>/ali                            by align.sh
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source "$here/../../../scripts/common/usage.sh"
source "$here/../../../scripts/common/values.sh"
source "$here/../../../scripts/common/folders.sh"
plain_usage 2 2 "$@"
digits=$1 work=$2 nj=2
plain_name "<digits>" "$digits"
plain_name "<work>" "$work"
claim_folder "$work" decode.sh
rm -rf "$work"
claim_folder "$work" decode.sh
mkdir -p "$work/dict" "$work/test" local
ln -sfn ../steps/score_kaldi.sh local/score.sh

# ---- lexicon and grammar: any digits, all equally likely
dict=$work/dict lang=$work/lang
{ echo "<sil> sil" && cat "$digits/conf/lexicon.txt"; } >"$dict/lexicon.txt"
awk '!/^#/ && $2 != "sil" { print $2 }' "$digits/conf/phones.txt" >"$dict/nonsilence_phones.txt"
echo sil | tee "$dict/silence_phones.txt" >"$dict/optional_silence.txt"
: >"$dict/extra_questions.txt"
utils/prepare_lang.sh --num-sil-states 3 "$dict" "<sil>" "$work/lang_tmp" "$lang"
awk '!($1 in seen) { seen[$1] = 1; words[++n] = $1 }
     END { printf "\\data\\\nngram 1=%d\n\n\\1-grams:\n-99\t<s>\n", n + 2
           share = -log(n + 1) / log(10)
           printf "%.6f\t</s>\n", share
           for (i = 1; i <= n; i++) printf "%.6f\t%s\n", share, words[i]
           print "\n\\end\\" }' "$digits/conf/lexicon.txt" >"$work/lm.arpa"
arpa2fst --disambig-symbol="#0" --read-symbol-table="$lang/words.txt" "$work/lm.arpa" "$lang/G.fst"
utils/validate_lang.pl "$lang"

# ---- model: all states of a phone, wherever in a word it is, have the phone's output of the network
awk 'FNR == NR { if (!/^#/) pdf[$2] = $1; next }
     $1 !~ /^#/ && $1 != "<eps>" { sub(/_[BEIS]$/, "", $1); leaves = leaves " CE " pdf[$1]; n = $2 }
     END { print "ContextDependency 1 0 ToPdf TE 0 " n + 1 " ( NULL" leaves " )"; print "EndContextDependency" }' \
  "$digits/conf/phones.txt" "$lang/phones.txt" >"$work/tree"
nnet3-am-init "$work/tree" "$lang/topo" "$digits/exp/tdnn/final.raw" - |
  nnet3-am-adjust-priors - "$digits/exp/tdnn/posteriors.vec" "$work/final.mdl"
cp "$lang/phones.txt" "$work"
utils/mkgraph.sh "$lang" "$work" "$work/graph"

# ---- utterances
test=$work/test
head -n 40 "$digits/data/test_seen/utt2spk" | sort >"$test/utt2spk"
utils/utt2spk_to_spk2utt.pl "$test/utt2spk" >"$test/spk2utt"
sort "$digits/data/test_seen/text" | utils/filter_scp.pl "$test/utt2spk" >"$test/text"
sed "s| data/| $digits/data/|" "$digits/data/test_seen/feats.scp" | sort | utils/filter_scp.pl "$test/utt2spk" >"$test/feats.scp"
compute-cmvn-stats --spk2utt=ark:"$test/spk2utt" scp:"$test/feats.scp" ark,scp:"$test/cmvn.ark,$test/cmvn.scp"

# ---- words, their times, and phones
steps/nnet3/decode.sh --nj $nj --cmd utils/run.pl "$work/graph" "$test" "$work/decode"
steps/get_ctm.sh --cmd utils/run.pl --min-lmwt 10 --max-lmwt 10 "$test" "$work/graph" "$work/decode"
steps/get_ctm_fast.sh --cmd utils/run.pl --lmwt 10 "$test" "$work/graph" "$work/decode" "$work/ctm"
steps/get_ctm_conf.sh --cmd utils/run.pl --min-lmwt 11 --max-lmwt 11 "$test" "$work/graph" "$work/decode"
steps/nnet3/align.sh --nj $nj --cmd utils/run.pl --use-gpu false "$test" "$lang" "$work" "$work/ali"
gunzip -c "$work"/ali/ali.*.gz | ali-to-phones --per-frame=true "$work/final.mdl" ark:- ark,t:"$work/ali/phones.txt"
copy-int-vector "ark:$digits/data/test_seen/ali.ark" ark,t:"$work/ali/spoken.txt"
