//! Features written to a file for each utterance; waves in files.

use std::path::Path;

use anyhow::{Context, Result};
use kaldi_cli::log::{self, Site};
use kaldi_feat::wave::{Wave, WaveHolder};
use kaldi_io::holder::{Holder, MatrixHolder};
use kaldi_io::{DenseMatrix, KaldiReader, KaldiWriter};
use nnet3::messages;
use nnet3::tables::{Input, no_frames};

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
            messages::warn(&no_frames(key));
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

/// Reads a wave file, with a warning if it has a fault.
pub fn read_wave(rxfilename: &str) -> Result<Wave> {
    let mut reader = KaldiReader::open_raw(rxfilename)?;
    let wave = WaveHolder::read(&mut reader)?;
    reader.close()?;
    if let Some(complaint) = &wave.complaint {
        messages::warn(&format!("{rxfilename}: {complaint}"));
    }
    Ok(wave)
}

/// Writes a wave file. It has no header before its own.
pub fn write_wave(wxfilename: &str, wave: &Wave) -> Result<()> {
    let mut writer = KaldiWriter::create(wxfilename, false)?;
    WaveHolder::write(&mut writer, wave)?;
    Ok(writer.finish()?)
}

/// The wave of these channels, with a warning if samples are too large for it.
pub fn clipped_wave(sample_rate: u32, channels: &[Vec<f32>]) -> Wave {
    let (wave, clipped) = Wave::from_channels(sample_rate, channels);
    if clipped > 0 {
        let total = wave.samples.len();
        log::warning(
            &Site::new("Write", "wave-reader.cc", 1),
            &format!("WARNING: clipped {clipped} samples out of total {total}. Reduce volume?"),
        );
    }
    wave
}
