//! Normalisation as in online decoding (`OnlineCmvn` of `feat/online-feature.cc`). Each frame is normalised by the
//! statistics of a window that ends with it. If the window has too few frames, the speaker's statistics are added, and
//! then the global ones.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::cmvn::CmvnStats;
use crate::error::{Error, Result};
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter};

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
    /// Dimensions that are not normalised.
    pub skip_dims: Vec<usize>,
}

impl Default for OnlineCmvnOptions {
    fn default() -> Self {
        OnlineCmvnOptions {
            window: 600,
            speaker_frames: 600.0,
            global_frames: 200.0,
            normalize_means: true,
            normalize_variances: false,
            skip_dims: Vec::new(),
        }
    }
}

impl OnlineCmvnOptions {
    /// Checks that frames can be normalised in this way with these global statistics.
    pub fn check(&self, global: &CmvnStats) -> Result<()> {
        if self.window == 0 {
            return Err(Error::options("the window must have at least one frame"));
        }
        if self.normalize_variances && !self.normalize_means {
            return Err(Error::options("variances cannot be normalised without means"));
        }
        if self.normalize_variances && global.squares.is_none() {
            return Err(Error::data("variances are to be normalised, but the global statistics have none"));
        }
        if global.count.is_nan() || global.count <= 0.0 {
            return Err(Error::data(format!("the count of the global statistics is {}", global.count)));
        }
        Ok(())
    }
}

/// Statistics of a speaker before an utterance begins (`<OnlineCmvnState>` in files).
#[derive(Debug, Clone, PartialEq)]
pub struct OnlineCmvnState {
    /// Sums over all frames of the speaker's utterances so far.
    pub speaker: Option<CmvnStats>,
    pub global: CmvnStats,
    /// Statistics for all frames. If they are given, the statistics of the window are ignored.
    pub frozen: Option<CmvnStats>,
}

impl OnlineCmvnState {
    /// Makes the state of a new speaker, without statistics.
    pub fn new(global: CmvnStats) -> Self {
        OnlineCmvnState { speaker: None, global, frozen: None }
    }

    /// Scales the speaker's statistics down, so they count as at most `most_frames` frames.
    pub fn limit(&mut self, most_frames: f64) {
        if let Some(speaker) = self.speaker.as_mut().filter(|speaker| speaker.count > most_frames) {
            speaker.scale(most_frames / speaker.count);
        }
    }
}

impl KaldiObject for OnlineCmvnState {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        let stats = |r: &mut KaldiReader, token: &str| {
            r.expect_token(token)?;
            let matrix = DenseMatrix::<f64>::read(r)?;
            let stats = (matrix.rows > 0).then(|| CmvnStats::from_matrix(&matrix)).transpose();
            stats.map_err(|e| r.error(format!("{token}: {e}")))
        };
        r.expect_token("<OnlineCmvnState>")?;
        let speaker = stats(r, "<SpeakerCmvnStats>")?;
        let global = stats(r, "<GlobalCmvnStats>")?;
        let frozen = stats(r, "<FrozenState>")?;
        r.expect_token("</OnlineCmvnState>")?;
        let Some(global) = global else {
            return Err(r.error("the state of a normalisation has no global statistics"));
        };
        for (name, stats) in [("<SpeakerCmvnStats>", &speaker), ("<FrozenState>", &frozen)] {
            if let Some(stats) = stats
                && (stats.dim() != global.dim() || stats.squares.is_none())
            {
                return Err(r.error(format!(
                    "{name}: expected 2 rows and dimension {}, as of the global statistics, found {} and {}",
                    global.dim(),
                    1 + usize::from(stats.squares.is_some()),
                    stats.dim()
                )));
            }
        }
        Ok(OnlineCmvnState { speaker, global, frozen })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        let matrix =
            |stats: &Option<CmvnStats>| stats.as_ref().map_or_else(Default::default, CmvnStats::to_matrix);
        w.write_token("<OnlineCmvnState>")?;
        w.write_token("<SpeakerCmvnStats>")?;
        matrix(&self.speaker).write(w)?;
        w.write_token("<GlobalCmvnStats>")?;
        self.global.to_matrix().write(w)?;
        w.write_token("<FrozenState>")?;
        matrix(&self.frozen).write(w)?;
        w.write_token("</OnlineCmvnState>")
    }
}

