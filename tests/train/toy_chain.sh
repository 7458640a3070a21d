#!/usr/bin/env bash
# Usage: toy_chain.sh DATA DIR
# Makes of the task of toy_data.sh in DATA one for chain models, whose phones are the classes. Writes DIR/tree (tree, final.mdl,
# ali.1.gz), DIR/lats (lattices of one path), DIR/graphs (training graphs, phone language model) and DIR/tdnn.xconfig.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common/usage.sh"
plain_usage 2 2 "$@"

data=$1 dir=$2
mkdir -p "$dir"/{tree,lats,graphs}
{
cat >"$dir/topo" <<'TOPO'
<Topology> <TopologyEntry> <ForPhones> 1 2 3 </ForPhones>
<State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State>
<State> 1 </State> </TopologyEntry> </Topology>
TOPO
cat >"$dir/tree/tree" <<'TREE'
ContextDependency 1 0 ToPdf TE 0 4 ( NULL TE -1 2 ( CE 0 CE 1 ) TE -1 2 ( CE 2 CE 3 ) TE -1 2 ( CE 4 CE 5 ) ) EndContextDependency
TREE
printf '%s\n' "input-node name=input dim=4" "component name=a type=AffineComponent input-dim=4 output-dim=6" \
  "component-node name=a component=a input=input" "output-node name=output input=a" >"$dir/any.config"
nnet3-init "$dir/any.config" - | nnet3-am-init "$dir/tree/tree" "$dir/topo" - "$dir/tree/final.mdl"
# Transition-ids of class c: first 2c + 2, then 2c + 1.
copy-int-vector "ark:$data/ali.ark" ark,t:- |
  awk '{ for (i = NF; i > 1; i--) $i = 2 * $i + 1 + (i == 2 || $i != $(i - 1)); print }' >"$dir/ali.txt"
gzip -c "$dir/ali.txt" >"$dir/tree/ali.1.gz"
awk '{ ids = $2; for (i = 3; i <= NF; i++) ids = ids "_" $i; print $1 "\n0 1 1 0,0," ids "\n1 0,0,\n" }' "$dir/ali.txt" |
  lattice-copy ark:- ark:- | gzip -c >"$dir/lats/lat.1.gz"
cp "$dir/tree/final.mdl" "$dir/lats"
# Training graphs: words are phones.
cp "$dir"/tree/{tree,final.mdl} "$dir/graphs"
printf '0 0 %d %d\n' 1 1 2 2 3 3 | sed '$a0' | fstcompile - "$dir/L.fst"
ali-to-phones "$dir/tree/final.mdl" "ark:$dir/ali.txt" ark,t:"$dir/phones.txt"
compile-train-graphs "$dir/graphs/tree" "$dir/graphs/final.mdl" "$dir/L.fst" "ark:$dir/phones.txt" \
  "ark,scp:$dir/graphs/fst.1.ark,$dir/graphs/fst.1.scp"
chain-est-phone-lm --num-extra-lm-states=5 "ark:$dir/phones.txt" "$dir/graphs/phone_lm.fst"
} 2>"$dir/log" || { cat "$dir/log" >&2; exit 1; }
cat >"$dir/tdnn.xconfig" <<'XCONFIG'
input dim=4 name=input
relu-batchnorm-layer name=tdnn1 input=Append(-2,-1,0,1,2) dim=16
relu-batchnorm-layer name=tdnn2 input=Append(-3,0,3) dim=16
output-layer name=output dim=6 include-log-softmax=false
output-layer name=output-xent input=tdnn2 dim=6 learning-rate-factor=5.0
XCONFIG
