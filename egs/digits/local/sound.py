"""Sound as arrays of samples: what recipes that make speech have in common."""

import wave

import numpy as np

SAMPLE_RATE = 16000


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


def coloured_noise(rng, length, tilt):
    """Gaussian noise with unit power whose power falls as frequency ** -tilt above 100 Hz."""
    spectrum = np.fft.rfft(rng.standard_normal(length))
    frequency = np.fft.rfftfreq(length, 1 / SAMPLE_RATE)
    noise = np.fft.irfft(spectrum * np.maximum(frequency, 100.0) ** (-tilt / 2), length)
    return noise / np.sqrt(np.mean(noise**2))


def write_wav(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(np.clip(np.round(samples), -32768, 32767).astype("<i2").tobytes())
