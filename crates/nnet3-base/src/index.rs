//! Index, Cindex, ids, and their order, printed and stored forms (`nnet-common` of the reference).

use crate::error::Result;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use std::cmp::Ordering;
use std::fmt::Write;

/// The `t` of blank rows inserted as padding.
pub const NO_TIME: i32 = i32::MIN;

/// Makes a type of positions in a list.
#[macro_export]
macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl From<usize> for $name {
            #[inline]
            fn from(i: usize) -> $name {
                $name(u32::try_from(i).expect("fewer than 2^32"))
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}
id_type!(
    /// Position of a node in a network.
    NodeId
);
id_type!(
    /// Position of a component in a network.
    ComponentId
);

/// A row's place: sequence `n` in the minibatch, time `t`, and an extra index `x`.
///
/// Indexes are sorted by t, then x, then n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Index {
    pub n: i32,
    pub t: i32,
    pub x: i32,
}

impl Index {
    #[inline]
    pub fn new(n: i32, t: i32, x: i32) -> Index {
        Index { n, t, x }
    }
}

impl Ord for Index {
    #[inline]
    fn cmp(&self, other: &Index) -> Ordering {
        (self.t, self.x, self.n).cmp(&(other.t, other.x, other.n))
    }
}

impl PartialOrd for Index {
    #[inline]
    fn partial_cmp(&self, other: &Index) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An [`Index`] at a node: one vector-valued quantity of a computation. Sorted by node, then index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cindex {
    pub node: NodeId,
    pub index: Index,
}

impl Cindex {
    #[inline]
    pub fn new(node: NodeId, index: Index) -> Cindex {
        Cindex { node, index }
    }
}

// ---- printed forms -------------------------------------------------------------------------------------------------

/// Keeps the first and last 100 characters of a longer text.
pub fn shorten(text: String) -> String {
    if text.len() <= 200 { text } else { format!("{} ... {}", &text[..100], &text[text.len() - 100..]) }
}

/// `[(n,t), (n,t1:t2), (n,t,x)]`: maximal runs of equal n and x in which t grows by one.
pub fn print_indexes(indexes: &[Index]) -> String {
    if indexes.is_empty() {
        return "[ ]".to_string();
    }
    let mut out = String::from("[");
    let mut first = 0;
    while first < indexes.len() {
        let start = indexes[first];
        let mut last = first;
        while last + 1 < indexes.len() {
            let next = indexes[last + 1];
            if next.n != start.n || next.x != start.x || next.t.wrapping_sub(indexes[last].t) != 1 {
                break;
            }
            last += 1;
        }
        if first > 0 {
            out.push_str(", ");
        }
        let _ = write!(out, "({},{}", start.n, start.t);
        if last > first {
            let _ = write!(out, ":{}", indexes[last].t);
        }
        if start.x != 0 {
            let _ = write!(out, ",{}", start.x);
        }
        out.push(')');
        first = last + 1;
    }
    out.push(']');
    shorten(out)
}

/// `name(n,t)` or `name(n,t,x)`.
pub fn print_cindex(cindex: Cindex, names: &[String]) -> String {
    let Index { n, t, x } = cindex.index;
    let name = &names[cindex.node.index()];
    if x == 0 { format!("{name}({n},{t})") } else { format!("{name}({n},{t},{x})") }
}

/// For each run of one node, its name directly followed by [`print_indexes`].
pub fn print_cindexes(cindexes: &[Cindex], names: &[String]) -> String {
    if cindexes.is_empty() {
        return "[ ]".to_string();
    }
    cindexes
        .chunk_by(|a, b| a.node == b.node)
        .map(|run| {
            let indexes: Vec<Index> = run.iter().map(|c| c.index).collect();
            format!("{}{}", names[run[0].node.index()], print_indexes(&indexes))
        })
        .collect()
}

/// `[a, b, c:d, exK]`: runs of consecutive or constant values shortened.
pub fn print_integers(values: &[i32]) -> String {
    if values.is_empty() {
        return "[ ]".to_string();
    }
    let mut parts = Vec::new();
    let mut s = 0;
    while s < values.len() {
        let mut end = s + 1;
        let (constant, rising) = match values.get(s + 1) {
            Some(&next) => (next == values[s], next as i64 == values[s] as i64 + 1),
            None => (false, false),
        };
        while end < values.len() {
            let fits = (constant && values[end] == values[s])
                || (rising && values[end] as i64 == values[s] as i64 + (end - s) as i64);
            if !fits {
                break;
            }
            end += 1;
        }
        parts.push(match end - s {
            1 => values[s].to_string(),
            2 => format!("{}, {}", values[s], values[s + 1]),
            k if constant => format!("{}x{k}", values[s]),
            _ => format!("{}:{}", values[s], values[end - 1]),
        });
        s = end;
    }
    format!("[{}]", parts.join(", "))
}

// ---- stored forms --------------------------------------------------------------------------------------------------

fn read_index(r: &mut KaldiReader) -> Result<Index> {
    Ok(Index { n: r.read_i32()?, t: r.read_i32()?, x: r.read_i32()? })
}

fn write_index(w: &mut KaldiWriter, index: Index) -> Result<()> {
    w.write_i32(index.n)?;
    w.write_i32(index.t)?;
    w.write_i32(index.x)?;
    Ok(())
}

/// A header may announce at most this many elements before any have been seen.
const CHUNK: usize = 1 << 16;

fn read_count(r: &mut KaldiReader) -> Result<usize> {
    r.expect_token("<I1V>")?;
    let count = r.read_i32()?;
    usize::try_from(count).map_err(|_| r.error(format!("expected a number of indexes, found {count}")).into())
}

/// Reads `<I1V>`, a count and the indexes; in binary mode one byte an index where t follows the previous one.
pub fn read_indexes(r: &mut KaldiReader) -> Result<Vec<Index>> {
    let count = read_count(r)?;
    let mut out: Vec<Index> = Vec::with_capacity(count.min(CHUNK));
    if !r.binary() {
        for _ in 0..count {
            r.expect_token("<I1>")?;
            out.push(read_index(r)?);
        }
        return Ok(out);
    }
    let mut index = Index::default();
    for _ in 0..count {
        let c = r.read_byte()? as i8 as i32;
        if c.abs() < 125 {
            index.t = index.t.wrapping_add(c);
        } else if c == 127 {
            index = read_index(r)?;
        } else {
            return Err(r.error(format!("unexpected byte {c} in a vector of indexes")).into());
        }
        out.push(index);
    }
    Ok(out)
}

pub fn write_indexes(w: &mut KaldiWriter, indexes: &[Index]) -> Result<()> {
    w.write_token("<I1V>")?;
    w.write_i32(indexes.len() as i32)?;
    for (i, &index) in indexes.iter().enumerate() {
        if !w.binary() {
            w.write_token("<I1>")?;
            write_index(w, index)?;
            continue;
        }
        let previous = if i == 0 { Index::default() } else { indexes[i - 1] };
        let step = index.t as i64 - previous.t as i64;
        if index.n == previous.n && index.x == previous.x && step.abs() < 125 {
            w.write_bytes(&[step as i8 as u8])?;
        } else {
            w.write_bytes(&[127])?;
            write_index(w, index)?;
        }
    }
    Ok(())
}

/// Reads `<I1V>` and a count; in text mode `[node :<I1> n t x …]` for each run of one node.
pub fn read_cindexes(r: &mut KaldiReader) -> Result<Vec<Cindex>> {
    let count = read_count(r)?;
    let mut out: Vec<Cindex> = Vec::with_capacity(count.min(CHUNK));
    if !r.binary() {
        while out.len() < count {
            read_text_run(r, count, &mut out)?;
        }
        return Ok(out);
    }
    let mut node = None;
    for i in 0..count {
        let mut byte = [0u8; 1];
        r.read_exact(&mut byte)?;
        if byte[0] == b'|' {
            node = Some(read_node(r)?);
            r.read_exact(&mut byte)?;
        }
        let node = node.ok_or_else(|| r.error("a vector of cindexes must begin with a node"))?;
        let previous = if i == 0 { Index::default() } else { out[i - 1].index };
        let c = byte[0] as i8 as i32;
        let limit = if i == 0 { 125 } else { 124 };
        let index = match c {
            c if c.abs() < limit => Index { t: previous.t.wrapping_add(c), ..previous },
            125 | 126 => Index { n: previous.n.wrapping_add(c - 125), ..previous },
            127 => read_index(r)?,
            _ => return Err(r.error(format!("unexpected byte {c} in a vector of cindexes")).into()),
        };
        out.push(Cindex { node, index });
    }
    Ok(out)
}

fn read_node(r: &mut KaldiReader) -> Result<NodeId> {
    let node = r.read_i32()?;
    u32::try_from(node).map(NodeId).map_err(|_| r.error(format!("node {node} is negative")).into())
}

fn expect_char(r: &mut KaldiReader, wanted: u8) -> Result<()> {
    r.skip_whitespace()?;
    let mut byte = [0u8; 1];
    r.read_exact(&mut byte)?;
    if byte[0] == wanted {
        return Ok(());
    }
    Err(r.error(format!("expected '{}', found '{}'", wanted as char, byte[0] as char)).into())
}

fn read_text_run(r: &mut KaldiReader, count: usize, out: &mut Vec<Cindex>) -> Result<()> {
    expect_char(r, b'[')?;
    let node = read_node(r)?;
    expect_char(r, b':')?;
    loop {
        r.skip_whitespace()?;
        if r.peek_byte()? == Some(b']') {
            return expect_char(r, b']');
        }
        if out.len() == count {
            return Err(r.error(format!("more than the announced {count} cindexes")).into());
        }
        r.expect_token("<I1>")?;
        out.push(Cindex { node, index: read_index(r)? });
    }
}

pub fn write_cindexes(w: &mut KaldiWriter, cindexes: &[Cindex]) -> Result<()> {
    w.write_token("<I1V>")?;
    w.write_i32(cindexes.len() as i32)?;
    if !w.binary() {
        for run in cindexes.chunk_by(|a, b| a.node == b.node) {
            w.write_str("[")?;
            w.write_i32(run[0].node.0 as i32)?;
            w.write_str(":")?;
            for c in run {
                w.write_token("<I1>")?;
                write_index(w, c.index)?;
            }
            w.write_str("]")?;
        }
        return Ok(());
    }
    for (i, c) in cindexes.iter().enumerate() {
        if i == 0 || c.node != cindexes[i - 1].node {
            w.write_bytes(b"|")?;
            w.write_i32(c.node.0 as i32)?;
        }
        let previous = if i == 0 { Index::default() } else { cindexes[i - 1].index };
        let index = c.index;
        let time_step = index.t as i64 - previous.t as i64;
        let sequence_step = index.n as i64 - previous.n as i64;
        let limit = if i == 0 { 125 } else { 124 };
        if index.n == previous.n && index.x == previous.x && time_step.abs() < limit {
            w.write_bytes(&[time_step as i8 as u8])?;
        } else if index.t == previous.t && index.x == previous.x && (0..=1).contains(&sequence_step) {
            w.write_bytes(&[125 + sequence_step as u8])?;
        } else {
            w.write_bytes(&[127])?;
            write_index(w, index)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexes(values: &[(i32, i32, i32)]) -> Vec<Index> {
        values.iter().map(|&(n, t, x)| Index::new(n, t, x)).collect()
    }

    #[test]
    fn prints_integer_runs_as_the_reference_does() {
        let values = [-1, -1, -1, 1, 2, 3, 3, 3, 3, 4, 7, 8, 10, 10, 5];
        assert_eq!(print_integers(&values), "[-1x3, 1:3, 3x3, 4, 7, 8, 10, 10, 5]");
        assert_eq!(print_integers(&[]), "[ ]");
    }

    #[test]
    fn prints_index_runs() {
        let v = indexes(&[(0, -1, 0), (0, 0, 0), (0, 1, 0), (1, -1, 0), (1, 0, 0), (1, 1, 0), (2, 5, 3)]);
        assert_eq!(print_indexes(&v), "[(0,-1:1), (1,-1:1), (2,5,3)]");
    }

    #[test]
    fn sorts_by_time_first() {
        let mut v = indexes(&[(0, -1, 0), (0, 0, 0), (1, -1, 0), (1, 0, 0)]);
        v.sort();
        assert_eq!(print_indexes(&v), "[(0,-1), (1,-1), (0,0), (1,0)]");
    }

    /// Compares with bytes that the reference wrote.
    #[test]
    fn stores_indexes_like_the_reference() {
        let v = indexes(&[(0, -3, 0), (0, -2, 0), (1, -3, 0), (1, -3, 1), (1, 121, 1), (1, 246, 1)]);
        let mut w = KaldiWriter::in_memory(true);
        write_indexes(&mut w, &v).unwrap();
        let bytes = w.into_bytes();
        assert_eq!(bytes.len(), 62);
        assert_eq!(&bytes[..14], b"<I1V> \x04\x06\0\0\0\xFD\x01\x7F");
        let mut r = KaldiReader::from_bytes("test", bytes);
        r.set_binary(true);
        assert_eq!(read_indexes(&mut r).unwrap(), v);
    }

    #[test]
    fn stores_cindexes_like_the_reference() {
        let v: Vec<Cindex> = [(2, 0, 5), (2, 1, 5), (2, 1, 6), (3, 1, 6), (3, 0, 6)]
            .map(|(node, n, t)| Cindex::new(NodeId(node), Index::new(n, t, 0)))
            .to_vec();
        let mut w = KaldiWriter::in_memory(true);
        write_cindexes(&mut w, &v).unwrap();
        let expected: &[u8] = b"<I1V> \x04\x05\0\0\0\x7C\x04\x02\0\0\0\x05\x7E\x01\x7C\x04\x03\0\0\0\0\x7F\x04\0\0\0\0\x04\x06\0\0\0\x04\0\0\0\0";
        let bytes = w.into_bytes();
        assert_eq!(bytes, expected);
        let mut r = KaldiReader::from_bytes("test", bytes);
        r.set_binary(true);
        assert_eq!(read_cindexes(&mut r).unwrap(), v);

        let mut w = KaldiWriter::in_memory(false);
        write_cindexes(&mut w, &v).unwrap();
        let text = w.into_bytes();
        assert_eq!(
            String::from_utf8(text.clone()).unwrap(),
            "<I1V> 5 [2 :<I1> 0 5 0 <I1> 1 5 0 <I1> 1 6 0 ][3 :<I1> 1 6 0 <I1> 0 6 0 ]"
        );
        assert_eq!(read_cindexes(&mut KaldiReader::from_bytes("test", text)).unwrap(), v);
    }
}
