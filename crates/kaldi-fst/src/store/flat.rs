//! Reading finished graphs into one array of arcs.

use kaldi_io::KaldiReader;

use super::constant::read_bounds;
use super::header::Header;
use super::raw::read_raw;
use super::{COMPACT_ACCEPTOR, CONST, VECTOR, read_after};
use crate::flat::FlatFst;
use crate::fst::Arc;
use crate::mapped::{ARC_BYTES, PackedArc};
use crate::weight::Weight;

/// Arcs in a block of a read.
const BLOCK: usize = 4096;
type Block = [PackedArc; BLOCK];

/// Reads the FST in a file, of whichever binary type, without more memory than it needs at the end.
pub fn read_flat_fst(rxfilename: &str) -> kaldi_io::Result<FlatFst> {
    let mut r = KaldiReader::open_raw(rxfilename)?;
    r.set_binary(true);
    let fst = read_flat(&mut r)?;
    r.finish()?;
    Ok(fst)
}

/// Reads header and FST, which begin right here.
pub fn read_flat(r: &mut KaldiReader) -> kaldi_io::Result<FlatFst> {
    let header = Header::read(r)?;
    read_after_header(r, &header)
}

pub(super) fn read_after_header(r: &mut KaldiReader, header: &Header) -> kaldi_io::Result<FlatFst> {
    if header.arc_type != f32::ARC_TYPE {
        let (wanted, found) = (f32::ARC_TYPE, &header.arc_type);
        return Err(r.error(format!("expected an FST with arcs of type '{wanted}', found '{found}'")));
    }
    let mut flat = FlatFst { start: None, finals: Vec::new(), first_arcs: vec![0], arcs: Vec::new() };
    match header.fst_type.as_str() {
        CONST => {
            let (finals, counts) = read_bounds(r, header, f32::read)?;
            flat.finals = finals;
            flat.first_arcs.extend(counts.iter().scan(0u32, |end, count| {
                *end += count;
                Some(*end)
            }));
            header.align(r)?;
            let total = flat.first_arcs.last().map_or(0, |&end| end as usize);
            read_arcs(r, total, &mut flat.arcs, &mut [[0; ARC_BYTES]; BLOCK])?;
        }
        VECTOR => read_vector(r, header, &mut flat)?,
        COMPACT_ACCEPTOR => return Ok(FlatFst::from(&read_after(r, header, f32::read)?)),
        // Partial graphs, and graphs with labels that are not words, must not be taken for whole ones.
        other => {
            return Err(r.error(format!(
                "expected an FST of type '{VECTOR}', '{CONST}' or '{COMPACT_ACCEPTOR}', found '{other}'"
            )));
        }
    }
    check(r, header, flat)
}

fn read_vector(r: &mut KaldiReader, header: &Header, flat: &mut FlatFst) -> kaldi_io::Result<()> {
    let mut block: Block = [[0; ARC_BYTES]; BLOCK];
    loop {
        let ended = match header.states {
            -1 => r.at_eof()?,
            count => flat.finals.len() as i64 >= count,
        };
        if ended {
            return Ok(());
        }
        flat.finals.push(f32::read(r)?);
        let count = i64::from_le_bytes(read_raw(r)?);
        let possible = usize::try_from(count).ok().filter(|&n| flat.arcs.len() + n < u32::MAX as usize);
        let count = possible.ok_or_else(|| r.error(format!("invalid number of arcs: {count}")))?;
        read_arcs(r, count, &mut flat.arcs, &mut block)?;
        flat.first_arcs.push(flat.arcs.len() as u32);
    }
}

/// Adds `count` arcs, block by block. So a wrong count does not take memory that the file does not fill.
fn read_arcs(
    r: &mut KaldiReader,
    count: usize,
    arcs: &mut Vec<Arc>,
    block: &mut Block,
) -> kaldi_io::Result<()> {
    let mut left = count;
    while left > 0 {
        let now = left.min(BLOCK);
        let packed = &mut block[..now];
        r.read_exact(packed.as_flattened_mut())?;
        if arcs.capacity() < arcs.len() + now {
            arcs.reserve_exact(left.min(arcs.len().max(BLOCK)));
        }
        arcs.extend(packed.iter().map(Arc::unpack));
        left -= now;
    }
    Ok(())
}

fn check(r: &KaldiReader, header: &Header, mut flat: FlatFst) -> kaldi_io::Result<FlatFst> {
    let count = flat.num_states();
    if let Some(s) = flat.finals.iter().position(|weight| !weight.is_member()) {
        return Err(r.error(format!("state {s} has the final weight {:?}", flat.finals[s])));
    }
    for s in 0..count {
        for arc in &flat.arcs[flat.arcs_of(s)] {
            super::check_arc(s, arc, count).map_err(|problem| r.error(problem))?;
        }
    }
    flat.start = super::check_start(header.start, count).map_err(|problem| r.error(problem))?;
    Ok(flat)
}
