"""A recipe's script that was killed goes on with the stage where it was, and so do the scripts that it calls (egs/recipes/local/resume.sh)."""

import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

RESUME = Path(__file__).resolve().parents[2] / "egs/recipes/local/resume.sh"

RUN = """#!/usr/bin/env bash
set -euo pipefail
stage=0
while (( $# )); do [ "$1" == --stage ] && stage=$2; shift; done
if [ $stage -le 1 ]; then echo run 1; fi
if [ "$stage" -le 2 ]; then echo run 2; local/nested.sh; fi
if [[ $stage -le 3 ]]; then echo run 3; local/nested.sh; [ ! -e end_run_3 ] || exit 9; fi
"""
NESTED = """#!/bin/bash
set -e
stage=0
[ $stage -le 0 ] && echo nested 0
if [ ${stage} -le 1 ]; then echo nested 1; [ ! -e end_nested_1 ] || exit 9; fi
if [ $stage -le 2 ]; then echo nested 2; fi
bash -c '[ $stage -le 5 ]' || true
"""

WITHOUT_STAGES = """#!/usr/bin/env bash
words=(one two)
for word in ${words[*]}; do
  local/say.sh $word || exit 1
done
local/nested.sh
local/say.sh three
exit 0
"""
GOES_ON = """#!/bin/bash
stage=1
if [ $stage -le 1 ]; then local/say.sh one; fi
if [ $stage -le 2 ]; then local/say.sh two; fi
if [ $stage -le 3 ]; then local/say.sh three; fi
"""
SAY = """#!/bin/bash
[ ! -e wait_$1 ] || python3 -c 'import time; time.sleep(60)'
echo $1
[ ! -e end_$1 ]
"""
TRAINS = """#!/bin/bash
stage=0
train_stage=-10
dir=exp/net
if [ $stage -le 1 ]; then echo stage 1; local/train.sh --stage=$train_stage first; fi
if [ $stage -le 2 ]; then
  local/train.sh --stage=$train_stage \\
    second || exit 1
fi
"""
TRAIN = """#!/bin/bash
echo train $*
[ ! -e end_$2 ]
"""


