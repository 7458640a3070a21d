"""The task's small tables: digits, phones, lexicon and voices, read from `conf/`."""

from dataclasses import dataclass
from pathlib import Path

CONF = Path(__file__).resolve().parent.parent / "conf"
SILENCE = "sil"


def _rows(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fields = line.split("#")[0].split()
        if fields:
            yield f"{path}:{number}", fields


@dataclass(frozen=True)
class Voice:
    """A speaker: its short name, espeak-ng's voice file, and whether it is kept out of training."""

    name: str
    file: str
    held_out: bool


class Phones:
    """The network's targets: phone id <-> name, and the id for each of espeak-ng's phone names."""

    def __init__(self):
        self.names, self._from_espeak = [], {}
        for where, (index, name, *espeak_names) in _rows(CONF / "phones.txt"):
            if int(index) != len(self.names):
                raise ValueError(f"{where}: expected phone id {len(self.names)}, found {index}")
            self._from_espeak.update({espeak_name: int(index) for espeak_name in espeak_names})
            self.names.append(name)
        self.silence = self.names.index(SILENCE)

    def __len__(self):
        return len(self.names)

    def from_espeak(self, name):
        """The id of a phone by espeak-ng's name; a KeyError means that conf/phones.txt lacks it."""
        return self._from_espeak[name]


def lexicon(phones):
    """[(digit word, [phone ids])], one entry a pronunciation, in file order."""
    entries = []
    for where, (word, *names) in _rows(CONF / "lexicon.txt"):
        unknown = [name for name in names if name not in phones.names]
        if unknown or not names:
            raise ValueError(f"{where}: unknown phones {unknown}" if unknown else f"{where}: no phones")
        entries.append((word, [phones.names.index(name) for name in names]))
    return entries


def voices(path=CONF / "voices.txt"):
    """All voices, in file order."""
    result = []
    for where, fields in _rows(path):
        if len(fields) != 3 or fields[2] not in ("train", "held-out"):
            raise ValueError(f"{where}: expected 'name file train|held-out'")
        result.append(Voice(fields[0], fields[1], fields[2] == "held-out"))
    return result
