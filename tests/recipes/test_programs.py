"""The programs that a recipe calls (egs/recipes/programs.py)."""

import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RECIPES = Path(__file__).resolve().parents[2] / "egs/recipes"


def names(path):
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # A toolkit of three programs.
        self.write("bin/nnet3", "#!/bin/sh\n[ \"$*\" = --list=names ] && printf '%s\\n' copy-feats gmm-est gmm-latgen-faster\n")
        (self.folder / "bin/nnet3").chmod(0o755)
        self.write("kaldi/steps/train.sh", "# sgmm2-est is no call\necho nnet-copy is none\nfor x in 1; do\n  gmm-est a b || exit 1\n  init-ubm $x; done\n")
        self.write("kaldi/utils/unused.sh", "rbm-train-cd1-frmshuff\n")
        self.write("mine/run.sh", "steps/train.sh data exp\nlocal/data.sh\n")
        self.write("mine/local/data.sh", "copy-feats scp:feats.scp ark:- | \\\n  feat-to-post --x=rnnlm ark:- ark:-\nsph2pipe -f wav a.sph > a.rnnlm\n")
        self.write("mine/local/decode.sh", "gmm-latgen-faster$thread_string --beam=13\n")
        for name in ("steps", "utils"):
            (self.folder / "mine" / name).symlink_to(self.folder / "kaldi" / name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def program(self, name):
        self.write(name, "#!/bin/sh\n")
        (self.folder / name).chmod(0o755)

    def run_on(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}
        return subprocess.run([sys.executable, RECIPES / "programs.py", *arguments], capture_output=True, text=True, env=environment, cwd=self.folder)

    def test_missing_programs_are_named_with_the_lines_that_call_them(self):
        found = self.run_on("mine")
        self.assertEqual((found.returncode, found.stderr), (1, ""))
        lines = found.stdout.splitlines()
        self.assertEqual(lines[:3], [
            "feat-to-post: does not exist here: local/data.sh:2",
            "gmm-latgen-faster-parallel: does not exist here: local/decode.sh:1",
            "init-ubm: does not exist here: steps/train.sh:5"])
        tools = [line for line in lines[3:-1] if not line.startswith("sph2pipe: ")]
        self.assertEqual(tools, [], "a name of a file or the value of an option is no tool")
        self.assertEqual(lines[-1], "scripts: 4; programs of Kaldi and OpenFst: 6; of these here: 3")

    def test_scripts_that_are_named_are_where_it_starts(self):
        found = self.run_on("mine", "local/decode.sh")
        self.assertEqual(found.stdout.splitlines()[-1], "scripts: 1; programs of Kaldi and OpenFst: 2; of these here: 1")
        found = self.run_on("mine", "local/nothing.sh")
        self.assertEqual((found.returncode, found.stderr), (2, "programs.py: mine has no local/nothing.sh\n"))

    def test_names_that_look_like_a_program_are_listed_as_misspelt(self):
        self.write("wrong/run.sh", "copy-faets scp:a ark:- |\\\n  gmm-latgen-fastr ark:- ark:x\nx=\"ark:copy-feat a |\"\n")
        found = self.run_on("wrong")
        self.assertEqual(found.returncode, 1)
        self.assertEqual(found.stdout.splitlines()[:-1], [
            "copy-faets: no program has this name; it looks like copy-feats: run.sh:1",
            "copy-feat: no program has this name; it looks like copy-feats: run.sh:3",
            "gmm-latgen-fastr: no program has this name; it looks like gmm-latgen-faster: run.sh:2"])
        # Options, files, variables and words of other kinds are not.
        self.write("right/run.sh", "copy-feats --copy-feat=1 a.copy-feat $copy-feat copy-feat.sh b/copy-feat/c \\\n  num-threads max-active copy-feats-1\n# copy-faets\n")
        found = self.run_on("right")
        self.assertEqual((found.returncode, found.stdout), (0, "scripts: 1; programs of Kaldi and OpenFst: 1; of these here: 1\n"))

    def test_commands_that_exist_nowhere_are_listed(self):
        # Two letters of a name that is not long; no resemblance at all; behind a log, in a pipe of a table's name, after a continued pipe.
        self.write("odd/run.sh", "\n".join([
            "gmm-ets a b",
            "run.pl exp/x.log \\",
            "  cpoy-faets a b",
            'x="ark:feats-of-mine a |"',
            "copy-feats a b |\\",
            "  gnm-latgen-fasetr c",
            "if make-nothing; then true; fi", ""]))
        found = self.run_on("odd")
        self.assertEqual((found.returncode, found.stdout.splitlines()[:-1]), (1, [
            "cpoy-faets: no program has this name; it looks like copy-feats: run.sh:3",
            "feats-of-mine: no program has this name: run.sh:4",
            "gmm-ets: no program has this name; it looks like gmm-est: run.sh:1",
            "gnm-latgen-fasetr: no program has this name; it looks like gmm-latgen-faster: run.sh:6",
            "make-nothing: no program has this name: run.sh:7"]))

    def test_words_that_are_no_commands_are_not_listed(self):
        self.program("bin/on-the-path")
        self.write("fine/local/in-the-recipe", "")
        self.write("fine/run.sh", "\n".join([
            "my-function() { on-the-path; }",
            "my-function && in-the-recipe",
            "cat <<EOF >conf/net",
            "relu-layer name=x",
            "EOF",
            "copy-feats --edits='x y; set-rate z' \\",
            "  train-set",
            "for x in dev-set test-set; do copy-feats $x; done",
            "x=(one-word two-words)", ""]))
        found = self.run_on("fine")
        self.assertEqual((found.returncode, found.stdout), (0, "scripts: 1; programs of Kaldi and OpenFst: 1; of these here: 1\n"))

    def test_scripts_that_do_not_exist_are_listed_with_the_lines_that_call_them(self):
        self.write("kaldi/steps/align.sh", "steps/nothing.sh\n")
        self.write("lost/run.sh", "steps/trian.sh a\nsteps/align.sh || utils/unusde.sh\n$cmd x.log local/gone.py\n./local/gone.py\nlocal/unused.sh\n"
                   "[ -f local/score.sh ] && local/score.sh\necho x >local/made.sh\nlocal/made.sh\n$dir/local/other.sh local/$x.sh\nsid/none.sh\n")
        self.write("lost/local/here.sh", "")
        for name in ("steps", "utils"):
            (self.folder / "lost" / name).symlink_to(self.folder / "kaldi" / name)
        found = self.run_on("lost", "run.sh")
        self.assertEqual((found.returncode, found.stdout.splitlines()[:-1]), (1, [
            "local/gone.py: there is no such script: run.sh:3, run.sh:4",
            "local/unused.sh: there is no such script (did you mean utils/unused.sh?): run.sh:5",
            "steps/nothing.sh: there is no such script: steps/align.sh:1",
            "steps/trian.sh: there is no such script (did you mean steps/train.sh?): run.sh:1",
            "utils/unusde.sh: there is no such script (did you mean utils/unused.sh?): run.sh:2"]))
        # Of a folder that is not there at all, only the folder is named.
        self.assertIn("WARNING: lost/sid is not there", found.stderr)

    def test_links_that_lead_nowhere_are_named_and_are_no_suggestions(self):
        self.write("linked/run.sh", "local/data_prep.sh\nlocal/deep/score.sh\nlocal/data_pre.sh\n")
        (self.folder / "linked/local").mkdir()
        (self.folder / "linked/local/data_prep.sh").symlink_to("../../old/data_prep.sh")
        (self.folder / "linked/local/deep").symlink_to("/nowhere")
        found = self.run_on("linked")
        self.assertEqual((found.returncode, found.stdout.splitlines()[:-1]), (1, [
            "local/data_pre.sh: there is no such script: run.sh:3",
            "local/data_prep.sh: is a link to ../../old/data_prep.sh, which does not exist: run.sh:1",
            "local/deep/score.sh: local/deep is a link to /nowhere, which does not exist: run.sh:2"]))

    def test_commands_without_a_hyphen_are_not_looked_at_and_the_help_says_so(self):
        self.write("plain/run.sh", "myprog y\n")
        self.assertEqual(self.run_on("plain").returncode, 0)
        self.assertIn("only\nthose with a hyphen in their names are found", self.run_on("--help").stdout)

    def test_long_work_says_how_far_it_is(self):
        sys.path.insert(0, str(RECIPES))
        self.addCleanup(sys.path.remove, str(RECIPES))
        from called import distance
        from programs import Progress
        for terminal, expected in ((False, "programs.py: read 3 scripts\n"), (True, "\rprograms.py: read 3 scripts\x1b[K\r\x1b[K")):
            stream = io.StringIO()
            stream.isatty = lambda terminal=terminal: terminal
            progress = Progress(stream)
            progress.say("read", 2, "scripts")  # (The work may be short.)
            progress.next = 0.0
            progress.say("read", 3, "scripts")
            progress.say("read", 4, "scripts")
            progress.end()
            self.assertEqual(stream.getvalue(), expected)
        # The search for similar names leaves out what cannot be similar.
        for a, b, most, letters in (("copy-feats", "copy-faets", 2, 1), ("copy-feats", "copy-feast", 1, 1), ("lattice-prune", "lattice-purge", 2, 2)):
            self.assertEqual(distance(a, b, most), letters)
        self.assertGreater(distance("copy-feats", "gmm-est-x", 2), 2)

    def test_the_status_is_0_if_all_exist(self):
        self.write("whole/run.sh", "copy-feats a b\n")
        found = self.run_on("whole")
        self.assertEqual((found.returncode, found.stdout), (0, "scripts: 1; programs of Kaldi and OpenFst: 1; of these here: 1\n"))

    def test_a_link_to_kaldis_scripts_that_leads_nowhere_is_a_warning(self):
        (self.folder / "mine/steps").unlink()
        (self.folder / "mine/steps").symlink_to("../../wsj/s5/steps")
        self.write("mine/local/data.sh", "")
        self.write("mine/local/decode.sh", "")
        found = self.run_on("mine")
        self.assertEqual(found.returncode, 1)
        self.assertEqual(found.stderr, "WARNING: mine/steps is not there: link or copy Kaldi's; what its scripts call is not listed\n")

    def test_a_folder_without_scripts_is_an_error(self):
        (self.folder / "empty").mkdir()
        self.assertEqual(self.run_on("empty").returncode, 2)
        self.assertIn("nowhere is no folder", self.run_on("nowhere").stderr)
        self.assertEqual(self.run_on().returncode, 2)

    def test_the_lists_of_kaldis_recipes_have_names_of_the_list_of_all_programs(self):
        programs = names(RECIPES / "kaldi_programs.txt")
        self.assertEqual(programs, sorted(set(programs)))
        for path in (RECIPES / "programs").glob("*.txt"):
            self.assertEqual(set(names(path)) - set(programs), set(), path.name)
        reasons = {re.split(": ", line)[0] for line in names(RECIPES / "missing.txt")}
        self.assertEqual(reasons - set(programs), set())

    def test_the_page_about_kaldi_names_all_programs_that_do_not_exist(self):
        # The page of the state has all programs, which another test compares with `nnet3 --list`.
        docs = RECIPES.parents[1] / "docs"
        ours = set(re.findall(r"^\| `([\w-]+)` \|", (docs / "reference/status.md").read_text(), re.M))
        missing = [name for name in names(RECIPES / "kaldi_programs.txt") if name not in ours]
        self.assertGreater(len(ours), 400)
        self.assertGreater(len(missing), 100)
        table = (docs / "kaldi.md").read_text().split("| family | programs that do not exist here |", 1)[1].split("\n\n", 1)[0]
        rows = [row.split(" | ") for row in table.splitlines()[2:]]
        self.assertGreater(len(rows), 10)

        def programs(cell):
            """Code that may be a program's name, with options behind it; files and parts of names are not."""
            words = [code.split(" ")[0] for code in cell.split("`")[1::2]]
            return [word for word in words if not word.startswith("-") and not re.search(r"[/.]", word)]

        def named(pattern, name):
            return re.fullmatch(".+".join(map(re.escape, pattern.split("…"))), name)

        lacking = [pattern for row in rows for pattern in programs(row[1])]
        instead = {name for row in rows for name in programs(row[2])}
        self.assertEqual([name for name in missing if not any(named(pattern, name) for pattern in lacking)], [], "not on the page")
        self.assertEqual([pattern for pattern in lacking if not any(named(pattern, name) for name in missing)], [], "no such program of Kaldi is missing")
        self.assertEqual(instead - ours, set(), "said to exist")
        self.assertEqual({name for name in ours - instead if any(named(pattern, name) for pattern in lacking)}, set(), "they exist")


if __name__ == "__main__":
    unittest.main()
