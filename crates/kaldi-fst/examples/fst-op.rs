//! `fst-op OPERATION FST... OUT`: one operation on OpenFst files, for tests that compare with OpenFst.
//!
//! Writes a `vector` file (`compact`: a `compact_acceptor` file; `text`: text).

use std::process::ExitCode;

use kaldi_fst::{Fst, ops, store, text};
use kaldi_io::KaldiWriter;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn run(operation: &str, inputs: &[String], output: &str) -> Outcome {
    let fsts: Vec<Fst> = inputs.iter().map(|name| store::read_fst(name)).collect::<Result<_, _>>()?;
    let mut fst = fsts[0].clone();
    match operation {
        "copy" => {}
        "compact" | "text" => {
            let mut w = KaldiWriter::create(output, false)?;
            match operation {
                "compact" => store::write_compact_acceptor(&mut w, &fst)?,
                _ => text::write(&mut w, &fst)?,
            }
            return Ok(w.finish()?);
        }
        "connect" => ops::connect(&mut fst),
        "rmepsilon" => ops::remove_epsilons(&mut fst)?,
        "concat" => fst = ops::concatenate(&fsts),
        "determinize" => fst = ops::determinize(&fst, usize::MAX)?,
        "minimize" => ops::minimize(&mut fst)?,
        "compose" => fst = ops::compose(&fst, &ops::SortedAcceptor::new(fsts[1].clone())?)?,
        "sort-input" => ops::sort_arcs(&mut fst, ops::Side::Input),
        "sort-output" => ops::sort_arcs(&mut fst, ops::Side::Output),
        "compose-transducers" => {
            fst = ops::compose_transducers(&fst, &fsts[1], true).ok_or("neither FST is sorted")?;
        }
        "reverse" => fst = ops::reverse(&fst),
        "topsort" => ops::topological_sort(&mut fst)?,
        "sort" => ops::breadth_first(&mut fst)?,
        _ => return Err(format!("unknown operation {operation}").into()),
    }
    Ok(store::write_fst(output, &fst)?)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [operation, inputs @ .., output] = &arguments[..] else {
        eprintln!("usage: fst-op OPERATION FST... OUT");
        return ExitCode::FAILURE;
    };
    match run(operation, inputs, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
