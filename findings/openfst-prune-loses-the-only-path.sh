#!/usr/bin/env bash
# Pruning by OpenFst with a threshold of 0 should keep the best path. It often keeps none: it compares the cost of the way to an arc, the arc and
# the way on with the cost of the best path, which it has added up from the other end. Single precision rounds the two sums differently. The rest
# of the path is cut off, and the machine accepts nothing. There is no message. An n-best list or a lattice pruned so has no words.
# Seen with pynini 2.1.7 (its module pywrapfst, OpenFst 1.8.4) on Python 3.11 (x86_64), 1,000 machines of one path with random costs of three digits:
#   3 arcs 125, 10 arcs 385, 30 arcs 651 of 1,000 accept nothing behind prune(weight=0)
#   with prune(weight=0.001), none of them
# Consequence: take the best path by shortestpath, or prune with a threshold that is above the rounding of the longest path.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check pynini==2.1.7
venv/bin/python - <<'PYTHON' | tee seen
import random

import pywrapfst as fst

random.seed(1)
for count in 3, 10, 30:
    lost = {0: 0, 0.001: 0}
    for _ in range(1000):
        chain = fst.VectorFst()
        chain.set_start(chain.add_state())
        for label in range(1, count + 1):
            chain.add_arc(label - 1, fst.Arc(label, label, random.randint(1, 999) / 1000, chain.add_state()))
        chain.set_final(count)
        assert fst.shortestpath(chain).num_states() == count + 1
        for weight in lost:
            pruned = chain.copy()
            pruned.prune(weight=weight)
            lost[weight] += pruned.connect().num_states() == 0
    print(f"{count} arcs:", *(f"prune(weight={weight}) loses the path of {number}" for weight, number in lost.items()))
PYTHON
diff seen - <<'EXPECTED'
3 arcs: prune(weight=0) loses the path of 125 prune(weight=0.001) loses the path of 0
10 arcs: prune(weight=0) loses the path of 385 prune(weight=0.001) loses the path of 0
30 arcs: prune(weight=0) loses the path of 651 prune(weight=0.001) loses the path of 0
EXPECTED
echo "as stated"
