//! Graphs and language models with the names of their words.

use kaldi_io::KaldiReader;

use super::header::Header;
use super::names::{self, Names};
use super::{NGRAM, constant, flat, ngram};
use crate::flat::FlatFst;
use crate::mapped::MappedFst;
use crate::ngrams::NgramFst;

/// An FST of whichever type its file has.
#[derive(Debug, Clone, PartialEq)]
pub enum FlatOrNgrams {
    Flat(FlatFst),
    Ngrams(NgramFst),
}

/// A graph that stays in its file, or that has been read into memory.
#[derive(Debug)]
pub enum FileOrMemory {
    File(MappedFst),
    Memory(FlatOrNgrams),
}

/// Reads an FST with the names of its output labels, if the file has them. It begins right here.
pub fn read_with_names(r: &mut KaldiReader) -> kaldi_io::Result<(FlatOrNgrams, Option<Names>)> {
    let (header, names) = read_header(r)?;
    Ok((read_rest(r, &header)?, names))
}

/// Does the same as [`read_with_names`], but leaves a graph of type `const` in its file. Faults of its states are then
/// found when they are visited.
pub fn read_graph(r: &mut KaldiReader) -> kaldi_io::Result<(FileOrMemory, Option<Names>)> {
    let (header, names) = read_header(r)?;
    let fst = match constant::map(r, &header) {
        Some(fst) => FileOrMemory::File(fst),
        None => FileOrMemory::Memory(read_rest(r, &header)?),
    };
    Ok((fst, names))
}

fn read_header(r: &mut KaldiReader) -> kaldi_io::Result<(Header, Option<Names>)> {
    let (header, [input, output]) = Header::read_fixed(r)?;
    if input {
        names::skip(r)?;
    }
    let names = if output { Some(Names::read(r)?) } else { None };
    Ok((header, names))
}

fn read_rest(r: &mut KaldiReader, header: &Header) -> kaldi_io::Result<FlatOrNgrams> {
    Ok(match header.fst_type.as_str() {
        NGRAM => FlatOrNgrams::Ngrams(ngram::read_after_header(r, header)?),
        _ => FlatOrNgrams::Flat(flat::read_after_header(r, header)?),
    })
}
