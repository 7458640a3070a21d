//! Normalisation as in online decoding (`OnlineCmvn` of `feat/online-feature.cc`): each frame by statistics of a window
//! that ends with it, topped up with what is known of the speaker and then with global statistics.

use std::borrow::Cow;

use crate::cmvn::CmvnStats;
use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;

#[derive(Debug, Clone, PartialEq)]
pub struct OnlineCmvnOptions {
    /// Frames in the window; statistics never count more.
    pub window: usize,
    /// Frames that earlier utterances of the speaker may count for.
    pub speaker_frames: f64,
    /// Frames that the global statistics may count for.
    pub global_frames: f64,
    pub normalize_means: bool,
    pub normalize_variances: bool,
    /// Dimensions that stay as they are.
    pub skip_dims: Vec<usize>,
}

/// Normalises the utterances of one speaker after another.
#[derive(Debug)]
pub struct OnlineCmvn {
    options: OnlineCmvnOptions,
    global: CmvnStats,
    speaker: Option<CmvnStats>,
}

impl OnlineCmvn {
    pub fn new(options: OnlineCmvnOptions, global: CmvnStats) -> Result<Self> {
        if options.window == 0 {
            return Err(Error::options("the window must have at least one frame"));
        }
        if options.normalize_variances && !options.normalize_means {
            return Err(Error::options("variances cannot be normalised without means"));
        }
        if options.normalize_variances && global.squares.is_none() {
            return Err(Error::data("variances are to be normalised, but the global statistics have none"));
        }
        if global.count.is_nan() || global.count <= 0.0 {
            return Err(Error::data(format!("the count of the global statistics is {}", global.count)));
        }
        Ok(OnlineCmvn { options, global, speaker: None })
    }

    /// Forgets the speaker of the utterances so far.
    pub fn next_speaker(&mut self) {
        self.speaker = None;
    }

    /// The frames of an utterance, normalised. Afterwards all of them are part of what is known of the speaker.
    pub fn normalize(&mut self, features: &DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
        let dim = self.global.dim();
        if features.rows > 0 && features.cols != dim {
            return Err(Error::data(format!(
                "features have dimension {}, the global statistics {dim}",
                features.cols
            )));
        }
        let mut out = features.clone();
        let mut window = CmvnStats::new(dim);
        for t in 0..features.rows {
            add_squares_in_double(&mut window, features.row(t), 1.0);
            if let Some(leaving) = t.checked_sub(self.options.window) {
                add_squares_in_double(&mut window, features.row(leaving), -1.0);
            }
            if self.options.normalize_means {
                let mut stats = self.top_up(&window);
                if !self.options.skip_dims.is_empty() {
                    stats.to_mut().skip(&self.options.skip_dims)?;
                }
                stats.normalization(self.options.normalize_variances)?.apply_frame(out.row_mut(t));
            }
        }
        let speaker = self.speaker.get_or_insert_with(|| CmvnStats::new(dim));
        (0..features.rows).for_each(|t| add_squares_in_double(speaker, features.row(t), 1.0));
        Ok(out)
    }

    /// The window's statistics with those of the speaker and the global ones, as far as there is room in the window.
    fn top_up<'s>(&self, window: &'s CmvnStats) -> Cow<'s, CmvnStats> {
        let full = self.options.window as f64;
        let mut stats = Cow::Borrowed(window);
        let limits = [
            (self.speaker.as_ref(), self.options.speaker_frames),
            (Some(&self.global), self.options.global_frames),
        ];
        for (i, (more, limit)) in limits.into_iter().enumerate() {
            let Some(more) = more else { continue };
            // Only of the speaker no more can be taken than there is.
            let available = if i == 0 { more.count } else { f64::INFINITY };
            let frames = (full - stats.count).min(limit).min(available);
            if frames > 0.0 {
                stats.to_mut().add_scaled(more, frames / more.count);
            }
        }
        stats
    }
}

