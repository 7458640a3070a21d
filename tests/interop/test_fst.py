"""FST files and operations, compared with OpenFst (through pywrapfst, which pynini brings).

Random FSTs are written by one side and read by the other; results of operations must be the same byte for byte where
OpenFst's own order is kept, else the same up to the numbering of states.
"""

import unittest

import numpy as np

from support import BIN, InteropTest, add_tests

try:
    import pywrapfst as openfst
except ImportError:  # No wheel for this version of Python or this machine.
    openfst = None

FST_OP = BIN / "examples" / "fst-op"
ROUNDS = 30


def random_fst(random, acceptor=True, cyclic=False, epsilons=0.3, final=0.3, states=8, labels=4):
    fst = openfst.VectorFst()
    count = int(random.integers(1, states))
    for _ in range(count):
        fst.add_state()
    fst.set_start(0 if random.random() < 0.8 else int(random.integers(count)))
    weight = lambda: openfst.Weight("tropical", float(random.integers(-3, 8)) / 4)
    for source in range(count):
        for _ in range(int(random.integers(4))):
            target = int(random.integers(count)) if cyclic else int(random.integers(source, count))
            if target == source and not cyclic:
                continue
            label = lambda: 0 if random.random() < epsilons else int(random.integers(1, labels))
            ilabel = label()
            olabel = ilabel if acceptor else label()
            fst.add_arc(source, openfst.Arc(ilabel, olabel, weight(), target))
        if random.random() < final or source == count - 1:
            fst.set_final(source, weight())
    return fst


def contents(fst):
    """Start, and of each state the final weight and the arcs."""
    if fst.start() == -1:
        return None
    arcs = lambda s: [(a.ilabel, a.olabel, float(a.weight), a.nextstate) for a in fst.arcs(s)]
    return fst.start(), [(float(fst.final(s)), arcs(s)) for s in fst.states()]


@unittest.skipIf(openfst is None, "pynini is not installed")
class Fst(InteropTest):
    def ours(self, operation, *fsts):
        """The file that an operation makes."""
        names = [f"{i}.fst" for i in range(len(fsts))]
        for fst, name in zip(fsts, names):
            fst.write(name)
        self.run_program(FST_OP, operation, *names, "out.fst")
        return "out.fst"

    def assert_same(self, name, fst):
        self.assertEqual(contents(openfst.Fst.read(name)), contents(fst))

    def each(self, seed, **options):
        random = np.random.default_rng(seed)
        for _ in range(ROUNDS):
            yield random_fst(random, **options)


def check_read(self, options):
    for fst in self.each(1, **options):
        self.assert_same(self.ours("copy", fst), fst)


