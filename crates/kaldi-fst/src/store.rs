//! OpenFst's binary files: a header, then states and arcs, all little-endian without size bytes.
//!
//! Three types are known. A `vector` file has for each state its final weight and its arcs. A `const` file, the form of
//! finished graphs, has all states and then all arcs. A `compact_acceptor` file, the form of supervision in chain
//! examples, has an offset for each state into one list of (label, weight, next state). A final weight is an element
//! before the arcs of its state, with -1 for label and state.
//!
//! Two more types are the parts of graphs composed during decoding: [`read_look_ahead`] reads `olabel_lookahead`,
//! [`read_with_names`] reads `ngram`. All other functions here that return an [`Fst`] read them too, expanded to states
//! and arcs.
//!
//! Facts: `fst/fst.{h,cc}`, `fst/vector-fst.h`, `fst/compact-fst.h` of OpenFst.

mod constant;
mod flat;
pub mod header;
mod look_ahead;
mod names;
mod ngram;
pub(crate) mod raw;
mod symbols;
mod with_names;

use kaldi_io::{KaldiReader, KaldiWriter};

use crate::fst::{Arc, Fst, State, StateId};
use crate::log_weight::LogWeight;
use crate::look_ahead::LookAheadFst;
use crate::mapped::words;
use crate::ops::Semiring;
use crate::properties;
use crate::weight::Weight;
pub use constant::{write_const, write_const_with_symbols};
pub use flat::{read_flat, read_flat_fst};
use header::Header;
pub use look_ahead::{
    read_look_ahead, read_look_ahead_file, write_look_ahead, write_look_ahead_with_symbols,
};
pub use names::Names;
pub use ngram::write_ngrams;
use raw::read_raw;
pub use symbols::Symbols;
pub use with_names::{FileOrMemory, FlatOrNgrams, read_graph, read_with_names};

/// Label and state of an element that is a final weight.
const NONE: i32 = -1;

const VECTOR: &str = "vector";
const CONST: &str = "const";
const COMPACT_ACCEPTOR: &str = "compact_acceptor";
const NGRAM: &str = "ngram";
const OLABEL_LOOKAHEAD: &str = "olabel_lookahead";

/// Reads the FST in a file: one of the binary types.
pub fn read_fst(rxfilename: &str) -> kaldi_io::Result<Fst> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    r.set_binary(true);
    let fst = read(&mut r)?;
    r.finish()?;
    Ok(fst)
}

/// Writes a file of type `vector`, as Kaldi reads it; it is complete or not there.
pub fn write_fst<W: Weight>(wxfilename: &str, fst: &Fst<W>) -> kaldi_io::Result<()> {
    let mut w = KaldiWriter::create(wxfilename, false)?;
    write_vector(&mut w, fst)?;
    w.finish()
}

/// Reads an FST with its tables of input and output symbols, as far as it has any.
pub fn read_with_symbols<W: Weight>(r: &mut KaldiReader) -> kaldi_io::Result<(Fst<W>, [Option<Symbols>; 2])> {
    let mut header = Header::read(r)?;
    let fst = read_checked(r, &header)?;
    Ok((fst, std::mem::take(&mut header.symbols)))
}

/// Does the same for arcs with costs: of the type `standard`, or `log`, whose costs are negated logarithms of probabilities.
pub fn read_costs_with_symbols(
    r: &mut KaldiReader,
) -> kaldi_io::Result<(Fst, Semiring, [Option<Symbols>; 2])> {
    let mut header = Header::read(r)?;
    let semiring = checked_semiring(r, &header)?;
    let fst = read_after(r, &header, f32::read)?;
    Ok((fst, semiring, std::mem::take(&mut header.symbols)))
}

fn checked_semiring(r: &KaldiReader, header: &Header) -> kaldi_io::Result<Semiring> {
    semiring(&header.arc_type).ok_or_else(|| {
        let found = &header.arc_type;
        r.error(format!("expected an FST with arcs of type 'standard' or 'log', found '{found}'"))
    })
}

