//! `fstsymbols`: attaches symbol tables to an FST, takes them out, or checks them.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Side};
use kaldi_fst::store::Symbols;
use kaldi_io::KaldiWriter;
use nnet3::fsts::{self, DIFFERENT, WithSymbols};

/// Performs operations (set, clear, relabel) on the symbol tables attached to an FST.
#[derive(clap::Parser)]
pub struct Options {
    /// Input label symbol table
    #[arg(long, default_value = "")]
    isymbols: String,
    /// Output label symbol table
    #[arg(long, default_value = "")]
    osymbols: String,
    /// Clear input symbol table
    #[arg(long = "clear_isymbols", default_value_t = false)]
    clear_isymbols: bool,
    /// Clear output symbol table
    #[arg(long = "clear_osymbols", default_value_t = false)]
    clear_osymbols: bool,
    /// Input relabel set from pairs file
    #[arg(long = "relabel_ipairs", default_value = "")]
    relabel_ipairs: String,
    /// Output relabel set from pairs file
    #[arg(long = "relabel_opairs", default_value = "")]
    relabel_opairs: String,
    /// Save FST file's input symbol table to file
    #[arg(long = "save_isymbols", default_value = "")]
    save_isymbols: String,
    /// Save FST file's output symbol table to file
    #[arg(long = "save_osymbols", default_value = "")]
    save_osymbols: String,
    /// Verify labels appear in the symbol tables; the status is 2 if not
    #[arg(long, default_value_t = false)]
    verify: bool,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    for (table, name) in file.symbols.iter().zip([&options.save_isymbols, &options.save_osymbols]) {
        match table {
            _ if name.is_empty() => {}
            Some(table) => {
                let mut w = KaldiWriter::create(name, false)?;
                table.write_text(&mut w)?;
                w.finish()?;
            }
            None => bail!("{name}: the FST has no such symbol table"),
        }
    }
    let sides = [
        (Side::Input, &options.isymbols, options.clear_isymbols, &options.relabel_ipairs),
        (Side::Output, &options.osymbols, options.clear_osymbols, &options.relabel_opairs),
    ];
    for ((side, name, clear, pairs), own) in sides.into_iter().zip(&mut file.symbols) {
        if clear {
            *own = None;
        } else if !name.is_empty() {
            *own = fsts::symbols(name)?;
        }
        if !pairs.is_empty() {
            ops::relabel(&mut file.fst, side, &fsts::read_pairs(pairs)?);
        }
    }
    if options.verify && !(has_all(&file, 0) && has_all(&file, 1)) {
        return Ok(DIFFERENT);
    }
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}

/// True if all labels of a side (0: input) have a symbol, or the side has no table.
fn has_all(file: &WithSymbols, side: usize) -> bool {
    let has = |table: &Symbols| {
        file.fst.states.iter().flat_map(|state| &state.arcs).all(|arc| {
            let label = if side == 0 { arc.ilabel } else { arc.olabel };
            label == 0 || table.name(label.into()).is_some()
        })
    };
    file.symbols[side].as_ref().is_none_or(has)
}
