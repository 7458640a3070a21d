//! The stored form, version 5. No other file knows the reference's argument numbers.
//!
//! A computation from a file has been parsed, not checked: see [`super::check`].

mod commands;

use super::{Computation, MatrixDebugInfo, MatrixId, MatrixInfo, Precomputed, RowOf, Submatrix, SubmatrixId};
use commands::StoredCommand;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::index::{read_cindexes, read_indexes, write_cindexes, write_indexes};
use nnet3_component::registry;
use std::sync::Arc;

const VERSION: i32 = 5;

/// Longest list that a header may announce before its elements have been seen.
const CHUNK: usize = 1 << 12;

impl Computation {
    pub fn read(r: &mut KaldiReader) -> Result<Computation> {
        r.expect_token("<NnetComputation>")?;
        let version = if r.accept_token("<Version>")? { r.read_i32()? } else { 1 };
        if version != VERSION {
            let message =
                format!("a computation of version {version} cannot be read, only version {VERSION}");
            return Err(r.error(message).into());
        }
        let matrices = read_list(r, "<NumMatrices>", "<Matrices>", read_matrix)?;
        let debug_info = read_list(r, "<NumMatrixDebugInfo>", "<MatrixDebugInfo>", read_debug_info)?;
        let submatrices = read_list(r, "<NumSubMatrices>", "<SubMatrices>", read_submatrix)?;
        let precomputed = read_all_precomputed(r)?;
        let indexes = read_list(r, "<NumIndexes>", "<Indexes>", |r| Ok(Arc::new(r.read_i32_vector()?)))?;
        let multi_indexes = read_list(r, "<NumIndexesMulti>", "<IndexesMulti>", read_multi_indexes)?;
        let ranges = read_list(r, "<NumIndexesRanges>", "<IndexesRanges>", |r| Ok(r.read_i32_pairs()?))?;
        let commands = read_list(r, "<NumCommands>", "<Commands>", |r| {
            let stored = StoredCommand::read(r)?;
            stored.decode().map_err(|message| r.error(message).into())
        })?;
        r.expect_token("<NeedModelDerivative>")?;
        let need_model_derivative = r.read_bool()?;
        r.expect_token("</NnetComputation>")?;
        Ok(Computation {
            matrices,
            debug_info,
            submatrices,
            precomputed,
            indexes,
            multi_indexes,
            ranges,
            commands,
            need_model_derivative,
        })
    }

    /// Reads a computation from a file, pipe or `-`, text or binary.
    pub fn load(rxfilename: &str) -> Result<Computation> {
        let mut r = KaldiReader::open(rxfilename)?;
        let computation = Computation::read(&mut r)?;
        r.close()?;
        Ok(computation)
    }

    pub fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<NnetComputation>")?;
        w.write_token("<Version>")?;
        w.write_i32(VERSION)?;
        write_list(w, "<NumMatrices>", "<Matrices>", &self.matrices, write_matrix)?;
        w.newline_in_text()?;
        write_list(w, "<NumMatrixDebugInfo>", "<MatrixDebugInfo>", &self.debug_info, write_debug_info)?;
        w.newline_in_text()?;
        write_list(w, "<NumSubMatrices>", "<SubMatrices>", &self.submatrices, write_submatrix)?;
        w.newline_in_text()?;
        write_header(
            w,
            "<NumComponentPrecomputedIndexes>",
            "<PrecomputedIndexesInfo>",
            self.precomputed.len(),
        )?;
        self.precomputed.iter().skip(1).try_for_each(|p| write_precomputed(w, p))?;
        w.newline_in_text()?;
        write_list(w, "<NumIndexes>", "<Indexes>", &self.indexes, |w, l| Ok(w.write_i32_vector(l)?))?;
        w.newline_in_text()?;
        write_list(w, "<NumIndexesMulti>", "<IndexesMulti>", &self.multi_indexes, |w, l| {
            write_multi_indexes(w, l)
        })?;
        w.newline_in_text()?;
        write_list(w, "<NumIndexesRanges>", "<IndexesRanges>", &self.ranges, |w, l| {
            Ok(w.write_i32_pairs(l)?)
        })?;
        w.newline_in_text()?;
        write_list(w, "<NumCommands>", "<Commands>", &self.commands, |w, c| {
            StoredCommand::encode(c).write(w)
        })?;
        w.newline_in_text()?;
        w.write_token("<NeedModelDerivative>")?;
        w.write_bool(self.need_model_derivative)?;
        w.write_token("</NnetComputation>")?;
        Ok(w.newline_in_text()?)
    }
}

fn read_count(r: &mut KaldiReader, count: &str) -> Result<usize> {
    r.expect_token(count)?;
    let n = r.read_u64()?;
    match usize::try_from(n) {
        Ok(n) if n <= i32::MAX as usize => Ok(n),
        _ => Err(r.error(format!("{count}: {n} is too many")).into()),
    }
}