/// The semiring of a type of arcs with costs.
pub fn semiring(arc_type: &str) -> Option<Semiring> {
    match arc_type {
        <f32 as Weight>::ARC_TYPE => Some(Semiring::Tropical),
        LogWeight::ARC_TYPE => Some(Semiring::Log),
        _ => None,
    }
}

/// The first FST of a composition: with the labels that can come next from its states if its file has them.
pub enum PlainOrLookAhead {
    Plain(Fst),
    LookAhead(LookAheadFst),
}

/// Reads the first FST of a composition, with its tables of input and output symbols, as far as it has any.
pub fn read_first_with_symbols(
    r: &mut KaldiReader,
) -> kaldi_io::Result<(PlainOrLookAhead, Semiring, [Option<Symbols>; 2])> {
    let mut header = Header::read(r)?;
    let semiring = checked_semiring(r, &header)?;
    let fst = match header.fst_type.as_str() {
        OLABEL_LOOKAHEAD => PlainOrLookAhead::LookAhead(look_ahead::read_after_header(r, &header)?),
        _ => PlainOrLookAhead::Plain(read_after(r, &header, f32::read)?),
    };
    Ok((fst, semiring, std::mem::take(&mut header.symbols)))
}

/// Reads header and FST, which begin right here.
pub fn read<W: Weight>(r: &mut KaldiReader) -> kaldi_io::Result<Fst<W>> {
    let header = Header::read(r)?;
    read_checked(r, &header)
}

fn read_checked<W: Weight>(r: &mut KaldiReader, header: &Header) -> kaldi_io::Result<Fst<W>> {
    if header.arc_type != W::ARC_TYPE {
        let (wanted, found) = (W::ARC_TYPE, &header.arc_type);
        return Err(r.error(format!("expected an FST with arcs of type '{wanted}', found '{found}'")));
    }
    read_after(r, header, W::read)
}

/// Reads the part after a header, without checking its type of arcs; `weight` reads a weight.
pub fn read_after<W: Weight>(
    r: &mut KaldiReader,
    header: &Header,
    weight: impl Fn(&mut KaldiReader) -> kaldi_io::Result<W>,
) -> kaldi_io::Result<Fst<W>> {
    let states = match header.fst_type.as_str() {
        VECTOR => read_vector_states(r, header, weight)?,
        CONST => constant::read_states(r, header, weight)?,
        COMPACT_ACCEPTOR => read_compact_states(r, header, weight)?,
        NGRAM => {
            let fst = ngram::read_after_header(r, header)?;
            return from_costs(r, header, Fst::from(&fst));
        }
        OLABEL_LOOKAHEAD => {
            let fst = look_ahead::read_after_header(r, header)?;
            return from_costs(r, header, look_ahead::unpacked(&fst.fst));
        }
        other => {
            return Err(r.error(format!(
                "expected an FST of type '{VECTOR}', '{CONST}', '{COMPACT_ACCEPTOR}', '{NGRAM}' or '{OLABEL_LOOKAHEAD}', \
                 found '{other}'"
            )));
        }
    };
    check(r, header, states)
}

/// Gives an FST with costs the weights that the caller wants.
fn from_costs<W: Weight>(r: &KaldiReader, header: &Header, fst: Fst) -> kaldi_io::Result<Fst<W>> {
    let weight = |cost| {
        W::from_cost(cost).ok_or_else(|| {
            let (wanted, found) = (W::ARC_TYPE, &header.fst_type);
            r.error(format!("expected an FST with arcs of type '{wanted}', found one of type '{found}'"))
        })
    };
    let mut out = Fst { start: fst.start, states: Vec::with_capacity(fst.states.len()) };
    for state in fst.states {
        let mut arcs = Vec::with_capacity(state.arcs.len());
        for Arc { ilabel, olabel, weight: cost, next } in state.arcs {
            arcs.push(Arc { ilabel, olabel, weight: weight(cost)?, next });
        }
        out.states.push(State { final_weight: weight(state.final_weight)?, arcs });
    }
    Ok(out)
}

