"""Chain examples: archives made here, with FSTs written by OpenFst, through the programs and back.

Merged supervision is compared with what OpenFst makes of the same FSTs: concatenation, removal of epsilons, and the states
in the order of a breadth-first search.
"""

import struct
import unittest

import numpy as np

from support import BIN, InteropTest
from test_fst import breadth_first, contents, openfst, prepend

RANDOM = np.random.default_rng(7)
FRAMES = 4
LABELS = 5


def int32(value):
    return b"\x04" + struct.pack("<i", value)


def float32(value):
    return b"\x04" + struct.pack("<f", value)


def indexes(times):
    """Of one sequence, all in the long form."""
    return b"<I1V> " + int32(len(times)) + b"".join(b"\x7f" + int32(0) + int32(t) + int32(0) for t in times)


def matrix(values):
    rows, cols = values.shape
    return b"FM " + int32(rows) + int32(cols) + values.astype("<f4").tobytes()


def random_supervision():
    """An acceptor all of whose paths have FRAMES arcs; some of its states lead nowhere."""
    fst = openfst.VectorFst()
    layers = [[fst.add_state() for _ in range(1 if t == 0 else int(RANDOM.integers(1, 4)))] for t in range(FRAMES + 1)]
    fst.set_start(layers[0][0])
    weight = lambda: openfst.Weight("tropical", float(RANDOM.integers(0, 16)) / 8)
    for here, there in zip(layers, layers[1:]):
        for source in here:
            for target in there:
                for label in RANDOM.permutation(np.arange(1, LABELS + 1))[: RANDOM.integers(0, 3)]:
                    fst.add_arc(source, openfst.Arc(int(label), int(label), weight(), target))
    for state in layers[-1]:
        fst.set_final(state, weight())
    fst.connect()
    return fst if fst.num_states() > 0 else random_supervision()


def compact(fst):
    openfst.convert(fst, "compact_acceptor").write("compact.fst")
    with open("compact.fst", "rb") as file:
        return file.read()


def example(fst, features, weights):
    supervision = b"<Supervision> <Weight> " + float32(1) + b"<NumSequences> " + int32(1)
    supervision += b"<FramesPerSeq> " + int32(FRAMES) + b"<LabelDim> " + int32(LABELS) + b"<End2End> F"
    supervision += compact(fst) + b"</Supervision> "
    out = b"<Nnet3ChainEg> <NumInputs> " + int32(1) + b"<NnetIo> input " + indexes(range(-2, len(features) - 2))
    out += matrix(features) + b"</NnetIo> <NumOutputs> " + int32(1)
    out += b"<NnetChainSup> output " + indexes([3 * t for t in range(FRAMES)]) + supervision
    vector = b"FV " + int32(len(weights)) + np.asarray(weights, "<f4").tobytes()
    return out + b"<DW2> " + vector + b"</NnetChainSup> </Nnet3ChainEg> "


def fst_of_text(lines):
    fst = openfst.VectorFst()
    rows = [line.split("\t") for line in lines]
    for _ in range(1 + max(int(column) for row in rows for column in (row[:2] if len(row) > 2 else row[:1]))):
        fst.add_state()
    fst.set_start(int(rows[0][0]))
    weight = lambda columns: openfst.Weight("tropical", float(columns[0]) if columns else 0)
    for row in rows:
        if len(row) <= 2:
            fst.set_final(int(row[0]), weight(row[1:]))
        else:
            fst.add_arc(int(row[0]), openfst.Arc(int(row[2]), int(row[3]), weight(row[4:]), int(row[1])))
    return fst


def parts_of_text(text):
    """FST and weights of the only output of the only example."""
    _, _, rest = text.partition("<End2End> F \n")
    fst, _, rest = rest.partition("\n\n</Supervision> <DW2>  [ ")
    return fst_of_text(fst.split("\n")), [float(word) for word in rest.split(" ]")[0].split()]


@unittest.skipIf(openfst is None, "pynini is not installed")
class Chain(InteropTest):
    def archive(self, count):
        """Writes examples; gives their FSTs and weights."""
        fsts = [random_supervision() for _ in range(count)]
        # Numbers that text keeps.
        weights = RANDOM.integers(0, 9, (count, FRAMES)) / 8
        features = RANDOM.integers(-50, 50, (count, 14, 2)) / 8
        with open("in.ark", "wb") as archive:
            for i, fst in enumerate(fsts):
                archive.write(f"utt-{i} \0B".encode() + example(fst, features[i], weights[i]))
        return fsts, weights

    def program(self, name, *arguments):
        return self.run_program(BIN / f"nnet3-chain-{name}-egs", *arguments)

    def test_copies(self):
        """Binary to text to binary gives what came in, but for the shorter form of indexes."""
        fsts, _ = self.archive(20)
        self.program("copy", "ark:in.ark", "ark:short.ark")
        self.program("copy", "ark:short.ark", "ark,t:text.ark")
        self.program("copy", "ark:text.ark", "ark:again.ark")
        with open("short.ark", "rb") as short, open("again.ark", "rb") as again, open("in.ark", "rb") as original:
            copied, whole = short.read(), original.read()
            self.assertEqual(copied, again.read())
        for fst in fsts:
            self.assertIn(compact(fst), copied)
            self.assertIn(compact(fst), whole)

    def test_merging(self):
        for count in (1, 2, 3, 8):
            fsts, weights = self.archive(count)
            text = self.program("merge", f"--minibatch-size={count}", "ark:in.ark", "ark,t:-").decode()
            self.assertTrue(text.startswith(f"merged-0-{count} "))
            merged, merged_weights = parts_of_text(text)
            self.assertEqual(len(merged_weights), FRAMES * count)
            np.testing.assert_allclose(merged_weights, weights.T.flatten(), rtol=1e-6)
            joined = fsts[-1].copy()
            for fst in reversed(fsts[:-1]):
                prepend(fst, joined)
            if count > 1:
                joined.rmepsilon()
                self.assertEqual(contents(merged), breadth_first(joined))
            else:
                self.assertEqual(contents(merged), contents(joined))

    def test_normalization(self):
        """Costs of the normalization FST, as OpenFst determinizes, minimizes and composes."""
        normalization = openfst.VectorFst()
        states = [normalization.add_state() for _ in range(6)]
        normalization.set_start(0)
        for source in states:
            normalization.set_final(source, 0)
            for label in range(1, LABELS):
                for target in RANDOM.permutation(states)[: RANDOM.integers(1, 3)]:
                    weight = openfst.Weight("tropical", float(RANDOM.integers(1, 40)) / 8)
                    normalization.add_arc(source, openfst.Arc(label, label, weight, int(target)))
        normalization.arcsort()
        normalization.write("normalization.fst")
        fsts, _ = self.archive(40)
        self.program("normalize", "normalization.fst", "ark:in.ark", "ark:out.ark")
        texts = self.program("copy", "ark:out.ark", "ark,t:-").decode().split("</Nnet3ChainEg> ")
        found = {text.split()[0]: parts_of_text(text)[0] for text in texts if text}
        for i, fst in enumerate(fsts):
            theirs = openfst.compose(openfst.determinize(fst).minimize(), normalization)
            if theirs.num_states() == 0:
                self.assertNotIn(f"utt-{i}", found)
                continue
            theirs = openfst.determinize(theirs).minimize()
            self.assertTrue(openfst.isomorphic(found[f"utt-{i}"], theirs, delta=1e-4), i)
        self.assertGreater(len(found), 10)


if __name__ == "__main__":
    unittest.main()
