#!/usr/bin/env bash
# Usage: make_data.sh <digits> <data>
# Makes of the digits recipe's speech what the drivers want.
#   <data>/train, <data>/dev   data folders: feats.scp, utt2spk, spk2utt, cmvn.scp; train/ali.scp: phones as targets
#   <data>/ali                 alignments (transition-ids), tree, final.mdl of a one-state-per-phone system
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/common/usage.sh"
plain_usage 2 2 "$@"
digits=$1
mkdir -p "$2" && data=$(realpath "$2")

for set in train dev; do
  mkdir -p "$data/$set"
  sed "s| data/| $digits/data/|" "$digits/data/$set/feats.scp" | sort >"$data/$set/feats.scp"
  sort "$digits/data/$set/utt2spk" >"$data/$set/utt2spk"
  utils/utt2spk_to_spk2utt.pl "$data/$set/utt2spk" >"$data/$set/spk2utt"
  compute-cmvn-stats --spk2utt=ark:"$data/$set/spk2utt" scp:"$data/$set/feats.scp" \
    ark,scp:"$data/$set/cmvn.ark,$data/$set/cmvn.scp"
done
copy-int-vector ark:"$digits/data/train/ali.ark" ark,scp:"$data/train/ali.ark,$data/train/ali.unsorted.scp"
sort "$data/train/ali.unsorted.scp" >"$data/train/ali.scp"
rm "$data/train/ali.unsorted.scp"

# A system of one state a phone: pdf p of phone p + 1, whose transition-ids are 2p + 1 (stay) and 2p + 2 (leave).
ali=$data/ali
mkdir -p "$ali"
awk 'BEGIN { print "<eps> 0" } !/^#/ { print $2, $1 + 1 }' "$digits/conf/phones.txt" >"$ali/phones.txt"
phones=$(( $(wc -l <"$ali/phones.txt") - 1 ))
{
  echo "ContextDependency 1 0 ToPdf TE 0 $((phones + 1)) ( NULL"
  for ((p = 0; p < phones; p++)); do echo "TE -1 1 ( CE $p )"; done
  echo ") EndContextDependency"
} >"$ali/tree"
cat >"$ali/topo" <<END
<Topology>
<TopologyEntry>
<ForPhones> $(seq -s ' ' 1 "$phones") </ForPhones>
<State> 0 <PdfClass> 0 <Transition> 0 0.75 <Transition> 1 0.25 </State>
<State> 1 </State>
</TopologyEntry>
</Topology>
END
printf '%s\n' "input-node name=input dim=40" \
  "component name=a type=AffineComponent input-dim=40 output-dim=$phones" \
  "component-node name=a component=a input=input" "output-node name=output input=a" >"$ali/any.config"
nnet3-init "$ali/any.config" - | nnet3-am-init "$ali/tree" "$ali/topo" - "$ali/final.mdl"
copy-int-vector "scp:$data/train/ali.scp" ark,t:- |
  awk '{ for (i = 2; i <= NF; i++) a[i] = $i + 1;
         for (i = 2; i <= NF; i++) $i = (i == NF || a[i + 1] != a[i]) ? 2 * a[i] : 2 * a[i] - 1;
         print }' >"$ali/all.txt"
split -n l/2 -d --additional-suffix=.txt "$ali/all.txt" "$ali/part." # in order: the drivers concatenate the archives
# lint: whole: job
for job in 1 2; do copy-int-vector "ark:$ali/part.0$((job - 1)).txt" ark:- | gzip -c >"$ali/ali.$job.gz"; done
rm "$ali/any.config" "$ali/all.txt" "$ali"/part.*.txt
: >"$ali/cmvn_opts"
echo 2 >"$ali/num_jobs"
