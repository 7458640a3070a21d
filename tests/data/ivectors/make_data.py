#!/usr/bin/env python3
"""Makes a small i-vector model, features of two utterances of a speaker, and their i-vectors, from the definitions (with NumPy).

usage: make_data.py <folder>
"""
import sys

import numpy as np

OUT = sys.argv[1]
DIM, WIDTH, REDUCED, GAUSSIANS, IVECTOR = 2, 3, 2, 3, 3
OFFSET = 8.0
# The options of the test: --ivector-period, --posterior-scale, --max-count, --num-gselect, --min-post, --global-frames.
PERIOD, SCALE, MAX_COUNT, SELECT, MIN_POST, GLOBAL_FRAMES = 4, 0.5, 1.0, 2, 0.1, 10

random = np.random.RandomState(3)


def quarters(*shape):
    return np.round(random.uniform(-2, 2, shape) * 4) / 4


def vector(v):
    return "[ " + " ".join(f"{x:g}" for x in v) + " ]\n"


def matrix(m):
    rows = ["  " + " ".join(f"{x:g}" for x in row) for row in m]
    return "[\n" + "\n".join(rows) + " ]\n"


def symmetric(s):
    rows = [" ".join(f"{s[i, j]:g}" for j in range(i + 1)) for i in range(len(s))]
    return "[\n" + "\n".join(rows) + " ]\n"


def write(name, text):
    with open(f"{OUT}/{name}", "w") as file:
        file.write(text)


lda = quarters(REDUCED, DIM * WIDTH + 1)
means = quarters(GAUSSIANS, REDUCED)
inverses = np.round(random.uniform(0.5, 2, (GAUSSIANS, REDUCED)) * 4) / 4
weights = np.array([0.5, 0.25, 0.25])
projections = quarters(GAUSSIANS, REDUCED, IVECTOR)
precisions = []
for g in range(GAUSSIANS):
    lower = quarters(REDUCED, REDUCED)
    precisions.append(lower @ lower.T + np.eye(REDUCED))
global_stats = np.array([[3.0, -2.0, 20.0], [60.0, 50.0, 0.0]])
utterances = {"u1": quarters(13, DIM), "u2": quarters(7, DIM)}

write("final.mat", matrix(lda))
write("global_cmvn.stats", matrix(global_stats))
write("final.dubm", "<DiagGMM> <WEIGHTS> " + vector(weights) + "<MEANS_INVVARS> " + matrix(means * inverses)
      + "<INV_VARS> " + matrix(inverses) + "</DiagGMM> ")
write("final.ie", "<IvectorExtractor> <w> [ ]\n<w_vec> " + vector(weights) + f"<M> {GAUSSIANS} "
      + "".join(matrix(m) for m in projections) + "<SigmaInv> " + "".join(symmetric(s) for s in precisions)
      + f"<IvectorOffset> {OFFSET:g} </IvectorExtractor> ")
write("splice.conf", "--left-context=1 # and one on the right\n--right-context=1\n")
write("online_cmvn.conf", f"# options as of apply-cmvn-online\n--global-frames={GLOBAL_FRAMES}\n")
write("feats.ark", "".join(f"{key} {matrix(features)}" for key, features in utterances.items()))


def reduced(features):
    """Spliced and transformed; at the ends frames are repeated."""
    last = len(features) - 1
    spliced = [np.concatenate([features[min(max(t + o, 0), last)] for o in (-1, 0, 1)]) for t in range(last + 1)]
    return np.stack(spliced) @ lda[:, :-1].T + lda[:, -1]


def posteriors(frame):
    logs = np.log(weights) + 0.5 * np.sum(np.log(inverses / (2 * np.pi)) - inverses * (frame - means) ** 2, 1)
    order = [g for g in np.argsort(-logs) if logs[g] > logs.max() + np.log(MIN_POST)][:SELECT]
    found = np.exp(logs[order] - logs.max())
    limit = MIN_POST * found.sum()
    while len(order) > 1 and found[-1] < limit:
        order, found = order[:-1], found[:-1]
    return zip(order, found / found.sum())


speaker, speaker_frames = np.zeros(DIM), 0
quadratic, linear, count = np.zeros((IVECTOR, IVECTOR)), np.zeros(IVECTOR), 0.0
first = np.eye(IVECTOR)[0]
expected = ""
for key, features in utterances.items():
    normalized = np.zeros_like(features)
    for t in range(len(features)):
        sums = features[: t + 1].sum(0) + speaker + global_stats[0, :DIM] * GLOBAL_FRAMES / global_stats[0, DIM]
        normalized[t] = features[t] - sums / (t + 1 + speaker_frames + GLOBAL_FRAMES)
    of_normalized, of_plain = reduced(normalized), reduced(features)
    rows = []
    for t in range((len(features) - 1) // PERIOD * PERIOD + 1):
        for g, posterior in posteriors(of_normalized[t]):
            projected = SCALE * posterior * projections[g].T @ precisions[g]
            quadratic += projected @ projections[g]
            linear += projected @ of_plain[t]
            count += SCALE * posterior
        if t % PERIOD == 0:
            prior = max(count, MAX_COUNT) / MAX_COUNT
            solution = np.linalg.solve(quadratic + prior * np.eye(IVECTOR), linear + prior * OFFSET * first)
            rows.append(solution - OFFSET * first)
    speaker, speaker_frames = speaker + features.sum(0), speaker_frames + len(features)
    expected += f"{key} {matrix(rows)}"
write("expected", expected)
