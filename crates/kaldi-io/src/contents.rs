//! Recognises the kind of an object by its first bytes. Messages about files and tables of the wrong kind use it.

mod foreign;

use std::fmt;

use self::foreign::Description;
use crate::text::{is_token, parse_real};

/// Bytes of an object that are examined.
pub(crate) const SAMPLE: usize = 400;

/// U+FEFF in UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// First bytes of OpenFst's binary files.
const FST_MAGIC: &[u8] = b"\xd6\xfd\xb2\x7e";

/// A kind of object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// A full matrix: binary, or text.
    Matrix,
    CompressedMatrix,
    SparseMatrix,
    PackedMatrix,
    /// A vector of floating-point numbers.
    Vector,
    /// One floating-point number.
    Number,
    /// One integer, or a list of them, such as an alignment.
    Integers,
    /// Lists or pairs of integers, with `;` between them.
    IntegerLists,
    Posterior,
    /// An FST with weights of one number.
    Fst,
    Lattice,
    CompactLattice,
    Wave,
    /// An object that begins with this token, such as a model or an example.
    Object(String),
    /// Words.
    Text,
    /// A file name as in lines of scripts.
    ScriptLine,
    /// The config of a network.
    Config,
    /// An xconfig.
    Xconfig,
    /// A file of another program, or of an older form: its kind in words.
    Foreign(&'static str),
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Contents::Matrix => "a matrix of floating-point numbers",
            Contents::CompressedMatrix => "a compressed matrix",
            Contents::SparseMatrix => "a sparse matrix",
            Contents::PackedMatrix => "a symmetric or triangular matrix",
            Contents::Vector => "a vector of floating-point numbers",
            Contents::Number => "a floating-point number",
            Contents::Integers => "integers",
            Contents::IntegerLists => "lists of integers",
            Contents::Posterior => "posteriors",
            Contents::Fst => "an FST",
            Contents::Lattice => "a lattice",
            Contents::CompactLattice => "a compact lattice",
            Contents::Wave => "a wave file",
            Contents::Object(token) => {
                return match named(token) {
                    Some(name) => f.write_str(name),
                    None => write!(f, "an object that begins with '{token}'"),
                };
            }
            Contents::Text => "text",
            Contents::ScriptLine => "a file name, as a script has it (scp: reads scripts)",
            Contents::Config => "the config of a network (nnet3-init makes a network of it)",
            Contents::Xconfig => {
                "an xconfig (nnet3-xconfig-to-configs makes configs of it, and nnet3-init a network of these)"
            }
            Contents::Foreign(name) => name,
        })
    }
}

/// The objects that people take for one another, by their first token.
const NAMES: [(&str, &str); 12] = [
    ("<TransitionModel>", "an acoustic model, or the transition model of one"),
    ("<Topology>", "a topology of HMMs"),
    (TREE, "a decision tree"),
    ("<Nnet3>", "a neural network without a transition model"),
    ("<DiagGMM>", "a mixture of Gaussians with diagonal covariances"),
    ("<FullGMM>", "a mixture of Gaussians with full covariances"),
    ("<IvectorExtractor>", "an i-vector extractor"),
    ("<Plda>", "a PLDA model"),
    ("<Nnet3Eg>", "examples of neural networks"),
    ("<Nnet3ChainEg>", "chain examples"),
    ("<Nnet3DiscriminativeEg>", "discriminative examples"),
    ("<GMMACCS>", "statistics of Gaussians"),
];

/// The first token of a decision tree, which has no angle brackets.
const TREE: &str = "ContextDependency";

/// The name of an object that begins with this token, if it is one that people know.
fn named(token: &str) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == token).map(|(_, name)| *name)
}

impl Contents {
    /// True of an object that people know by a name.
    pub(crate) fn has_name(&self) -> bool {
        matches!(self, Contents::Object(token) if named(token).is_some())
    }