fn read_list<T>(
    r: &mut KaldiReader,
    count: &str,
    list: &str,
    item: impl Fn(&mut KaldiReader) -> Result<T>,
) -> Result<Vec<T>> {
    let count = read_count(r, count)?;
    r.expect_token(list)?;
    let mut out = Vec::with_capacity(count.min(CHUNK));
    for _ in 0..count {
        out.push(item(r)?);
    }
    Ok(out)
}

fn write_header(w: &mut KaldiWriter, count: &str, list: &str, items: usize) -> Result<()> {
    w.write_token(count)?;
    w.write_u64(items as u64)?;
    Ok(w.write_token(list)?)
}

fn write_list<T>(
    w: &mut KaldiWriter,
    count: &str,
    list: &str,
    items: &[T],
    item: impl Fn(&mut KaldiWriter, &T) -> Result<()>,
) -> Result<()> {
    write_header(w, count, list, items.len())?;
    items.iter().try_for_each(|i| item(w, i))
}

fn read_size(r: &mut KaldiReader, token: &str) -> Result<usize> {
    r.expect_token(token)?;
    let n = r.read_i32()?;
    usize::try_from(n).map_err(|_| r.error(format!("{token}: {n} is negative")).into())
}

fn write_size(w: &mut KaldiWriter, token: &str, n: usize) -> Result<()> {
    w.write_token(token)?;
    Ok(w.write_i32(n as i32)?)
}

fn read_matrix(r: &mut KaldiReader) -> Result<MatrixInfo> {
    r.expect_token("<MatrixInfo>")?;
    let rows = read_size(r, "<NumRows>")?;
    let cols = read_size(r, "<NumCols>")?;
    let contiguous = r.accept_token("<StrideEqualNumCols>")?;
    r.expect_token("</MatrixInfo>")?;
    Ok(MatrixInfo { rows, cols, contiguous })
}

fn write_matrix(w: &mut KaldiWriter, m: &MatrixInfo) -> Result<()> {
    w.write_token("<MatrixInfo>")?;
    w.newline_in_text()?;
    write_size(w, "<NumRows>", m.rows)?;
    write_size(w, "<NumCols>", m.cols)?;
    if m.contiguous {
        w.write_token("<StrideEqualNumCols>")?;
    }
    w.newline_in_text()?;
    w.write_token("</MatrixInfo>")?;
    Ok(w.newline_in_text()?)
}

fn read_debug_info(r: &mut KaldiReader) -> Result<MatrixDebugInfo> {
    r.expect_token("<MatrixDebugInfo>")?;
    r.expect_token("<IsDeriv>")?;
    let is_deriv = r.read_bool()?;
    r.expect_token("<Cindexes>")?;
    let cindexes = read_cindexes(r)?;
    r.expect_token("</MatrixDebugInfo>")?;
    Ok(MatrixDebugInfo { is_deriv, cindexes })
}

fn write_debug_info(w: &mut KaldiWriter, info: &MatrixDebugInfo) -> Result<()> {
    w.write_token("<MatrixDebugInfo>")?;
    w.newline_in_text()?;
    w.write_token("<IsDeriv>")?;
    w.write_bool(info.is_deriv)?;
    w.newline_in_text()?;
    w.write_token("<Cindexes>")?;
    write_cindexes(w, &info.cindexes)?;
    w.newline_in_text()?;
    w.write_token("</MatrixDebugInfo>")?;
    Ok(w.newline_in_text()?)
}

fn read_submatrix(r: &mut KaldiReader) -> Result<Submatrix> {
    r.expect_token("<SubMatrixInfo>")?;
    let out = Submatrix {
        matrix: MatrixId::from(read_size(r, "<MatrixIndex>")?),
        row_offset: read_size(r, "<RowOffset>")?,
        rows: read_size(r, "<NumRows>")?,
        col_offset: read_size(r, "<ColOffset>")?,
        cols: read_size(r, "<NumCols>")?,
    };
    r.expect_token("</SubMatrixInfo>")?;
    Ok(out)
}

fn write_submatrix(w: &mut KaldiWriter, s: &Submatrix) -> Result<()> {
    w.write_token("<SubMatrixInfo>")?;
    w.newline_in_text()?;
    write_size(w, "<MatrixIndex>", s.matrix.index())?;
    write_size(w, "<RowOffset>", s.row_offset)?;
    write_size(w, "<NumRows>", s.rows)?;
    write_size(w, "<ColOffset>", s.col_offset)?;
    write_size(w, "<NumCols>", s.cols)?;
    w.newline_in_text()?;
    w.write_token("</SubMatrixInfo>")?;
    Ok(w.newline_in_text()?)
}

