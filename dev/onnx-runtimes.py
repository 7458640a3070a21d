#!/usr/bin/env python3
"""Compares models of nnet3-export in other people's runtimes with nnet3-compute: the table of docs/export.md.

usage: onnx-runtimes.py [<folder-of-programs>] [--runtimes=NAME,...] [--networks=NAME,...] [--builds=<folder>] [--repeats=7]

A line for each network and runtime: the largest difference of an output from nnet3-compute's (relative to the largest
output, if that is above 1), the processor time of a run on one thread, and how many times ours that is. The time is the
least of several runs; ours is that of one more utterance in a run of nnet3-compute (for streams, of all its chunks). A
difference of 2e-5 or more is a failure, as is what does not load.

Packages of Python go into a temporary folder, in the versions below. The runtimes in Rust are built in one, too, from the
programs in onnx-runtimes/ (with --builds, in a folder that is kept); burn takes most of the time, about half an hour."""
import importlib.util
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.32.0", "openvino==2026.4.1", "tract==0.23.9",
            "grpcio-tools==1.85.1"]
# Programs in Rust, with their dependencies.
CRATES = {
    "rten": {"rten": "=0.27.0", "rten-tensor": "=0.27.0"},
    "candle": {"candle-onnx": "=0.11.1", "candle-core": "=0.11.1"},
    "burn": {"burn": {"version": "=0.23.0-pre.1", "default-features": False, "features": ["std", "flex"]},
             "burn-store": "=0.23.0-pre.1"},
}
BURN_ONNX = "=0.23.0-pre.1"
NCNN = ["ncnn==1.0.20261020", "pnnx==20261020"]
RUNTIMES = ["onnxruntime", "openvino", "tract", *CRATES, "ncnn"]
# Runtimes that are asked for some kinds of models only.
MODES = {"candle": {"any", "fixed", "speaker"}, "burn": {"any", "fixed", "speaker"}, "ncnn": {"fixed"}}
BAR = 2e-5
OUTPUTS = {"output", "embedding"}

OPTIONS = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))
PLACES = [word for word in sys.argv[1:] if not word.startswith("--")]
if len(PLACES) > 1 or not set(OPTIONS) <= {"runtimes", "networks", "builds", "repeats"}:
    sys.exit(__doc__)
REPEATS = int(OPTIONS.get("repeats", 7))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

try:
    import numpy as np
    import onnx
    import onnxruntime
    import openvino
    import tract
