//! `wav-copy`: waves from table to table or file to file.

use anyhow::Result;
use kaldi_feat::wave::WaveHolder;
use nnet3::{messages, tables};

use super::files::{read_wave, write_wave};

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
    write_wave(to, &read_wave(from)?)?;
    Ok(0)
}
