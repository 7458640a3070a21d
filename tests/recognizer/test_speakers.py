"""Steps of egs/speakers around the programs: pieces of speech, turns, error rates of diarizations, chunks for training."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LOCAL = Path(__file__).resolve().parent.parent.parent / "egs/speakers/local"
sys.path.append(str(LOCAL))

import diarize


class Diarization(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_pieces_cover_the_speech(self):
        flags = [0] * 50 + [1] * 200 + [0] * 20 + [1] * 100 + [0] * 100 + [1] * 10 + [0] * 60 + [1] * 60
        (self.folder / "vad").write_text(f"r  [ {' '.join(map(str, flags))} ]\n")
        diarize.pieces(self.folder / "vad", self.folder / "pieces", self.folder / "reco2utt")
        found = [piece[1:] for piece in diarize.read_pieces(self.folder / "pieces").values()]
        # A gap of 0.2 s is speech; 0.1 s of speech by themselves are none.
        self.assertEqual(found, [(0.5, 2.0), (1.25, 2.75), (2.0, 3.5), (2.75, 3.7), (5.4, 6.0)])
        names = (self.folder / "reco2utt").read_text().split()
        self.assertEqual((names[0], len(names)), ("r", 6))
        self.assertEqual(names[1:], list(diarize.read_pieces(self.folder / "pieces")))

    def test_turns_meet_in_the_middle(self):
        (self.folder / "pieces").write_text("p1 r 0.5 2.0\np2 r 1.25 2.75\np3 r 2.0 3.5\np4 r 5.4 6.0\n")
        (self.folder / "labels").write_text("p1 1\np2 1\np3 2\np4 2\n")
        diarize.turns(self.folder / "pieces", self.folder / "labels", self.folder / "rttm")
        self.assertEqual(diarize.read_rttm(self.folder / "rttm")["r"], [(0.5, 2.375, "1"), (2.375, 3.5, "2"), (5.4, 6.0, "2")])

    def test_other_lines_of_an_rttm_do_not_count(self):
        rttm = self.folder / "rttm"
        rttm.write_text(
            ";; a comment\nSPKR-INFO r 1 <NA> <NA> <NA> adult_male anna <NA>\n\n;; SPEAKER r 1 0 9 <NA> <NA> x <NA>\n"
            "SPEAKER r 1 0.5 1.5 <NA> <NA> anna <NA> <NA>\nNON-SPEECH r 1 2 3 <NA> noise <NA> <NA>\nSPEAKER s 1 0 1 <NA> <NA> ben\r\n",
            newline="",
        )
        self.assertEqual(diarize.read_rttm(rttm), {"r": [(0.5, 2.0, "anna")], "s": [(0.0, 1.0, "ben")]})
        for bad in ("SPEAKER r", "SPEAKER r 1 x 1 <NA> <NA> anna", "SPEAKER r 1 0 nan <NA> <NA> anna", "SPEAKER r 1 0 1 <NA> <NA>"):
            rttm.write_text(f";;\n{bad}\n")
            with self.assertRaisesRegex(SystemExit, f"rttm, line 2: expected SPEAKER.*'{bad}'"):
                diarize.read_rttm(rttm)

    def test_errors_are_those_of_the_best_mapping(self):
        reference = [(0.0, 4.0, "anna"), (5.0, 9.0, "ben")]
        close = lambda found, expected: self.assertEqual([round(x, 2) for x in diarize.errors(reference, found)], expected)
        # 0.25 s beside each boundary do not count: 7 s are left.
        close([(0.0, 4.0, "2"), (5.0, 9.0, "1")], [7.0, 0.0, 0.0, 0.0])
        close([(0.0, 9.0, "1")], [7.0, 0.0, 0.5, 3.5])
        close([(0.0, 4.0, "1")], [7.0, 3.5, 0.0, 0.0])
        close([(0.0, 4.0, "1"), (5.0, 7.0, "2"), (7.0, 9.0, "3")], [7.0, 0.0, 0.0, 1.75])

    def test_chunks_lie_in_their_utterances(self):
        speakers = [f"s{i}" for i in range(5)]
        keys = [(f"{speaker}-{i}", speaker, 180 + 40 * i) for speaker in speakers for i in range(4)]
        (self.folder / "utt2spk").write_text("".join(f"{key} {speaker}\n" for key, speaker, _ in keys))
        (self.folder / "frames").write_text("".join(f"{key} {frames}\n" for key, _, frames in keys))
        subprocess.run([LOCAL / "ranges.py", "--num-archives=2", self.folder / "utt2spk", self.folder / "frames", self.folder], check=True)
        frames = {key: count for key, _, count in keys}
        speaker_of = {key: speaker for key, speaker, _ in keys}
        labels = dict(line.split() for line in (self.folder / "speakers").read_text().splitlines())
        self.assertEqual(labels, {speaker: str(i) for i, speaker in enumerate(speakers)})
        for name in ("1", "2", "valid", "subset", "combine"):
            lines = [line.split() for line in (self.folder / f"ranges.{name}").read_text().splitlines()]
            self.assertTrue(lines)
            self.assertEqual(len({line[4] for line in lines}), 1)
            for key, _, _, first, length, label in lines:
                self.assertLessEqual(int(first) + int(length), frames[key])
                self.assertEqual(labels[speaker_of[key]], label)
                self.assertEqual(key.endswith("-3"), name == "valid")


if __name__ == "__main__":
    unittest.main()