    /// True of all matrices but packed ones.
    pub fn is_matrix(&self) -> bool {
        matches!(self, Contents::Matrix | Contents::CompressedMatrix | Contents::SparseMatrix)
    }

    /// Returns the kind of the object that begins with `bytes`, which may be a part of it. `None` if the kind is not
    /// known.
    pub fn of(bytes: &[u8]) -> Option<Contents> {
        let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
        if let Some(binary) = bytes.strip_prefix(b"\0B") {
            return of_binary(binary);
        }
        if bytes.starts_with(FST_MAGIC) {
            let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
            return Some(match () {
                () if has(b"compactlattice") => Contents::CompactLattice,
                () if has(b"lattice") => Contents::Lattice,
                () => Contents::Fst,
            });
        }
        if bytes.starts_with(b"RIFF") || bytes.starts_with(b"RIFX") {
            return Some(Contents::Wave);
        }
        foreign::name(bytes).map(Contents::Foreign).or_else(|| of_text(bytes))
    }

    /// The first key and kind of an archive that begins with `bytes`. `None` if this does not look like an archive.
    pub(crate) fn of_archive(bytes: &[u8]) -> Option<(&str, Contents)> {
        let end = bytes.iter().position(|&b| b == b' ' || b == b'\t')?;
        let key = std::str::from_utf8(&bytes[..end]).ok().filter(|key| is_token(key))?;
        if key.starts_with(['<', '[']) {
            return None;
        }
        let object = &bytes[end + 1..];
        let marked = [b"\0B", FST_MAGIC, b"RIFF", b"RIFX"].iter().any(|mark| object.starts_with(mark))
            || object.trim_ascii_start().starts_with(b"[");
        let contents = Contents::of(object).filter(|_| marked)?;
        Some((key, contents))
    }
}

/// The object that begins with this token, before these bytes.
fn of_token(token: &str, after: &[u8]) -> Contents {
    match foreign::old_network(token, after) {
        Some(name) => Contents::Foreign(name),
        None => Contents::Object(token.to_owned()),
    }
}

fn of_binary(bytes: &[u8]) -> Option<Contents> {
    let word = bytes.split(|&b| b == b' ').next().unwrap_or_default();
    match word {
        b"FM" | b"DM" | b"BM" => return Some(Contents::Matrix),
        b"CM" | b"CM2" | b"CM3" => return Some(Contents::CompressedMatrix),
        b"SM" | b"SV" => return Some(Contents::SparseMatrix),
        b"FP" | b"DP" => return Some(Contents::PackedMatrix),
        b"FV" | b"DV" => return Some(Contents::Vector),
        b"ContextDependency" => return Some(Contents::Object(TREE.to_owned())),
        [b'<', .., b'>'] => {
            let token = std::str::from_utf8(word).ok()?;
            return Some(of_token(token, &bytes[word.len()..]));
        }
        _ => {}
    }
    if bytes.first() == Some(&8) && bytes.len() >= 9 {
        return Some(Contents::Number);
    }
    let (first, rest) = sized(bytes)?;
    // The bits of a floating-point number are no possible count.
    if !is_count(first) {
        return Some(Contents::Number);
    }
    Some(if is_posterior(first, rest) { Contents::Posterior } else { Contents::Integers })
}

/// Splits the bytes into a number of four bytes, which has a size byte before it, and the rest.
fn sized(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let rest = bytes.strip_prefix(&[4])?;
    let (number, rest) = rest.split_first_chunk::<4>()?;
    Some((i32::from_le_bytes(*number), rest))
}

fn is_count(number: i32) -> bool {
    (0..1 << 24).contains(&number)
}

