//! The choice among the channels of a recording.

/// The channels of a recording that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channels {
    /// The first one.
    #[default]
    First,
    /// Each one by itself.
    Each,
    /// The mean of all.
    Mix,
    /// A channel by its number, from 1.
    Number(usize),
}

impl std::str::FromStr for Channels {
    type Err = String;

    /// Reads `first`, `each`, `mix` or a number from 1. Capitals do not matter.
    fn from_str(text: &str) -> Result<Channels, String> {
        match (text.to_ascii_lowercase().as_str(), text.parse()) {
            ("first", _) => Ok(Channels::First),
            ("each", _) => Ok(Channels::Each),
            ("mix", _) => Ok(Channels::Mix),
            (_, Ok(number @ 1..)) => Ok(Channels::Number(number)),
            _ => Err("expected first, each, mix, or the number of a channel from 1".to_owned()),
        }
    }
}

impl Channels {
    /// Reads a choice that gives one signal: `first`, `mix` or a number from 1.
    ///
    /// # Errors
    /// The text is none of these; the error lists them.
    pub fn one(text: &str) -> Result<Channels, String> {
        let channels = text.parse().ok().filter(|&channels| channels != Channels::Each);
        channels.ok_or_else(|| "expected first, mix, or the number of a channel from 1".to_owned())
    }

    /// Signals of a recording with `count` channels: for each, the channel, from 0, or `None` for the mean of all. The
    /// error is the wanted channel, which is not there.
    ///
    /// # Errors
    /// The wanted channel, if it is not there.
    pub fn signals(self, count: usize) -> Result<Vec<Option<usize>>, usize> {
        match self {
            Channels::First => Ok(vec![Some(0)]),
            Channels::Each => Ok((0..count).map(Some).collect()),
            Channels::Mix => Ok(vec![None]),
            Channels::Number(number) if (1..=count).contains(&number) => Ok(vec![Some(number - 1)]),
            Channels::Number(number) => Err(number),
        }
    }
}

/// One signal of interleaved samples: the channel, from 0, or the mean of all `count` channels.
pub(crate) fn signal(samples: &[i16], count: usize, channel: Option<usize>) -> Vec<f32> {
    let frames = samples.chunks_exact(count);
    match channel {
        Some(channel) => frames.map(|frame| frame[channel].into()).collect(),
        None => {
            let mean = |frame: &[i16]| frame.iter().map(|&x| f32::from(x)).sum::<f32>() / count as f32;
            frames.map(mean).collect()
        }
    }
}

/// A mean of channels is silent if its root mean square is below this share of the channels'.
const SILENT: f64 = 0.01;
/// The mean square of channels that are silent themselves.
const QUIET: f64 = 1.0;

/// Looks second by second for channels that cancel each other out in their mean.
#[derive(Default)]
pub(crate) struct Cancelling {
    /// Seconds before this one.
    second: u64,
    /// Samples of this second, and sums of squares of all channels, divided by their number, and of their mean.
    samples: u32,
    channels: f64,
    mean: f64,
    /// The first second in which they cancel each other out, and the number of those.
    found: Option<(u64, u64)>,
}

impl Cancelling {
    /// Adds interleaved samples of `count` channels, and their mean.
    pub fn add(&mut self, rate: u32, count: usize, samples: &[i16], mean: &[f32]) {
        for (frame, &mean) in samples.chunks_exact(count).zip(mean) {
            let square = |x: f64| x * x;
            self.channels += frame.iter().map(|&x| square(x.into())).sum::<f64>() / count as f64;
            self.mean += square(mean.into());
            self.samples += 1;
            if self.samples == rate {
                if self.is_silent() {
                    let (first, seconds) = self.found.unwrap_or((self.second, 0));
                    self.found = Some((first, seconds + 1));
                }
                (self.samples, self.channels, self.mean) = (0, 0.0, 0.0);
                self.second += 1;
            }
        }
    }

    /// True if the mean of this second is silent so far.
    fn is_silent(&self) -> bool {
        self.channels > QUIET * f64::from(self.samples) && self.mean < self.channels * SILENT * SILENT
    }

    /// The beginning of the first such second, and the length of all, in seconds.
    pub fn found(&self, rate: u32) -> Option<(f64, f64)> {
        let (first, seconds) = self.found.unwrap_or((self.second, 0));
        let last = if self.is_silent() { f64::from(self.samples) / f64::from(rate) } else { 0.0 };
        let all = seconds as f64 + last;
        (all > 0.0).then_some((first as f64, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_in_which_channels_cancel_each_other_out() {
        let mut all = Cancelling::default();
        let parts = [(100, 90), (100, -100), (0, 0), (1, -1), (-50, 50), (7, 0), (20, -20)];
        let samples: Vec<i16> = parts.iter().flat_map(|&(a, b)| [a, b].repeat(10)).collect();
        let samples = &samples[..samples.len() - 10];
        for piece in samples.chunks(6) {
            all.add(10, 2, piece, &signal(piece, 2, None));
        }
        assert_eq!(all.found(10), Some((1.0, 2.5)));
        assert_eq!(Cancelling::default().found(10), None);
    }

    #[test]
    fn choices() {
        assert_eq!(Channels::First.signals(2), Ok(vec![Some(0)]));
        assert_eq!(Channels::Each.signals(2), Ok(vec![Some(0), Some(1)]));
        assert_eq!(Channels::Mix.signals(2), Ok(vec![None]));
        assert_eq!(Channels::Number(2).signals(2), Ok(vec![Some(1)]));
        assert_eq!(Channels::Number(3).signals(2), Err(3));
        assert_eq!(Channels::Number(0).signals(2), Err(0));
    }

    #[test]
    fn signals() {
        let samples = [1, 3, -5, 6];
        assert_eq!(signal(&samples, 2, Some(1)), [3.0, 6.0]);
        assert_eq!(signal(&samples, 2, None), [2.0, 0.5]);
        assert_eq!(signal(&samples, 1, None), [1.0, 3.0, -5.0, 6.0]);
    }
}
