"""What the labels must know of the features that compute-fbank-feats makes with conf/fbank.conf: a frame every 10 ms.

Frame t is centred at (t + 0.5) * 10 ms (`--snip-edges=false`), and its label is the phone that is sounding there.
"""

import numpy as np

from sound import SAMPLE_RATE

FRAME_SHIFT = SAMPLE_RATE // 100


def num_frames(samples):
    """How many frames compute-fbank-feats makes of 16 kHz samples."""
    return (len(samples) + FRAME_SHIFT // 2) // FRAME_SHIFT


def frame_labels(segments, num_frames):
    """One phone id a frame, from [(first second, phone id)] in order of time, which starts at 0."""
    starts = np.array([start for start, _ in segments])
    phones = np.array([phone for _, phone in segments], dtype=np.int32)
    centres = (np.arange(num_frames) + 0.5) * FRAME_SHIFT / SAMPLE_RATE
    return phones[np.searchsorted(starts, centres, side="right") - 1]
