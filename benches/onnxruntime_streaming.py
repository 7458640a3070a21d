#!/usr/bin/env python3
"""Chunks of a stream here and in onnxruntime, one thread each, in turns.

    pip install numpy onnxruntime
    benches/onnxruntime_streaming.py [--programs=target/release] [--rounds=3] [--level=avx2] [--weights=int8]
                                     FACTOR:FRAMES[,FRAMES...]:NETWORK...

NETWORK is a model or a configuration file for nnet3-init, with an output for every FACTOR frames; FRAMES are those of a chunk.
nnet3-export makes models for streaming of it. Both sides go through one minute of random features in ten utterances, each with
its first chunk; the program examples/chunk_latency measures this side (cargo build --release --example chunk_latency). Prints a
Markdown table of milliseconds of processor time: median and 99th percentile of all chunks but the first ones, and seconds of
processor time for the minute, the least of the rounds; the ratio is of these. The states of onnxruntime's models are one
tensor or many, whichever is faster. --level and --weights are for this side only.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

UTTERANCES, FRAMES = 10, 600


def program(options, name, *arguments):
    command = [os.path.join(options.programs, name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}\n{done.stderr}")
    return done.stdout


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Stream:
    """The two graphs of a folder, with random inputs."""

    def __init__(self, folder):
        self.graphs = [session(f"{folder}/{name}.onnx") for name in ("first", "step")]
        facts = self.graphs[1].get_modelmeta().custom_metadata_map
        self.chunk = int(facts["chunk_size"])
        first = int(facts["first_chunk_frames"]) - int(facts["left_context"])
        self.chunks = 1 + (FRAMES - first) // self.chunk
        random = np.random.default_rng(1)
        self.given = [
            {
                value.name: random.standard_normal([n if isinstance(n, int) else 1 for n in value.shape], dtype=np.float32)
                for value in graph.get_inputs()
                if not value.name.startswith("state")
            }
            for graph in self.graphs
        ]
        self.names = [[value.name for value in graph.get_outputs()] for graph in self.graphs]
        self.states = [[name.replace("_out", "_in") for name in names] for names in self.names]

    def run(self):
        """Processor seconds of first chunks, and of the others."""
        first, later = [], []
        for _ in range(UTTERANCES):
            states = {}
            for chunk in range(self.chunks):
                which = min(chunk, 1)
                start = time.thread_time()
                values = self.graphs[which].run(self.names[which], self.given[which] | states)
                states = dict(zip(self.states[which], values))
                output = states.pop("output")
                (later if which else first).append(time.thread_time() - start)
                assert output.shape[0] == 1
        return first, later


def ours(options, model, factor, frames):
    arguments = [f"--utterances={UTTERANCES}", f"--utterance-frames={FRAMES}"]
    arguments += [f"--level={options.level}"] if options.level else []
    arguments += [f"--weights={options.weights}"] if options.weights else []
    return json.loads(program(options, "examples/chunk_latency", *arguments, model, factor, frames))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="target/release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--level")
    parser.add_argument("--weights")
    parser.add_argument("cases", nargs="+", metavar="FACTOR:FRAMES[,FRAMES...]:NETWORK")
    options = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}\n")
    print("| network | frames of a chunk | here: median | 99th | a minute, s | onnxruntime: median | 99th | a minute, s | ratio |")
    print("|---" * 9 + "|")
    for case in options.cases:
        factor, chunks, network = case.split(":", 2)
        name = os.path.basename(os.path.dirname(os.path.abspath(network)))
        with tempfile.TemporaryDirectory() as folder:
            model = network
            if subprocess.run([f"{options.programs}/nnet3-info", network], capture_output=True).returncode != 0:
                model = f"{folder}/model"
                program(options, "nnet3-init", network, model)
            for frames in chunks.split(","):
                streams = []
                for packed in ("false", "true"):
                    place = f"{folder}/{frames}.{packed}"
                    program(options, "nnet3-export", "--streaming=true", f"--frames-per-chunk={frames}",
                            f"--frame-subsampling-factor={factor}", f"--pack-states={packed}", model, place)
                    streams.append(Stream(place))
                best, theirs = None, None
                for _ in range(options.rounds):
                    found = ours(options, model, factor, frames)
                    if best is None or found["seconds"] < best["seconds"]:
                        best = found
                    for stream in streams:
                        first, later = stream.run()
                        if theirs is None or sum(first) + sum(later) < sum(theirs[0]) + sum(theirs[1]):
                            theirs = (first, later)
                # Chunks are multiples of what the network wants, on both sides the same.
                assert best["frames"] == streams[0].chunk, f"chunks of {best['frames']} and {streams[0].chunk} frames"
                assert best["chunks"] == len(theirs[0]) + len(theirs[1]), f"{best['chunks']} chunks here"
                seconds = sum(theirs[0]) + sum(theirs[1])
                median, most = (1e3 * float(np.quantile(theirs[1], q)) for q in (0.5, 0.99))
                print(
                    f"| {name} | {streams[0].chunk} | {best['median_ms']:.2f} | {best['p99_ms']:.2f} | {best['seconds']:.3f} "
                    f"| {median:.2f} | {most:.2f} | {seconds:.3f} | {best['seconds'] / seconds:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