def check_compact(self, options):
    """The same bytes, properties and all."""
    for fst in self.each(2, **options):
        name = self.ours("compact", fst)
        openfst.convert(fst, "compact_acceptor").write("theirs.fst")
        with open(name, "rb") as ours, open("theirs.fst", "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read(), str(fst))
        self.assert_same(self.ours("copy", openfst.Fst.read(name)), fst)


def check_properties(self, options):
    """OpenFst, verifying all properties that a file claims, finds no contradiction."""
    for fst in self.each(3, **options):
        written = openfst.Fst.read(self.ours("copy", fst))
        self.assertTrue(written.verify())
        everything = openfst.FstProperties(0xFFFFFFFF0000)
        self.assertEqual(written.properties(everything, False), fst.properties(everything, True))


def check_text(self, options):
    for fst in self.each(4, **options):
        with open(self.ours("text", fst)) as text:
            self.assertEqual(text.read(), "\n" + str(fst) + "\n")


def check_operation(self, operation, theirs, options):
    for fst in self.each(5, **options):
        name = self.ours(operation, fst)
        theirs(fst)
        self.assert_same(name, fst)


def prepend(first, second):
    """`second` with `first` before it, as OpenFst's Concat(first, &second) numbers states."""
    shift, start = second.num_states(), second.start()
    for _ in first.states():
        second.add_state()
    for source in first.states():
        for arc in first.arcs(source):
            second.add_arc(source + shift, openfst.Arc(arc.ilabel, arc.olabel, arc.weight, arc.nextstate + shift))
        if first.final(source) != openfst.Weight.zero("tropical"):
            second.add_arc(source + shift, openfst.Arc(0, 0, first.final(source), start))
    second.set_start(first.start() + shift)


def breadth_first(fst):
    """Contents as of `contents`, states in the order of a breadth-first search."""
    order = [fst.start()]
    for state in order:
        order.extend(dict.fromkeys(arc.nextstate for arc in fst.arcs(state) if arc.nextstate not in order))
    arcs = lambda s: [(a.ilabel, a.olabel, float(a.weight), order.index(a.nextstate)) for a in fst.arcs(s)]
    return 0, [(float(fst.final(s)), arcs(s)) for s in order]


def check_merge(self, options):
    """What merging of supervision does: concatenation, removal of epsilons, breadth-first order."""
    fsts = [fst.connect() for fst in self.each(6, **options)]
    for start in range(0, ROUNDS, 3):
        group = [fst for fst in fsts[start : start + 3] if fst.num_states() > 0]
        joined = group[-1].copy()
        for fst in reversed(group[:-1]):
            prepend(fst, joined)
        joined.rmepsilon()
        merged = openfst.Fst.read(self.ours("concat", *group))
        merged = openfst.Fst.read(self.ours("rmepsilon", merged))
        self.assertEqual(contents(openfst.Fst.read(self.ours("sort", merged))), breadth_first(joined))


def check_determinize(self, options):
    for fst in self.each(8, **options):
        self.assertTrue(openfst.isomorphic(openfst.Fst.read(self.ours("determinize", fst)), openfst.determinize(fst)))


def check_minimize(self, options):
    for fst in self.each(9, **options):
        fst = openfst.determinize(fst)
        ours = openfst.Fst.read(self.ours("minimize", fst))
        self.assertTrue(openfst.isomorphic(ours, fst.minimize(), delta=1e-4))


def check_compose(self, options):
    fsts = list(self.each(10, **options))
    for first, second in zip(fsts, fsts[1:]):
        ours = openfst.Fst.read(self.ours("compose", first, second))
        # Composition may find states in another order, and equal arcs twice.
        theirs = openfst.compose(first, second.arcsort())
        self.assertEqual((ours.num_states(), arcs(ours)), (theirs.num_states(), arcs(theirs)))
        if ours.num_states() > 0:
            self.assertTrue(openfst.equivalent(openfst.determinize(ours), openfst.determinize(theirs), delta=1e-4))


def arcs(fst):
    return sorted((a.ilabel, a.olabel, float(a.weight)) for s in fst.states() for a in fst.arcs(s))


ACCEPTORS = {"acyclic": ({"epsilons": 0.1},), "cyclic": ({"cyclic": True},), "plain": ({"epsilons": 0},)}
ALL = ACCEPTORS | {"transducers": ({"acceptor": False, "cyclic": True},)}
add_tests(Fst, "read", check_read, ALL)
add_tests(Fst, "compact", check_compact, ACCEPTORS)
add_tests(Fst, "properties", check_properties, ALL)
add_tests(Fst, "text", check_text, ALL)
add_tests(Fst, "merge", check_merge, {"acyclic": ({"epsilons": 0.1},), "plain": ({"epsilons": 0, "final": 0},)})
for operation in (check_determinize, check_minimize, check_compose):
    add_tests(Fst, operation.__name__, operation, {"plain": ({"epsilons": 0, "states": 12},)})
add_tests(
    Fst,
    "operation",
    check_operation,
    {
        "connect": ("connect", lambda fst: fst.connect(), {"cyclic": True, "acceptor": False}),
        "rmepsilon": ("rmepsilon", lambda fst: fst.rmepsilon(), {"epsilons": 0.4}),
        "rmepsilon_transducer": ("rmepsilon", lambda fst: fst.rmepsilon(), {"epsilons": 0.6, "acceptor": False}),
    },
)


if __name__ == "__main__":
    unittest.main()
