#!/usr/bin/env python3
"""From sound to words without this repository's programs: kaldi-native-fbank, onnxruntime, kaldi-decoder.

Reads wave files (16 kHz, 16 bits, mono) and writes a line for each: its name and the words. With --streaming the sound comes in
pieces of a tenth of a second, and the network, the mean that is subtracted and the search keep their states.
"""

import argparse
import sys
import wave
from pathlib import Path

import kaldi_decoder
import kaldi_native_fbank as knf
import kaldifst
import numpy as np
import onnxruntime

RATE = 16000


def read_wave(path):
    """Samples in the range of 16-bit integers."""
    with wave.open(str(path)) as file:
        found = (file.getframerate(), file.getsampwidth(), file.getnchannels())
        if found != (RATE, 2, 1):
            sys.exit(f"{path}: expected {RATE} Hz, 2 bytes a sample and 1 channel, found {found}")
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32)


class Features:
    """Log-mel energies of sound that comes in pieces."""

    def __init__(self):
        options = knf.FbankOptions()
        options.frame_opts.samp_freq = RATE
        options.frame_opts.dither = 0
        options.frame_opts.snip_edges = False
        options.mel_opts.num_bins = 40
        self.fbank = knf.OnlineFbank(options)
        self.taken = 0

    def accept(self, samples, last):
        """The frames that have become ready."""
        self.fbank.accept_waveform(RATE, samples)
        if last:
            self.fbank.input_finished()
        frames = [self.fbank.get_frame(t) for t in range(self.taken, self.fbank.num_frames_ready)]
        self.taken += len(frames)
        return np.array(frames, np.float32).reshape(len(frames), 40)


class RunningMean:
    """Subtracts the mean of the last 600 frames; while there are fewer, up to 200 frames of the training data help out. That
    is what apply-cmvn-online does."""

    WINDOW, FROM_TRAINING = 600, 200

    def __init__(self, stats):
        self.training_sum, self.training_count = stats[0, :-1], stats[0, -1]
        self.frames = np.zeros((0, len(self.training_sum)))

    def apply(self, frames):
        first = len(self.frames)
        self.frames = np.concatenate([self.frames, frames])
        out = np.empty_like(frames)
        for i, frame in enumerate(frames):
            recent = self.frames[max(0, first + i + 1 - self.WINDOW) : first + i + 1]
            count, total = len(recent), recent.sum(axis=0)
            helped = min(self.FROM_TRAINING, self.WINDOW - count)
            total = total + self.training_sum * (helped / self.training_count)
            out[i] = frame - total / (count + helped)
        return out


class WholeNetwork:
    """A model of any length."""

    def __init__(self, path):
        self.model = onnxruntime.InferenceSession(str(path))
        facts = self.model.get_modelmeta().custom_metadata_map
        self.left, self.right = int(facts["left_context"]), int(facts["right_context"])

    def outputs(self, features):
        places = np.clip(np.arange(-self.left, len(features) + self.right), 0, len(features) - 1)
        return self.model.run(["output"], {"input": features[None, places]})[0][0]


class StreamingNetwork:
    """The two models of a stream: first.onnx for the first chunk, step.onnx for all others."""

    def __init__(self, folder):
        self.first, self.step = (onnxruntime.InferenceSession(f"{folder}/{name}.onnx") for name in ["first", "step"])
        facts = self.step.get_modelmeta().custom_metadata_map
        self.chunk, self.left = int(facts["chunk_size"]), int(facts["left_context"])
        self.right, self.first_chunk = int(facts["right_context"]), int(facts["first_chunk_frames"])

    def begin(self):
        self.states, self.frames, self.wanted, self.given = {}, None, 0, 0

    def advance(self, model, frames):
        names = [value.name for value in model.get_outputs()]
        results = dict(zip(names, model.run(names, {"input": frames[None], **self.states})))
        output = results.pop("output")[0]
        self.states = {name.replace("state_out", "state_in"): value for name, value in results.items()}
        return output

    def accept(self, features, last):
        """Outputs of all chunks that are complete; at the end, of all frames."""
        if self.frames is None and len(features):
            # The first frame is what comes before it, too.
            self.frames = features[[0] * self.left]
        self.wanted += len(features)
        if len(features):
            self.frames = np.concatenate([self.frames, features])
        if self.frames is None:
            return []
        if last:
            # The last frame is what comes after it, until all frames are in a chunk.
            self.frames = np.concatenate([self.frames, self.frames[[-1] * (self.right + self.first_chunk)]])
        outputs = []
        while self.given < self.wanted or not last:
            model, need = (self.step, self.chunk) if self.states else (self.first, self.first_chunk)
            if len(self.frames) < need:
                break
            output = self.advance(model, self.frames[:need])
            self.frames = self.frames[need:]
            outputs.append(output[: self.wanted - self.given] if last else output)
            self.given += len(outputs[-1])
        return outputs


