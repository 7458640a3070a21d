//! The header of an OpenFst file, with the symbol tables that may follow it.

use kaldi_io::{Contents, KaldiReader, KaldiWriter};

use super::raw::{read_i32, read_i64, read_raw, read_string};
use crate::fst::{Fst, StateId};
use crate::properties;
use crate::store::symbols::Symbols;
use crate::store::{NGRAM, OLABEL_LOOKAHEAD};
use crate::weight::Weight;

const MAGIC: i32 = 2125659606;

/// Bytes that tell which other kind of object a file has.
const LOOKED_AT: usize = 256;

/// Files of version 2 are packed, unless a flag says that they are aligned. Files of version 1 are aligned.
const VERSION: i32 = 2;
const ALIGNED_VERSION: i32 = 1;
/// The version of files of type `ngram`.
const NGRAM_VERSION: i32 = 4;

/// Bits of `flags`.
const HAS_INPUT_SYMBOLS: i32 = 1;
const HAS_OUTPUT_SYMBOLS: i32 = 2;
const IS_ALIGNED: i32 = 4;

/// Parts of aligned files begin at multiples of this many bytes from the beginning of the file.
const ALIGNMENT: u64 = 16;

/// No type has a name of this length.
const LONGEST_TYPE: i32 = 1000;

pub struct Header {
    pub fst_type: String,
    pub arc_type: String,
    pub start: i64,
    /// -1 if the number of states is not known.
    pub states: i64,
    properties: u64,
    pub(super) arcs: i64,
    pub(super) aligned: bool,
    /// The symbols of input and of output labels, if the file has them.
    pub symbols: [Option<Symbols>; 2],
}

impl Header {
    pub fn of<W: Weight>(fst: &Fst<W>, fst_type: &str, properties: u64, arcs: i64) -> Header {
        let states = fst.states.len() as i64;
        Header { properties, ..Header::new::<W>(fst_type, fst.start, states, arcs) }
    }

    /// Makes the header of a packed file without symbols and without known properties.
    pub(super) fn new<W: Weight>(fst_type: &str, start: Option<StateId>, states: i64, arcs: i64) -> Header {
        Header {
            fst_type: fst_type.to_owned(),
            arc_type: W::ARC_TYPE.to_owned(),
            start: start.map_or(-1, i64::from),
            states,
            properties: properties::EXPANDED,
            arcs,
            aligned: false,
            symbols: [None, None],
        }
    }

    /// Reads the header with the symbol tables.
    pub fn read(r: &mut KaldiReader) -> kaldi_io::Result<Header> {
        let (mut header, has_symbols) = Header::read_fixed(r)?;
        for (table, has_it) in header.symbols.iter_mut().zip(has_symbols) {
            if has_it {
                *table = Some(Symbols::read(r)?);
            }
        }
        Ok(header)
    }

    /// Reads the part before the symbol tables, and returns which of them (input, output) follow.
    pub(super) fn read_fixed(r: &mut KaldiReader) -> kaldi_io::Result<(Header, [bool; 2])> {
        let magic = r.peek_bytes(size_of::<i32>())?;
        // (An input with fewer bytes has an error of its own.)
        if magic.len() == size_of::<i32>() && magic != MAGIC.to_le_bytes() {
            let magic = magic.escape_ascii().to_string();
            let found = match Contents::of(r.peek_bytes(LOOKED_AT)?) {
                Some(contents) => contents.to_string(),
                None => format!("'{magic}'"),
            };
            return Err(r.error(format!("expected an OpenFst file, found {found}")));
        }
        read_i32(r)?;
        let (fst_type, arc_type) = (read_string(r, LONGEST_TYPE)?, read_string(r, LONGEST_TYPE)?);
        let (version, flags) = (read_i32(r)?, read_i32(r)?);
        let last = if fst_type == NGRAM { NGRAM_VERSION } else { VERSION };
        if !(ALIGNED_VERSION..=last).contains(&version) {
            return Err(r.error(format!("unknown version {version} of FST files")));
        }
        let properties = read_raw(r).map(u64::from_le_bytes)?;
        let (start, states, arcs) = (read_i64(r)?, read_i64(r)?, read_i64(r)?);
        let has_symbols = [HAS_INPUT_SYMBOLS, HAS_OUTPUT_SYMBOLS].map(|flag| flags & flag != 0);
        let aligned = flags & IS_ALIGNED != 0 || version == ALIGNED_VERSION;
        let symbols = [None, None];
        Ok((Header { fst_type, arc_type, start, states, properties, arcs, aligned, symbols }, has_symbols))
    }

    pub fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_bytes(&MAGIC.to_le_bytes())?;
        for name in [&self.fst_type, &self.arc_type] {
            w.write_bytes(&(name.len() as i32).to_le_bytes())?;
            w.write_str(name)?;
        }
        let [input, output] = &self.symbols;
        let flag = |holds: bool, flag: i32| if holds { flag } else { 0 };
        let flags = flag(self.aligned, IS_ALIGNED)
            | flag(input.is_some(), HAS_INPUT_SYMBOLS)
            | flag(output.is_some(), HAS_OUTPUT_SYMBOLS);
        let version = match self.fst_type.as_str() {
            NGRAM => NGRAM_VERSION,
            OLABEL_LOOKAHEAD => ALIGNED_VERSION,
            _ if self.aligned => ALIGNED_VERSION,
            _ => VERSION,
        };
        w.write_bytes(&version.to_le_bytes())?;
        w.write_bytes(&flags.to_le_bytes())?;
        w.write_bytes(&self.properties.to_le_bytes())?;
        [self.start, self.states, self.arcs].iter().try_for_each(|n| w.write_bytes(&n.to_le_bytes()))?;
        self.symbols.iter().flatten().try_for_each(|symbols| symbols.write(w))
    }

    /// Writes padding up to the beginning of the next part of an aligned file.
    pub(super) fn pad(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        let beyond = w.position() % ALIGNMENT;
        if self.aligned && beyond != 0 {
            w.write_bytes(&[0; ALIGNMENT as usize][beyond as usize..])?;
        }
        Ok(())
    }

    /// Beginning of the next part, if the last one ends at this byte.
    pub(super) fn aligned(&self, position: u64) -> u64 {
        if self.aligned { position.next_multiple_of(ALIGNMENT) } else { position }
    }

    /// Skips the padding before the next part of an aligned file.
    pub fn align(&self, r: &mut KaldiReader) -> kaldi_io::Result<()> {
        let beyond = r.position() % ALIGNMENT;
        if self.aligned && beyond != 0 {
            let mut padding = [0; ALIGNMENT as usize];
            r.read_exact(&mut padding[beyond as usize..])?;
        }
        Ok(())
    }
}
