"""From samples to what the network sees: 40 log-mel bins every 10 ms, and one phone label a frame.

Frame t is centred at (t + 0.5) * 10 ms (Kaldi's `--snip-edges=false`), and its label is the phone that is sounding there.
"""

import kaldi_native_fbank as knf
import numpy as np

SAMPLE_RATE = 16000
FRAME_SHIFT = SAMPLE_RATE // 100
NUM_BINS = 40


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


def log_mel(samples):
    """Frames x NUM_BINS log-mel energies of 16 kHz samples in the range of 16-bit integers, with zero mean."""
    options = knf.FbankOptions()
    options.frame_opts.samp_freq = SAMPLE_RATE
    options.frame_opts.dither = 0
    options.frame_opts.snip_edges = False
    options.mel_opts.num_bins = NUM_BINS
    fbank = knf.OnlineFbank(options)
    fbank.accept_waveform(SAMPLE_RATE, samples.astype(np.float32))
    fbank.input_finished()
    features = np.stack([fbank.get_frame(t) for t in range(fbank.num_frames_ready)])
    return features - features.mean(axis=0)


def frame_labels(segments, num_frames):
    """One phone id a frame, from [(first second, phone id)] in order of time, which starts at 0."""
    starts = np.array([start for start, _ in segments])
    phones = np.array([phone for _, phone in segments], dtype=np.int32)
    centres = (np.arange(num_frames) + 0.5) * FRAME_SHIFT / SAMPLE_RATE
    return phones[np.searchsorted(starts, centres, side="right") - 1]
