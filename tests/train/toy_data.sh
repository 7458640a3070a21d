#!/usr/bin/env bash
# Usage: toy_data.sh DIR [UTTERANCES [FRAMES]]
# Makes a task that a small network learns in seconds: frames of 4 numbers around a point for each of 3 classes, which last
# 5 to 20 frames each, in noise. Writes DIR/feats.{ark,scp}, DIR/ali.ark, DIR/dense.{ark,scp} (the classes as three
# columns) and DIR/tdnn.xconfig. The same arguments give the same bytes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common/usage.sh"
plain_usage 1 3 "$@"

dir=$1 utterances=${2:-60} frames=${3:-200}
mkdir -p "$dir"
utterances=$utterances frames=$frames dir=$dir awk '
  function next_number() { x = (x * 16807) % 2147483647; return x / 2147483647 }
  function noise() { return next_number() + next_number() + next_number() - 1.5 }
  BEGIN {
    utterances = ENVIRON["utterances"]; frames = ENVIRON["frames"]; dir = ENVIRON["dir"]
    x = 20220101
    for (u = 1; u <= utterances; u++) {
      key = sprintf("utt%04d", u)
      feats = key "  [\n"; ali = key; dense = key "  [\n"
      left = 0
      for (t = 0; t < frames; t++) {
        if (left-- == 0) { class = int(3 * next_number()); left = 5 + int(15 * next_number()) }
        angle = class * 2.0943951
        feats = feats sprintf("%.4f %.4f %.4f %.4f\n", cos(angle) + noise(), sin(angle) + noise(), noise(), noise())
        ali = ali " " class
        dense = dense (class == 0) " " (class == 1) " " (class == 2) "\n"
      }
      print feats "]" > (dir "/feats.txt")
      print ali > (dir "/ali.txt")
      print dense "]" > (dir "/dense.txt")
    }
  }'
{
  copy-feats --compress=true "ark:$dir/feats.txt" "ark,scp:$dir/feats.ark,$dir/feats.scp"
  copy-feats "ark:$dir/dense.txt" "ark,scp:$dir/dense.ark,$dir/dense.scp"
  copy-int-vector "ark:$dir/ali.txt" "ark:$dir/ali.ark"
} 2>/dev/null
rm "$dir/feats.txt" "$dir/dense.txt"
cat >"$dir/tdnn.xconfig" <<'XCONFIG'
input dim=4 name=input
relu-batchnorm-layer name=tdnn1 input=Append(-2,-1,0,1,2) dim=16
relu-batchnorm-layer name=tdnn2 input=Append(-2,0,2) dim=16
output-layer name=output dim=3
XCONFIG