except ImportError:
    if "ONNX_RUNTIMES_VENV" in os.environ:
        raise
    with tempfile.TemporaryDirectory() as venv:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [f"{venv}/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES], check=True)
        # They bring no numpy of their own choice.
        subprocess.run([*pip, "--no-deps", *NCNN], check=True)
        done = subprocess.run([f"{venv}/bin/python", *sys.argv], env=os.environ | {"ONNX_RUNTIMES_VENV": venv})
        sys.exit(done.returncode)

TDNNF = "".join(
    ["input dim=40 name=input\nrelu-batchnorm-layer name=tdnn1 dim=512 input=Append(-1,0,1)\n"]
    + [f"tdnnf-layer name=tdnnf{i} dim=512 bottleneck-dim=96 time-stride={1 if i < 4 else 3}\n" for i in range(2, 9)]
    + ["prefinal-layer name=prefinal big-dim=512 small-dim=128 input=tdnnf8\noutput-layer name=output dim=1500\n"])
CNN = """input dim=40 name=input
conv-relu-batchnorm-layer name=cnn1 height-in=40 height-out=40 time-offsets=-1,0,1 height-offsets=-1,0,1 num-filters-out=32
conv-relu-batchnorm-layer name=cnn2 height-in=40 height-out=20 height-subsample-out=2 time-offsets=-1,0,1 \
height-offsets=-1,0,1 num-filters-out=64
conv-relu-batchnorm-layer name=cnn3 height-in=20 height-out=10 height-subsample-out=2 time-offsets=-1,0,1 \
height-offsets=-1,0,1 num-filters-out=64
tdnnf-layer name=tdnnf4 dim=256 bottleneck-dim=64 time-stride=3 bypass-scale=0.0
output-layer name=output dim=500 include-log-softmax=false
"""
LSTM = """input dim=40 name=input
relu-batchnorm-layer name=tdnn1 dim=256 input=Append(-1,0,1)
fast-lstmp-layer name=lstm1 cell-dim=256 recurrent-projection-dim=64 non-recurrent-projection-dim=64 delay=-3
output-layer name=output dim=300
"""
GRU = """input dim=40 name=input
relu-batchnorm-layer name=tdnn1 dim=256 input=Append(-1,0,1)
fast-gru-layer name=gru1 cell-dim=256 delay=-1
output-layer name=output dim=300
"""
XVECTOR = """input dim=80 name=input
relu-batchnorm-layer name=tdnn1 input=Append(-2,-1,0,1,2) dim=256
relu-batchnorm-layer name=tdnn2 input=Append(-2,0,2) dim=256
relu-batchnorm-layer name=tdnn3 input=Append(-3,0,3) dim=512
stats-layer name=stats config=mean+stddev(0:1:1:10000)
affine-layer name=tdnn6 dim=256 input=stats
relu-batchnorm-layer name=tdnn7 dim=256
output-layer name=output dim=30
output name=embedding input=tdnn6
"""


# ---- our programs ----------------------------------------------------------------------------------------------------
def children_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Programs:
    def __init__(self, folder):
        self.folder = folder

    def run(self, name, *words):
        done = subprocess.run([self.folder / name, *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            sys.exit(f"{name}: {lines[0] if lines else done.stderr}")


def write_archive(path, tables):
    with open(path, "wb") as file:
        for key, table in tables.items():
            table = np.ascontiguousarray(table, dtype="<f4")
            sizes = b"".join(b"\4" + size.to_bytes(4, "little") for size in table.shape)
            file.write(f"{key} ".encode() + b"\0BFM " + sizes + table.tobytes())


def read_archive(path):
    data, tables, at = path.read_bytes(), {}, 0
    while at < len(data):
        end = data.index(b" ", at)
        rows, cols = (int.from_bytes(data[end + i : end + i + 4], "little") for i in (7, 12))
        at_end = end + 16 + 4 * rows * cols
        tables[data[at:end].decode()] = np.frombuffer(data[end + 16 : at_end], "<f4").reshape(rows, cols)
        at = at_end
    return tables


def metadata(path):
    return {entry.key: entry.value for entry in onnx.load(path, load_external_data=False).metadata_props}


class Case:
    """A network with its models, the inputs of calls one after another, and what nnet3-compute makes of the same."""

    def __init__(self, name, xconfig, mode, frames, subsampling=1):
        self.name, self.xconfig, self.mode, self.frames, self.subsampling = name, xconfig, mode, frames, subsampling

    def prepare(self, programs, folder):
        folder.mkdir()
        (folder / "net.xconfig").write_text(self.xconfig)
        programs.run("nnet3-xconfig-to-configs", f"--xconfig-file={folder}/net.xconfig", f"--config-dir={folder}")
        config = folder / "final.config"
        config.write_text(config.read_text().replace("param-stddev=0.0 ", "").replace("bias-stddev=0.0", ""))
        programs.run("nnet3-init", "--srand=3", config, folder / "0.raw")
        self.network, self.folder, self.programs = folder / "0.raw", folder, programs
        out = folder / (self.name.replace("-", "_") + ("" if self.mode == "stream" else ".onnx"))
        words = {"any": [], "fixed": ["--fixed-frames=true", f"--frames-per-chunk={self.frames}"],
                 "stream": ["--streaming=true", "--frames-per-chunk=21"],
                 "speaker": ["--sherpa=speaker", "--outputs=embedding"]}[self.mode]
        if self.subsampling > 1:
            words = [f"--frame-subsampling-factor={self.subsampling}", *words]
        programs.run("nnet3-export", *words, self.network, out)
        self.models = [out / "first.onnx", out / "step.onnx"] if self.mode == "stream" else [out]
        self.facts = metadata(self.models[-1])
        dim = int(self.facts["input_dim"])
        features = np.random.default_rng(5).standard_normal((self.frames, dim)).astype("f4")
        self.wanted = self.ours(features, 1)
        padded = self.around(features)
        if self.mode == "stream":
            size = int(self.facts["chunk_size"])
            first = int(metadata(self.models[0])["first_chunk_frames"])
            cuts = [0, *range(first, len(padded) + 1, size)]
            self.inputs = [padded[a:b] for a, b in zip(cuts, cuts[1:])]
        else:
            self.inputs = [padded]

    def around(self, features):
        if self.mode == "speaker":
            return features
        left, right = int(self.facts["left_context"]), int(self.facts["right_context"])
        more = 100 if self.mode == "stream" else 0
        rows = features[np.clip(np.arange(-left, len(features) + right + more), 0, len(features) - 1)]
        if self.mode == "fixed":
            rows = rows[: onnx.load(self.models[0]).graph.input[0].type.tensor_type.shape.dim[1].dim_value]
        return rows

    def ours(self, features, count):
        """The output for the features, computed `count` times, and the seconds of all."""
        folder = self.folder
        write_archive(folder / "feats.ark", {f"s{i}": features for i in range(count)})
        if self.mode == "speaker":
            return self.our_vector()
        words = [f"--frame-subsampling-factor={self.subsampling}", "--use-gpu=no"]
        if self.mode == "stream":
            words += ["--looped=true", f"--frames-per-chunk={self.facts['chunk_size']}"]
        else:
            words.append(f"--frames-per-chunk={self.frames + 1000 if self.mode == 'any' else self.frames}")
        start = children_time()
        self.programs.run("nnet3-compute", *words, self.network, f"ark:{folder}/feats.ark", f"ark:{folder}/out.ark")
        self.seconds = children_time() - start
        return read_archive(folder / "out.ark")["s0"]

    def our_vector(self):
        folder = self.folder
        (folder / "x.config").write_text("output-node name=output input=tdnn6\n")
        self.programs.run("nnet3-copy", f"--nnet-config={folder}/x.config", self.network, folder / "x.raw")
        start = children_time()
        self.programs.run("nnet3-xvector-compute", "--use-gpu=no", "--chunk-size=-1", folder / "x.raw",
                          f"ark:{folder}/feats.ark", f"ark:{folder}/vectors.ark")
        self.seconds = children_time() - start
        self.programs.run("copy-vector", f"ark:{folder}/vectors.ark", f"ark,t:{folder}/vectors.txt")
        line = (folder / "vectors.txt").read_text().splitlines()[0]
        return np.array(line.split("[")[1].split("]")[0].split(), "f4")

    def our_time(self):
        features = np.random.default_rng(5).standard_normal((self.frames, int(self.facts["input_dim"]))).astype("f4")
        few, many = [], []
        for _ in range(min(REPEATS, 5)):
            for list_, count in ((few, 1), (many, 9)):
                self.ours(features, count)
                list_.append(self.seconds)
        return max(min(many) - min(few), 1e-9) / 8


CASES = [
    Case("tdnnf-any", TDNNF, "any", 600, 3),
    Case("tdnnf-fixed", TDNNF, "fixed", 150, 3),
    Case("cnn-any", CNN, "any", 600, 3),
    Case("cnn-fixed", CNN, "fixed", 150, 3),
    Case("lstm-fixed", LSTM, "fixed", 50),
    Case("gru-fixed", GRU, "fixed", 50),
    Case("xvector-any", XVECTOR, "speaker", 600),
    Case("tdnnf-stream", TDNNF, "stream", 600, 3),
    Case("lstm-stream", LSTM, "stream", 300),
    Case("gru-stream", GRU, "stream", 300),
]


# ---- runtimes --------------------------------------------------------------------------------------------------------
class Onnxruntime:
    def load(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(self, model, inputs):
        names = [value.name for value in model.get_outputs()]
        start = time.process_time()
        found = model.run(names, inputs)
        return dict(zip(names, found)), time.process_time() - start


class Openvino:
    def load(self, path):
        hints = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
        return openvino.Core().compile_model(str(path), "CPU", hints)

    def run(self, model, inputs):
        start = time.process_time()
        found = model(inputs)
        seconds = time.process_time() - start
        # Names of values within the model come with those of outputs.
        name = lambda port: min(port.get_names(), key=lambda name: (not name.startswith("state_out"), name not in OUTPUTS))
        return {name(port): np.array(found[port]) for port in model.outputs}, seconds


class Tract:
    def load(self, path):
        model = tract.onnx().load(str(path))
        names = [[getattr(model, f"{kind}_name")(i) for i in range(getattr(model, f"{kind}_count")())]
                 for kind in ("input", "output")]
        return model.into_model().into_runnable(), *names

    def run(self, model, inputs):
        runnable, given, names = model
        start = time.process_time()
        found = runnable.run([np.ascontiguousarray(inputs[name]) for name in given])
        seconds = time.process_time() - start
        return {name: value.to_numpy() for name, value in zip(names, found)}, seconds


class Ncnn:
    """A model of a fixed length and one sequence, by pnnx."""

    def load(self, path):
        model = onnx.load(path)
        shape = [dim.dim_value or 1 for dim in model.graph.input[0].type.tensor_type.shape.dim]
        folder = path.with_suffix(".ncnn")
        folder.mkdir(exist_ok=True)
        shutil.copy(path, folder / "m.onnx")
        # The program itself: what Python calls wants torch.
        places = importlib.util.find_spec("pnnx").submodule_search_locations
        tool = next(path for place in places for path in pathlib.Path(place).rglob("pnnx") if path.is_file())
        done = subprocess.run([tool, "m.onnx", f"inputshape=[{','.join(map(str, shape))}]", "fp16=0"], cwd=folder,
                              capture_output=True, text=True)
        if not (folder / "m.ncnn.param").exists():
            raise ValueError(f"pnnx: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
        lines = (folder / "m.ncnn.param").read_text().splitlines()
        unknown = sorted({line.split()[0] for line in lines[2:] if "." in line.split()[0] or "::" in line.split()[0]})
        if unknown:
            raise ValueError(f"ncnn has no {', '.join(unknown)}")
        return folder

    def run(self, model, inputs):
        # pnnx keeps the sequences as an axis, or not.
        try:
            return self.run_once(model, inputs["input"])
        except ValueError:
            return self.run_once(model, inputs["input"][0])

    def run_once(self, model, rows):
        np.save(model / "in.npy", rows)
        code = ("import sys, time, numpy as np, ncnn\n"
                "net = ncnn.Net()\no = net.opt\no.use_fp16_packed = o.use_fp16_storage = o.use_fp16_arithmetic = False\n"
                "o.use_bf16_storage = False\no.num_threads = 1\n"
                "net.load_param('m.ncnn.param')\nnet.load_model('m.ncnn.bin')\nx = np.load('in.npy')\nbest = 9e9\n"
                f"for _ in range({REPEATS}):\n"
                "    start = time.process_time()\n    e = net.create_extractor(); e.input('in0', ncnn.Mat(x).clone())\n"
                "    _, out = e.extract('out0'); best = min(best, time.process_time() - start)\n"
                "np.save('out.npy', np.array(out)); print(best)\n")
        done = subprocess.run([sys.executable, "-c", code], cwd=model, capture_output=True, text=True)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
            raise ValueError(f"ncnn: {last[0]}")
        found = np.load(model / "out.npy")
        return {"output": found.reshape(1, -1, found.shape[-1])}, float(done.stdout.split()[-1])


class Rust:
    """A program that answers as onnx-runtimes/serve.rs says."""

    def __init__(self, name, folder, cases):
        self.folder = folder / name
        self.models = 0
        build = self.folder
        (build / "src").mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "onnx-runtimes" / f"{name}.rs", build / "src/main.rs")
        shutil.copy(HERE / "onnx-runtimes/serve.rs", build / "src")
        lines = [f'[package]\nname = "run-{name}"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]']
        for crate, version in CRATES[name].items():
            if isinstance(version, dict):
                version = "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in version.items()) + " }"
            else:
                version = json.dumps(version)
            lines.append(f"{crate} = {version}")
        lines.append("\n[workspace]")
        if name == "burn":
            # The program and its build script both need burn. With the same features and optimization it is built once.
            lines.append('resolver = "1"\n\n[profile.release.build-override]\nopt-level = 3')
            lines.append(f'\n[build-dependencies]\nburn-onnx = "{BURN_ONNX}"')
            self.burn(build, cases)
        (build / "Cargo.toml").write_text("\n".join([*lines, ""]))
        # candle-onnx calls protoc.
        protoc = folder / "protoc"
        protoc.write_text(f'#!/bin/sh\nexec {sys.executable} -m grpc_tools.protoc "$@"\n')
        protoc.chmod(0o755)
        target = folder / "target"
        done = subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=build, capture_output=True, text=True,
                              env=os.environ | {"CARGO_TARGET_DIR": str(target), "PROTOC": str(protoc)})
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line or "panicked" in line]
            raise ValueError(f"does not build: {(errors or done.stderr.splitlines())[0]}")
        self.process = subprocess.Popen([target / f"release/run-{name}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    @staticmethod
    def burn(build, cases):
        """A module and a function for each model of one graph, of one sequence."""
        models, arms = [], []
        for case in cases:
            if case.mode == "stream":
                continue
            model = onnx.load(case.models[0])
            stem = case.models[0].stem
            shutil.copy(case.models[0], build / f"src/{stem}.onnx")
            ranks = [len(value.type.tensor_type.shape.dim) for value in model.graph.input]
            given = ", ".join(f"tensor::<{rank}>(&inputs[{i}])" for i, rank in enumerate(ranks))
            models.append(f'mod {stem} {{\n    include!(concat!(env!("OUT_DIR"), "/model/{stem}.rs"));\n}}')
            arms.append(f'"{stem}" => {{\n            let model = {stem}::Model::default();\n'
                        f"            Box::new(move |inputs| vec![back(model.forward({given}))])\n        }}")
        (build / "src/models.rs").write_text(
            "use crate::serve::Tensor;\nuse burn::tensor::{Device, TensorData};\n\n"
            "pub type Run = Box<dyn Fn(&[Tensor]) -> Vec<Tensor>>;\n\n"
            "fn tensor<const D: usize>(given: &Tensor) -> burn::tensor::Tensor<D> {\n"
            "    let data = TensorData::new(given.data.clone(), given.dims.clone());\n"
            "    burn::tensor::Tensor::from_data(data, &Device::default())\n}\n\n"
            "fn back<const D: usize>(value: burn::tensor::Tensor<D>) -> Tensor {\n"
            "    let dims = value.dims().to_vec();\n"
            "    Tensor { name: \"output\".to_string(), dims, data: value.into_data().to_vec::<f32>().unwrap() }\n}\n\n"
            + "\n".join(models) + "\n\npub fn load(name: &str) -> Option<Run> {\n    Some(match name {\n        "
            + "\n        ".join(arms) + "\n        _ => return None,\n    })\n}\n")
        inputs = "".join(f'\n        .input("src/{case.models[0].stem}.onnx")' for case in cases if case.mode != "stream")
        (build / "build.rs").write_text(
            f'fn main() {{\n    burn_onnx::ModelGen::new(){inputs}\n        .out_dir("model/")\n'
            "        .run_from_script();\n}\n")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise ValueError(f"ended with status {self.process.wait()}")
        kind, _, rest = answer.strip().partition(" ")
        if kind != "ok":
            raise ValueError(rest)
        return float(rest)

    def processor_time(self):
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def load(self, path):
        self.models += 1
        self.ask(f"load {path}")
        return self.models - 1

    def run(self, model, inputs):
        given, out = self.folder / "in", self.folder / "out"
        with open(given, "wb") as file:
            number = lambda value: file.write(value.to_bytes(4, "little"))
            number(len(inputs))
            for name, array in inputs.items():
                number(len(name))
                file.write(name.encode())
                number(array.ndim)
                for size in array.shape:
                    number(size)
                file.write(np.ascontiguousarray(array, "<f4").tobytes())
        start = self.processor_time()
        self.ask(f"run {model} {given} {out} 1")
        seconds = self.processor_time() - start
        data, at, found = out.read_bytes(), 0, {}

        def take(count=4):
            nonlocal at
            at += count
            return data[at - count : at]

        whole = lambda: int.from_bytes(take(), "little")
        for _ in range(whole()):
            name = take(whole()).decode()
            dims = [whole() for _ in range(whole())]
            found[name] = np.frombuffer(take(4 * int(np.prod(dims))), "<f4").reshape(dims)
        return found, seconds


def outputs(runtime, models, case):
    """The output of all calls, one after another, and the seconds of them."""
    states, parts, total = {}, [], 0.0
    for i, rows in enumerate(case.inputs):
        found, seconds = runtime.run(models[min(i, len(models) - 1)], {"input": rows[None]} | states)
        total += seconds
        states = {name.replace("_out", "_in"): value for name, value in found.items() if name.startswith("state_out")}
        parts.append(next(value for name, value in found.items() if not name.startswith("state_out"))[0])
    return np.concatenate(parts), total


def measured(runtime, case, ours):
    """A cell of the table, and True if it is right."""
    start = time.perf_counter()
    models = [runtime.load(path) for path in case.models]
    loading = time.perf_counter() - start
    times = []
    for _ in range(1 if isinstance(runtime, Ncnn) else REPEATS):
        found, seconds = outputs(runtime, models, case)
        times.append(seconds)
    found = found[: len(case.wanted)]
    if found.shape != case.wanted.shape:
        return f"the shape is {found.shape}, not {case.wanted.shape}", False
    worst = float(np.abs(found - case.wanted).max() / max(1, np.abs(case.wanted).max()))
    right = worst < BAR
    return f"{'' if right else 'WRONG '}{worst:.1e}, {min(times) * 1000:.2f} ms ({min(times) / ours:.1f} x), " \
           f"loads in {loading:.2f} s", right


def main():
    programs = Programs(pathlib.Path(PLACES[0] if PLACES else HERE.parent / "target/release").resolve())
    runtimes = OPTIONS.get("runtimes", ",".join(RUNTIMES)).split(",")
    wanted = OPTIONS.get("networks", ",".join(case.name for case in CASES)).split(",")
    cases = [case for case in CASES if case.name in wanted]
    names = [case.name for case in CASES]
    unknown = [name for name in runtimes if name not in RUNTIMES] + [name for name in wanted if name not in names]
    if unknown:
        known = f"runtimes {', '.join(RUNTIMES)}, networks {', '.join(names)}"
        sys.exit(f"onnx-runtimes.py: {', '.join(unknown)}: expected some of the {known}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        builds = pathlib.Path(OPTIONS.get("builds", folder / "builds")).resolve()
        builds.mkdir(parents=True, exist_ok=True)
        for case in cases:
            case.prepare(programs, folder / case.name)
        times = {case.name: case.our_time() for case in cases}
        for case in cases:
            nodes = [len(onnx.load(path, load_external_data=False).graph.node) for path in case.models]
            print(f"{case.name}: ours {times[case.name] * 1000:.2f} ms; nodes {' and '.join(map(str, nodes))}", flush=True)
        for name in runtimes:
            try:
                runtime = {"onnxruntime": Onnxruntime, "openvino": Openvino, "tract": Tract, "ncnn": Ncnn}[name]() \
                    if name not in CRATES else Rust(name, builds, cases)
            except ValueError as error:
                print(f"{name}: {error}", flush=True)
                failed += 1
                continue
            for case in (case for case in cases if name not in MODES or case.mode in MODES[name]):
                try:
                    cell, right = measured(runtime, case, times[case.name])
                except Exception as error:  # One bad model is a line, not the end.
                    cell, right = f"FAILS {' '.join(str(error).split())[:300]}", False
                failed += not right
                print(f"{name}: {case.name}: {cell}", flush=True)
    print(f"{failed} failures")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
