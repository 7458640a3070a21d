//! New inputs from old ones.

use fastrand::Rng;

/// Words and numbers with a meaning in the formats, and wrong sizes.
const WORDS: [&[u8]; 20] = [
    b"\0B",
    b"\x04\xff\xff\xff\x7f",
    b"\x04\0\0\0\x80",
    b"\x08",
    b"\x04\0\0\0\0",
    b"FM ",
    b"DM ",
    b"FV ",
    b"CM ",
    b"CM2 ",
    b"CM3 ",
    b"SM ",
    b"SV ",
    b" [ ",
    b" ]\n",
    b"nan",
    b"1e30",
    b"-1",
    b"99999999",
    b"\n",
];

/// One of the corpus with one to four changes; now and then joined with another.
pub fn mutated(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut out = corpus[rng.usize(..corpus.len())].clone();
    if rng.u8(..16) == 0 {
        let other = &corpus[rng.usize(..corpus.len())];
        out.truncate(rng.usize(..=out.len()));
        out.extend_from_slice(&other[rng.usize(..=other.len())..]);
    }
    for _ in 0..rng.usize(1..=4) {
        change(&mut out, rng);
    }
    out
}

fn change(out: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.usize(..=out.len());
    let end = (at + rng.usize(1..=16)).min(out.len());
    match rng.u8(..10) {
        0 => out.truncate(at),
        1 => drop(out.drain(at..end)),
        2 => {
            let copy = out[at..end].to_vec();
            out.splice(at..at, copy);
        }
        3 => drop(out.splice(at..at, WORDS[rng.usize(..WORDS.len())].iter().copied())),
        4 => {
            let word = WORDS[rng.usize(..WORDS.len())];
            out.splice(at..(at + word.len()).min(out.len()), word.iter().copied());
        }
        5 => out.insert(at, rng.u8(..)),
        6 => out.insert(at, rng.u8(b' '..=b'~')),
        _ if at == out.len() => out.push(rng.u8(..)),
        7 => out[at] ^= 1 << rng.u8(..8),
        8 => out[at] = out[at].wrapping_add(rng.u8(..3)).wrapping_sub(1),
        _ => out[at] = rng.u8(..),
    }
}
