//! The resampled signal: its frames, and its energy so far.

use super::options::PitchOptions;

/// Sums over the first samples of a signal.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: u64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, samples: &[f32]) {
        self.count += samples.len() as u64;
        for &x in samples {
            self.sum += f64::from(x);
            self.squares += f64::from(x) * f64::from(x);
        }
    }

    /// Mean square minus squared mean.
    fn variance(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = self.count as f64;
        self.squares / count - (self.sum / count).powi(2)
    }
}

/// Samples after resampling, from number `gone` on.
#[derive(Debug, Default)]
pub(super) struct Signal {
    samples: Vec<f32>,
    gone: u64,
    received: Sums,
    /// The samples up to the end of some frame, for [`Signal::energy_up_to`].
    up_to_frame: Sums,
}

impl Signal {
    /// Forgets the signal, for the next one.
    pub fn restart(&mut self) {
        self.samples.clear();
        self.gone = 0;
        (self.received, self.up_to_frame) = (Sums::default(), Sums::default());
    }

    pub fn extend(&mut self, samples: &[f32]) {
        self.received.add(samples);
        self.samples.extend(samples);
    }

    /// Samples so far.
    pub fn len(&self) -> u64 {
        self.received.count
    }

    /// Variance of all samples so far.
    pub fn energy(&self) -> f64 {
        self.received.variance()
    }

    /// Returns the variance of the samples before number `end`. `end` must not decrease from call to call.
    pub fn energy_up_to(&mut self, end: i64) -> f64 {
        let place = |at: i64| (at - self.gone as i64).clamp(0, self.samples.len() as i64) as usize;
        let (from, to) = (place(self.up_to_frame.count as i64), place(end));
        if from < to {
            self.up_to_frame.add(&self.samples[from..to]);
        }
        self.up_to_frame.variance()
    }

    /// Writes the samples from number `start` on, with preemphasis inside the signal. Samples outside the signal are 0.
    pub fn cut(&self, start: i64, preemphasis: f32, out: &mut [f32]) {
        let offset = start - self.gone as i64;
        let before = offset.min(0).unsigned_abs().min(out.len() as u64) as usize;
        let rest = self.samples.get(offset.max(0) as usize..).unwrap_or_default();
        let (zeros, inside) = out.split_at_mut(before);
        let (inside, after) = inside.split_at_mut(rest.len().min(inside.len()));
        zeros.fill(0.0);
        after.fill(0.0);
        inside.copy_from_slice(&rest[..inside.len()]);
        if preemphasis != 0.0 && !inside.is_empty() {
            for i in (1..inside.len()).rev() {
                inside[i] -= preemphasis * inside[i - 1];
            }
            inside[0] *= 1.0 - preemphasis;
        }
    }

    /// Forgets samples before number `start`, which no frame will read.
    pub fn forget(&mut self, start: i64) {
        let useless = (start - self.gone as i64).clamp(0, self.samples.len() as i64) as usize;
        self.samples.drain(..useless);
        self.gone += useless as u64;
    }
}

/// Positions of frames in the resampled signal.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Samples of a frame.
    pub window: usize,
    /// Samples from a frame's beginning to its end at the longest lag.
    pub span: usize,
    shift: usize,
    snip_edges: bool,
}

impl Layout {
    pub fn new(options: &PitchOptions) -> Layout {
        let window = options.window();
        Layout {
            window,
            span: window + options.last_lag() as usize,
            shift: options.shift(),
            snip_edges: options.snip_edges,
        }
    }

    /// Returns the number of the first sample of frame `t`. It is negative before the signal's beginning.
    pub fn start(&self, t: usize) -> i64 {
        let middle = (t as i64 * 2 + 1) * self.shift as i64 / 2;
        if self.snip_edges { t as i64 * self.shift as i64 } else { middle - self.span as i64 / 2 }
    }

    /// Returns the number of frames of a signal of `samples` samples, which continues unless it is `finished`. Returns
    /// 0 if one frame is longer, for all treatments of the edges.
    pub fn count(&self, samples: u64, finished: bool) -> usize {
        let shift = self.shift as u64;
        let needed = if finished { self.window } else { self.span } as u64;
        let Some(more) = samples.checked_sub(needed) else { return 0 };
        if self.snip_edges {
            return (more / shift) as usize + 1;
        }
        let samples = if finished { samples } else { samples.saturating_sub(self.span as u64 / 2) };
        ((2 * samples + shift) / (2 * shift)) as usize
    }
}
