//! Checkpoints: a model with the state of its training behind it, and the folder of them.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::nnet::Nnet;
use nnet3_train::learn::fit::Moment;
use nnet3_train::learn::state::LearningState;

use nnet3::messages;

const PREFIX: &str = "checkpoint.";
const SUFFIX: &str = ".raw";

/// A folder with the latest checkpoints of a training.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
    /// Number of checkpoints to keep.
    keep: usize,
    /// Is locked while the training runs. The system takes the lock away when the process ends, however it does.
    _lock: Arc<File>,
}

/// The file that a training locks.
const LOCK: &str = "lock";

impl Checkpoints {
    /// Makes the folder if it is not there. Fails if another training uses it.
    pub fn new(folder: &str, keep: usize) -> Result<Checkpoints> {
        let folder = PathBuf::from(folder);
        std::fs::create_dir_all(folder.join("log"))
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "another nnet3-fit uses {}: choose another --checkpoint-dir, or wait until it has ended",
                folder.display()
            ),
            Err(TryLockError::Error(error)) => messages::warn(&format!(
                "{} cannot be locked, so nothing keeps another training out: {error}",
                path.display()
            )),
        }
        Ok(Checkpoints { folder, keep, _lock: Arc::new(lock) })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the existing checkpoints, with the moments of their creation, in this order.
    fn all(&self) -> Result<Vec<(Moment, PathBuf)>> {
        let cannot = || format!("cannot read {}", self.folder.display());
        let mut out = Vec::new();
        for entry in std::fs::read_dir(&self.folder).with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let moment = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
            if let Some(moment) = moment.and_then(parse_moment) {
                out.push((moment, path));
            }
        }
        out.sort();
        Ok(out)
    }

    /// Fails if there are checkpoints: a training that begins must not mix with another.
    pub fn refuse_old_ones(&self) -> Result<()> {
        match self.last()? {
            None => Ok(()),
            Some((_, path)) => bail!(
                "{} is there already: --resume=true goes on from it; for a new training, choose another folder or remove it",
                path.display()
            ),
        }
    }

    /// Writes a checkpoint, and removes old ones. Of the checkpoints within an epoch, only the latest one is kept.
    pub fn write(&self, nnet: &Nnet, state: &LearningState) -> Result<()> {
        let within = state.within.as_ref().map(|within| within.minibatches);
        let moment = (state.epochs, within.unwrap_or(0));
        let number = within.map_or(format!("{}", state.epochs), |done| format!("{}.{done}", state.epochs));
        let path = self.folder.join(format!("{PREFIX}{number}{SUFFIX}"));
        let name = path.to_string_lossy();
        let mut w = KaldiWriter::create(&name, true)?;
        nnet.write(&mut w)?;
        state.write(&mut w)?;
        w.finish()?;
        let mut earlier = self.all()?;
        earlier.retain(|(other, other_path)| *other <= moment && *other_path != path);
        let (inside, whole): (Vec<_>, Vec<_>) = earlier.into_iter().partition(|((_, done), _)| *done > 0);
        let kept = if within.is_some() { self.keep } else { self.keep - 1 };
        for (_, old) in inside.iter().chain(whole.iter().rev().skip(kept)) {
            std::fs::remove_file(old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
        Ok(())
    }

    /// Returns the moment and the file of the latest checkpoint, or `None` without a checkpoint.
    pub fn last(&self) -> Result<Option<(Moment, PathBuf)>> {
        Ok(self.all()?.pop())
    }

    /// Returns the latest checkpoint, or `None` without a checkpoint.
    pub fn latest(&self) -> Result<Option<(Nnet, LearningState)>> {
        let Some((_, path)) = self.last()? else { return Ok(None) };
        let name = path.to_string_lossy();
        let read = || -> Result<(Nnet, LearningState)> {
            let mut r = KaldiReader::open(&name)?;
            let nnet = Nnet::read(&mut r)?;
            let state = LearningState::read(&mut r)?;
            r.finish()?;
            Ok((nnet, state))
        };
        read().map(Some).with_context(|| format!("cannot continue from {name}"))
    }
}

/// `3` after three epochs, `3.40` after 40 minibatches more.
fn parse_moment(text: &str) -> Option<Moment> {
    match text.split_once('.') {
        None => Some((text.parse().ok()?, 0)),
        Some((epochs, done)) => Some((epochs.parse().ok()?, done.parse().ok()?)),
    }
}
