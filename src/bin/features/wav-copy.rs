//! `wav-copy`: waves from table to table or file to file.

use anyhow::Result;
use kaldi_feat::wave::WaveHolder;
use kaldi_io::holder::Holder;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3::{messages, tables};

/// Copy wave file or archives of wave files
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g. wav-copy scp:wav.scp ark:-\n\
    wav-copy wav.ark:123456 -\n\
    See also: wav-to-duration extract-segments")]
pub struct Options {
    #[arg(value_name = "(<wav-rspecifier>|<wav-rxfilename>)")]
    wav_in: String,
    #[arg(value_name = "(<wav-wspecifier>|<wav-wxfilename>)")]
    wav_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.wav_in, &options.wav_out);
    if tables::are_tables(from, to)? {
        let output = tables::map::<WaveHolder, WaveHolder>(from, to, |key, wave| {
            if let Some(complaint) = &wave.complaint {
                messages::warn(&format!("{key}: {complaint}"));
            }
            Ok(Ok(wave))
        })?;
        messages::log(&format!("Copied {} wave files", output.done));
        return output.finish();
    }
    let mut reader = KaldiReader::open_raw(from)?;
    let wave = WaveHolder::read(&mut reader)?;
    reader.close()?;
    if let Some(complaint) = &wave.complaint {
        messages::warn(&format!("{from}: {complaint}"));
    }
    // Wave files have no header before their own.
    let mut writer = KaldiWriter::create(to, false)?;
    WaveHolder::write(&mut writer, &wave)?;
    writer.finish()?;
    Ok(0)
}