/// States may be named before they are read, so the numbers are checked at the end.
fn check<W: Weight>(r: &KaldiReader, header: &Header, states: Vec<State<W>>) -> kaldi_io::Result<Fst<W>> {
    let count = states.len();
    for (s, state) in states.iter().enumerate() {
        if !state.final_weight.is_member() {
            return Err(r.error(format!("state {s} has the final weight {:?}", state.final_weight)));
        }
        for arc in &state.arcs {
            check_arc(s, arc, count).map_err(|problem| r.error(problem))?;
        }
    }
    let start = check_start(header.start, count).map_err(|problem| r.error(problem))?;
    Ok(Fst { start, states })
}

/// Describes the fault of an arc of state `s`, if there is one; there are `count` states.
pub(crate) fn check_arc<W: Weight>(s: usize, arc: &Arc<W>, count: usize) -> Result<(), String> {
    let Arc { ilabel, olabel, ref weight, next } = *arc;
    if next as usize >= count {
        return Err(format!("an arc leads to state {}, but there are {count}", next as i32));
    }
    if ilabel < 0 || olabel < 0 || !weight.is_member() {
        return Err(format!(
            "an arc of state {s} has the labels {ilabel} and {olabel} and the weight {weight:?}"
        ));
    }
    Ok(())
}

/// The first state of a header, of `count` states.
fn check_start(start: i64, count: usize) -> Result<Option<StateId>, String> {
    match start {
        -1 => Ok(None),
        start => match usize::try_from(start) {
            Ok(id) if id < count => Ok(Some(id as StateId)),
            _ => Err(format!("the start is state {start}, but there are {count}")),
        },
    }
}

fn read_vector_states<W: Weight>(
    r: &mut KaldiReader,
    header: &Header,
    weight: impl Fn(&mut KaldiReader) -> kaldi_io::Result<W>,
) -> kaldi_io::Result<Vec<State<W>>> {
    let mut states = Vec::new();
    loop {
        let ended = match header.states {
            -1 => r.at_eof()?,
            count => states.len() as i64 >= count,
        };
        if ended {
            return Ok(states);
        }
        let final_weight = weight(r)?;
        let count = i64::from_le_bytes(read_raw(r)?);
        let count =
            usize::try_from(count).map_err(|_| r.error(format!("invalid number of arcs: {count}")))?;
        let mut arcs = Vec::new();
        for _ in 0..count {
            arcs.push(read_arc(r, &weight)?);
        }
        states.push(State { final_weight, arcs });
    }
}

fn read_compact_states<W: Weight>(
    r: &mut KaldiReader,
    header: &Header,
    weight: impl Fn(&mut KaldiReader) -> kaldi_io::Result<W>,
) -> kaldi_io::Result<Vec<State<W>>> {
    let count = usize::try_from(header.states).ok().filter(|&n| n < StateId::MAX as usize);
    let count = count.ok_or_else(|| r.error(format!("invalid number of states: {}", header.states)))?;
    header.align(r)?;
    let offsets: Vec<[u8; 4]> = r.read_growing(count + 1, |r, out| r.read_exact(out.as_flattened_mut()))?;
    let offset = |s: usize| u32::from_le_bytes(offsets[s]) as usize;
    if offset(0) != 0 || !(0..count).all(|s| offset(s) <= offset(s + 1)) {
        return Err(r.error("the offsets of the states do not begin at 0 or are not in order"));
    }
    header.align(r)?;
    let mut states = Vec::with_capacity(count);
    for s in 0..count {
        let mut state = State::default();
        let elements = offset(s + 1) - offset(s);
        for i in 0..elements {
            let label = read_raw(r).map(i32::from_le_bytes)?;
            let weight = weight(r)?;
            let next = read_raw(r).map(StateId::from_le_bytes)?;
            if i == 0 && label == NONE {
                state.final_weight = weight;
                continue;
            }
            if i == 0 {
                state.arcs.reserve(elements.min(1024));
            }
            state.arcs.push(Arc::new(label, weight, next));
        }
        states.push(state);
    }
    Ok(states)
}

