"""Options of scripts: those that recipes give recognizer.sh, and the help of all."""

import os
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
        self.assertEqual(len(kinds), 3, "the whole, --quick and --first")
        fixed = re.findall(r"--[a-z-]+=(?:true|false|no)\b", script[script.index("recognizer.sh --data"):].split('"$dir"')[0])
        self.assertIn("--use-gpu=no", fixed)
        self.assertEqual([("--decode-flat=true" in kind) for kind in kinds], [True, True, False])
        for kind in kinds:
            said = recognizer([*fixed, *kind.split()])
            self.assertEqual(said, "recognizer.sh: --data=FOLDER/nowhere: there is no such folder or table\n")

    def test_options_that_do_not_go_together_are_seen(self):
        self.assertIn("is for --start=flat", recognizer(["--flat-epochs=3"]))


class Help(unittest.TestCase):
    """What `--help` of a script of scripts/ says, and what the script says of a wrong option."""

    def call(self, *command, folder=None):
        """Runs a command in an empty folder. The programs of the toolkit and of clusters are stand-ins that fail."""
        with tempfile.TemporaryDirectory() as empty:
            stubs = Path(empty, "bin")
            stubs.mkdir()
            for name in ("nnet3-train", "nnet3-transcribe", "nnet3-recover", "nnet3-copy-egs", "nnet3-shuffle-egs", "sbatch", "kubectl"):
                (stubs / name).write_text("#!/bin/sh\nexit 1\n")
                (stubs / name).chmod(0o755)
            environment = {**os.environ, "PATH": f"{stubs}:{ROOT / 'scripts'}:/usr/bin:/bin"}
            run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=empty, check=False)
        return run.returncode, run.stdout, run.stderr

    def scripts(self):
        return sorted((ROOT / "scripts").glob("*.sh"))

    def test_an_example_of_the_help_has_options_that_there_are(self):
        for script in self.scripts():
            _, text, _ = self.call(script, "--help")
            if script.name == "test.sh":
                continue  # (It would install what it needs.)
            self.assertIn("e.g.:", text, script.name)
            examples = text.split("e.g.:\n", 1)[1].split("\n\n")[0].replace("\\\n", " ").split("\n")
            commands = []
            for line in examples:
                line = line.strip()
                if line.startswith(script.name):
                    commands.append(line)
                elif line:
                    commands[-1] += " " + line.rstrip("\\")
            self.assertTrue(commands, script.name)
            if script.name == "install_docs.sh":
                continue
            for command in commands:
                status, _, said = self.call("bash", "-c", command)
                self.assertNotEqual(status, 0, command)
                self.assertNotRegex(said, "unknown option|needs a value|ERROR: expected|line [0-9]+:", command)

    def test_options_have_their_defaults_in_the_help(self):
        for script in self.scripts():
            source = script.read_text() + "".join((ROOT / "scripts" / part).read_text() for part in re.findall(r'source "\$here/(\w+/option_list\.sh)"', script.read_text()))
            options = re.findall(r"^option ([a-z0-9-]+) (?:'[^']*'|\"[^\"]*\"|\S+) (\"[^\"]*\"|\S+) ", source, re.M)
            if not options:
                continue
            _, text, _ = self.call(script, "--help")
            for name, default in options:
                lines = re.search(rf"^  --{name}=.*\n((?:        .*\n)+)", text, re.M)
                self.assertTrue(lines, f"{script.name} --{name}")
                if default.strip('"') and "$" not in default:
                    self.assertIn(f"({default})", " ".join(lines.group(1).split()), f"{script.name} --{name}")
            for name in ("--config=FILE", "--help"):
                self.assertIn(f"\n  {name}\n", text, script.name)

    def test_a_misspelt_option_has_a_hint(self):
        wrong = {"recognizer": "--flat-epoch=3", "train": "--xconfg=x", "adapt_model": "--old-wieght=1", "make_graph": "--self-loop-scal=1", "test": "--quik",
                 "make_vosk_model": "--lattice-baem=6", "segment_long": "--max-second=3", "transcribe_many": "--btach=3", "run": "--max-job-run=2",
                 "slurm": "--partitoin=x", "k8s": "--volumne=x"}
        self.assertEqual(set(wrong), {script.stem for script in self.scripts()} - {"install_docs"})
        for name, option in wrong.items():
            status, _, said = self.call(ROOT / "scripts" / f"{name}.sh", option, "a", "b")
            self.assertNotEqual(status, 0)
            self.assertRegex(said, rf"{name}\.sh: unknown option '?{option.split('=')[0]}[^ ]* ?\(did you mean --[a-z-]+\?\)", name)

    def test_values_of_the_wrong_kind_are_refused_at_once(self):
        for command, expected in (("make_graph.sh --look-ahead=maybe a b c d e", "--look-ahead=maybe: expected true or false"),
                                  ("make_vosk_model.sh --beam=wide . new", "--beam: expected a number, found 'wide'"),
                                  ("segment_long.sh --nj=2.5 a b c", "--nj: expected a whole number"),
                                  ("transcribe_many.sh --model=m --format=docx l o", "--format=docx: expected text or json"),
                                  ("adapt_model.sh --oov=guess m o", "--oov=guess: expected error or g2p or letters"),
                                  ("run.sh --retries=often x.log true", "--retries: expected a whole number"),
                                  ("slurm.sh --mem=much x.log true", "--mem much: expected a size such as 4G")):
            status, _, said = self.call("bash", "-c", command)
            self.assertNotEqual(status, 0)
            self.assertIn(expected, said, command)


