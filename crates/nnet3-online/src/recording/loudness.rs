//! The loudness of the channels of a recording.

/// A channel is silent if its root mean square is below this share of the loudest one's.
const SILENT: f64 = 0.01;

/// The loudness of all channels, for a warning if the one that is used is silent.
pub struct Loudness {
    /// The channels of the signals; `None` for a mean of channels.
    pub channels: Vec<Option<usize>>,
    /// Sums of squares.
    energies: Vec<f64>,
}

impl Loudness {
    /// Measures these signals, and the other ones of `count` channels if single channels are used.
    pub fn new(count: usize, signals: &[Option<usize>]) -> Loudness {
        let mut channels = signals.to_vec();
        if signals.iter().all(Option::is_some) {
            channels.extend((0..count).map(Some).filter(|channel| !signals.contains(channel)));
        }
        Loudness { energies: vec![0.0; channels.len()], channels }
    }

    /// Adds the next samples of `channels`.
    pub fn add(&mut self, samples: &[Vec<f32>]) {
        for (energy, samples) in self.energies.iter_mut().zip(samples) {
            *energy += samples.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        }
    }

    /// Returns the silent channels among the first `used` ones, and the channels that are not silent, both from 1. `None`
    /// if no channel is silent, or all are.
    pub fn silent(&self, used: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        let loudest = self.energies.iter().copied().fold(0.0, f64::max);
        let is_silent = |energy: &f64| *energy <= loudest * SILENT * SILENT;
        let numbers = |silent: bool, energies: &[f64]| -> Vec<usize> {
            let chosen = energies.iter().zip(&self.channels).filter(|(e, _)| is_silent(e) == silent);
            chosen.filter_map(|(_, channel)| channel.map(|channel| channel + 1)).collect()
        };
        let silent = numbers(true, &self.energies[..used]);
        if loudest == 0.0 || silent.is_empty() {
            return None;
        }
        Some((silent, numbers(false, &self.energies)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_far_below_the_loudest_one_are_silent() {
        let with = |count, signals: &[Option<usize>], samples: &[Vec<f32>]| {
            let mut loudness = Loudness::new(count, signals);
            loudness.add(samples);
            loudness.silent(signals.len())
        };
        let (loud, quiet) = (vec![3000.0, -1000.0], vec![3.0, -1.0]);
        assert_eq!(with(2, &[Some(0)], &[quiet.clone(), loud.clone()]), Some((vec![1], vec![2])));
        assert_eq!(with(2, &[Some(1)], &[loud.clone(), quiet.clone()]), None);
        assert_eq!(with(2, &[Some(0)], &[vec![300.0], vec![3000.0]]), None);
        assert_eq!(with(2, &[Some(0), Some(1)], &[loud.clone(), quiet]), Some((vec![2], vec![1])));
        assert_eq!(with(2, &[None], std::slice::from_ref(&loud)), None);
        assert_eq!(with(1, &[Some(0)], &[vec![0.0]]), None);
    }
}
