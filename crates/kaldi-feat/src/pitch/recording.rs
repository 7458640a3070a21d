//! Whole recordings.

use kaldi_io::DenseMatrix;

use super::COLUMNS;
use super::options::{PitchOptions, PitchProcessOptions};
use super::process::{PitchProcessor, PitchSource};
use super::tracker::PitchTracker;
use crate::error::{Error, Result};

/// Finds the pitch of a recording, a row for each frame: NCCF and pitch in Hz. Returns no rows if the recording is too
/// short. Resets the tracker first.
pub fn extract(tracker: &mut PitchTracker, signal: &[f32]) -> DenseMatrix<f32> {
    let first_pass_only = tracker.options().simulate_first_pass_online;
    let mut first_pass = Vec::new();
    feed(tracker, signal, |tracker| {
        if first_pass_only {
            let new = first_pass.len() / COLUMNS..tracker.ready();
            first_pass.extend(new.flat_map(|t| tracker.frame(t)));
        }
    });
    let data = match first_pass_only {
        true => first_pass,
        false => (0..tracker.ready()).flat_map(|t| tracker.frame(t)).collect(),
    };
    rows(data, COLUMNS)
}

/// Makes features of raw pitch: rows of NCCF and pitch in Hz. It is an error if the rows have another form.
pub fn process(
    options: &PitchProcessOptions,
    noise: impl FnMut() -> f32,
    pitch: &DenseMatrix<f32>,
) -> Result<DenseMatrix<f32>> {
    let mut processor = PitchProcessor::new(options.clone(), noise)?;
    if pitch.rows == 0 {
        return Ok(DenseMatrix::default());
    }
    if pitch.cols != COLUMNS {
        return Err(Error::data(format!(
            "{} columns: expected {COLUMNS}, which compute-kaldi-pitch-feats makes",
            pitch.cols
        )));
    }
    let wrong = |row: &[f32]| !(row[0].is_finite() && row[1] > 0.0 && row[1].is_finite());
    if let Some(t) = (0..pitch.rows).find(|&t| wrong(pitch.row(t))) {
        return Err(Error::data(format!(
            "frame {t} has NCCF {} and pitch {}: expected a finite NCCF and a pitch above 0",
            pitch.row(t)[0],
            pitch.row(t)[1]
        )));
    }
    let mut data = Vec::new();
    (0..processor.ready(pitch)).for_each(|t| processor.append(pitch, t, &mut data));
    Ok(rows(data, processor.dim()))
}

/// Finds the pitch of a recording and makes features of it. Resets the tracker first.
///
/// Frames are made when they become ready, so that each takes the same noise as in a stream. Unless options ask for
/// these first versions, they are made again at the end.
pub fn extract_and_process(
    tracker: &mut PitchTracker,
    process: &PitchProcessOptions,
    noise: impl FnMut() -> f32,
    signal: &[f32],
) -> Result<DenseMatrix<f32>> {
    let mut processor = PitchProcessor::new(process.clone(), noise)?;
    let (dim, mut data) = (processor.dim(), Vec::new());
    feed(tracker, signal, |tracker| {
        let new = data.len() / dim..processor.ready(tracker);
        new.for_each(|t| processor.append(tracker, t, &mut data));
    });
    let options = tracker.options();
    if !options.simulate_first_pass_online && options.frames_per_chunk > 0 {
        data.clear();
        (0..processor.ready(tracker)).for_each(|t| processor.append(tracker, t, &mut data));
    }
    Ok(rows(data, dim))
}

/// Gives the tracker the signal in chunks as its options ask for, and calls `ready` after each.
fn feed(tracker: &mut PitchTracker, signal: &[f32], mut ready: impl FnMut(&PitchTracker)) {
    tracker.restart();
    let PitchOptions { frames_per_chunk, sample_rate, frame_shift, .. } = *tracker.options();
    let chunk = frames_per_chunk as f64 * f64::from(sample_rate) * f64::from(frame_shift) * 1e-3;
    let chunk = if frames_per_chunk == 0 { signal.len() } else { chunk as usize };
    let mut chunks = signal.chunks(chunk.max(1)).peekable();
    while let Some(samples) = chunks.next() {
        tracker.accept(samples);
        if chunks.peek().is_none() {
            tracker.finish();
        }
        ready(tracker);
    }
}

fn rows(data: Vec<f32>, cols: usize) -> DenseMatrix<f32> {
    match data.len() / cols {
        0 => DenseMatrix::default(),
        rows => DenseMatrix { rows, cols, data },
    }
}

/// Raw pitch that is all there.
impl PitchSource for DenseMatrix<f32> {
    fn ready(&self) -> usize {
        self.rows
    }
    fn is_finished(&self) -> bool {
        true
    }
    fn frame(&self, t: usize) -> [f32; COLUMNS] {
        [self.row(t)[0], self.row(t)[1]]
    }
}
