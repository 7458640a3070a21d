"""Names and texts of transcribe_many.sh: each text is that of the recording in its line, whatever the list was before."""

import io
import os
import random
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts" / "recognizer"))
import many


class Many(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.out, self.work = self.top / "out", self.top / "work"
        (self.out / "texts").mkdir(parents=True)
        (self.out / "log").mkdir()
        self.work.mkdir()

    def record(self, name, content):
        """Makes a recording, whose text is its content."""
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return str(path)

    def names(self, *lines):
        listing = self.top / "list"
        listing.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        with redirect_stderr(io.StringIO()) as said:
            many.names(str(listing), str(self.out), "txt", str(self.work))
        self.said = said.getvalue()
        return [name for name, _ in many.read_rows(self.out / "names")]

    def call(self, *lines):
        """A whole call; returns the texts in the order of the list."""
        names = self.names(*lines)
        with redirect_stdout(io.StringIO()):
            many.batches(str(self.out), "txt", "2", str(self.work))
        for link in sorted(self.work.glob("batches/*/*")):
            if link.exists():
                (self.out / "texts" / f"{link.stem}.txt").write_text(f"{link.stem} {link.read_text()}\n")
            link.unlink()
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as table:
            many.collect(str(self.out), "txt", str(self.work))
        self.table = table.getvalue()
        texts = dict(line.split(" ", 1) for line in (self.out / "text").read_text().splitlines())
        return [texts.get(name) for name in names]

    def test_names_differ_and_batches_have_what_is_missing(self):
        self.assertEqual(self.names("a/x.wav", "b/x.flac", "b y's\tc.mp3", "", "-x\t/d"), ["x-2", "x-3", "b_y_s", "x"])
        self.assertEqual(many.read_rows(self.out / "names")[3][1], "/d")
        (self.out / "texts/x-3.txt").write_text("x-3 one\n")
        with redirect_stdout(io.StringIO()) as out:
            many.batches(str(self.out), "txt", "2", str(self.work))
        self.assertEqual(out.getvalue(), "2\n")
        found = sorted(str(link.relative_to(self.work)) for link in self.work.glob("batches/*/*"))
        self.assertEqual(found, ["batches/1/x-2.wav", "batches/1/x.sound", "batches/2/b_y_s.mp3"])
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as table:
            many.collect(str(self.out), "txt", str(self.work))
        self.assertEqual(out.getvalue(), "1 3\n")
        self.assertEqual((self.out / "text").read_text(), "x-3 one\n")
        self.assertEqual(len((self.out / "failed").read_text().splitlines()), 3)
        self.assertIn("there is no such file", table.getvalue())
        self.assertEqual(many.read_rows(self.out / "results.tsv")[2][:3], ["x-3", "text", "1"])

    def test_names_are_readable_visible_and_short(self):
        names = self.names("../.x y.wav", "…\t/a", "a|b;c\t/b", "é" * 200 + "\t/c", "..\t/d", "$(x)\t/e", ".\t/f")
        self.assertEqual(names[:3], ["x_y", "_", "a_b_c"])
        self.assertEqual(names[3], "é" * 75)
        self.assertEqual(names[4:], ["_-2", "__x_", "_-3"])
        self.assertTrue(all(len(name.encode()) < 200 and not name.startswith((".", "-")) for name in names))

    def test_a_longer_list_keeps_names_and_texts(self):
        zero, one, two = (self.record(f"day{i}/call.wav", f"text {i}") for i in range(3))
        self.assertEqual(self.call(one, two), ["text 1", "text 2"])
        (self.out / "texts/call.txt").write_text("call kept\n")
        self.assertEqual(self.call(zero, one, two), ["text 0", "kept", "text 2"])
        self.assertEqual(self.names(two, zero, one), ["call-2", "call-3", "call"])

    def test_another_recording_of_the_same_name_is_recognised(self):
        monday, tuesday = self.record("monday/call.wav", "monday"), self.record("tuesday/call.wav", "tuesday")
        self.assertEqual(self.call(monday), ["monday"])
        self.assertEqual(self.call(tuesday), ["tuesday"])
        self.assertIn("1 texts are those of other recordings", self.said)
        self.assertEqual((self.out / "text").read_text(), "call tuesday\n")
        self.assertEqual(self.call(f"call\t{monday}"), ["monday"])

    def test_a_replaced_recording_is_recognised_again(self):
        path = self.record("call.wav", "old")
        self.assertEqual(self.call(path), ["old"])
        Path(path).write_text("new")  # of the same size
        os.utime(path, ns=(1, 1))
        self.assertEqual(self.call(path), ["new"])
        Path(path).unlink()
        self.assertEqual(self.call(path), ["new"], "a recording that is gone keeps its text")

    def test_names_of_the_list_come_first(self):
        one, two = self.record("one/call.wav", "1"), self.record("two/other.wav", "2")
        self.assertEqual(self.call(one), ["1"])
        self.assertEqual(self.call(one, f"call\t{two}"), ["1", "2"])
        self.assertEqual([name for name, _ in many.read_rows(self.out / "names")], ["call-2", "call"])

    def test_a_folder_of_an_earlier_version(self):
        path = self.record("call.wav", "now")
        (self.out / "names").write_text(f"call\t{path}\n")
        (self.out / "texts/call.txt").write_text("call then\n")
        os.utime(path, ns=(1, 1))
        self.assertEqual(self.call(path), ["then"])
        (self.out / "recordings").unlink()
        os.utime(self.out / "texts/call.txt", ns=(0, 0))
        self.assertEqual(self.call(path), ["now"])

    def test_any_lists_one_after_another(self):
        """150 lists in random order, of recordings of few names that come, go and change: texts are always those of the recordings."""
        random.seed(60)
        paths = [f"{folder}/{name}" for folder in "abcd" for name in ("x.wav", "x-2.wav", "y.mp3", ".x.wav", "x y.wav")]
        time = 0
        for number in range(150):
            lines = []
            for path in random.sample(paths, random.randint(1, 6)) + random.choices(paths, k=random.randint(0, 2)):
                if random.random() < 0.2 or not (self.top / path).exists():
                    time += 1
                    os.utime(self.record(path, f"{random.randint(10, 99)}"), ns=(time, time))
                given = random.choice(["", "", "", "x", "x-2", "y", "..", "a b"])
                lines.append((given, self.top / path))
            if number % 10 == 0:
                (self.out / "texts" / f"{random.choice(['x', 'y', 'x-2'])}.txt").unlink(missing_ok=True)
            found = self.call(*(f"{given}\t{path}" if given else str(path) for given, path in lines))
            self.assertEqual(found, [path.read_text() for _, path in lines], f"list {number}")

    def test_what_is_refused(self):
        for line, fault in [
            ("sox a.wav -t wav - |", "line 1: expected a file, found a command"),
            ("\t", "there are no recordings"),
            ("a\0b", "zero byte"),
            (f"name {self.record('there.wav', 'x')}", "a tab, not a blank"),
        ]:
            with self.assertRaisesRegex(SystemExit, fault):
                self.names(line)
        odd = self.record("sox a.wav |", "odd")
        self.assertEqual(self.call(odd), ["odd"])


if __name__ == "__main__":
    unittest.main()