/// True if the bytes after a number of frames look like a posterior. Each frame then has a count, and as many pairs of
/// an id and a probability. Only the available bytes are examined, and they must have at least one pair.
fn is_posterior(frames: i32, mut bytes: &[u8]) -> bool {
    let mut pairs = 0;
    for _ in 0..frames {
        let Some((count, rest)) = sized(bytes) else { break };
        bytes = rest;
        for _ in 0..count {
            let Some((id, rest)) = sized(bytes) else { return pairs > 0 };
            let Some((bits, rest)) = sized(rest) else { return pairs > 0 };
            let probability = f32::from_bits(bits as u32);
            if !is_count(id) || is_count(bits) && bits != 0 || !probability.is_finite() {
                return false;
            }
            (bytes, pairs) = (rest, pairs + 1);
        }
    }
    pairs > 0
}

fn of_text(bytes: &[u8]) -> Option<Contents> {
    // The sample may end within a letter.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&bytes[..e.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    // A binary entry may follow the lines.
    let text = match text.find(|c: char| c.is_control() && !c.is_ascii_whitespace()) {
        Some(end) => text[..end].rsplit_once('\n')?.0,
        None => text,
    };
    match foreign::description(text) {
        Some(Description::Config) => return Some(Contents::Config),
        Some(Description::Xconfig) => return Some(Contents::Xconfig),
        None => {}
    }
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words.as_slice() {
        [] => of_states(after),
        ["[", rest @ ..] if rest.contains(&"[") => Some(Contents::Posterior),
        ["[", rest @ ..] if !rest.is_empty() && rest.contains(&"]") => Some(Contents::Vector),
        ["[" | "[]", ..] => Some(Contents::Matrix),
        // (A table of symbols.)
        ["<eps>", number] if number.parse::<i64>().is_ok() => Some(Contents::Text),
        [token, ..] if token.starts_with('<') && token.ends_with('>') || *token == TREE => {
            let begin = text.find(token).unwrap_or_default();
            Some(of_token(token, &text.as_bytes()[begin + token.len()..]))
        }
        words if words.iter().all(|word| word.parse::<i64>().is_ok()) => Some(Contents::Integers),
        words if words.iter().all(|&word| word == ";" || word.parse::<i64>().is_ok()) => {
            Some(Contents::IntegerLists)
        }
        [number] if parse_real(number).is_some() => Some(Contents::Number),
        [.., last] if last.ends_with('|') => Some(Contents::ScriptLine),
        [name] if has_offset(name) => Some(Contents::ScriptLine),
        _ => Some(Contents::Text),
    }
}

fn has_offset(name: &str) -> bool {
    let offset = name.rsplit_once(':').map_or("", |(_, offset)| offset);
    !offset.is_empty() && offset.bytes().all(|b| b.is_ascii_digit())
}

/// The kind of an FST in text, from its first line, which follows the line of the key.
fn of_states(text: &str) -> Option<Contents> {
    let line = text.lines().next()?;
    let columns: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_state = |column: Option<&&str>| column.is_some_and(|column| column.parse::<u32>().is_ok());
    if !is_state(columns.first()) {
        return None;
    }
    Some(match columns.last()?.matches(',').count() {
        0 => Contents::Fst,
        1 => Contents::Lattice,
        _ => Contents::CompactLattice,
    })
}

#[cfg(test)]
mod tests {
    use super::foreign::{NNET1, NNET2, ONNX};
    use super::*;
    use crate::holder::*;
    use crate::writer::KaldiWriter;
    use crate::{CompressedMatrix, CompressionMethod, DenseMatrix};

    fn both<H: Holder>(value: &H::T) -> [Option<Contents>; 2] {
        [true, false].map(|binary| {
            let mut w = KaldiWriter::in_memory(binary);
            H::write(&mut w, value).unwrap();
            let mut bytes = w.into_bytes();
            bytes.extend(b"next \0BFM ");
            Contents::of(&bytes)
        })
    }

