#!/usr/bin/env python3
"""Makes the page: the files of web/, onnxruntime-web, the model, some wave files, and facts.json with what the page has to know."""

import argparse
import json
import shutil
import subprocess
import sys
from math import log
from pathlib import Path

import onnxruntime

from recognize import read_stats

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE / "../digits/local"))
import lang  # noqa: E402

ORT_WEB = "onnxruntime-web@1.30.0"
ORT_FILES = ["ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"]


def priors(model):
    """Logarithms of what the model has as priors."""
    text = subprocess.run(["nnet3-am-copy", "--binary=false", model, "-"], capture_output=True, text=True, check=True)
    line = text.stdout[text.stdout.index("<Priors>") :].split("[")[1].split("]")[0]
    return [float(word) for word in line.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=Path, required=True, help="experiment of egs/digits")
    parser.add_argument("--stats", type=Path, required=True, help="sums over training features")
    parser.add_argument("--model", type=Path, required=True, help="from nnet3-export --single-graph=true --pack-states=true")
    parser.add_argument("--waves", type=Path, nargs="+", required=True)
    parser.add_argument("--text", type=Path, required=True, help="the words that recognize.py --streaming found in them")
    parser.add_argument("page", type=Path, help="folder")
    options = parser.parse_args()
    page = options.page
    if page.exists() and any(page.iterdir()) and not (page / "digits.onnx").is_file():
        sys.exit(f"make_page.py: {page} holds files that make_page.py did not make; take another folder")

    modules = HERE / "exp/npm"
    if not (modules / "node_modules/onnxruntime-web").exists():
        modules.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", modules, ORT_WEB]
        subprocess.run(command, check=True)
    shutil.rmtree(page, ignore_errors=True)
    shutil.copytree(HERE / "web", page)
    (page / "ort").mkdir()
    for name in ORT_FILES:
        shutil.copy(modules / "node_modules/onnxruntime-web/dist" / name, page / "ort")
    shutil.copy(options.model, page / "digits.onnx")
    (page / "waves").mkdir()
    for wave in options.waves:
        shutil.copy(wave, page / "waves")

    session = onnxruntime.InferenceSession(str(options.model))
    known = session.get_modelmeta().custom_metadata_map
    shapes = {value.name: value.shape for value in session.get_inputs()}
    phones = lang.Phones()
    entries = [{"word": word, "phones": list(pronunciation)} for word, pronunciation in lang.lexicon(phones)]
    entries.append({"word": None, "phones": [phones.silence]})
    stats = read_stats(options.stats)
    texts = dict(line.split(" ", 1) for line in options.text.read_text().splitlines())
    facts = {
        "chunk": int(known["chunk_size"]),
        "dim": shapes["input"][2],
        "states": shapes["state_in"][1],
        "warmUpChunks": int(known["warm_up_chunks"]),
        "warmUpFrames": int(known["warm_up_frames"]),
        "scale": float(known["acoustic_scale"]),
        "phones": phones.names,
        "logPriors": [log(prior) for prior in priors(options.digits / "final.mdl")],
        "words": entries,
        "stats": {"sum": stats[0, :-1].tolist(), "count": stats[0, -1]},
        "files": [{"name": wave.stem, "text": texts[wave.stem]} for wave in options.waves],
    }
    (page / "facts.json").write_text(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
