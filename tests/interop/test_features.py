"""The programs around the networks against numpy, on archives that other libraries write and read."""

import unittest
from pathlib import Path

import kaldi_native_io as native
import kaldiio
import numpy as np

from support import BIN, InteropTest, add_tests


def features(seed, lengths, dim):
    random = np.random.default_rng(seed)
    return {f"utt{i}": (random.standard_normal((n, dim)) * 3 + 5).astype(np.float32) for i, n in enumerate(lengths)}


def at(feats, t):
    """Frames at times `t`, those outside the utterance repeating its edges."""
    return feats[np.clip(t, 0, len(feats) - 1)]


class FeatureTest(InteropTest):
    def setUp(self):
        super().setUp()
        self.features = features(1, [30, 7, 1], 4)
        kaldiio.save_ark("feats.ark", self.features, scp="feats.scp")

    def outputs(self, program, *arguments):
        self.run_program(BIN / program, *arguments, "ark:out.ark")
        return dict(kaldiio.load_ark("out.ark"))

    def check(self, found, expected, tolerance=1e-5):
        self.assertEqual(list(found), list(expected))
        for key, value in expected.items():
            np.testing.assert_allclose(found[key], value, rtol=tolerance, atol=tolerance)

    def test_splicing(self):
        expected = {}
        for key, feats in self.features.items():
            t = np.arange(len(feats))
            expected[key] = np.hstack([at(feats, t + j) for j in range(-3, 3)])
        found = self.outputs("splice-feats", "--left-context=3", "--right-context=2", "ark:feats.ark")
        self.check(found, expected, 0)

    def test_deltas(self):
        window = 2
        norm = sum(j * j for j in range(-window, window + 1))
        # The second window is the first convolved with itself.
        first = np.arange(-window, window + 1) / norm
        second = np.convolve(first, first)
        expected = {}
        for key, feats in self.features.items():
            t = np.arange(len(feats))
            parts = [feats.astype(np.float64)]
            for weights in [first, second]:
                half = len(weights) // 2
                parts.append(sum(w * at(feats, t + j - half).astype(np.float64) for j, w in enumerate(weights)))
            expected[key] = np.hstack(parts)
        self.check(self.outputs("add-deltas", "ark:feats.ark"), expected)

    def test_normalisation(self):
        Path("utt2spk").write_text("utt0 x\nutt1 x\nutt2 y\n")
        Path("spk2utt").write_text("x utt0 utt1\ny utt2\n")
        self.run_program(BIN / "compute-cmvn-stats", "--spk2utt=ark:spk2utt", "scp:feats.scp", "ark,scp:cmvn.ark,cmvn.scp")
        together = np.vstack([self.features["utt0"], self.features["utt1"]]).astype(np.float64)
        with native.SequentialDoubleMatrixReader("ark:cmvn.ark") as reader:
            stats = {key: np.array(value) for key, value in reader}
        self.assertEqual(list(stats), ["x", "y"])
        np.testing.assert_allclose(stats["x"][0], [*together.sum(axis=0), len(together)], rtol=1e-6)
        np.testing.assert_allclose(stats["x"][1], [*(together ** 2).sum(axis=0), 0], rtol=1e-6)
        found = self.outputs("apply-cmvn", "--norm-vars=true", "--utt2spk=ark:utt2spk", "scp:cmvn.scp", "scp:feats.scp")
        for key in ["utt0", "utt1"]:
            expected = (self.features[key] - together.mean(axis=0)) / together.std(axis=0)
            np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-4)
        # Statistics that others write, as float and in text.
        kaldiio.save_ark("other.ark", {key: value.astype(np.float32) for key, value in stats.items()}, text=True)
        again = self.outputs("apply-cmvn", "--norm-vars=true", "--utt2spk=ark:utt2spk", "ark:other.ark", "scp:feats.scp")
        self.check(again, found, 1e-3)

    def test_sliding_and_online_normalisation(self):
        found = self.outputs("apply-cmvn-sliding", "--cmn-window=11", "--center=true", "ark:feats.ark")
        expected = {}
        for key, feats in self.features.items():
            rows = []
            for t in range(len(feats)):
                start = min(max(t - 5, 0), max(len(feats) - 11, 0))
                rows.append(feats[t] - feats[start:start + 11].mean(axis=0, dtype=np.float64))
            expected[key] = np.array(rows)
        self.check(found, expected)

        self.run_program(BIN / "compute-cmvn-stats", "ark:feats.ark", "global.mat")
        everything = np.vstack(list(self.features.values())).astype(np.float64)
        found = self.outputs("apply-cmvn-online", "--cmn-window=10", "--global-frames=4", "global.mat", "ark:feats.ark")
        expected = {}
        for key, feats in self.features.items():
            rows = []
            for t in range(len(feats)):
                window = feats[max(t - 9, 0):t + 1].astype(np.float64)
                more = min(10 - len(window), 4)
                mean = (window.sum(axis=0) + more * everything.mean(axis=0)) / (len(window) + more)
                rows.append(feats[t] - mean)
            expected[key] = np.array(rows)
        self.check(found, expected)

    def test_transforms(self):
        random = np.random.default_rng(5)
        for cols in [4, 5]:
            matrix = random.standard_normal((3, cols)).astype(np.float32)
            kaldiio.save_mat("m.mat", matrix)
            with_one = {key: np.hstack([feats, np.ones((len(feats), 1))]) for key, feats in self.features.items()}
            expected = {key: feats[:, :cols] @ matrix.T for key, feats in with_one.items()}
            self.check(self.outputs("transform-feats", "m.mat", "ark:feats.ark"), expected, 1e-4)

    def test_sums(self):
        self.run_program(BIN / "matrix-sum-rows", "ark:feats.ark", "ark:rows.ark")
        self.run_program(BIN / "vector-sum", "ark:rows.ark", "sum.vec")
        total = np.vstack(list(self.features.values())).sum(axis=0, dtype=np.float64)
        np.testing.assert_allclose(kaldiio.load_mat("sum.vec"), total, rtol=1e-6)
        found = self.outputs("matrix-sum", "--scale2=-0.5", "ark:feats.ark", "scp:feats.scp")
        self.check(found, {key: 0.5 * feats for key, feats in self.features.items()})

    def check_compression(self, method):
        integers = {key: np.clip(np.round(feats), 0, 255).astype(np.float32) for key, feats in self.features.items()}
        source = integers if method in [4, 6] else self.features
        kaldiio.save_ark("feats.ark", source)
        self.run_program(BIN / "copy-feats", "--compress=true", f"--compression-method={method}", "ark:feats.ark", "ark:ours.ark")
        with native.CompressedMatrixWriter("ark:theirs.ark") as writer:
            for key, value in source.items():
                writer.write(key, value, native.CompressionMethod(method))
        self.assertEqual(Path("ours.ark").read_bytes(), Path("theirs.ark").read_bytes())
        self.run_program(BIN / "copy-feats", "ark:theirs.ark", "ark:expanded.ark")
        with native.SequentialFloatMatrixReader("ark:ours.ark") as reader:
            expected = {key: np.array(value) for key, value in reader}
        self.check(dict(kaldiio.load_ark("expanded.ark")), expected, 1e-6)


