"""Readers of a spoken corpus: espeak-ng's voices in several accents, speaking at 16 kHz with faint noise."""

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "digits/local"))

import espeak
import sound

ACCENTS = ("gmw/en-US", "gmw/en", "gmw/en-GB-scotland", "gmw/en-GB-x-rp", "gmw/en-GB-x-gbclan", "gmw/en-029", "gmw/en-GB-x-gbcwmd")
FEMALE = ("f1", "f2", "f3", "f4", "f5", "steph", "anika", "linda", "belinda", "Alicia", "Andrea", "Annie")
MALE = ("", "m1", "m2", "m3", "m4", "m5", "m7", "klatt2", "klatt4", "robert", "quincy", "john", "adam", "benjamin", "david", "travis")
ENGLISH = tuple((accent, variant) for variant in MALE + FEMALE for accent in ACCENTS)


class Reader:
    """A voice (`file` is espeak-ng's) with a speed, a pitch and a level of noise of its own."""

    def __init__(self, number, accent, variant, seed):
        rng = np.random.default_rng([seed, number])
        self.number = number
        self.file = f"{accent}+{variant}" if variant else accent
        self.gender = "F" if variant in FEMALE else "M"
        self.rate, self.pitch = int(rng.integers(135, 186)), int(rng.integers(30, 71))
        self.noise = float(rng.uniform(0.005, 0.03))

    def read(self, synthesiser, text, rng):
        """Speaks `text`; returns samples at 16 kHz."""
        spoken, _ = synthesiser.speak(
            text,
            self.file,
            rate=self.rate + rng.integers(-8, 9),
            pitch=self.pitch + rng.integers(-4, 5),
            pitch_range=rng.integers(35, 66),
            seed=int(rng.integers(1, 2**31)),
        )
        speech = sound.resample(spoken.astype(np.float64), synthesiser.sample_rate)
        before, after = (int(seconds * sound.SAMPLE_RATE) for seconds in rng.uniform(0.15, 0.35, size=2))
        samples = np.pad(speech, (before, after)) * 10 ** (-rng.uniform(0, 6) / 20)
        level = np.sqrt(np.mean(samples**2)) * self.noise
        return samples + level * sound.coloured_noise(rng, len(samples), tilt=1.0)


def readers(count, seed, voices=ENGLISH):
    """`count` readers with different voices, the same for one seed. Ends the program if espeak-ng lacks one of the voices."""
    if count > len(voices):
        sys.exit(f"{Path(sys.argv[0]).name}: {count} readers are wanted, and there are {len(voices)} voices")
    order = np.random.default_rng(seed).permutation(len(voices))[:count]
    found = [Reader(number, *voices[int(i)], seed) for number, i in enumerate(order)]
    try:
        espeak.check_voices([reader.file for reader in found])
    except espeak.EspeakError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    return found