    #[test]
    fn kinds_of_what_is_written() {
        let matrix = DenseMatrix::from_rows(&[[1.0f32, 2.0], [3.0, 4.5]]);
        assert_eq!(both::<MatrixHolder>(&matrix), [Some(Contents::Matrix), Some(Contents::Matrix)]);
        let compressed = CompressedMatrix::compress(&matrix, CompressionMethod::SpeechFeature).unwrap();
        assert_eq!(both::<CompressedMatrixHolder>(&compressed)[0], Some(Contents::CompressedMatrix));
        let same = |kind: Contents| [Some(kind.clone()), Some(kind)];
        assert_eq!(both::<DoubleVectorHolder>(&vec![1.0, 2.0]), same(Contents::Vector));
        assert_eq!(both::<I32VectorHolder>(&vec![3, 4, 4]), same(Contents::Integers));
        assert_eq!(both::<I32Holder>(&3), same(Contents::Integers));
        assert_eq!(both::<FloatHolder>(&0.25), same(Contents::Number));
        assert_eq!(both::<DoubleHolder>(&0.25), same(Contents::Number));
        let posterior = vec![vec![(3, 0.5), (4, 0.5)], vec![], vec![(1, 1.0)]];
        assert_eq!(both::<PosteriorHolder>(&posterior), same(Contents::Posterior));
        let words = vec!["eins".to_owned(), "zwei".to_owned()];
        assert_eq!(both::<TokenVectorHolder>(&words), same(Contents::Text));
        assert_eq!(both::<TokenHolder>(&"a.ark:12".to_owned()), same(Contents::ScriptLine));
        assert_eq!(both::<I32VectorVectorHolder>(&vec![vec![1, 2], vec![]])[1], Some(Contents::IntegerLists));
    }

    #[test]
    fn fsts_and_lattices() {
        for (bytes, kind) in [
            (&b"\xd6\xfd\xb2\x7e\x06\0\0\0vector\x08\0\0\0standard"[..], Contents::Fst),
            (b"\xd6\xfd\xb2\x7e\x06\0\0\0vector\x08\0\0\0lattice4", Contents::Lattice),
            (b"\xd6\xfd\xb2\x7e\x06\0\0\0vector\x10\0\0\0compactlattice44", Contents::CompactLattice),
            (b"\n0\t1\t7\t7\t0.5\n1\n", Contents::Fst),
            (b"\n0\t1\t7\t7\t0.5,1\n1\n", Contents::Lattice),
            (b"\r\n0\t1\t7\t0.5,1,3_4\n1\n", Contents::CompactLattice),
            (b"\0B<Nnet3Eg> <NumIo> ", Contents::Object("<Nnet3Eg>".into())),
            (b"RIFF\0\0", Contents::Wave),
            (b"\xef\xbb\xbfinput dim=40 name=input\n", Contents::Xconfig),
            (b"# x\ninput-node name=input dim=4\n", Contents::Config),
            (b"\x08\x07\x12\x07pytorch", Contents::Foreign(ONNX)),
            (b"\0B<Nnet> <NumComponents> \x04", Contents::Foreign(NNET2)),
            (b"<Nnet>\n<AffineTransform> 440 40\n", Contents::Foreign(NNET1)),
            (b"\0B<Nnet3> ", Contents::Object("<Nnet3>".into())),
        ] {
            assert_eq!(Contents::of(bytes), Some(kind), "{}", bytes.escape_ascii());
        }
        for unknown in [&b""[..], b"\0B", b"\x01\x02", b"\xff\xfe"] {
            assert_eq!(Contents::of(unknown), None, "{}", unknown.escape_ascii());
        }
    }

    #[test]
    fn archives() {
        assert_eq!(Contents::of_archive(b"a \0BFM \x04"), Some(("a", Contents::Matrix)));
        assert_eq!(Contents::of_archive(b"a  [ 1 2 ]\n"), Some(("a", Contents::Vector)));
        for other in [&b" [ 1 2 ]\n"[..], b"\0BFM \x04", b"<Nnet3> [ 1 ]", b"a b c\n", b"a"] {
            assert_eq!(Contents::of_archive(other), None, "{}", other.escape_ascii());
        }
    }
}
