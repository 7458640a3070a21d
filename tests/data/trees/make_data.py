#!/usr/bin/env python3
"""Writes the files in `in`: alignments of a made-up language, and features that depend on phone, state and the phone before."""
import os
import random
import struct

NUM_PHONES, NUM_UTTERANCES, DIM = 13, 30, 3
rng = random.Random(7)


def gauss():
    return rng.gauss(0, 1)


os.makedirs("in", exist_ok=True)
own = [[gauss() * 2 for _ in range(DIM)] for _ in range(NUM_PHONES + 1)]
group = [[gauss() * 3 for _ in range(DIM)] for _ in range(NUM_PHONES // 3 + 2)]  # phones are alike in groups of three
before = [[0.4 * gauss() for _ in range(DIM)] for _ in range(NUM_PHONES // 2 + 2)]


def frame(phone, state, left):
    mean = [group[phone // 3][d] + 0.5 * own[phone][d] + 0.7 * state * (d % 2) for d in range(DIM)]
    return [mean[d] + left[d] * (2 - state) + gauss() for d in range(DIM)]


def write(f, key, rows):
    f.write(key.encode() + b" \0BFM \4" + struct.pack("<i", len(rows)) + b"\4" + struct.pack("<i", DIM))
    for row in rows:
        f.write(struct.pack("<%df" % DIM, *row))


with open("in/ali.txt", "w") as ali, open("in/feats.ark", "wb") as feats, open("in/feats3.ark", "wb") as third:
    for utterance in range(NUM_UTTERANCES):
        phones = [1] + [rng.randint(2, NUM_PHONES - 1) for _ in range(rng.randint(4, 12))] + [1]
        ids, rows = [], []
        for at, phone in enumerate(phones):
            left = before[phones[at - 1] // 2] if at and phone > 1 else [0] * DIM
            for state in range(3):
                loop = ((phone - 1) * 3 + state) * 2 + 1  # the transition-ids of in/topo3 without context
                length = 1 + int(rng.expovariate(0.8)) + (phone == 1) * 2
                ids += [loop + 1] + [loop] * (length - 1)
                rows += [frame(phone, state, left) for _ in range(length)]
        key = "utt%04d" % utterance
        print(key, *ids, file=ali)
        write(feats, key, rows)
        write(third, key, rows[::3])

phones = range(1, NUM_PHONES + 1)
sets = [[1], [2, 3], [4, 5]] + [[p] for p in range(6, NUM_PHONES + 1)]
lines = lambda lists: "".join(" ".join(map(str, words)) + "\n" for words in lists)
entry = lambda states: "<Topology>\n<TopologyEntry>\n<ForPhones> %s </ForPhones>\n%s</TopologyEntry>\n</Topology>\n" % (
    " ".join(map(str, phones)),
    states,
)
loop = "<State> %d <PdfClass> %d <Transition> %d 0.75 <Transition> %d 0.25 </State>\n"
files = {
    "topo3": entry("".join(loop % (s, s, s, s + 1) for s in range(3)) + "<State> 3 </State>\n"),
    "topo1": entry(
        "<State> 0 <ForwardPdfClass> 0 <SelfLoopPdfClass> 1 <Transition> 0 0.5 <Transition> 1 0.5 </State>\n"
        "<State> 1 </State>\n"
    ),
    "phones.txt": lines([["<eps>", 0]] + [["p%d" % p, p] for p in phones]),
    "sets.int": lines(sets),
    "roots3.int": lines([["not-shared", "not-split", 1]] + [["shared", "split"] + s for s in sets[1:]]),
    "roots1.int": lines([["not-shared", "split"] + s for s in sets]),
    "map.int": lines([[p, p if p < 4 else p // 2 + 2] for p in phones]),
    "counts": lines([[p, p * 7] for p in phones] + [[a, b, a * b * 13 % 170] for a in range(14) for b in phones]),
}
for name, text in files.items():
    with open("in/" + name, "w") as f:
        f.write(text)
