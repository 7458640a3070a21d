//! The part of a checkpoint behind the model: `<LearningState> … </LearningState>`.
//!
//! Programs that read models stop before it. Checkpoints are binary: text would round counts, and has no infinity.

use crate::error::{Error, Result};
use crate::learn::schedule::{PlateauState, Watch};
use kaldi_io::matrix::{read_vector, write_vector};
use kaldi_io::{DenseMatrix, IoError, KaldiReader, KaldiWriter};
use nnet3_core::snapshot::Snapshot;

const VERSION: i32 = 4;
/// More settings, groups or parts than a training has.
const MOST: i32 = 1_000_000;
/// Counts go through `f64`, which has all of these.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;

/// All that a training keeps besides the model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningState {
    /// Settings that must stay the same for the training to continue: names and values; a name may have several.
    pub settings: Vec<(String, String)>,
    /// Epochs that are done.
    pub epochs: u64,
    /// Progress within the next epoch; `None` between epochs.
    pub within: Option<Within>,
    /// Statistics of the model between epochs, as [`crate::trainer::Trainer::statistics`] takes them: a file of the model has
    /// averages of them.
    pub statistics: Snapshot,
    pub watch: Watch,
    pub learner: LearnerState,
}

/// A place between two minibatches of an epoch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Within {
    /// Minibatches of the epoch that are done.
    pub minibatches: u64,
    /// The state of [`crate::trainer::Trainer::snapshot`]; for several replicas, their common part.
    pub trainer: Snapshot,
    /// The state of each replica, if there are several.
    pub replicas: Vec<ReplicaState>,
    /// Events of the epoch that have not been reported.
    pub happened: Snapshot,
}

/// The state for resuming one of several trainers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplicaState {
    /// With the parameters of its network.
    pub trainer: Snapshot,
    pub learner: LearnerState,
}

/// The state of the optimisers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearnerState {
    /// Steps so far.
    pub steps: u64,
    /// The state of each group's plateau schedule.
    pub plateaus: Vec<PlateauState>,
    /// Number of updates of the running average.
    pub averaged: u64,
    pub parts: Vec<PartState>,
}

impl LearnerState {
    /// Returns the mean of the states of several learners with the same rules. The number of steps is the largest of
    /// theirs. `None` if there are no states.
    pub fn mean(states: Vec<LearnerState>) -> Option<LearnerState> {
        let factor = 1.0 / states.len() as f32;
        let mut states = states.into_iter();
        let mut mean = states.next()?;
        let matrices = |state: LearnerState| state.parts.into_iter().flat_map(|part| part.matrices);
        for state in states {
            mean.steps = mean.steps.max(state.steps);
            mean.averaged = mean.averaged.max(state.averaged);
            let sums = mean.parts.iter_mut().flat_map(|part| &mut part.matrices);
            for (sum, more) in sums.zip(matrices(state)) {
                sum.data.iter_mut().zip(&more.data).for_each(|(sum, x)| *sum += x);
            }
        }
        let sums = mean.parts.iter_mut().flat_map(|part| &mut part.matrices);
        sums.flat_map(|sum| &mut sum.data).for_each(|sum| *sum *= factor);
        Some(mean)
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<Steps>")?;
        w.write_f64(self.steps as f64)?;
        w.write_token("<Plateaus>")?;
        count_of(w, self.plateaus.len())?;
        for plateau in &self.plateaus {
            write_watch(w, plateau.watch)?;
            w.write_f64(plateau.factor)?;
        }
        w.write_token("<Averaged>")?;
        w.write_f64(self.averaged as f64)?;
        w.write_token("<Parts>")?;
        count_of(w, self.parts.len())?;
        for part in &self.parts {
            w.write_token("<Part>")?;
            text(w, &part.component)?;
            text(w, &part.part)?;
            text(w, &part.optimizer)?;
            count_of(w, part.matrices.len())?;
            part.matrices.iter().try_for_each(|matrix| matrix.write(w))?;
        }
        Ok(())
    }

