"""recognizer.sh takes the options that recipes give it."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEXICON = ROOT / "egs/commands/conf/lexicon.txt"


def recognizer(options):
    """What recognizer.sh says of the options, before it looks for the data, which is not there."""
    with tempfile.TemporaryDirectory() as folder:
        command = [ROOT / "scripts/recognizer.sh", f"--data={folder}/nowhere", f"--lexicon={LEXICON}", *options, f"{folder}/exp"]
        return subprocess.run(command, capture_output=True, text=True).stderr.replace(folder, "FOLDER")


class Options(unittest.TestCase):
    def test_options_of_egs_commands_go_together(self):
        script = (ROOT / "egs/commands/run.sh").read_text()
        kinds = re.findall(r"training=\(([^)]*)\)", script)
        self.assertEqual(len(kinds), 2, "the whole and --quick")
        fixed = re.findall(r"--[a-z-]+=(?:true|false|no)\b", script[script.index("recognizer.sh --data"):].split('"$dir"')[0])
        self.assertIn("--decode-flat=true", fixed)
        for kind in kinds:
            said = recognizer([*fixed, *kind.split()])
            self.assertEqual(said, "recognizer.sh: --data=FOLDER/nowhere: there is no such folder or table\n")

    def test_options_that_do_not_go_together_are_seen(self):
        self.assertIn("is for --start=flat", recognizer(["--flat-epochs=3"]))


if __name__ == "__main__":
    unittest.main()
