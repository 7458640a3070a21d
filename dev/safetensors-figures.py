#!/usr/bin/env python3
"""Checks safetensors files both ways.

usage: safetensors-figures.py <folder-of-programs> <model or folder> ...

Each model file (*.raw, *.mdl; also in the folders below) becomes a safetensors file and a model again, which must be the same
bytes; a text model must give the bytes of nnet3-copy or nnet3-am-copy. Then the blocks of docs/pytorch.md are run: a TDNN-F of PyTorch
as a network; and the loader on each chain TDNN-F that was named as a file, which must agree with nnet3-compute. The bar for both
is 1e-5 of the norm. Needs torch and safetensors (python3-torch of Debian will do)."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BAR = 1e-5


def run(*command, **keywords):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return done.stdout


def both_ways(programs, model, folder):
    """None if the model comes back as it was."""
    tensors, back = folder / "m.safetensors", folder / "back"
    run(programs / "nnet3-export", model, tensors)
    run(programs / "nnet3-import", tensors, back)
    expected = model.read_bytes()
    if not expected.startswith(b"\0B"):
        acoustic = expected.lstrip().startswith(b"<TransitionModel>")
        run(programs / ("nnet3-am-copy" if acoustic else "nnet3-copy"), model, folder / "binary")
        expected = (folder / "binary").read_bytes()
    return None if back.read_bytes() == expected else "other bytes come back"


def blocks(page):
    """The language and the text of each code block of a page."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.M | re.S)


def write_text_archive(path, key, rows):
    lines = "\n".join(" ".join(repr(v) for v in row) for row in rows)
    path.write_text(f"{key}  [\n{lines} ]\n")


def chain_model(programs, model, folder, env):
    """The relative difference of what the loader and nnet3-compute make of a model."""
    import json
    import torch

    about = json.loads(run(programs / "nnet3-info", "--format=json", model))
    dims = {node["name"]: node["dim"] for node in about["nodes"] if node["type"] == "input-node"}
    torch.manual_seed(2)
    features = 3 * torch.randn(200, dims["input"])
    ivector = torch.randn(dims["ivector"]) if "ivector" in dims else None
    torch.save({"features": features, "ivector": ivector}, folder / "utterance.pt")
    run(programs / "nnet3-export", model, folder / "model.safetensors")
    run(sys.executable, "forward.py", cwd=folder, env=env)
    write_text_archive(folder / "f.ark", "u", features.tolist())
    command = [programs / "nnet3-compute", "--frame-subsampling-factor=3", model, f"ark:{folder}/f.ark", "ark,t:-"]
    if ivector is not None:
        values = " ".join(repr(v) for v in ivector.tolist())
        (folder / "i.ark").write_text(f"u  [ {values} ]\n")
        command.insert(1, f"--ivectors=ark:{folder}/i.ark")
    words = run(*command).split()
    expected = torch.tensor([float(word) for word in words if word not in ("u", "[", "]")])
    found = torch.load(folder / "forward.pt").flatten()
    return float((found - expected).norm() / expected.norm())


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv[1]).resolve()
    named = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    models = [file for path in named if path.is_dir() for end in ("raw", "mdl") for file in sorted(path.rglob(f"*.{end}"))]
    files = [path for path in named if path.is_file()]
    page = pathlib.Path(__file__).resolve().parent.parent / "docs/pytorch.md"
    env = os.environ | {"PATH": f"{programs}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in files + models:
            try:
                problem = both_ways(programs, model, folder)
            except RuntimeError as error:
                problem = str(error)
            if problem:
                failed += 1
                print(f"{model}: {problem}")
        print(f"{len(files + models) - failed} of {len(files + models)} models come back byte for byte")
        try:
            import safetensors  # noqa: F401
            import torch
        except ImportError as error:
            print(f"docs/pytorch.md is not checked: {error}")
            sys.exit(failed > 0)
        shell = []
        for language, text in blocks(page):
            if language == "bash":
                shell.append(text)
            else:
                (folder / re.match(r"# (\S+)", text)[1]).write_text(text)
        for text in shell:
            print("docs/pytorch.md:", run("bash", "-ec", text, cwd=folder, env=env).strip().splitlines()[-1])
        for model in files:
            difference = chain_model(programs, model, folder, env)
            print(f"{model.name}: relative difference of the loader in PyTorch {torch.__version__}: {difference:.1e}")
            failed += not difference <= BAR
    sys.exit(failed > 0)


main()
