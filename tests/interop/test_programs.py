"""The programs with archives that other libraries have written, and their archives in other libraries."""

import unittest
from pathlib import Path

import kaldi_native_io as native
import kaldiio
import numpy as np

from support import BIN, InteropTest

# output(t) = input(t - 1) · [[2, 0], [0, 1]]ᵀ + input(t + 1) + [0.5, 0]
NETWORK = """<Nnet3> 
input-node name=input dim=2
component-node name=a component=a input=Append(Offset(input, -1), Offset(input, 1))
output-node name=output input=a objective=linear

<NumComponents> 1 
<ComponentName> a <AffineComponent> <LearningRate> 0.001 <LinearParams>  [
  2 0 1 0
  0 1 0 1 ]
<BiasParams>  [ 0.5 0 ]
</AffineComponent> 
</Nnet3> """


def expected_output(features):
    before = np.vstack([features[:1], features[:-1]])
    after = np.vstack([features[1:], features[-1:]])
    return before * [2, 1] + after + [0.5, 0]


class ComputeTest(InteropTest):
    def setUp(self):
        super().setUp()
        Path("net.raw").write_text(NETWORK)
        random = np.random.default_rng(3)
        self.features = {f"utt{i}": random.standard_normal((20 + i, 2)).astype(np.float32) for i in range(3)}

    def check(self, features_rspecifier, read_back=lambda path: dict(kaldiio.load_ark(path)), form="ark"):
        self.run_program(BIN / "nnet3-compute", "--use-gpu=no", "--frames-per-chunk=7", "net.raw",
                         features_rspecifier, f"{form}:out.ark")
        outputs = read_back("out.ark")
        self.assertEqual(list(outputs), list(self.features))
        for key, features in self.features.items():
            np.testing.assert_allclose(outputs[key], expected_output(features), rtol=1e-5, atol=1e-5)

    def native_outputs(self, path):
        with native.SequentialFloatMatrixReader(f"ark:{path}") as reader:
            return {key: np.array(value) for key, value in reader}

    def test_features_of_native_io(self):
        with native.FloatMatrixWriter("ark,scp:feats.ark,feats.scp") as writer:
            for key, value in self.features.items():
                writer[key] = value
        self.check("scp:feats.scp", self.native_outputs)
        self.check("ark:cat feats.ark |", self.native_outputs, form="ark,t")

    def test_features_of_kaldiio(self):
        for text in [False, True]:
            kaldiio.save_ark("feats.ark", self.features, scp="feats.scp", text=text)
            self.check("ark:feats.ark")
            self.check("scp:feats.scp", form="ark,t")

    def test_compressed_features(self):
        for method in [1, 2, 3, 5]:
            with native.CompressedMatrixWriter("ark:feats.ark") as writer:
                for key, value in self.features.items():
                    writer.write(key, value, native.CompressionMethod(method))
            self.features = self.native_outputs("feats.ark")
            self.check("ark:feats.ark")

    def test_double_precision_features(self):
        kaldiio.save_ark("feats.ark", {key: value.astype(np.float64) for key, value in self.features.items()})
        self.check("ark:feats.ark")

    def test_archive_and_script_of_outputs(self):
        kaldiio.save_ark("feats.ark", self.features)
        self.run_program(BIN / "nnet3-compute", "--use-gpu=no", "net.raw", "ark:feats.ark", "ark,scp:out.ark,out.scp")
        outputs = kaldiio.load_scp("out.scp")
        self.assertEqual(list(outputs), list(self.features))
        np.testing.assert_allclose(outputs["utt1"], expected_output(self.features["utt1"]), rtol=1e-5, atol=1e-5)


class EgsTest(InteropTest):
    POSTERIOR = [[(i % 4, 0.25), (4, 0.75)] for i in range(12)]

    def examples(self, features_rspecifier, posterior_rspecifier):
        egs = self.run_program(BIN / "nnet3-get-egs", "--num-pdfs=5", "--num-frames=4", "--left-context=1",
                               "--compress=false", features_rspecifier, posterior_rspecifier, "ark,t:-")
        return egs.decode()

    def test_features_and_posteriors(self):
        features = np.random.default_rng(4).standard_normal((12, 3)).astype(np.float32)
        with native.CompressedMatrixWriter("ark:feats.ark") as writer:
            writer.write("utt", features, native.CompressionMethod(3))
        with native.SequentialFloatMatrixReader("ark:feats.ark") as reader:
            expanded = {key: np.array(value) for key, value in reader}
        kaldiio.save_ark("full.ark", expanded)
        for form in ["ark", "ark,t"]:
            with native.PosteriorWriter(f"{form}:post.ark") as writer:
                writer["utt"] = self.POSTERIOR
            egs = self.examples("ark:full.ark", "ark:post.ark")
            # The same examples, whatever the forms of features and posteriors.
            self.assertEqual(self.examples("ark:feats.ark", "ark:post.ark"), egs)
            self.assertEqual(egs.count("<Nnet3Eg>"), 3)
            self.assertEqual(egs.count("rows=4 dim=5 [ 0 0.25 4 0.75 ] dim=5 [ 1 0.25 4 0.75 ] dim=5 [ 2 0.25 4 0.75 ]"), 3)
            for value in expanded["utt"][3]:
                self.assertIn(f" {value:.7g} ", egs)


if __name__ == "__main__":
    unittest.main()
