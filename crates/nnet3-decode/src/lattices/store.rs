//! Lattices in tables (`lat/kaldi-lattice.cc`). Each of the two kinds can be read from either, in binary and in text form.

use kaldi_fst::store::header::Header;
use kaldi_fst::store::{read_after, write_lattice};
use kaldi_fst::text::{Builder, LineReader};
use kaldi_fst::{Fst, Weight, text};
use kaldi_io::Contents;
use kaldi_io::holder::Holder;
use kaldi_io::text::is_space;
use kaldi_io::{KaldiReader, KaldiWriter};

use crate::lattice::{CompactLattice, Lattice, check_weights, compact, expand};
use crate::weight::{CompactLatticeWeight, LatticeWeight, read_string};

/// Arc type with costs of double precision. Such lattices are read and converted to single precision.
const LATTICE_64: &str = "lattice8";
const COMPACT_LATTICE_64: &str = "compactlattice84";

/// The content of a file.
enum Found {
    Lattice(Lattice),
    Compact(CompactLattice),
}

/// Tables of [`Lattice`]s.
pub struct LatticeHolder;

/// Tables of [`CompactLattice`]s.
pub struct CompactLatticeHolder;

impl Holder for LatticeHolder {
    type T = Lattice;

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Lattice> {
        Ok(match read(r, false)? {
            Found::Lattice(lattice) => lattice,
            Found::Compact(lattice) => expand(&lattice),
        })
    }

    fn reads(contents: &Contents) -> bool {
        is_lattice(contents)
    }

    fn write(w: &mut KaldiWriter, lattice: &Lattice) -> kaldi_io::Result<()> {
        write(w, lattice)
    }

    fn flaw(lattice: &Lattice) -> Option<String> {
        check_weights(lattice).err().map(|error| error.to_string())
    }
}

impl Holder for CompactLatticeHolder {
    type T = CompactLattice;

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<CompactLattice> {
        Ok(match read(r, true)? {
            Found::Lattice(lattice) => compact(&lattice),
            Found::Compact(lattice) => lattice,
        })
    }

    fn reads(contents: &Contents) -> bool {
        is_lattice(contents)
    }

    fn write(w: &mut KaldiWriter, lattice: &CompactLattice) -> kaldi_io::Result<()> {
        write(w, lattice)
    }

    fn flaw(lattice: &CompactLattice) -> Option<String> {
        check_weights(lattice).err().map(|error| error.to_string())
    }
}

fn is_lattice(contents: &Contents) -> bool {
    matches!(contents, Contents::Lattice | Contents::CompactLattice)
}

fn write<W: Weight>(w: &mut KaldiWriter, lattice: &Fst<W>) -> kaldi_io::Result<()> {
    if w.binary() { write_lattice(w, lattice) } else { text::write(w, lattice) }
}

/// The first byte of OpenFst's files.
const MAGIC: u8 = 0xD6;

fn read(r: &mut KaldiReader, want_compact: bool) -> kaldi_io::Result<Found> {
    match r.peek_byte()? {
        None => Err(r.error("expected a lattice, found the end of the file")),
        Some(MAGIC) => {
            r.set_binary(true);
            read_binary(r)
        }
        Some(byte) if is_space(byte) => {
            r.set_binary(false);
            read_text(r, want_compact)
        }
        Some(byte) => Err(r.error(format!(
            "expected a lattice, which begins with a blank or with byte {MAGIC}, found byte {byte}"
        ))),
    }
}

fn read_binary(r: &mut KaldiReader) -> kaldi_io::Result<Found> {
    let header = Header::read(r)?;
    if header.fst_type != "vector" {
        return Err(r.error(format!("expected a lattice of type 'vector', found '{}'", header.fst_type)));
    }
    Ok(match header.arc_type.as_str() {
        LatticeWeight::ARC_TYPE => Found::Lattice(read_after(r, &header, LatticeWeight::read)?),
        CompactLatticeWeight::ARC_TYPE => Found::Compact(read_after(r, &header, CompactLatticeWeight::read)?),
        LATTICE_64 => Found::Lattice(read_after(r, &header, read_wide)?),
        COMPACT_LATTICE_64 => Found::Compact(read_after(r, &header, |r| {
            let weight = read_wide(r)?;
            Ok(CompactLatticeWeight::new(weight, read_string(r)?))
        })?),
        other => {
            return Err(r.error(format!(
                "expected a lattice with arcs of type '{}' or '{}', found '{other}'",
                LatticeWeight::ARC_TYPE,
                CompactLatticeWeight::ARC_TYPE
            )));
        }
    })
}

fn read_wide(r: &mut KaldiReader) -> kaldi_io::Result<LatticeWeight> {
    let mut raw = [[0; 8]; 2];
    r.read_exact(raw.as_flattened_mut())?;
    let [graph, acoustic] = raw.map(|bytes| f64::from_le_bytes(bytes) as f32);
    Ok(LatticeWeight { graph, acoustic })
}

/// Lines are taken for both kinds until one of them does not fit.
fn read_text(r: &mut KaldiReader, want_compact: bool) -> kaldi_io::Result<Found> {
    let mut lines = LineReader::new(r)?;
    let mut lattice = Some(Builder::<LatticeWeight>::default());
    let mut compact = Some(Builder::<CompactLatticeWeight>::default());
    while let Some(line) = lines.next_line()? {
        let as_lattice = lattice.as_mut().map(|builder| builder.add(&line));
        let as_compact = compact.as_mut().map(|builder| builder.add(&line));
        let taken = [&as_lattice, &as_compact].into_iter().any(|result| matches!(result, Some(Ok(()))));
        if !taken {
            let why: Vec<String> = [("lattice", as_lattice), ("compact lattice", as_compact)]
                .into_iter()
                .filter_map(|(kind, result)| Some(format!("as a line of a {kind}: {}", result?.err()?)))
                .collect();
            return Err(lines.error(&line, &why.join("; ")));
        }
        if matches!(as_lattice, Some(Err(_))) {
            lattice = None;
        }
        if matches!(as_compact, Some(Err(_))) {
            compact = None;
        }
    }
    Ok(match (lattice, compact) {
        (Some(lattice), None) => Found::Lattice(lattice.finish()),
        (None, Some(compact)) => Found::Compact(compact.finish()),
        (_, Some(compact)) if want_compact => Found::Compact(compact.finish()),
        (lattice, _) => Found::Lattice(lattice.map(Builder::finish).unwrap_or_default()),
    })
}