class RecipesCheckFirst(unittest.TestCase):
    """Values that a recipe cannot use end it before it installs, builds or makes anything, with the name of the script that was started."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        for name in ("apt-get", "sudo", "cargo", "pip"):
            (self.folder / "bin").mkdir(exist_ok=True)
            (self.folder / "bin" / name).write_text(f"#!/bin/sh\necho CALLED {name}\nexit 1\n")
            (self.folder / "bin" / name).chmod(0o755)
        (self.folder / "kaldi/egs/wsj/s5/steps").mkdir(parents=True)
        (self.folder / "foreign").mkdir()
        (self.folder / "foreign/thesis.tex").write_text("")

    def refused(self, recipe, *arguments):
        """What the recipe says on standard error; it must say nothing else, and leave no folder of results."""
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}
        run = subprocess.run([ROOT / "egs" / recipe / "run.sh", *arguments], capture_output=True, text=True, env=environment, cwd=self.folder, check=False)
        self.assertIn(run.returncode, (1, 2), run.stderr)
        self.assertEqual(run.stdout, "", recipe)
        self.assertFalse((self.folder / "exp").exists(), recipe)
        self.assertTrue(run.stderr.startswith("run.sh: "), run.stderr)
        return run.stderr.replace(str(self.folder), "FOLDER").removeprefix("run.sh: ")

    def test_recipes_of_kaldi(self):
        kaldi = self.folder / "kaldi"
        out = ("--dir", str(self.folder / "exp"))
        self.assertEqual(self.refused("recipes", *out, "--only", "yesno", kaldi),
                         "the recipe yesno: FOLDER/kaldi has no folder egs/yesno/s5; is it a whole checkout of Kaldi?\n")
        for folder in ("tools/config", "tools/extras", "egs/librispeech/s5/local", "egs/mini_librispeech/s5", "scripts/rnnlm", "egs/sre08/v1", "egs/callhome_diarization"):
            (kaldi / folder).mkdir(parents=True)
        self.assertEqual(self.refused("recipes", *out, "--only", "mini_librispeech", "--sentences", "300", kaldi),
                         "--sentences 300: the recipe mini_librispeech trains first on the 500 shortest, expected 500 or more\n")
        self.assertEqual(self.refused("recipes", *out, "--only", "rnnlm", kaldi),
                         "rnnlm needs lattices of the recipe mini_librispeech; run --only mini_librispeech,rnnlm\n")
        self.assertEqual(self.refused("recipes", *out, "--only", "callhome", kaldi),
                         "callhome needs the network of the recipe voxceleb; run --only voxceleb,callhome\n")
        self.assertRegex(self.refused("recipes", *out, "--only", "vosk", kaldi), "^the recipe vosk needs --vosk DIR")
        self.assertEqual(self.refused("recipes", *out, "--only", "mini_librispeech", "--programs", "nowhere", kaldi),
                         "--programs: there is no FOLDER/nowhere/nnet3\n")
        self.assertEqual(self.refused("recipes", "--dir", self.folder / "foreign", "--only", "mini_librispeech", kaldi),
                         "FOLDER/foreign holds files that egs/recipes/run.sh did not make, such as thesis.tex; take another folder\n")

    def test_folders_of_others_and_files_that_are_not_there(self):
        foreign, nowhere = self.folder / "foreign", self.folder / "nowhere"
        for recipe, *options in (("alignment", "--dir"), ("chars", "--dir"), ("commands", "--data"), ("digits", "--dir"), ("images", "--dir"), ("onnx", "--dir"),
                                 ("published", "--dir"), ("recordings", "--yesno", self.folder, "--dir"), ("speakers", "--dir"), ("speakers", "--data")):
            if recipe in ("chars", "images"):
                options = ["--nnet3", "/bin/true", *options]
            if recipe == "speakers" and options == ["--data"]:
                options = ["--dir", self.folder / "kaldi/../made", *options]
            self.assertIn(f"foreign holds files that egs/{recipe}/run.sh did not make", self.refused(recipe, *options, foreign), recipe)
        for recipe, option, expected in (
                ("alignment", "--mboshi", "--mboshi: there is no folder FOLDER/nowhere/full_corpus_newsplit/all"),
                ("images", "--csv", "--csv: there is no file FOLDER/nowhere"),
                ("images", "--nnet3", "--nnet3: there is no program FOLDER/nowhere"),
                ("chars", "--nnet3", "--nnet3: there is no program FOLDER/nowhere"),
                ("onnx", "--programs", "--programs: there is no FOLDER/nowhere/nnet3-export"),
                ("published", "--bin", "there is no nnet3-transcribe in FOLDER/nowhere")):
            self.assertEqual(self.refused(recipe, *(("--dir", self.folder / "exp") if recipe != "published" else ("--dir", self.folder / "work")), option, nowhere), expected + "\n")


if __name__ == "__main__":
    unittest.main()
