//! Files of type `olabel_lookahead` (`fst/matcher-fst.h`, `fst/label-reachable.h`, `fst/interval-set.h` of OpenFst): a
//! complete FST of type `const`, and for each of its states the output labels that can come next.

use kaldi_io::{KaldiReader, KaldiWriter};

use super::header::Header;
use super::raw::{read_i32, read_i64, read_raw};
use super::{OLABEL_LOOKAHEAD, Symbols, constant, flat, write_const};
use crate::flat::FlatFst;
use crate::fst::{Fst, State};
use crate::look_ahead::{LookAheadFile, LookAheadFst, Reach, ReachBuilder};
use crate::weight::Weight;

/// The magic number before an FST with an add-on behind it.
const ADD_ON_MAGIC: i32 = 446681434;

/// Reads header, FST and labels, which begin right here.
pub fn read_look_ahead(r: &mut KaldiReader) -> kaldi_io::Result<LookAheadFst> {
    let header = Header::read(r)?;
    check_type(r, &header)?;
    read_after_header(r, &header)
}

/// Does the same, but leaves the transducer in the file if it can.
pub fn read_look_ahead_file(r: &mut KaldiReader) -> kaldi_io::Result<LookAheadFile> {
    let header = Header::read(r)?;
    check_type(r, &header)?;
    let inner = read_inner_header(r, &header)?;
    let Some(fst) = constant::map(r, &inner) else {
        let fst = flat::read_after_header(r, &inner)?;
        return Ok(read_rest(r, fst)?.into());
    };
    r.skip_to(fst.end() as u64)?;
    let reach = read_reach_part(r, fst.num_states())?;
    Ok(LookAheadFile::File(fst, reach))
}

fn check_type(r: &KaldiReader, header: &Header) -> kaldi_io::Result<()> {
    if header.fst_type != OLABEL_LOOKAHEAD {
        let found = &header.fst_type;
        return Err(r.error(format!(
            "expected an FST of type '{OLABEL_LOOKAHEAD}', as OpenFst's fstconvert makes it of HCL, found '{found}'"
        )));
    }
    Ok(())
}

/// Reads the part after the symbol tables.
pub(super) fn read_after_header(r: &mut KaldiReader, header: &Header) -> kaldi_io::Result<LookAheadFst> {
    let inner = read_inner_header(r, header)?;
    let fst = flat::read_after_header(r, &inner)?;
    read_rest(r, fst)
}

/// Reads up to the states of the transducer.
fn read_inner_header(r: &mut KaldiReader, header: &Header) -> kaldi_io::Result<Header> {
    if header.arc_type != f32::ARC_TYPE {
        let (wanted, found) = (f32::ARC_TYPE, &header.arc_type);
        return Err(r.error(format!("expected an FST with arcs of type '{wanted}', found '{found}'")));
    }
    let magic = read_i32(r)?;
    if magic != ADD_ON_MAGIC {
        return Err(r.error(format!("expected the number {ADD_ON_MAGIC}, found {magic}")));
    }
    Header::read(r)
}

/// Reads the part after the transducer.
fn read_rest(r: &mut KaldiReader, mut fst: FlatFst) -> kaldi_io::Result<LookAheadFst> {
    let reach = read_reach_part(r, fst.num_states())?;
    for s in 0..fst.num_states() {
        let range = fst.arcs_of(s);
        let arcs = &mut fst.arcs[range];
        if !arcs.is_sorted_by_key(|arc| arc.olabel) {
            arcs.sort_by_key(|arc| arc.olabel);
        }
    }
    Ok(LookAheadFst { fst, reach })
}

/// Reads the labels that can come next.
fn read_reach_part(r: &mut KaldiReader, num_states: usize) -> kaldi_io::Result<Reach> {
    let parts = [r.read_byte()?, r.read_byte()?, r.read_byte()?];
    if parts != [1, 0, 1] {
        return Err(r.error(format!(
            "expected the reachable labels of the output side alone (the bytes 1, 0, 1), found {parts:?}"
        )));
    }
    read_reach(r, num_states)
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
    let mut reach = ReachBuilder::new(final_label);
    let mut intervals: Vec<[i32; 2]> = Vec::new();
    for s in 0..num_states {
        intervals.clear();
        for _ in 0..read_i64(r)? {
            intervals.push(super::words(&read_raw::<8>(r)?));
        }
        reach.add(&intervals).map_err(|why| r.error(format!("state {s} has {why}")))?;
        let _labels = read_i32(r)?;
    }
    Ok(reach.build())
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
    w.write_bytes(&reach.final_label().to_le_bytes())?;
    w.write_bytes(&(fst.num_states() as i64).to_le_bytes())?;
    for s in 0..fst.num_states() {
        let intervals = reach.intervals(s as u32).as_slice();
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
