#!/usr/bin/env python3
"""Compares ONNX models from nnet3-export, run by onnxruntime, with nnet3-compute-request.

usage: onnx-figures.py <folder-of-programs> <conformance-folder>

Every case of the folder is exported with --request, checked by onnx.checker, exported again (the bytes must be the same), and run
on the inputs of the case. An output agrees if the norm of the difference is at most 1e-5 of the norm of the output."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"onnx-figures.py: skipped: {error} (pip install numpy onnx onnxruntime)")
    sys.exit(0)

BAR = 1e-5


def read_archive(path):
    """The float matrices of a binary archive."""
    data, tables, at = path.read_bytes(), {}, 0
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


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def check(programs, case, folder):
    """The largest relative difference of an output, or what is wrong."""
    export = [programs / "nnet3-export", f"--request={case / 'request.txt'}", case / "model.raw"]
    for name in ["a.onnx", "b.onnx"]:
        done = run(*export, folder / name)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
    if (folder / "a.onnx").read_bytes() != (folder / "b.onnx").read_bytes():
        return "the second export has other bytes"
    onnx.checker.check_model(str(folder / "a.onnx"), full_check=True)
    expected = folder / "out.ark"
    # A model is exported in test mode (batch normalisation with stored statistics), and without derivatives.
    model = folder / "test.raw"
    done = run(programs / "nnet3-copy", "--prepare-for-test=true", case / "model.raw", model)
    if done.returncode:
        return "nnet3-copy: " + done.stderr.strip().splitlines()[-1]
    request = folder / "request.txt"
    text = (case / "request.txt").read_text()
    request.write_text(text.replace("<HasDeriv> T", "<HasDeriv> F").replace(
        "<NeedModelDerivative> T", "<NeedModelDerivative> F"))
    done = run(programs / "nnet3-compute-request", model, request, f"ark:{case / 'inputs.ark'}",
               f"ark:{expected}")
    if done.returncode:
        return "nnet3-compute-request: " + done.stderr.strip().splitlines()[-1]
    session = onnxruntime.InferenceSession(str(folder / "a.onnx"), providers=["CPUExecutionProvider"])
    given = read_archive(case / "inputs.ark")
    feeds = {value.name: given[value.name][None] for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    worst = 0.0
    for name, found in zip(names, session.run(names, feeds)):
        wanted = read_archive(expected)[name]
        if found[0].shape != wanted.shape:
            return f"{name}: shape {found[0].shape}, not {wanted.shape}"
        norm = np.linalg.norm(wanted.astype("f8"))
        difference = np.linalg.norm(found[0].astype("f8") - wanted)
        worst = max(worst, difference / norm if norm else difference)
    return float(worst)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    programs, conformance = map(pathlib.Path, sys.argv[1:])
    cases = sorted(path.parent for path in conformance.glob("**/request.txt"))
    if not cases:
        sys.exit(f"onnx-figures.py: {conformance} has no cases")
    onnxruntime.set_default_logger_severity(3)
    passed, worst = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            try:
                result = check(programs, case, pathlib.Path(folder))
            except Exception as error:  # One bad model is a line, not the end.
                result = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            if isinstance(result, float) and result <= BAR:
                passed, worst = passed + 1, max(worst, result)
            else:
                print(f"{case.relative_to(conformance)}: {result}")
    print(f"{passed} of {len(cases)} requests agree; largest relative difference of them {worst:.2g}")
    return passed != len(cases)


if __name__ == "__main__":
    sys.exit(main())
