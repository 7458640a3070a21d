//! Language models with empty back-off arcs, as OpenGrm makes them: for files of the type `ngram`.

use kaldi_fst::store::Symbols;
use kaldi_fst::{EPSILON, Fst, StateId, ops};
use kaldi_io::KaldiReader;
use rustc_hash::FxHashMap;

use super::compile::Compiler;
use super::read::{ArpaOptions, Event, UnknownWords, Words, read_arpa};
use crate::error::{Error, Result};

const BEGIN: &str = "<s>";
const END: &str = "</s>";

/// Makes an acceptor of an ARPA file, with backoff arcs without label. The history of `<s>` is the start, and `</s>` is
/// a final cost; neither is a label. Histories without a next word have no state.
///
/// N-grams with words that `symbols` does not have are left out with a warning. Words that share their number with
/// another name are left out too, since they cannot be distinguished.
pub fn compile_ngrams(
    r: &mut KaldiReader,
    symbols: &Symbols,
    most_warnings: Option<usize>,
    events: &mut dyn FnMut(Event),
) -> Result<Fst> {
    let mut names: FxHashMap<i64, usize> = FxHashMap::default();
    symbols.iter().for_each(|(_, number)| *names.entry(number).or_default() += 1);
    let mut table = Symbols::new(&symbols.title);
    for (name, number) in
        symbols.iter().filter(|(name, number)| names[number] == 1 && ![BEGIN, END].contains(name))
    {
        table.add(name, number).map_err(Error::mismatch)?;
    }
    // These two are no labels, so any numbers that no word has will do.
    let free = symbols.iter().map(|(_, number)| number).max().unwrap_or(0).max(0) + 1;
    let (begin, end) = match (i32::try_from(free), i32::try_from(free + 1)) {
        (Ok(begin), Ok(end)) => (begin, end),
        _ => return Err(Error::mismatch(format!("{}: the number {} is too large", symbols.title, free - 1))),
    };
    for (name, number) in [(BEGIN, begin), (END, end)] {
        table.add(name, i64::from(number)).map_err(Error::mismatch)?;
    }
    let words = Words::Symbols(table, UnknownWords::Skip);
    let mut options = ArpaOptions { words, begin, end, most_warnings };
    let mut compiler = Compiler::new(begin, end, EPSILON, false);
    read_arpa(r, &mut options, &mut compiler, events)?;
    let mut fst = compiler.fst;
    if fst.start.is_none() {
        return Err(Error::mismatch(format!("the ARPA file has no n-gram with {BEGIN}")));
    }
    remove_idle_states(&mut fst);
    ops::sort_arcs(&mut fst, ops::Side::Input);
    Ok(fst)
}

/// Removes states from which one can only back off, at no cost, unless longer histories back off to them.
fn remove_idle_states(fst: &mut Fst) {
    let backoff = |fst: &Fst, s: StateId| match &fst.state(s).arcs[..] {
        [arc] if arc.ilabel == EPSILON && arc.weight == 0.0 && !fst.state(s).is_final() => Some(arc.next),
        _ => None,
    };
    let mut longer = vec![0u32; fst.states.len()];
    for arc in fst.states.iter().flat_map(|state| &state.arcs).filter(|arc| arc.ilabel == EPSILON) {
        longer[arc.next as usize] += 1;
    }
    let mut instead: Vec<StateId> = (0..fst.states.len() as StateId).collect();
    let mut waiting = instead.clone();
    while let Some(s) = waiting.pop() {
        if longer[s as usize] > 0 || fst.start == Some(s) || instead[s as usize] != s {
            continue;
        }
        if let Some(next) = backoff(fst, s) {
            instead[s as usize] = next;
            longer[next as usize] -= 1;
            waiting.push(next);
        }
    }
    let end = |mut s: StateId| {
        while instead[s as usize] != s {
            s = instead[s as usize];
        }
        s
    };
    for arc in fst.states.iter_mut().flat_map(|state| &mut state.arcs) {
        arc.next = end(arc.next);
    }
    ops::connect(fst);
}
