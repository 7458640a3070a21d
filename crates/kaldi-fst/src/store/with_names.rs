//! Graphs and language models with the names of their words.

use kaldi_io::KaldiReader;

use super::header::Header;
use super::names::{self, Names};
use super::{NGRAM, flat, ngram};
use crate::flat::FlatFst;
use crate::ngrams::NgramFst;

/// An FST of whichever type its file has.
#[derive(Debug, Clone, PartialEq)]
pub enum FlatOrNgrams {
    Flat(FlatFst),
    Ngrams(NgramFst),
}

/// Reads an FST with the names of its output labels, if the file has them. It begins right here.
pub fn read_with_names(r: &mut KaldiReader) -> kaldi_io::Result<(FlatOrNgrams, Option<Names>)> {
    let (header, [input, output]) = Header::read_fixed(r)?;
    if input {
        names::skip(r)?;
    }
    let names = if output { Some(Names::read(r)?) } else { None };
    let fst = match header.fst_type.as_str() {
        NGRAM => FlatOrNgrams::Ngrams(ngram::read_after_header(r, &header)?),
        _ => FlatOrNgrams::Flat(flat::read_after_header(r, &header)?),
    };
    Ok((fst, names))
}
