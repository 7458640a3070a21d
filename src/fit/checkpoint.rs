//! Checkpoints: a model with the state of its training behind it, and the folder of them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::nnet::Nnet;
use nnet3_train::learn::state::LearningState;

const PREFIX: &str = "checkpoint.";
const SUFFIX: &str = ".raw";

/// A folder with the latest checkpoints of a training.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
    /// How many are kept.
    keep: usize,
}

impl Checkpoints {
    pub fn new(folder: &str, keep: usize) -> Result<Checkpoints> {
        let folder = PathBuf::from(folder);
        std::fs::create_dir_all(folder.join("log"))
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Checkpoints { folder, keep })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checkpoints that are there, with the epochs after which they were made, in their order.
    fn all(&self) -> Result<Vec<(u64, PathBuf)>> {
        let cannot = || format!("cannot read {}", self.folder.display());
        let mut out = Vec::new();
        for entry in std::fs::read_dir(&self.folder).with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let epoch = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
            if let Some(epoch) = epoch.and_then(|epoch| epoch.parse().ok()) {
                out.push((epoch, path));
            }
        }
        out.sort();
        Ok(out)
    }

    /// An error if there are checkpoints: a training that begins must not mix with another.
    pub fn refuse_old_ones(&self) -> Result<()> {
        match self.all()?.pop() {
            None => Ok(()),
            Some((_, path)) => bail!(
                "{} is there already: --resume=true goes on from it; for a new training, choose another folder or remove it",
                path.display()
            ),
        }
    }

    /// Writes a checkpoint, and removes those that are too old.
    pub fn write(&self, nnet: &Nnet, state: &LearningState) -> Result<()> {
        let path = self.folder.join(format!("{PREFIX}{}{SUFFIX}", state.epochs));
        let name = path.to_string_lossy();
        let mut w = KaldiWriter::create(&name, true)?;
        nnet.write(&mut w)?;
        state.write(&mut w)?;
        w.finish()?;
        let all = self.all()?;
        for (_, old) in all.iter().filter(|(epoch, _)| *epoch < state.epochs).rev().skip(self.keep - 1) {
            std::fs::remove_file(old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
        Ok(())
    }

    /// The latest checkpoint; `None` if there is none.
    pub fn latest(&self) -> Result<Option<(Nnet, LearningState)>> {
        let Some((_, path)) = self.all()?.pop() else { return Ok(None) };
        let name = path.to_string_lossy();
        let read = || -> Result<(Nnet, LearningState)> {
            let mut r = KaldiReader::open(&name)?;
            let nnet = Nnet::read(&mut r)?;
            let state = LearningState::read(&mut r)?;
            r.finish()?;
            Ok((nnet, state))
        };
        read().map(Some).with_context(|| format!("cannot go on from {name}"))
    }
}
