//! Digital silence: stretches of a signal that no ear hears, in which a model may hear words nevertheless.

/// The largest magnitude of samples of digital silence, for samples from −32768 to 32767: −78 dB of full scale, which is above
/// the noise of rounding to 16 bits and below that of any microphone.
const LEVEL: f32 = 4.0;
/// Seconds below which a stretch is a part of speech, and sound is none.
const SHORTEST: f64 = 0.1;
/// The share of a word's time in digital silence from which on it was not said.
const SHARE: f64 = 0.8;

/// True if some sample can be heard.
pub(crate) fn is_audible(samples: &[f32]) -> bool {
    samples.iter().any(|sample| sample.abs() > LEVEL)
}

/// The stretches of digital silence of a signal, in seconds.
#[derive(Debug)]
pub(crate) struct Quiet(Vec<(f64, f64)>);

impl Quiet {
    /// Finds the stretches of samples at this rate (in Hz), the first of which has the time `start`.
    pub fn of(samples: &[f32], rate: f64, start: f64) -> Quiet {
        let shortest = (SHORTEST * rate).ceil() as usize;
        let (mut stretches, mut begin) = (Vec::new(), 0);
        let ends =
            samples.iter().enumerate().filter(|(_, sample)| sample.abs() > LEVEL).map(|(place, _)| place);
        for end in ends.chain([samples.len()]) {
            if end - begin >= shortest {
                stretches.push((start + begin as f64 / rate, start + end as f64 / rate));
            }
            begin = end + 1;
        }
        Quiet(stretches)
    }

    /// True if the time from `begin` to `end`, in seconds, is digital silence, nearly or all of it: what is left is too short for
    /// speech. (The search may stretch a word over the silence beside it.)
    pub fn covers(&self, begin: f64, end: f64) -> bool {
        let shared = |&(from, to): &(f64, f64)| (to.min(end) - from.max(begin)).max(0.0);
        let silent = self.0.iter().map(shared).sum::<f64>();
        end > begin && silent >= SHARE * (end - begin) && end - begin - silent < SHORTEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_digital_silence_are_covered() {
        let part = |(level, seconds): (f32, f64)| vec![level; (seconds * 100.0_f64).round() as usize];
        let parts = [(0.0, 1.0), (500.0, 1.0), (-3.0, 2.0), (9.0, 0.5), (0.0, 0.05), (9.0, 0.5), (0.0, 1.0)];
        let samples: Vec<f32> = parts.into_iter().flat_map(part).collect();
        for start in [0.0, 7.0] {
            let quiet = Quiet::of(&samples, 100.0, start);
            for (begin, end) in [(0.2, 0.9), (0.5, 1.05), (2.5, 3.5), (5.1, 5.9)] {
                assert!(quiet.covers(start + begin, start + end), "{begin} {end}");
            }
            // Speech, speech with a short pause, a word that reaches into silence, one that is stretched over it, no time at all.
            for (begin, end) in [(1.2, 1.8), (4.0, 5.0), (0.7, 1.3), (1.5, 2.5), (1.8, 4.0), (0.5, 0.5)] {
                assert!(!quiet.covers(start + begin, start + end), "{begin} {end}");
            }
        }
        assert!(is_audible(&samples) && !is_audible(&samples[..100]) && !is_audible(&samples[505..]));
    }
}
