//! Noise and music: samples of any scale.

use std::f64::consts::TAU;

use fastrand::Rng;

/// A kind of sound that is no speech.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Equal power at all frequencies.
    White,
    /// Power that falls by 3 dB an octave.
    Pink,
    /// Power that falls by 6 dB an octave.
    Brown,
    /// Harmonics of the mains.
    Hum,
    /// Three notes at a time that fade.
    Chords,
    /// Plucked strings (Karplus and Strong, 1983).
    Plucked,
    /// Clicks and pops.
    Clicks,
}

impl Noise {
    /// All kinds.
    pub const ALL: [Noise; 7] =
        [Noise::White, Noise::Pink, Noise::Brown, Noise::Hum, Noise::Chords, Noise::Plucked, Noise::Clicks];

    /// Makes `count` samples at a rate in Hz.
    pub fn samples(self, random: &mut Rng, count: usize, rate: u32) -> Vec<f32> {
        match self {
            Noise::White => (0..count).map(|_| uniform(random, -1.0, 1.0) as f32).collect(),
            // (The sum of three low passes with corners an octave or two apart falls by about 3 dB an octave.)
            Noise::Pink => low_passed(random, count, [0.997, 0.96, 0.57]),
            Noise::Brown => low_passed(random, count, [0.997]),
            Noise::Hum => hum(random, count, rate),
            Noise::Chords => notes(random, count, rate, faded),
            Noise::Plucked => notes(random, count, rate, plucked),
            Noise::Clicks => clicks(random, count),
        }
    }
}

pub(super) fn uniform(random: &mut Rng, from: f64, to: f64) -> f64 {
    from + random.f64() * (to - from)
}

/// White noise through low passes of the first order, which are added.
fn low_passed<const N: usize>(random: &mut Rng, count: usize, corners: [f64; N]) -> Vec<f32> {
    let gains = corners.map(|corner| (1.0 - corner).sqrt());
    let mut states = [0.0; N];
    let mut next = || {
        let x = uniform(random, -1.0, 1.0);
        for ((state, corner), gain) in states.iter_mut().zip(corners).zip(gains) {
            *state = corner * *state + gain * x;
        }
        states.iter().sum::<f64>() as f32
    };
    (0..count).map(|_| next()).collect()
}

/// The sine of a frequency in Hz, sample by sample: a rotation.
struct Sine {
    turn: (f64, f64),
    at: (f64, f64),
}

impl Sine {
    fn new(frequency: f64, rate: u32) -> Sine {
        let (sin, cos) = (TAU * frequency / f64::from(rate)).sin_cos();
        Sine { turn: (cos, sin), at: (1.0, 0.0) }
    }

    fn next(&mut self) -> f64 {
        let ((c, s), (x, y)) = (self.turn, self.at);
        self.at = (c * x - s * y, s * x + c * y);
        y
    }
}

fn hum(random: &mut Rng, count: usize, rate: u32) -> Vec<f32> {
    let base = [50.0, 60.0, 100.0][random.usize(..3)];
    let mut sines: Vec<(f64, Sine)> =
        (1..9).map(|k| (random.f64() / f64::from(k), Sine::new(base * f64::from(k), rate))).collect();
    (0..count)
        .map(|_| sines.iter_mut().map(|(strength, sine)| *strength * sine.next()).sum::<f64>() as f32)
        .collect()
}

/// A note: adds itself to samples.
type Note = fn(&mut Rng, pitch: f64, rate: u32, out: &mut [f32]);

/// Three voices of notes of 0.1 to 0.6 s in a major scale, one behind the other.
fn notes(random: &mut Rng, count: usize, rate: u32, note: Note) -> Vec<f32> {
    let mut out = vec![0.0; count];
    for _ in 0..3 {
        let mut at = 0;
        while at < count {
            let length = (uniform(random, 0.1, 0.6) * f64::from(rate)) as usize;
            let end = count.min(at + length.max(1));
            let step = [0, 2, 4, 5, 7, 9, 11][random.usize(..7)];
            let pitch = 110.0 * (f64::from(step) / 12.0 + f64::from(random.u32(..4))).exp2();
            note(random, pitch, rate, &mut out[at..end]);
            at = end;
        }
    }
    out
}