class Search:
    """The best words so far, in a graph whose input labels are columns of the output, counted from 1."""

    def __init__(self, graph, words):
        self.graph = kaldifst.StdVectorFst.read(str(graph))
        self.words = {int(number): word for word, number in map(str.split, Path(words).read_text().splitlines())}

    def begin(self):
        self.decoder = kaldi_decoder.FasterDecoder(self.graph, kaldi_decoder.FasterDecoderOptions(beam=16.0))
        self.decoder.init_decoding()
        self.frames = 0

    def accept(self, outputs):
        outputs = np.ascontiguousarray(outputs)
        self.decoder.advance_decoding(kaldi_decoder.DecodableCtc(outputs, self.frames))
        self.frames += len(outputs)

    def text(self, use_final_probs):
        found, path = self.decoder.get_best_path(use_final_probs)
        if not found:
            return ""
        labels = kaldifst.get_linear_symbol_sequence(path)[2]
        return " ".join(self.words[label] for label in labels)


def whole(network, search, samples):
    features = Features().accept(samples, last=True)
    search.begin()
    search.accept(network.outputs(features - features.mean(axis=0)))
    return search.text(use_final_probs=True)


def streamed(network, search, samples, stats, show):
    features, mean = Features(), RunningMean(stats)
    network.begin()
    search.begin()
    piece = RATE // 10
    for start in range(0, len(samples), piece):
        last = start + piece >= len(samples)
        frames = mean.apply(features.accept(samples[start : start + piece], last))
        for outputs in network.accept(frames, last):
            search.accept(outputs)
            if show:
                print(f"\r{(start + piece) / RATE:6.1f} s  {search.text(use_final_probs=False)}", end="", file=sys.stderr)
    if show:
        print(file=sys.stderr)
    return search.text(use_final_probs=True)


def read_stats(path):
    """Sums and counts, as compute-cmvn-stats --binary=false writes them."""
    rows = path.read_text().replace("[", "").replace("]", "").strip().splitlines()
    return np.array([[float(word) for word in row.split()] for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streaming", action="store_true", help="the model is a folder with first.onnx and step.onnx")
    parser.add_argument("--stats", type=Path, help="sums over training features, for --streaming")
    parser.add_argument("--show", action="store_true", help="show words on stderr while the sound comes in")
    parser.add_argument("model", type=Path)
    parser.add_argument("graph", type=Path, help="HCLG with numbers of columns as input labels")
    parser.add_argument("words", type=Path, help="words.txt")
    parser.add_argument("waves", type=Path, nargs="+")
    options = parser.parse_args()
    if options.streaming and not options.stats:
        parser.error("--streaming needs --stats")
    search = Search(options.graph, options.words)
    if options.streaming:
        network, stats = StreamingNetwork(options.model), read_stats(options.stats)
    else:
        network = WholeNetwork(options.model)
    for path in options.waves:
        samples = read_wave(path)
        if options.streaming:
            text = streamed(network, search, samples, stats, options.show)
        else:
            text = whole(network, search, samples)
        print(path.stem, text)


if __name__ == "__main__":
    main()