/// Normalises the frames of one utterance, one after another.
#[derive(Debug, Clone)]
pub struct OnlineCmvnStream {
    options: OnlineCmvnOptions,
    state: OnlineCmvnState,
    /// Sums over the window that ends with the last frame.
    window: CmvnStats,
    /// The frames in the window.
    recent: VecDeque<Vec<f32>>,
    /// Sums over all frames of the utterance.
    all: CmvnStats,
}

impl OnlineCmvnStream {
    pub fn new(options: OnlineCmvnOptions, state: OnlineCmvnState) -> Result<Self> {
        options.check(&state.global)?;
        let dim = state.global.dim();
        let (window, all) = (CmvnStats::new(dim), CmvnStats::new(dim));
        Ok(OnlineCmvnStream { options, state, window, recent: VecDeque::new(), all })
    }

    /// Takes the next frame, and normalises it in place.
    pub fn normalize(&mut self, frame: &mut [f32]) -> Result<()> {
        if frame.len() != self.all.dim() {
            return Err(Error::data(format!(
                "features have dimension {}, the global statistics {}",
                frame.len(),
                self.all.dim()
            )));
        }
        add_squares_in_double(&mut self.all, frame, 1.0);
        add_squares_in_double(&mut self.window, frame, 1.0);
        let mut leaving = Vec::new();
        if self.recent.len() == self.options.window {
            leaving = self.recent.pop_front().unwrap_or_default();
            add_squares_in_double(&mut self.window, &leaving, -1.0);
        }
        leaving.clear();
        leaving.extend_from_slice(frame);
        self.recent.push_back(leaving);
        if self.options.normalize_means {
            let mut stats = self.current();
            if !self.options.skip_dims.is_empty() {
                stats.to_mut().skip(&self.options.skip_dims)?;
            }
            stats.normalization(self.options.normalize_variances)?.apply_frame(frame);
        }
        Ok(())
    }

    /// Normalises all frames to come as one in the place of the last frame.
    pub fn freeze(&mut self) {
        self.state.frozen = Some(self.current().into_owned());
    }

    /// Returns the speaker's statistics after the frames so far.
    pub fn state(&self) -> OnlineCmvnState {
        let mut state = self.state.clone();
        state.speaker.get_or_insert_with(|| CmvnStats::new(self.all.dim())).add_scaled(&self.all, 1.0);
        state
    }

    /// Returns the statistics for a frame: the statistics of the window, then the speaker's and the global ones up to
    /// the size of the window.
    fn current(&self) -> Cow<'_, CmvnStats> {
        if let Some(frozen) = &self.state.frozen {
            return Cow::Borrowed(frozen);
        }
        let full = self.options.window as f64;
        let mut stats = Cow::Borrowed(&self.window);
        let limits = [
            (self.state.speaker.as_ref(), self.options.speaker_frames),
            (Some(&self.state.global), self.options.global_frames),
        ];
        for (i, (more, limit)) in limits.into_iter().enumerate() {
            let Some(more) = more else { continue };
            // The speaker's statistics can give at most their own count of frames.
            let available = if i == 0 { more.count } else { f64::INFINITY };
            let frames = (full - stats.count).min(limit).min(available);
            if frames > 0.0 {
                stats.to_mut().add_scaled(more, frames / more.count);
            }
        }
        stats
    }
}

/// Normalises the utterances of one speaker after another.
#[derive(Debug)]
pub struct OnlineCmvn {
    options: OnlineCmvnOptions,
    state: OnlineCmvnState,
}

