//! Files of type `olabel_lookahead` (`fst/matcher-fst.h`, `fst/label-reachable.h`, `fst/interval-set.h` of OpenFst): a
//! complete FST of type `const`, and for each of its states the output labels that can come next.

use kaldi_io::{KaldiReader, KaldiWriter};

use super::header::Header;
use super::raw::{read_i32, read_i64, read_raw};
use super::{OLABEL_LOOKAHEAD, Symbols, flat, write_const};
use crate::flat::FlatFst;
use crate::fst::{Fst, State};
use crate::look_ahead::{LookAheadFst, Reach};
use crate::weight::Weight;

/// The magic number before an FST with an add-on behind it.
const ADD_ON_MAGIC: i32 = 446681434;

/// Reads header, FST and labels, which begin right here.
pub fn read_look_ahead(r: &mut KaldiReader) -> kaldi_io::Result<LookAheadFst> {
    let header = Header::read(r)?;
    if header.fst_type != OLABEL_LOOKAHEAD {
        let found = &header.fst_type;
        return Err(r.error(format!(
            "expected an FST of type '{OLABEL_LOOKAHEAD}', as OpenFst's fstconvert makes it of HCL, found '{found}'"
        )));
    }
    read_after_header(r, &header)
}

/// Reads the part after the symbol tables.
pub(super) fn read_after_header(r: &mut KaldiReader, header: &Header) -> kaldi_io::Result<LookAheadFst> {
    if header.arc_type != f32::ARC_TYPE {
        let (wanted, found) = (f32::ARC_TYPE, &header.arc_type);
        return Err(r.error(format!("expected an FST with arcs of type '{wanted}', found '{found}'")));
    }
    let magic = read_i32(r)?;
    if magic != ADD_ON_MAGIC {
        return Err(r.error(format!("expected the number {ADD_ON_MAGIC}, found {magic}")));
    }
    let mut fst = flat::read_flat(r)?;
    let parts = [r.read_byte()?, r.read_byte()?, r.read_byte()?];
    if parts != [1, 0, 1] {
        return Err(r.error(format!(
            "expected the reachable labels of the output side alone (the bytes 1, 0, 1), found {parts:?}"
        )));
    }
    let reach = read_reach(r, fst.num_states())?;
    for s in 0..fst.num_states() {
        let range = fst.arcs_of(s);
        let arcs = &mut fst.arcs[range];
        if !arcs.is_sorted_by_key(|arc| arc.olabel) {
            arcs.sort_by_key(|arc| arc.olabel);
        }
    }
    Ok(LookAheadFst { fst, reach })
}

fn read_reach(r: &mut KaldiReader, num_states: usize) -> kaldi_io::Result<Reach> {
    let (on_input, keeps_labels) = (r.read_byte()?, r.read_byte()?);
    if on_input != 0 {
        return Err(r.error("expected output labels, found input labels"));
    }
    if keeps_labels != 0 {
        // The pairs of old and new labels do not matter here.
        for _ in 0..read_i64(r)? {
            read_raw::<8>(r)?;
        }
    }
    let final_label = read_i32(r)?;
    let count = read_i64(r)?;
    if count != num_states as i64 {
        return Err(r.error(format!("labels of {count} states, but there are {num_states}")));
    }
    let mut reach = Reach { final_label, first_intervals: vec![0], intervals: Vec::new() };
    for s in 0..num_states {
        let first = reach.intervals.len();
        for _ in 0..read_i64(r)? {
            let [begin, end] = super::words(&read_raw::<8>(r)?);
            let last = if reach.intervals.len() > first {
                reach.intervals[reach.intervals.len() - 1][1]
            } else {
                i32::MIN
            };
            if begin < last || begin >= end {
                return Err(r.error(format!(
                    "state {s} has the label interval from {begin} to {end}, which overlaps the one before it, to {last}"
                )));
            }
            reach.intervals.push([begin, end]);
        }
        let end = u32::try_from(reach.intervals.len());
        reach.first_intervals.push(end.map_err(|_| r.error("there are too many intervals of labels"))?);
        let _labels = read_i32(r)?;
    }
    Ok(reach)
}

/// Writes the file, without names.
pub fn write_look_ahead(w: &mut KaldiWriter, fst: &LookAheadFst) -> kaldi_io::Result<()> {
    write_look_ahead_with_symbols(w, fst, None)
}

/// Writes the file with the table of the input symbols. The numbers of output labels are made anew for look-ahead, so they
/// have none.
pub fn write_look_ahead_with_symbols(
    w: &mut KaldiWriter,
    fst: &LookAheadFst,
    input: Option<Symbols>,
) -> kaldi_io::Result<()> {
    let mut header = Header::new::<f32>(OLABEL_LOOKAHEAD, None, 0, 0);
    header.symbols = [input, None];
    header.write(w)?;
    w.write_bytes(&ADD_ON_MAGIC.to_le_bytes())?;
    let LookAheadFst { fst, reach } = fst;
    write_const(w, &unpacked(fst), false)?;
    w.write_bytes(&[1, 0, 1, 0, 0])?;
    w.write_bytes(&reach.final_label.to_le_bytes())?;
    w.write_bytes(&(fst.num_states() as i64).to_le_bytes())?;
    for s in 0..fst.num_states() {
        let intervals = reach.intervals(s as u32);
        w.write_bytes(&(intervals.len() as i64).to_le_bytes())?;
        w.write_bytes(
            intervals.as_flattened().iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>().as_slice(),
        )?;
        let labels: i32 = intervals.iter().map(|[begin, end]| end - begin).sum();
        w.write_bytes(&labels.to_le_bytes())?;
    }
    Ok(())
}

/// Returns the transducer alone.
pub(super) fn unpacked(fst: &FlatFst) -> Fst {
    let state = |s| State { final_weight: fst.finals[s], arcs: fst.arcs[fst.arcs_of(s)].to_vec() };
    Fst { start: fst.start, states: (0..fst.num_states()).map(state).collect() }
}