class Resume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "local").mkdir()
        (self.folder / "data/a").mkdir(parents=True)
        (self.folder / ".stages").mkdir()
        for name, text in (("run.sh", RUN), ("local/nested.sh", NESTED), ("commands.sh", WITHOUT_STAGES), ("local/goes_on.sh", GOES_ON), ("local/say.sh", SAY), ("local/trains.sh", TRAINS), ("local/train.sh", TRAIN)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def run_recipe(self, *command, **more):
        """Status and lines of a run from stage 1 on, or of a command."""
        settings = os.environ | {"BASH_ENV": str(RESUME), "RESUME_PLACE": str(self.folder / ".stages/run")} | more
        command = command or ("./run.sh", "--stage", "1")
        done = subprocess.run(["bash", *command], cwd=self.folder, env=settings, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    def test_a_stage_may_call_a_script_twice(self):
        text = RUN.replace("echo run 2; local/nested.sh;", "echo run 2; local/nested.sh a; local/nested.sh b;")
        (self.folder / "run.sh").write_text(text)
        stages = ["nested 0", "nested 1", "nested 2"]
        self.assertEqual(self.run_recipe(), (0, ["run 1", "run 2"] + 2 * stages + ["run 3"] + stages))

    def test_nested_scripts_go_on(self):
        for name in ("end_nested_1", "end_run_3"):
            (self.folder / name).touch()
        self.assertEqual(self.run_recipe(), (9, ["run 1", "run 2", "nested 0", "nested 1"]))
        (self.folder / "end_nested_1").unlink()
        # The second call of the same script begins anew.
        self.assertEqual(
            self.run_recipe(), (9, ["run 2", "nested 1", "nested 2", "run 3", "nested 0", "nested 1", "nested 2"])
        )
        (self.folder / "end_run_3").unlink()
        self.assertEqual(self.run_recipe(), (0, ["run 3", "nested 2"]))

    def test_features_of_the_killed_stage_go(self):
        features = self.folder / "data/a/feats.scp"
        features.touch()
        time.sleep(0.05)
        (self.folder / "end_nested_1").touch()
        self.assertEqual(self.run_recipe()[0], 9)
        self.assertTrue(features.exists())
        (self.folder / "data/b").mkdir()
        time.sleep(0.05)
        made = self.folder / "data/b/feats.scp"
        made.touch()
        # Part of a data folder with features from an earlier stage: a script that finds it does not make it anew.
        half = self.folder / "data/a/split2/1"
        half.mkdir(parents=True)
        (half / "feats.scp").touch()
        (self.folder / "end_nested_1").unlink()
        self.assertEqual(self.run_recipe()[0], 0)
        self.assertTrue(features.exists())
        self.assertFalse(made.exists())
        self.assertFalse(half.parent.exists())

    def test_parts_of_an_earlier_stage_stay(self):
        part = self.folder / "data/a/split2/1"
        part.mkdir(parents=True)
        (part / "feats.scp").touch()
        time.sleep(0.05)
        (self.folder / "end_nested_1").touch()
        self.assertEqual(self.run_recipe()[0], 9)
        (self.folder / "end_nested_1").unlink()
        self.assertEqual(self.run_recipe()[0], 0)
        self.assertTrue((part / "feats.scp").exists())

    def test_commands_go_on(self):
        def start():
            return self.run_recipe("./commands.sh", RESUME_COMMANDS="./commands.sh")

        for name in ("end_two", "end_nested_1"):
            (self.folder / name).touch()
        self.assertEqual(start(), (1, ["one", "two"]))
        (self.folder / "end_two").unlink()
        # Without `|| exit 1`, too, a failure ends the script.
        self.assertEqual(start(), (9, ["two", "nested 0", "nested 1"]))
        (self.folder / "end_nested_1").unlink()
        self.assertEqual(start(), (0, ["nested 1", "nested 2", "three"]))

    def test_a_script_may_end_with_a_step(self):
        (self.folder / "commands.sh").write_text(WITHOUT_STAGES.replace("exit 0\n", ""))

        def start():
            return self.run_recipe("./commands.sh", RESUME_COMMANDS="./commands.sh")

        (self.folder / "end_three").touch()
        self.assertEqual(start(), (1, ["one", "two", "nested 0", "nested 1", "nested 2", "three"]))
        (self.folder / "end_three").unlink()
        self.assertEqual(start(), (0, ["three"]))

    def test_trainings_go_on(self):
        models = self.folder / "exp/net"
        models.mkdir(parents=True)
        (self.folder / "end_second").touch()
        run = ("local/trains.sh",)
        self.assertEqual(self.run_recipe(*run), (1, ["stage 1", "train --stage=-10 first", "train --stage=-10 second"]))
        self.assertEqual(self.run_recipe(*run), (1, ["train --stage=-10 second"]))
        for name in ("init.raw", "0.raw", "9.mdl", "10.mdl", "11.1.raw", "0_trans.mdl"):
            (models / name).touch()
        self.assertEqual(self.run_recipe(*run), (1, ["train --stage=10 second"]))
        (self.folder / "end_second").unlink()
        # A recurrent language model.
        (models / "special_symbol_opts.txt").touch()
        self.assertEqual(self.run_recipe(*run), (0, ["train --stage=-10 second"]))
        # Models of an earlier training do not count for a stage that was not killed.
        (models / "special_symbol_opts.txt").unlink()
        place = {"RESUME_PLACE": str(self.folder / ".stages/other")}
        self.assertEqual(self.run_recipe(*run, **place)[1], ["stage 1", "train --stage=-10 first", "train --stage=-10 second"])

    def test_killed_scripts_note_no_later_stage(self):
        (self.folder / "wait_two").touch()
        for script, more in (("./commands.sh", {"RESUME_COMMANDS": "./commands.sh"}), ("local/goes_on.sh", {})):
            for number in (signal.SIGTERM, signal.SIGKILL):
                place = self.folder / ".stages" / number.name
                settings = os.environ | {"BASH_ENV": str(RESUME), "RESUME_PLACE": str(place)} | more
                streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
                run = subprocess.Popen(["bash", script], cwd=self.folder, env=settings, start_new_session=True, **streams)
                self.assertEqual(run.stdout.readline(), b"one\n")
                record = Path(f"{place}.{Path(script).name}")
                while "2" not in record.read_text():
                    time.sleep(0.01)
                time.sleep(0.2)
                os.killpg(run.pid, number)
                run.stdout.close()
                self.assertNotEqual(run.wait(), 0)
                self.assertEqual(record.read_text().split(), ["1", "2"], (script, number))

    def test_stages_have_times(self):
        self.assertEqual(self.run_recipe()[0], 0)
        lines = (self.folder / ".stages/run.run.sh.times").read_text().splitlines()
        self.assertEqual([line.split()[0] for line in lines[::3]], ["1", "2", "3", "end"])


if __name__ == "__main__":
    unittest.main()