add_tests(FeatureTest, "compression_method", FeatureTest.check_compression, {str(m): (m,) for m in range(1, 8)})


class PosteriorTest(InteropTest):
    POSTERIOR = [[(3, 0.5), (1, 0.25)], [], [(0, 1.0)]]

    def test_forms(self):
        with native.PosteriorWriter("ark:post.ark") as writer:
            writer["a"] = self.POSTERIOR
        self.run_program(BIN / "post-to-weights", "ark:post.ark", "ark:weights.ark")
        np.testing.assert_allclose(dict(kaldiio.load_ark("weights.ark"))["a"], [0.75, 0, 1])
        self.run_program(BIN / "copy-post", "--scale=2", "ark:post.ark", "ark:scaled.ark")
        with native.SequentialPosteriorReader("ark:scaled.ark") as reader:
            found = {key: value for key, value in reader}
        self.assertEqual([list(map(tuple, frame)) for frame in found["a"]], [[(3, 1.0), (1, 0.5)], [], [(0, 2.0)]])

    def test_alignments(self):
        with native.Int32VectorWriter("ark:ali.ark") as writer:
            writer["a"] = [4, 4, 2]
        self.run_program(BIN / "ali-to-post", "ark:ali.ark", "ark:post.ark")
        with native.SequentialPosteriorReader("ark:post.ark") as reader:
            found = {key: value for key, value in reader}
        self.assertEqual([list(map(tuple, frame)) for frame in found["a"]], [[(4, 1.0)], [(4, 1.0)], [(2, 1.0)]])