impl OnlineCmvn {
    pub fn new(options: OnlineCmvnOptions, global: CmvnStats) -> Result<Self> {
        options.check(&global)?;
        Ok(OnlineCmvn { options, state: OnlineCmvnState::new(global) })
    }

    /// Forgets the speaker of the utterances so far.
    pub fn next_speaker(&mut self) {
        self.state.speaker = None;
    }

    /// Normalises the frames of an utterance. Afterwards all of them are part of the speaker's statistics.
    pub fn normalize(&mut self, features: &DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
        let mut out = features.clone();
        let mut stream = OnlineCmvnStream::new(self.options.clone(), self.state.clone())?;
        for t in 0..features.rows {
            stream.normalize(out.row_mut(t))?;
        }
        self.state = stream.state();
        Ok(out)
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
    use kaldi_io::testing::{from_text, in_both_forms};

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
    fn frozen_statistics_stay() {
        let features = matrix(9, 2, 4);
        let mut stream = OnlineCmvnStream::new(options(), OnlineCmvnState::new(global())).unwrap();
        let mut frames: Vec<Vec<f32>> = (0..9).map(|t| features.row(t).to_vec()).collect();
        frames[..3].iter_mut().for_each(|frame| stream.normalize(frame).unwrap());
        stream.freeze();
        // The same frame in the frozen place, and again six frames later, and in the next utterance.
        let mut again = features.row(2).to_vec();
        frames[3..].iter_mut().for_each(|frame| stream.normalize(frame).unwrap());
        stream.normalize(&mut again).unwrap();
        assert_eq!(again, frames[2]);
        let mut next = OnlineCmvnStream::new(options(), stream.state()).unwrap();
        let mut again = features.row(2).to_vec();
        next.normalize(&mut again).unwrap();
        assert_eq!(again, frames[2]);
    }

    #[test]
    fn states_in_files() {
        // Numbers that a text of six digits does not change.
        let mut frames = [[0.5, 1.0], [-2.0, 0.25], [4.0, 1.5], [0.75, -1.0]];
        let mut global = CmvnStats::new(2);
        global.add(&DenseMatrix::from_rows(&frames), None).unwrap();
        let options = OnlineCmvnOptions { global_frames: 4.0, ..options() };
        let mut stream = OnlineCmvnStream::new(options, OnlineCmvnState::new(global.clone())).unwrap();
        assert_eq!(stream.state().speaker, Some(CmvnStats::new(2)));
        in_both_forms(&OnlineCmvnState::new(global));
        frames.iter_mut().for_each(|frame| stream.normalize(frame).unwrap());
        stream.freeze();
        let mut state = stream.state();
        let (text, _) = in_both_forms(&state);
        assert!(text.starts_with("<OnlineCmvnState> <SpeakerCmvnStats>  [\n"), "{text}");
        for end in 0..text.len() - 2 {
            assert!(from_text::<OnlineCmvnState>(&text[..end]).is_err(), "{end}");
        }
        let refused = |text: &str, words: &str| {
            let error = from_text::<OnlineCmvnState>(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        let with = |speaker, global| {
            format!(
                "<OnlineCmvnState> <SpeakerCmvnStats> [ {speaker} ] <GlobalCmvnStats> [ {global} ] \
                 <FrozenState> [ ] </OnlineCmvnState> "
            )
        };
        refused(&with("", ""), "no global statistics");
        refused(&with("1 1\n1 0", "1 1 1\n1 1 0"), "found 2 and 1");
        refused(&with("1 1 1", "1 1 1\n1 1 0"), "found 1 and 2");
        let before = state.speaker.clone().unwrap();
        state.limit(5.0);
        assert_eq!(state.speaker.as_ref(), Some(&before));
        state.limit(1.0);
        let limited = state.speaker.unwrap();
        assert_eq!((limited.count, limited.sums[1]), (1.0, before.sums[1] / 4.0));
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
