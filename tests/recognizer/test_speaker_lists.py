"""recognizer.sh --utt2spk names the speakers of training and of tests; programs are on the PATH."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECOGNIZER = HERE.parents[1] / "scripts/recognizer.sh"


class SpeakerLists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.work.name)
        subprocess.run([sys.executable, HERE / "toy_speech.py", "--num", "30", cls.folder], check=True)
        lines = (cls.folder / "text").read_text().splitlines(keepends=True)
        for name, part in [("train", lines[:20]), ("test", lines[20:])]:
            (cls.folder / name).mkdir()
            (cls.folder / f"{name}.txt").write_text("".join(part))
            for line in part:
                wave = f"{line.split()[0]}.wav"
                (cls.folder / name / wave).symlink_to(cls.folder / "wav" / wave)
        speakers = (cls.folder / "utt2spk").read_text()
        (cls.folder / "speakers").write_text(f"{speakers}toy-999 nobody\n")

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def recognizer(self, *options):
        """What recognizer.sh says, which stops after the data, and its status."""
        start = [RECOGNIZER, "--wav=train", "--text=train.txt", "--lexicon=lexicon.txt", "--last-part=data"]
        done = subprocess.run([*start, *options, f"exp-{self.id()}"], cwd=self.folder, capture_output=True, text=True)
        return done.stderr, done.returncode, self.folder / f"exp-{self.id()}/data"

    def test_one_list_names_the_speakers_of_all_sets(self):
        said, status, data = self.recognizer("--test-wav=test", "--test-text=test.txt", "--utt2spk=speakers")
        self.assertEqual(status, 0, said)
        found = {}
        for name in ["train", "test"]:
            found |= dict(line.split() for line in (data / name / "utt2spk").read_text().splitlines() if not line.startswith("garbage"))
        expected = dict(line.split() for line in (self.folder / "utt2spk").read_text().splitlines())
        self.assertEqual({key: found[key] for key in expected}, expected)
        self.assertIn("speakers: 1 line without a transcript, such as 'toy-999'", said)
        self.assertNotIn("speaker of its own", said)

    def test_without_a_list_the_message_names_the_option(self):
        said, status, _ = self.recognizer("--test-wav=test", "--test-text=test.txt")
        self.assertEqual(status, 0, said)
        self.assertNotIn("--speakers=", said)
        self.assertIn("--utt2spk=FILE", said)

    def test_an_unknown_speaker_is_answered_with_the_known_ones(self):
        said, status, _ = self.recognizer("--utt2spk=speakers", "--test-speakers=Lukas")
        self.assertEqual(status, 1)
        self.assertRegex(said, "no speaker 'Lukas'; there are speaker0, speaker1")

    def test_wrong_options_name_the_right_ones(self):
        self.assertIn("--utt2spk names the speakers", self.recognizer("--speakers=one")[0])
        self.assertIn("expected tiny, small, medium, large, or a file", self.recognizer("--network=giant")[0])


if __name__ == "__main__":
    unittest.main()
