//! `fstconvert`: writes an FST as another type.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Semiring};
use kaldi_fst::store;
use kaldi_io::KaldiWriter;
use nnet3::fsts::{WithSymbols, write_pairs};

/// Converts an FST to another type.
///
/// Symbol tables are kept, except by compact_acceptor, and by olabel_lookahead for output labels, which it numbers anew.
#[derive(clap::Parser)]
pub struct Options {
    /// Output FST type: "vector", "const", "compact_acceptor", "olabel_lookahead" (a transducer that knows which words can
    /// come next, for composition while decoding) or "ngram" (a language model with empty back-off arcs)
    #[arg(long = "fst_type", default_value = "vector")]
    fst_type: String,
    /// Write FST data aligned where appropriate
    #[arg(long = "fst_align", default_value_t = false)]
    fst_align: bool,
    /// Save output relabel pairs to file (olabel_lookahead): old and new labels, for fstrelabel --relabel_ipairs of the FST
    /// that the result is composed with
    #[arg(long = "save_relabel_opairs", default_value = "")]
    save_relabel_opairs: String,
    /// Save input relabel pairs to file. Refused: only output labels are looked ahead for
    #[arg(long = "save_relabel_ipairs", default_value = "")]
    save_relabel_ipairs: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    if !options.save_relabel_ipairs.is_empty() {
        bail!("--save_relabel_ipairs is for FSTs of type ilabel_lookahead, which cannot be written");
    }
    if !options.save_relabel_opairs.is_empty() && options.fst_type != "olabel_lookahead" {
        bail!("--save_relabel_opairs needs --fst_type=olabel_lookahead: the others keep their labels");
    }
    if options.fst_align && options.fst_type != "const" {
        bail!("--fst_align is possible for FSTs of type const only");
    }
    let file = WithSymbols::read(options.fst_in.as_deref())?;
    let to = options.fst_out.as_deref();
    match options.fst_type.as_str() {
        "vector" => {
            file.write(to)?;
            return Ok(0);
        }
        "const" => {
            file.write_const(to, options.fst_align)?;
            return Ok(0);
        }
        other if file.semiring != Semiring::Tropical => {
            bail!("an FST with arcs of type log can be of type vector or const, not {other}")
        }
        _ => {}
    }
    let WithSymbols { fst, symbols, .. } = file;
    let w = || KaldiWriter::create(to.unwrap_or_default(), false);
    match options.fst_type.as_str() {
        "compact_acceptor" => {
            fst.check_acceptor()?;
            let mut w = w()?;
            store::write_compact_acceptor(&mut w, &fst)?;
            w.finish()?;
        }
        "olabel_lookahead" => {
            let relabelled = ops::look_ahead(fst);
            let mut w = w()?;
            let [input, _] = symbols;
            store::write_look_ahead_with_symbols(&mut w, &relabelled.fst, input)?;
            if !options.save_relabel_opairs.is_empty() {
                write_pairs(&options.save_relabel_opairs, &relabelled.pairs)?;
            }
            w.finish()?;
        }
        "ngram" => {
            let ngrams = ops::ngrams(&fst)?;
            let mut w = w()?;
            store::write_ngrams(&mut w, &ngrams, symbols)?;
            w.finish()?;
        }
        other => bail!(
            "the FST type must be vector, const, compact_acceptor, olabel_lookahead or ngram, found {other}"
        ),
    }
    Ok(0)
}
