"""The notebook of examples/ runs, and shows what the programs say."""

import json
import os
import re
import shutil
import subprocess
import unittest
import wave
from pathlib import Path

from support import BIN, ROOT, SPEECH, InteropTest, make_recognizer
from test_module import FOLDER

try:
    import ipykernel  # noqa: F401
    import matplotlib  # noqa: F401
    import nbclient
    import nbformat
    import pandas  # noqa: F401
except ImportError:
    nbclient = None

NOTEBOOK = ROOT / "examples" / "recordings.ipynb"


def source(cell):
    return "".join(cell["source"])


class NotebookTest(InteropTest):
    def test_no_outputs_are_stored(self):
        notebook = json.loads(NOTEBOOK.read_text())
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
        self.assertLess(NOTEBOOK.stat().st_size, 20000)

    def test_commands_of_the_notebook_are_there(self):
        text = source(json.loads(NOTEBOOK.read_text())["cells"][0])
        for command in re.findall(r"\./(\S+\.sh)", text):
            self.assertTrue(os.access(ROOT / command, os.X_OK), command)

    @unittest.skipUnless(nbclient, "the notebook needs Python 3.11 and the packages of requirements.txt")
    def test_values(self):
        folders = [self.model("one", 3), self.model("two", 5)]
        with wave.open(str(SPEECH)) as sound:
            settings, samples = sound.getparams(), sound.readframes(sound.getnframes())
        Path("wav").mkdir()
        shutil.copy(SPEECH, "wav/a.wav")
        for name, pcm in {"b": samples * 2, "silent": bytes(len(samples))}.items():
            with wave.open(f"wav/{name}.wav", "wb") as out:
                out.setparams(settings)
                out.writeframes(pcm)
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        first = code[0]
        for name, value in (("MODELS", dict(zip(("first", "second"), folders))), ("RECORDINGS", "wav")):
            first.source, changed = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value!r}", first.source)
            self.assertEqual(changed, 1, name)
        values = (
            "import json\n"
            "print(json.dumps({'words': words.to_dict('records'), 'texts': texts.to_dict(), 'least': least_certain,\n"
            "                  'differences': differences.to_dict('records'), 'equal': int(equal)}))"
        )
        notebook.cells.append(nbformat.v4.new_code_cell(values))
        environment = {**os.environ, "PYTHONPATH": FOLDER.name, "MPLCONFIGDIR": str(Path("mpl").resolve()), "JUPYTER_ALLOW_INSECURE_WRITES": "1"}
        client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": os.getcwd()}})
        client.execute(env=environment)

        figures = ["image/png" in output.get("data", {}) for cell in code for output in cell.outputs]
        self.assertEqual(sum(figures), 2)
        found = json.loads(notebook.cells[-1].outputs[0]["text"])
        expected, texts = [], {}
        for name, folder in zip(("first", "second"), folders):
            lines = subprocess.run(
                [BIN / "nnet3-transcribe", "--format=json", folder, *sorted(Path("wav").glob("*.wav"))], capture_output=True, check=True
            ).stdout.splitlines()
            for line in map(json.loads, lines):
                file = Path(line["file"]).name
                file += "" if file.endswith(".wav") else ".wav"
                texts.setdefault(name, {})[file] = line["text"]
                for word in (word for segment in line["segments"] for word in segment["words"]):
                    expected.append((name, file, word["word"]))
        self.assertEqual([(word["model"], word["file"], word["word"]) for word in found["words"]], expected)
        self.assertEqual(found["texts"], texts)
        self.assertEqual(found["texts"]["first"]["silent.wav"], "")
        for word in found["words"]:
            self.assertTrue(0 <= word["confidence"] <= 1 and 0 <= word["begin"] < word["end"] <= 4, word)
        self.assertEqual(found["least"], min(found["words"], key=lambda word: word["confidence"])["file"])
        # Both models hear the same silence, and other words in the speech.
        self.assertEqual(found["equal"], sum(texts["first"][file] == texts["second"][file] for file in texts["first"]))
        self.assertTrue(0 < found["equal"] < 3)
        for row in found["differences"]:
            self.assertNotEqual(row["first"], row["second"])
        for name in ("first", "second"):
            for file in texts[name]:
                different = [row[name] for row in found["differences"] if row["file"] == file and row[name] != "–"]
                said = texts[name][file].split()
                self.assertTrue(all(word in said for word in different), (file, different))
        gained = sum(row["first"] == "–" for row in found["differences"]) - sum(row["second"] == "–" for row in found["differences"])
        lengths = {name: sum(len(text.split()) for text in texts[name].values()) for name in texts}
        self.assertEqual(lengths["second"] - lengths["first"], gained)

    def model(self, name, seed):
        """The path of a model with a random network."""
        Path(name).mkdir()
        here = os.getcwd()
        os.chdir(name)
        try:
            return str(make_recognizer(self, seed=seed))
        finally:
            os.chdir(here)


if __name__ == "__main__":
    unittest.main()
