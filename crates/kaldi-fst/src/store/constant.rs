//! Files of type `const`: all states, then all arcs, as they lie in memory (`fst/const-fst.h` of OpenFst).
//!
//! A state is its final weight, the position of its first arc, its number of arcs, and the numbers of its arcs without
//! input and without output.

use kaldi_io::{KaldiReader, KaldiWriter};

use super::header::Header;
use super::raw::read_raw;
use super::{CONST, Symbols, check_start, read_arc, write_arc};
use crate::fst::{EPSILON, Fst, State, StateId};
use crate::mapped::{MappedFst, STATE_BYTES, words};
use crate::properties;
use crate::weight::Weight;

/// More arcs than this are not made room for before they have been seen.
const ARCS_AT_ONCE: usize = 4096;

/// Reads the part after the header.
pub(super) fn read_states<W: Weight>(
    r: &mut KaldiReader,
    header: &Header,
    weight: impl Fn(&mut KaldiReader) -> kaldi_io::Result<W>,
) -> kaldi_io::Result<Vec<State<W>>> {
    let (finals, counts) = read_bounds(r, header, &weight)?;
    header.align(r)?;
    let state = |(final_weight, count): (W, u32)| {
        let mut arcs = Vec::with_capacity((count as usize).min(ARCS_AT_ONCE));
        for _ in 0..count {
            arcs.push(read_arc(r, &weight)?);
        }
        Ok(State { final_weight, arcs })
    };
    finals.into_iter().zip(counts).map(state).collect()
}

/// Reads the states: their final weights, and how many arcs each has.
pub(super) fn read_bounds<W: Weight>(
    r: &mut KaldiReader,
    header: &Header,
    weight: impl Fn(&mut KaldiReader) -> kaldi_io::Result<W>,
) -> kaldi_io::Result<(Vec<W>, Vec<u32>)> {
    let count = |what: &str, number: i64| {
        let possible = u32::try_from(number).ok().filter(|&n| n < StateId::MAX);
        possible.ok_or_else(|| r.error(format!("invalid number of {what}: {number}")))
    };
    let (num_states, num_arcs) = (count("states", header.states)?, count("arcs", header.arcs)?);
    header.align(r)?;
    let (mut finals, mut counts) = (Vec::new(), Vec::new());
    let mut total = 0;
    for s in 0..num_states {
        finals.push(weight(r)?);
        let [first, count, _, _] = words(&read_raw::<16>(r)?).map(|number| number as u32);
        if first != total || count > num_arcs - total {
            let last = u64::from(first) + u64::from(count);
            return Err(r.error(format!(
                "state {s} has the arcs from {first} to {last}, expected arcs from {total} on, of {num_arcs}"
            )));
        }
        total += count;
        counts.push(count);
    }
    if total != num_arcs {
        return Err(r.error(format!("the states have {total} arcs, the header says {num_arcs}")));
    }
    Ok((finals, counts))
}

/// Maps the FST after the header in its file. `None` if it is of another type, if the input is not a file, or if states
/// or arcs are missing.
pub(super) fn map(r: &KaldiReader, header: &Header) -> Option<MappedFst> {
    if header.fst_type != CONST || header.arc_type != f32::ARC_TYPE {
        return None;
    }
    let [states, arcs] = [header.states, header.arcs].map(|count| u32::try_from(count).ok());
    let (states, arcs) = (states?, arcs.filter(|&count| count < u32::MAX)?);
    let start = check_start(header.start, states as usize).ok()?;
    let states_at = header.aligned(r.position());
    let arcs_at = header.aligned(states_at + u64::from(states) * STATE_BYTES as u64);
    let at = [states_at, arcs_at].map(|at| at as usize);
    MappedFst::new(r.map()?, r.name(), start, [states, arcs].map(|count| count as usize), at)
}

/// Writes an FST of type `const`. If `aligned`, states and arcs begin at multiples of 16 bytes.
pub fn write_const<W: Weight>(w: &mut KaldiWriter, fst: &Fst<W>, aligned: bool) -> kaldi_io::Result<()> {
    write_const_with_symbols(w, fst, aligned, [None, None])
}

/// Does the same as [`write_const`], with tables of input and output symbols.
pub fn write_const_with_symbols<W: Weight>(
    w: &mut KaldiWriter,
    fst: &Fst<W>,
    aligned: bool,
    symbols: [Option<Symbols>; 2],
) -> kaldi_io::Result<()> {
    let properties = properties::compute(fst) | properties::EXPANDED;
    let mut header = Header::of(fst, CONST, properties, fst.num_arcs() as i64);
    header.aligned = aligned;
    header.symbols = symbols;
    header.write(w)?;
    header.pad(w)?;
    let mut first = 0u32;
    for state in &fst.states {
        let without = |label: fn(&crate::Arc<W>) -> i32| {
            state.arcs.iter().filter(|arc| label(arc) == EPSILON).count() as u32
        };
        let count = state.arcs.len() as u32;
        let numbers = [first, count, without(|arc| arc.ilabel), without(|arc| arc.olabel)];
        state.final_weight.write(w)?;
        w.write_bytes(numbers.map(u32::to_le_bytes).as_flattened())?;
        first += count;
    }
    header.pad(w)?;
    fst.states.iter().flat_map(|state| &state.arcs).try_for_each(|arc| write_arc(w, arc))
}