/// Reads all entries but number 0, which is counted and not stored.
fn read_all_precomputed(r: &mut KaldiReader) -> Result<Vec<Precomputed>> {
    let count = read_count(r, "<NumComponentPrecomputedIndexes>")?;
    let mut out = vec![Precomputed::default()];
    if r.accept_token("<ComponentPrecomputedIndexes>")? {
        for i in 0..count {
            if !r.read_bool()? {
                out.resize(i, Precomputed::default());
                out.push(Precomputed {
                    data: Some(registry::read_precomputed(r)?),
                    ..Precomputed::default()
                });
            }
        }
        out.resize(count.max(1), Precomputed::default());
        return Ok(out);
    }
    r.expect_token("<PrecomputedIndexesInfo>")?;
    for _ in 1..count {
        let data = Some(registry::read_precomputed(r)?);
        out.push(Precomputed { data, input_indexes: read_indexes(r)?, output_indexes: read_indexes(r)? });
    }
    Ok(out)
}

fn write_precomputed(w: &mut KaldiWriter, p: &Precomputed) -> Result<()> {
    if let Some(data) = &p.data {
        data.write(w)?;
    }
    write_indexes(w, &p.input_indexes)?;
    write_indexes(w, &p.output_indexes)
}

fn read_multi_indexes(r: &mut KaldiReader) -> Result<Vec<RowOf>> {
    let pairs = r.read_i32_pairs()?;
    let one = |(s, row): (i32, i32)| match (u32::try_from(s), u32::try_from(row)) {
        (Ok(s), Ok(row)) => Ok(Some((SubmatrixId(s), row))),
        _ if (s, row) == (-1, -1) => Ok(None),
        _ => Err(r.error(format!("sub-matrix and row, or -1,-1, expected, found {s},{row}")).into()),
    };
    pairs.into_iter().map(one).collect()
}

fn write_multi_indexes(w: &mut KaldiWriter, list: &[RowOf]) -> Result<()> {
    let pair = |row: &RowOf| row.map_or((-1, -1), |(s, row)| (s.0 as i32, row as i32));
    Ok(w.write_i32_pairs(&list.iter().map(pair).collect::<Vec<_>>())?)
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::*;

    fn bytes(computation: &Computation, binary: bool) -> Vec<u8> {
        let mut w = KaldiWriter::in_memory(binary);
        computation.write(&mut w).unwrap();
        w.into_bytes()
    }

    /// Compares with the 448 bytes that the reference wrote.
    #[test]
    fn minimal_computation_is_stored_like_the_reference() {
        let computation = Computation {
            commands: vec![Command::SetConst { dest: SubmatrixId(2), value: 0.5 }],
            need_model_derivative: true,
            ..Computation::default()
        };
        let bytes = bytes(&computation, true);
        assert_eq!(bytes.len(), 448);
        let command =
            b"<Cmd> \x04\x03\0\0\0\x04\0\0\0\x3F\x04\x01\0\0\0\x02\0\0\0</Cmd> <NeedModelDerivative> T";
        assert!(bytes.windows(command.len()).any(|w| w == command));
    }

    #[test]
    fn both_forms_are_read_back() {
        let mut computation = Computation::new();
        let a = computation.new_matrix(4, 2, false);
        let b = computation.new_matrix(2, 2, true);
        let part = computation.new_submatrix(a, 1..3, 0..2);
        let rows = computation.new_indexes(vec![-1, 3]);
        let multi = computation.new_multi_indexes(vec![Some((part, 1)), None]);
        let ranges = computation.new_ranges(vec![(0, 2), (-1, -1)]);
        computation.commands = vec![
            Command::Allocate { matrix: a },
            Command::Copy { dest: part, src: b, alpha: 0.25 },
            Command::AddRows { dest: b, src: a, rows, alpha: -1.0 },
            Command::CopyToRowsMulti { src: b, rows: multi },
            Command::AddRowRanges { dest: b, src: a, ranges, alpha: 1.0 },
            Command::Marker,
        ];
        for binary in [true, false] {
            let bytes = bytes(&computation, binary);
            let mut r = KaldiReader::from_bytes("test", bytes.clone());
            r.set_binary(binary);
            let read = Computation::read(&mut r).unwrap();
            assert_eq!(read.commands, computation.commands);
            assert_eq!(read.submatrices, computation.submatrices);
            assert_eq!(self::bytes(&read, binary), bytes);
        }
        let text = String::from_utf8(bytes(&computation, false)).unwrap();
        assert!(text.contains("<Cmd> kAllocMatrix\n<Alpha> 1 <Args> 1 -1 -1 -1 -1 -1 -1 </Cmd> "), "{text}");
        assert!(
            text.contains("<MatrixInfo> \n<NumRows> 2 <NumCols> 2 <StrideEqualNumCols> \n</MatrixInfo> \n")
        );
    }
}