fn add_squares_in_double(stats: &mut CmvnStats, frame: &[f32], sign: f64) {
    stats.count += sign;
    for (sum, &x) in stats.sums.iter_mut().zip(frame) {
        *sum += sign * f64::from(x);
    }
    for (square, &x) in stats.squares.iter_mut().flatten().zip(frame) {
        *square += sign * f64::from(x).powi(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, matrix};

    fn options() -> OnlineCmvnOptions {
        OnlineCmvnOptions {
            window: 8,
            speaker_frames: 6.0,
            global_frames: 3.0,
            normalize_means: true,
            normalize_variances: true,
            skip_dims: Vec::new(),
        }
    }

    fn global() -> CmvnStats {
        let mut stats = CmvnStats::new(2);
        stats.add(&matrix(40, 2, 9), None).unwrap();
        stats
    }

    /// Mean and variance of frame `t`'s statistics as a list of weighted frames.
    fn expected(utterances: &[&DenseMatrix<f32>], t: usize, d: usize, options: &OnlineCmvnOptions) -> f64 {
        let (current, before) = utterances.split_last().unwrap();
        let first = (t + 1).saturating_sub(options.window);
        let mut frames: Vec<(f64, f64)> = (first..=t).map(|t| (1.0, f64::from(current.row(t)[d]))).collect();
        let mut room = options.window as f64 - frames.len() as f64;
        let past: Vec<f64> =
            before.iter().flat_map(|u| (0..u.rows).map(move |t| f64::from(u.row(t)[d]))).collect();
        let from_speaker = room.min(options.speaker_frames).min(past.len() as f64);
        frames.extend(past.iter().map(|&x| (from_speaker / past.len() as f64, x)));
        room -= from_speaker;
        let everything = matrix(40, 2, 9);
        let from_global = room.min(options.global_frames);
        frames.extend((0..40).map(|t| (from_global / 40.0, f64::from(everything.row(t)[d]))));
        let count: f64 = frames.iter().map(|(weight, _)| weight).sum();
        let mean = frames.iter().map(|(weight, x)| weight * x).sum::<f64>() / count;
        let variance = frames.iter().map(|(weight, x)| weight * (x - mean).powi(2)).sum::<f64>() / count;
        (f64::from(current.row(t)[d]) - mean)
            / if options.normalize_variances { variance.sqrt() } else { 1.0 }
    }

    #[test]
    fn equals_statistics_of_weighted_frames() {
        for variances in [false, true] {
            let options = OnlineCmvnOptions { normalize_variances: variances, ..options() };
            let mut cmvn = OnlineCmvn::new(options.clone(), global()).unwrap();
            let utterances = [matrix(4, 2, 1), matrix(20, 2, 2), matrix(5, 2, 3)];
            for n in 1..=utterances.len() {
                let so_far: Vec<_> = utterances[..n].iter().collect();
                let out = cmvn.normalize(&utterances[n - 1]).unwrap();
                let wanted: Vec<f64> =
                    (0..out.data.len()).map(|i| expected(&so_far, i / 2, i % 2, &options)).collect();
                assert_close(&out.data, &wanted, 1e-5);
            }
            cmvn.next_speaker();
            let out = cmvn.normalize(&utterances[0]).unwrap();
            let wanted: Vec<f64> =
                (0..8).map(|i| expected(&[&utterances[0]], i / 2, i % 2, &options)).collect();
            assert_close(&out.data, &wanted, 1e-5);
        }
    }

    #[test]
    fn skipping_and_not_normalising() {
        let features = matrix(5, 2, 4);
        let skip = OnlineCmvnOptions { skip_dims: vec![0], ..options() };
        let out = OnlineCmvn::new(skip, global()).unwrap().normalize(&features).unwrap();
        let column = |m: &DenseMatrix<f32>, d: usize| (0..5).map(|t| m.row(t)[d]).collect::<Vec<_>>();
        assert_eq!(column(&out, 0), column(&features, 0));
        assert_ne!(column(&out, 1), column(&features, 1));
        let nothing = OnlineCmvnOptions { normalize_means: false, normalize_variances: false, ..options() };
        assert_eq!(OnlineCmvn::new(nothing, global()).unwrap().normalize(&features).unwrap(), features);
    }

    #[test]
    fn errors() {
        let bad = OnlineCmvnOptions { normalize_means: false, ..options() };
        assert!(OnlineCmvn::new(bad, global()).is_err());
        assert!(OnlineCmvn::new(OnlineCmvnOptions { window: 0, ..options() }, global()).is_err());
        assert!(OnlineCmvn::new(options(), CmvnStats::new(2)).is_err());
        assert!(OnlineCmvn::new(options(), global()).unwrap().normalize(&matrix(2, 3, 1)).is_err());
    }
}
