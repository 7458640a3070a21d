"""The programs that recipes run: those on the PATH, those built before, or else a build (egs/digits/local/programs.sh)."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

EGS = Path(__file__).resolve().parents[2] / "egs"


class FoundPrograms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        # A Cargo that says what it does, and makes what it would.
        self.program("cargo", 'mkdir -p "$CARGO_TARGET_DIR/release"; echo "cargo $*"')

    def program(self, name, text="exit 0"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def find(self, *arguments, path=()):
        environment = {**os.environ, "PATH": ":".join([*(str(self.folder / p) for p in path), str(self.folder), "/usr/bin:/bin"]),
                       "CARGO_TARGET_DIR": str(self.folder / "target")}
        run = subprocess.run([EGS / "digits/local/programs.sh", *arguments], capture_output=True, text=True, env=environment, check=False)
        return run.returncode, run.stdout.strip(), run.stderr

    def test_programs_on_the_path_come_first(self):
        for name in ("bin/nnet3", "bin/nnet3-train", "target/release/nnet3", "target/release/nnet3-train"):
            self.program(name)
        status, folder, said = self.find(path=["bin"])
        self.assertEqual((status, folder, said), (0, str(self.folder / "bin"), f"programs: those on the PATH, in {self.folder}/bin\n"))
        # A folder of links may lack nnet3.
        (self.folder / "links").mkdir()
        (self.folder / "links/nnet3-train").symlink_to(self.folder / "bin/nnet3")
        self.assertEqual(self.find(path=["links"])[1], str(self.folder / "links"))

    def test_kaldis_program_of_the_same_name_is_another(self):
        self.program("kaldi/nnet3-train")
        self.program("target/release/nnet3")
        self.program("target/release/nnet3-train")
        status, folder, said = self.find(path=["kaldi"])
        self.assertEqual((status, folder), (0, str(self.folder / "target/release")))
        self.assertRegex(said, r"^programs: those built before, in .*/target/release \(`cargo build --release` builds them anew")

    def test_sources_that_have_changed_since_are_mentioned(self):
        for name in ("nnet3", "nnet3-train"):
            self.program(f"target/release/{name}")
        for time, changed in ((0, True), (4e9, False)):
            os.utime(self.folder / "target/release/nnet3", (time, time))
            self.assertEqual("sources have changed since" in self.find()[2], changed)

    def test_programs_are_built_if_there_are_none(self):
        status, folder, said = self.find()
        self.assertEqual((status, folder), (0, str(self.folder / "target/release")))
        self.assertIn("cargo build --release --bin nnet3", said)
        self.assertIn("programs: none on the PATH, and none built in ", said)

    def test_with_built_nothing_is_built(self):
        status, folder, said = self.find("--built")
        self.assertEqual((status, folder), (1, ""))
        self.assertNotIn("cargo", said)

    def test_no_recipe_builds_by_itself(self):
        for script in [*EGS.glob("*/run.sh"), *EGS.glob("*/local/*.sh")]:
            if script.name != "programs.sh":
                self.assertIsNone(re.search(r"^[^#]*cargo build", script.read_text(), re.M), script)
        for script in EGS.glob("*/run.sh"):
            self.assertIn("local/programs.sh", script.read_text(), script)


if __name__ == "__main__":
    unittest.main()
