//! Features written to a file for each utterance.

use std::path::Path;

use anyhow::{Context, Result};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::{DenseMatrix, KaldiWriter};
use nnet3::messages;
use nnet3::tables::{Input, NO_FRAMES};

/// Writes the features of each key to `folder/key.suffix`; returns how many there are. The folder is made if it is missing.
pub fn write_each(
    rspecifier: &str,
    folder: &str,
    suffix: &str,
    mut write: impl FnMut(&mut KaldiWriter, DenseMatrix<f32>) -> kaldi_io::Result<()>,
) -> Result<u64> {
    let folder = Path::new(folder);
    if !folder.is_dir() {
        std::fs::create_dir(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    let mut done = 0;
    Input::<MatrixHolder>::open(rspecifier)?.for_each(|key, features| {
        if features.rows == 0 {
            messages::warn(&format!("{key}: {NO_FRAMES}"));
            return Ok(());
        }
        let path = folder.join(format!("{key}.{suffix}")).display().to_string();
        let mut writer = KaldiWriter::create(&path, false)?;
        write(&mut writer, features)?;
        writer.finish()?;
        done += 1;
        Ok(())
    })?;
    Ok(done)
}
