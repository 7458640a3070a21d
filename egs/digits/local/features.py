"""What the labels must know of the features that compute-fbank-feats makes with conf/fbank.conf: a frame every 10 ms.

Frame t is centred at (t + 0.5) * 10 ms (`--snip-edges=false`), and its label is the phone that is sounding there.
"""

import numpy as np

SAMPLE_RATE = 16000
FRAME_SHIFT = SAMPLE_RATE // 100


def resample(samples, rate, to=SAMPLE_RATE):
    """Band-limited resampling of a whole recording, by cutting its spectrum at the lower Nyquist frequency.

    Time is kept exactly: what was at second s stays at second s.
    """
    step_in, step_out = rate // np.gcd(rate, to), to // np.gcd(rate, to)
    num_out = -(-len(samples) * step_out // step_in)
    blocks = -(-(len(samples) + rate // 20) // step_in)  # some silence, so that the ends do not wrap around
    spectrum = np.fft.rfft(samples, blocks * step_in)[: blocks * step_out // 2 + 1]
    edge = np.linspace(1, 0, max(2, len(spectrum) // 40))  # a soft edge of 200 Hz rings less than a hard one
    spectrum[-len(edge) :] *= edge
    return np.fft.irfft(spectrum, blocks * step_out)[:num_out] * (step_out / step_in)


def num_frames(samples):
    """How many frames compute-fbank-feats makes of 16 kHz samples."""
    return (len(samples) + FRAME_SHIFT // 2) // FRAME_SHIFT


def frame_labels(segments, num_frames):
    """One phone id a frame, from [(first second, phone id)] in order of time, which starts at 0."""
    starts = np.array([start for start, _ in segments])
    phones = np.array([phone for _, phone in segments], dtype=np.int32)
    centres = (np.arange(num_frames) + 0.5) * FRAME_SHIFT / SAMPLE_RATE
    return phones[np.searchsorted(starts, centres, side="right") - 1]
