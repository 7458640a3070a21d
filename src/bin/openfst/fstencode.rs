//! `fstencode`: encodes labels and costs of arcs as single labels, and decodes them.

use anyhow::{Result, bail};
use kaldi_fst::ops::Codes;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3::fsts::WithSymbols;

/// Encodes transducers and/or costs of an FST as an acceptor, and writes the table of codes; or decodes such an FST with a table.
/// Symbol tables are left out.
#[derive(clap::Parser)]
pub struct Options {
    /// Decode labels and/or weights
    #[arg(long = "decode", default_value_t = false)]
    decode: bool,
    /// Encode output labels
    #[arg(long = "encode_labels", default_value_t = false)]
    encode_labels: bool,
    /// Encode weights
    #[arg(long = "encode_weights", default_value_t = false)]
    encode_weights: bool,
    /// Re-use existing codex: codes are added to it, and the new table goes to the same file
    #[arg(long = "encode_reuse", default_value_t = false)]
    encode_reuse: bool,
    fst_in: String,
    codex: String,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(Some(&options.fst_in))?;
    let read = || -> Result<Codes> {
        let mut r = KaldiReader::open_raw(&options.codex)?;
        let codes = Codes::read(&mut r)?;
        r.finish()?;
        Ok(codes)
    };
    file.symbols = [None, None];
    if options.decode {
        read()?.decode(&mut file.fst)?;
        file.write(options.fst_out.as_deref())?;
        return Ok(0);
    }
    let mut codes = match options.encode_reuse {
        true => read()?,
        false => Codes::new(options.encode_labels, options.encode_weights, file.arc_type()),
    };
    if !(codes.labels || codes.weights) {
        bail!("expected --encode_labels, --encode_weights or both");
    }
    if options.encode_reuse
        && (options.encode_labels, options.encode_weights) != (false, false)
        && (options.encode_labels, options.encode_weights) != (codes.labels, codes.weights)
    {
        bail!(
            "{}: the table encodes other parts than --encode_labels and --encode_weights say",
            options.codex
        );
    }
    codes.encode(&mut file.fst);
    let mut w = KaldiWriter::create(&options.codex, false)?;
    codes.write(&mut w)?;
    w.finish()?;
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}
