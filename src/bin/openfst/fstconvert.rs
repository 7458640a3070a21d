//! `fstconvert`: writes an FST as another type.

use anyhow::{Result, bail};
use kaldi_fst::store;
use kaldi_io::KaldiWriter;
use nnet3::fsts::WithSymbols;

/// Converts an FST to another type. Symbol tables are kept where the result is of type vector.
#[derive(clap::Parser)]
pub struct Options {
    /// Output FST type: "vector", "const" or "compact_acceptor"
    #[arg(long = "fst_type", default_value = "vector")]
    fst_type: String,
    /// Write FST data aligned where appropriate
    #[arg(long = "fst_align", default_value_t = false)]
    fst_align: bool,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let file = WithSymbols::read(options.fst_in.as_deref())?;
    let to = options.fst_out.as_deref().unwrap_or_default();
    match options.fst_type.as_str() {
        "vector" => file.write(Some(to))?,
        "const" => {
            let mut w = KaldiWriter::create(to, false)?;
            store::write_const(&mut w, &file.fst, options.fst_align)?;
            w.finish()?;
        }
        "compact_acceptor" if options.fst_align => bail!("compact_acceptor is written unaligned only"),
        "compact_acceptor" => {
            file.fst.check_acceptor()?;
            let mut w = KaldiWriter::create(to, false)?;
            store::write_compact_acceptor(&mut w, &file.fst)?;
            w.finish()?;
        }
        other => bail!("the FST type must be vector, const or compact_acceptor, found {other}"),
    }
    Ok(0)
}
