//! `make-grammar-fst`: puts graphs that refer to each other together, or prepares one for that.

use anyhow::{Result, bail};
use kaldi_fst::store;
use kaldi_graph::grammar::{GrammarFst, Nonterminals, prepare_for_grammar};
use kaldi_io::text::parse_integer;
use kaldi_io::{KaldiWriter, write_object};
use nnet3::{fsts, messages};

/// Construct GrammarFst and write it to disk (or convert it to ConstFst and write that to disk instead).
///
/// With one FST and an output, prepares the FST for this use: its final-costs are changed and states are added. The results are
/// what the other way of calling takes: the top-level FST, then pairs of a nonterminal symbol's number in phones.txt and its FST.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: make-grammar-fst --nonterm-phones-offset=317 HCLG.fst HCLG.prepared.fst\n  \
    make-grammar-fst --nonterm-phones-offset=317 HCLG.fst 320 HCLG1.fst HCLG_grammar.fst")]
pub struct Options {
    /// Integer id of #nonterm_bos in phones.txt
    #[arg(long, default_value_t = -1)]
    nonterm_phones_offset: i32,
    /// If true, write as GrammarFst object; if false, convert to one FST (readable by standard decoders) and write that.
    #[arg(long, default_value_t = true)]
    write_as_grammar: bool,
    /// Kind of FST in memory. The result does not depend on it.
    #[arg(long, default_value_t = false)]
    make_mutable: bool,
    /// <top-level-fst> [<symbol1> <fst1> [<symbol2> <fst2> ...]] <fst-out>
    #[arg(required = true)]
    arguments: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let [top, pairs @ .., out] = options.arguments.as_slice() else {
        return Ok(kaldi_cli::usage_error::<Options>("expected an FST and an output"));
    };
    if pairs.len() % 2 != 0 {
        return Ok(kaldi_cli::usage_error::<Options>("a nonterminal symbol has no FST"));
    }
    let nonterminals = Nonterminals { first_symbol: options.nonterm_phones_offset };
    if nonterminals.first_symbol < 0 {
        bail!("The --nonterm-phones-offset option must be supplied and positive.");
    }
    if pairs.is_empty() {
        return prepare(top, out, nonterminals);
    }
    let mut parts = Vec::new();
    for pair in pairs.chunks_exact(2) {
        let Some(nonterminal) = parse_integer(&pair[0]).filter(|&symbol| symbol > 0) else {
            bail!("Expected positive integer as nonterminal, got: {}", pair[0]);
        };
        parts.push((nonterminal, store::read_fst(&pair[1])?));
    }
    let grammar = GrammarFst::new(nonterminals, store::read_fst(top)?, parts)?;
    if options.write_as_grammar {
        write_object(out, true, &grammar)?;
    } else {
        let mut w = KaldiWriter::create(out, false)?;
        store::write_const(&mut w, &grammar.expanded()?, false)?;
        w.finish()?;
    }
    messages::log(&format!("Created grammar FST and wrote it to {out}"));
    Ok(0)
}

fn prepare(from: &str, to: &str, nonterminals: Nonterminals) -> Result<u8> {
    fsts::convert(Some(from), Some(to), |fst| {
        let prepared = prepare_for_grammar(fst, nonterminals)?;
        fsts::log_prepared(prepared.new_states, prepared.marked_before);
        Ok(())
    })
}