class LdaTest(InteropTest):
    """Transforms against eigenvectors that numpy finds."""

    CLASSES, DIM = 4, 3

    def setUp(self):
        super().setUp()
        random = np.random.default_rng(7)
        self.labels = np.arange(400) % self.CLASSES
        means = random.standard_normal((self.CLASSES, self.DIM)) * 2
        mixing = random.standard_normal((self.DIM, self.DIM)) + 2 * np.eye(self.DIM)
        self.vectors = (means[self.labels] + random.standard_normal((400, self.DIM)) @ mixing).astype(np.float32)
        Path("net.config").write_text(f"input-node name=input dim={self.DIM}\noutput-node name=output input=input\n")
        kaldiio.save_ark("feats.ark", {"utt": self.vectors})
        with native.PosteriorWriter("ark:post.ark") as writer:
            writer["utt"] = [[(int(label), 1.0)] for label in self.labels]
        self.run_program(BIN / "nnet3-init", "net.config", "net.raw")
        self.run_program(BIN / "nnet3-get-egs", f"--num-pdfs={self.CLASSES}", "--num-frames=8", "--compress=false",
                         "ark:feats.ark", "ark:post.ark", "ark:egs.ark")
        self.run_program(BIN / "nnet3-acc-lda-stats", "net.raw", "ark:egs.ark", "1.acc")
        x = self.vectors.astype(np.float64)
        self.mean = x.mean(axis=0)
        class_means = np.array([x[self.labels == c].mean(axis=0) for c in range(self.CLASSES)])
        self.within = np.cov((x - class_means[self.labels]).T, bias=True)
        self.between = np.cov(class_means.T, bias=True)

    def directions(self):
        """Rows that make the within-class covariance 1, by falling between-class variance."""
        values, vectors = np.linalg.eig(np.linalg.solve(self.within, self.between))
        order = np.argsort(-values.real)
        rows = vectors.real.T[order]
        rows /= np.sqrt(np.einsum("ij,jk,ik->i", rows, self.within, rows))[:, None]
        return values.real[order], rows

    def assert_same_rows(self, found, expected):
        """The sign of a direction is nobody's choice."""
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a * np.sign(a[0]), b * np.sign(b[0]), rtol=1e-3, atol=1e-3)

    def test_discriminant_analysis(self):
        self.run_program(BIN / "est-lda", "--dim=2", "lda.mat", "1.acc")
        self.assert_same_rows(kaldiio.load_mat("lda.mat"), self.directions()[1][:2])

    def test_feature_transform(self):
        self.run_program(BIN / "nnet-get-feature-transform", "--max-singular-value=0", "--within-class-factor=0.01",
                         "lda.mat", "1.acc")
        found = kaldiio.load_mat("lda.mat")
        values, rows = self.directions()
        rows *= np.sqrt((0.01 + values) / (1 + values))[:, None]
        self.assert_same_rows(found[:, :-1], rows)
        np.testing.assert_allclose(found[:, -1], -found[:, :-1] @ self.mean, rtol=1e-4, atol=1e-4)

        limit = float(np.linalg.svd(rows, compute_uv=False)[:2].mean())
        self.run_program(BIN / "nnet-get-feature-transform", f"--max-singular-value={limit}",
                         "--within-class-factor=0.01", "limited.mat", "1.acc")
        limited = kaldiio.load_mat("limited.mat")[:, :-1]
        u, s, vt = np.linalg.svd(found[:, :-1], full_matrices=False)
        np.testing.assert_allclose(limited, u @ np.diag(np.minimum(s, limit)) @ vt, rtol=1e-3, atol=1e-3)


class OtherFormatsTest(InteropTest):
    """Files of other programs than Kaldi's, as Kaldi's own code writes them into archives."""

    def test_htk(self):
        matrices = features(4, [3, 1, 12], 5)
        with native.HtkMatrixWriter("ark,scp:htk.ark,htk.scp") as writer:
            for key, matrix in matrices.items():
                writer.write(key, (matrix, native.HtkHeader(len(matrix), 100000, 4 * matrix.shape[1], 9)))
        for table in ("ark:htk.ark", "scp:htk.scp", "ark:cat htk.ark |"):
            self.run_program(BIN / "copy-feats", "--htk-in=true", table, "ark:out.ark")
            copied = kaldiio.load_ark("out.ark")
            for (key, found), (name, expected) in zip(copied, matrices.items(), strict=True):
                self.assertEqual(key, name)
                np.testing.assert_array_equal(found, expected)

    def test_waves(self):
        random = np.random.default_rng(5)
        lengths = {"mono": (1, 8000), "stereo": (2, 123), "one": (1, 1)}
        with native.WaveWriter("ark,scp:wav.ark,wav.scp") as writer:
            for key, shape in lengths.items():
                samples = random.integers(-(2**15), 2**15, shape).astype(np.float32)
                writer.write(key, native.WaveData(16000, samples))
        for table in ("ark:wav.ark", "scp:wav.scp"):
            for option in ("--read-entire-file=true", "--read-entire-file=false"):
                self.run_program(BIN / "wav-to-duration", option, table, "ark,t:out.txt")
                with native.SequentialFloatReader("ark:out.txt") as reader:
                    durations = dict(reader)
                self.assertEqual(list(durations), list(lengths))
                for key, (_, count) in lengths.items():
                    self.assertAlmostEqual(durations[key], count / 16000, places=6)

    def test_shapes(self):
        """Kaldi's code finds the shapes of our matrices, compressed or not, from their headers."""
        matrices = features(6, [3, 1, 12], 5)
        kaldiio.save_ark("in.ark", matrices)
        for options in (["--compress=false"], ["--compress=true"], ["--compress=true", "--compression-method=5"]):
            self.run_program(BIN / "copy-feats", *options, "ark:in.ark", "ark,scp:out.ark,out.scp")
            with native.RandomAccessMatrixShapeReader("scp:out.scp") as reader:
                for key, matrix in matrices.items():
                    self.assertEqual((reader[key].num_rows, reader[key].num_cols), matrix.shape)


if __name__ == "__main__":
    unittest.main()