    fn read(r: &mut KaldiReader) -> Result<LearnerState> {
        let mut state = LearnerState::default();
        r.expect_token("<Steps>")?;
        state.steps = read_count(r)?;
        r.expect_token("<Plateaus>")?;
        for _ in 0..read_count_of(r)? {
            state.plateaus.push(PlateauState { watch: read_watch(r)?, factor: r.read_f64()? });
        }
        r.expect_token("<Averaged>")?;
        state.averaged = read_count(r)?;
        r.expect_token("<Parts>")?;
        for _ in 0..read_count_of(r)? {
            r.expect_token("<Part>")?;
            let (component, part, optimizer) = (read_text(r)?, read_text(r)?, read_text(r)?);
            let mut matrices = Vec::new();
            for _ in 0..read_count_of(r)? {
                matrices.push(DenseMatrix::read(r)?);
            }
            state.parts.push(PartState { component, part, optimizer, matrices });
        }
        Ok(state)
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartState {
    pub component: String,
    pub part: String,
    /// The type of its optimiser, or `none`.
    pub optimizer: String,
    /// The state of the rule, then the running average if there is one.
    pub matrices: Vec<DenseMatrix<f32>>,
}

impl LearningState {
    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<LearningState>")?;
        w.write_token("<Version>")?;
        w.write_i32(VERSION)?;
        w.write_token("<Settings>")?;
        count_of(w, self.settings.len())?;
        for (name, value) in &self.settings {
            text(w, name)?;
            text(w, value)?;
        }
        w.write_token("<Epochs>")?;
        w.write_f64(self.epochs as f64)?;
        w.write_token("<Within>")?;
        w.write_bool(self.within.is_some())?;
        if let Some(within) = &self.within {
            w.write_f64(within.minibatches as f64)?;
            write_snapshot(w, &within.trainer)?;
            count_of(w, within.replicas.len())?;
            for replica in &within.replicas {
                write_snapshot(w, &replica.trainer)?;
                replica.learner.write(w)?;
            }
            write_snapshot(w, &within.happened)?;
        }
        w.write_token("<Statistics>")?;
        write_snapshot(w, &self.statistics)?;
        w.write_token("<Watch>")?;
        write_watch(w, self.watch)?;
        self.learner.write(w)?;
        w.write_token("</LearningState>")?;
        Ok(())
    }

    pub fn read(r: &mut KaldiReader) -> Result<LearningState> {
        r.expect_token("<LearningState>")?;
        r.expect_token("<Version>")?;
        let version = r.read_i32()?;
        if version != VERSION {
            return Err(r
                .error(format!("expected version {VERSION} of a learning state, found {version}"))
                .into());
        }
        let mut state = LearningState::default();
        r.expect_token("<Settings>")?;
        for _ in 0..read_count_of(r)? {
            state.settings.push((read_text(r)?, read_text(r)?));
        }
        r.expect_token("<Epochs>")?;
        state.epochs = read_count(r)?;
        r.expect_token("<Within>")?;
        if r.read_bool()? {
            let minibatches = read_count(r)?;
            let trainer = read_snapshot(r)?;
            let mut replicas = Vec::new();
            for _ in 0..read_count_of(r)? {
                replicas.push(ReplicaState { trainer: read_snapshot(r)?, learner: LearnerState::read(r)? });
            }
            let happened = read_snapshot(r)?;
            state.within = Some(Within { minibatches, trainer, replicas, happened });
        }
        r.expect_token("<Statistics>")?;
        state.statistics = read_snapshot(r)?;
        r.expect_token("<Watch>")?;
        state.watch = read_watch(r)?;
        state.learner = LearnerState::read(r)?;
        r.expect_token("</LearningState>")?;
        Ok(state)
    }

    /// Checks that a training with these settings can continue from here. The error names the difference.
    pub fn check_settings(&self, now: &[(String, String)]) -> Result<()> {
        for (k, (name, value)) in now.iter().enumerate() {
            match self.settings.get(k) {
                Some((old_name, old)) if old_name == name && old == value => {}
                Some((old_name, old)) if old_name == name => {
                    return Err(Error::options(format!(
                        "the checkpoint is of a training with {name} '{old}', this one has '{value}'"
                    )));
                }
                _ => {
                    return Err(Error::options(format!(
                        "the checkpoint is of a training without {name} '{value}'"
                    )));
                }
            }
        }
        match self.settings.get(now.len()) {
            None => Ok(()),
            Some((name, value)) => Err(Error::options(format!(
                "the checkpoint is of a training with {name} '{value}', which this training lacks"
            ))),
        }
    }
}

fn count_of(w: &mut KaldiWriter, count: usize) -> Result<()> {
    Ok(w.write_i32(
        i32::try_from(count).map_err(|_| Error::data("the state has more parts than a file can hold"))?,
    )?)
}

fn text(w: &mut KaldiWriter, text: &str) -> Result<()> {
    Ok(w.write_u8_vector(text.as_bytes())?)
}

fn read_count_of(r: &mut KaldiReader) -> Result<i32> {
    let count = r.read_i32()?;
    match (0..=MOST).contains(&count) {
        true => Ok(count),
        false => Err(r.error(format!("expected a number from 0 to {MOST}, found {count}")).into()),
    }
}

fn read_count(r: &mut KaldiReader) -> Result<u64> {
    let count = r.read_f64()?;
    match count.fract() == 0.0 && (0.0..=LARGEST_COUNT).contains(&count) {
        true => Ok(count as u64),
        false => Err(r.error(format!("expected a count, found {count}")).into()),
    }
}

fn write_watch(w: &mut KaldiWriter, watch: Watch) -> Result<()> {
    w.write_f64(watch.best)?;
    Ok(w.write_f64(watch.without_improvement as f64)?)
}

fn read_watch(r: &mut KaldiReader) -> Result<Watch> {
    Ok(Watch { best: r.read_f64()?, without_improvement: read_count(r)? })
}

fn write_snapshot(w: &mut KaldiWriter, snapshot: &Snapshot) -> Result<()> {
    write_vector(w, &snapshot.numbers)?;
    count_of(w, snapshot.texts.len())?;
    snapshot.texts.iter().try_for_each(|it| text(w, it))?;
    count_of(w, snapshot.matrices.len())?;
    Ok(snapshot.matrices.iter().try_for_each(|matrix| matrix.write(w))?)
}

fn read_snapshot(r: &mut KaldiReader) -> Result<Snapshot> {
    let mut snapshot = Snapshot { numbers: read_vector(r)?, ..Snapshot::default() };
    for _ in 0..read_count_of(r)? {
        snapshot.texts.push(read_text(r)?);
    }
    for _ in 0..read_count_of(r)? {
        snapshot.matrices.push(DenseMatrix::read(r)?);
    }
    Ok(snapshot)
}

fn read_text(r: &mut KaldiReader) -> Result<String> {
    let bytes = r.read_u8_vector()?;
    let wrong: IoError = r.error("expected a text in UTF-8");
    String::from_utf8(bytes).map_err(|_| wrong.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learner(matrix: &DenseMatrix<f32>) -> LearnerState {
        LearnerState {
            steps: 123_456_789_012,
            plateaus: vec![PlateauState { watch: Watch { best: 0.25, without_improvement: 2 }, factor: 0.1 }],
            averaged: 5,
            parts: vec![PartState {
                component: "a".into(),
                part: "linear".into(),
                optimizer: "adam".into(),
                matrices: vec![matrix.clone(), matrix.clone()],
            }],
        }
    }

    fn state() -> LearningState {
        let matrix = DenseMatrix::from_rows(&[[0.1f32, -2.5, 3e-20]]);
        let snapshot = Snapshot {
            numbers: vec![0.1, -1e300, f64::INFINITY],
            texts: vec!["output".into()],
            matrices: vec![matrix.clone()],
        };
        let replica = ReplicaState { trainer: snapshot.clone(), learner: learner(&matrix) };
        LearningState {
            settings: vec![
                ("srand".into(), "3".into()),
                ("rule".into(), "optimizer name=a type=adam".into()),
            ],
            epochs: 7,
            within: Some(Within {
                minibatches: 3,
                trainer: snapshot,
                replicas: vec![replica.clone(), ReplicaState::default(), replica],
                happened: Snapshot { numbers: vec![2.0], ..Snapshot::default() },
            }),
            statistics: Snapshot { numbers: vec![7.0], ..Snapshot::default() },
            watch: Watch::default(),
            learner: learner(&matrix),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut w = KaldiWriter::in_memory(true);
        state().write(&mut w).unwrap();
        let mut r = KaldiReader::from_bytes("state", w.into_bytes());
        r.set_binary(true);
        assert_eq!(LearningState::read(&mut r).unwrap(), state());
    }

    #[test]
    fn means_of_learners() {
        let (one, mut other) = (state().learner, state().learner);
        other.steps += 1;
        other.parts[0].matrices[1] = DenseMatrix::from_rows(&[[0.3f32, 2.5, 1.0]]);
        let mean = LearnerState::mean(vec![one.clone(), other]).unwrap();
        assert_eq!(mean.steps, one.steps + 1);
        assert_eq!(mean.parts[0].matrices[0], one.parts[0].matrices[0]);
        assert_eq!(mean.parts[0].matrices[1].data, [0.2, 0.0, 0.5]);
        assert_eq!(LearnerState::mean(vec![one.clone()]), Some(one));
        assert_eq!(LearnerState::mean(Vec::new()), None);
    }

    #[test]
    fn truncated_states_are_errors() {
        let mut w = KaldiWriter::in_memory(true);
        state().write(&mut w).unwrap();
        let bytes = w.into_bytes();
        for length in 0..bytes.len() - 1 {
            let mut r = KaldiReader::from_bytes("state", bytes[..length].to_vec());
            r.set_binary(true);
            assert!(LearningState::read(&mut r).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn differences_are_named() {
        let mut now = state().settings;
        state().check_settings(&now).unwrap();
        now[0].1 = "4".into();
        let message = state().check_settings(&now).unwrap_err().to_string();
        assert!(message.contains("srand '3'") && message.contains("'4'"), "{message}");
        now[0].1 = "3".into();
        let rule = now.pop();
        assert!(state().check_settings(&now).unwrap_err().to_string().contains("rule 'optimizer"));
        now.extend(rule.clone());
        now.extend(rule);
        assert!(state().check_settings(&now).unwrap_err().to_string().contains("without rule"));
    }
}