/// Writes an FST of type `vector`.
pub fn write_vector<W: Weight>(w: &mut KaldiWriter, fst: &Fst<W>) -> kaldi_io::Result<()> {
    write_with_symbols(w, fst, [None, None])
}

/// Writes a lattice as an FST of type `vector`. Its header says of its properties only what arcs tell one by one, as in the lattices of the
/// reference, whose costs were scaled last.
pub fn write_lattice<W: Weight>(w: &mut KaldiWriter, fst: &Fst<W>) -> kaldi_io::Result<()> {
    write_with(w, fst, properties::of_arcs(fst), [None, None])
}

/// Writes an FST of type `vector` with tables of input and output symbols.
pub fn write_with_symbols<W: Weight>(
    w: &mut KaldiWriter,
    fst: &Fst<W>,
    symbols: [Option<Symbols>; 2],
) -> kaldi_io::Result<()> {
    write_with(w, fst, properties::compute(fst), symbols)
}

fn write_with<W: Weight>(
    w: &mut KaldiWriter,
    fst: &Fst<W>,
    properties: u64,
    symbols: [Option<Symbols>; 2],
) -> kaldi_io::Result<()> {
    let mut header = Header::of(fst, VECTOR, properties | properties::EXPANDED | properties::MUTABLE, 0);
    header.symbols = symbols;
    header.write(w)?;
    for state in &fst.states {
        state.final_weight.write(w)?;
        w.write_bytes(&(state.arcs.len() as i64).to_le_bytes())?;
        state.arcs.iter().try_for_each(|arc| write_arc(w, arc))?;
    }
    Ok(())
}

/// Reads an arc in the form of files of the types `vector` and `const`.
fn read_arc<W: Weight>(
    r: &mut KaldiReader,
    weight: impl Fn(&mut KaldiReader) -> kaldi_io::Result<W>,
) -> kaldi_io::Result<Arc<W>> {
    let [ilabel, olabel] = words(&read_raw::<8>(r)?);
    let weight = weight(r)?;
    Ok(Arc { ilabel, olabel, weight, next: read_raw(r).map(StateId::from_le_bytes)? })
}

fn write_arc<W: Weight>(w: &mut KaldiWriter, arc: &Arc<W>) -> kaldi_io::Result<()> {
    w.write_bytes([arc.ilabel, arc.olabel].map(i32::to_le_bytes).as_flattened())?;
    arc.weight.write(w)?;
    w.write_bytes(&arc.next.to_le_bytes())
}

/// Writes an acceptor as type `compact_acceptor`. Its input labels are taken; the caller sees to it that the output labels
/// are the same.
pub fn write_compact_acceptor<W: Weight>(w: &mut KaldiWriter, fst: &Fst<W>) -> kaldi_io::Result<()> {
    let properties = properties::compute(fst) | properties::EXPANDED;
    Header::of(fst, COMPACT_ACCEPTOR, properties, fst.num_arcs() as i64).write(w)?;
    let mut offset = 0u32;
    w.write_bytes(&offset.to_le_bytes())?;
    for state in &fst.states {
        offset += state.arcs.len() as u32 + u32::from(state.is_final());
        w.write_bytes(&offset.to_le_bytes())?;
    }
    let mut element = |label: i32, weight: &W, next: i32| {
        w.write_bytes(&label.to_le_bytes())?;
        weight.write(w)?;
        w.write_bytes(&next.to_le_bytes())
    };
    for state in &fst.states {
        if state.is_final() {
            element(NONE, &state.final_weight, NONE)?;
        }
        state.arcs.iter().try_for_each(|arc| element(arc.ilabel, &arc.weight, arc.next as i32))?;
    }
    Ok(())
}