fn faded(random: &mut Rng, pitch: f64, rate: u32, out: &mut [f32]) {
    let keep = (-uniform(random, 0.0, 5.0) / f64::from(rate)).exp();
    let mut sines =
        [(1.0, 1.0), (2.0, 0.4), (3.0, 0.2)].map(|(k, strength)| (strength, Sine::new(k * pitch, rate)));
    let mut level = 1.0;
    for x in out {
        *x += (level * sines.iter_mut().map(|(strength, sine)| *strength * sine.next()).sum::<f64>()) as f32;
        level *= keep;
    }
}

fn plucked(random: &mut Rng, pitch: f64, rate: u32, out: &mut [f32]) {
    let length = ((f64::from(rate) / pitch) as usize).max(2);
    let mut string: Vec<f64> = (0..length).map(|_| uniform(random, -1.0, 1.0)).collect();
    for (i, x) in out.iter_mut().enumerate() {
        let k = i % length;
        *x += string[k] as f32;
        string[k] = 0.996 * (string[k] + string[(k + 1) % length]) / 2.0;
    }
}

fn clicks(random: &mut Rng, count: usize) -> Vec<f32> {
    let mut out: Vec<f32> = (0..count).map(|_| uniform(random, -0.02, 0.02) as f32).collect();
    for _ in 0..random.usize(3..20) {
        let at = random.usize(..count.max(1));
        let end = count.min(at + random.usize(20..400));
        let mut strength = uniform(random, 0.2, 1.0);
        for x in &mut out[at.min(count)..end] {
            *x += (strength * uniform(random, -1.0, 1.0)) as f32;
            strength *= 0.99;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The power of samples in a band, by sums of sines and cosines at its frequencies.
    fn power(samples: &[f32], rate: u32, from: u32, to: u32) -> f64 {
        let mut sum = 0.0;
        for frequency in (from..to).step_by(50) {
            let (mut re, mut im) = (0.0, 0.0);
            for (t, &x) in samples.iter().enumerate() {
                let (sin, cos) = (TAU * f64::from(frequency) * t as f64 / f64::from(rate)).sin_cos();
                re += f64::from(x) * cos;
                im += f64::from(x) * sin;
            }
            sum += re * re + im * im;
        }
        sum / f64::from((to - from) / 50)
    }

    #[test]
    fn coloured_noise_falls_by_its_slope() {
        let slope = |noise: Noise| {
            let samples = noise.samples(&mut Rng::with_seed(5), 8000, 8000);
            10.0 * (power(&samples, 8000, 400, 800) / power(&samples, 8000, 1600, 3200)).log10() / 2.0
        };
        assert!(slope(Noise::White).abs() < 1.0, "{}", slope(Noise::White));
        assert!((slope(Noise::Pink) - 3.0).abs() < 1.5, "{}", slope(Noise::Pink));
        assert!((slope(Noise::Brown) - 5.5).abs() < 1.5, "{}", slope(Noise::Brown));
    }

    #[test]
    fn a_sine_is_that_of_its_angle() {
        let mut sine = Sine::new(441.0, 16000);
        for t in 0..16000 {
            let expected = (TAU * 441.0 * f64::from(t) / 16000.0).sin();
            assert!((sine.next() - expected).abs() < 1e-9, "{t}");
        }
    }

    #[test]
    fn every_kind_has_the_asked_length_and_a_sound() {
        for noise in Noise::ALL {
            for count in [1, 7, 4000] {
                let samples = noise.samples(&mut Rng::with_seed(1), count, 8000);
                assert_eq!(samples.len(), count, "{noise:?}");
                assert!(samples.iter().all(|x| x.is_finite()), "{noise:?}");
                assert!(count < 10 || samples.iter().any(|x| x.abs() > 0.01), "{noise:?}");
                assert_eq!(samples, noise.samples(&mut Rng::with_seed(1), count, 8000));
            }
        }
    }
}
