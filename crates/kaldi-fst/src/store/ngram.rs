//! Files of type `ngram` (`fst/extensions/ngram/ngram-fst.h` of OpenFst, version 4).
//!
//! The header is followed by the numbers of states, words and final states. Then three sequences of bits follow, in
//! words of 64 bits. The first is the tree of histories, level by level, after a prefix `10`: each state is a 1 for
//! each child, and a 0. The second is the words, after a prefix `0`: each state is a 1 for each word, and a 0. The
//! third has a bit for each final state. Words and costs follow.

use kaldi_io::{KaldiReader, KaldiWriter};

use super::header::Header;
use super::raw::read_raw;
use super::{NGRAM, Symbols};
use crate::fst::StateId;
use crate::ngrams::{FirstSteps, NgramFst};
use crate::weight::Weight;

/// Reads the part after the symbol tables.
pub(super) fn read_after_header(r: &mut KaldiReader, header: &Header) -> kaldi_io::Result<NgramFst> {
    if header.arc_type != f32::ARC_TYPE {
        let (wanted, found) = (f32::ARC_TYPE, &header.arc_type);
        return Err(r.error(format!("expected an FST with arcs of type '{wanted}', found '{found}'")));
    }
    read_body(r, header)
}

fn read_body(r: &mut KaldiReader, header: &Header) -> kaldi_io::Result<NgramFst> {
    let mut count = |what: &str| {
        let number = u64::from_le_bytes(read_raw(r)?);
        let possible = usize::try_from(number).ok().filter(|&n| n < u32::MAX as usize / 2);
        possible.ok_or_else(|| r.error(format!("invalid number of {what}: {number}")))
    };
    let (num_states, num_words, num_finals) = (count("states")?, count("words")?, count("final states")?);
    if num_states == 0 || header.states != num_states as i64 {
        return Err(r.error(format!("the header says {} states, but there are {num_states}", header.states)));
    }
    let (shorter, first_children) = read_tree(r, num_states)?;
    let first_futures = read_futures(r, num_states, num_words)?;
    let is_final = Bits::read(r, num_states)?;
    let first_words = read_values(r, num_states + 1, i32::from_le_bytes)?;
    let words = read_values(r, num_words, i32::from_le_bytes)?;
    let backoff = read_values(r, num_states + 1, f32::from_le_bytes)?;
    let final_costs = read_values(r, num_finals, f32::from_le_bytes)?;
    let costs = read_values(r, num_words + 1, f32::from_le_bytes)?;
    if is_final.ones() != num_finals {
        let found = is_final.ones();
        return Err(r.error(format!("the file marks {found} states as final, expected {num_finals}")));
    }
    let mut final_costs = final_costs.into_iter();
    let final_cost = |state| if is_final.get(state) { final_costs.next() } else { None };
    let finals: Vec<f32> =
        (0..num_states).map(final_cost).map(|cost| cost.unwrap_or(f32::INFINITY)).collect();
    let costs = costs[..num_words].to_vec();
    let start = super::check_start(header.start, num_states).map_err(|problem| r.error(problem))?;
    let fst = NgramFst {
        start,
        shorter,
        first_children,
        first_words,
        backoff,
        finals,
        first_futures,
        words,
        costs,
        first_steps: FirstSteps::default(),
    };
    check(&fst).map_err(|problem| r.error(problem))?;
    Ok(fst)
}

/// Describes the fault of the words and costs, if there is one.
fn check(fst: &NgramFst) -> Result<(), String> {
    let member = |cost: &f32| cost.is_member();
    if !fst.backoff.iter().chain(&fst.finals).chain(&fst.costs).all(member) {
        return Err("a cost is NaN".to_owned());
    }
    let ascends =
        |words: &[i32], least| words.iter().all(|&word| word >= least) && words.is_sorted_by(|a, b| a < b);
    for s in 0..fst.num_states() {
        if !ascends(fst.words(s as StateId), 1) {
            return Err(format!("the words of state {s} are not in ascending order from 1 on"));
        }
        let children = fst.first_children[s] as usize..fst.first_children[s + 1] as usize;
        // 0 is the beginning of a sentence.
        if !ascends(&fst.first_words[children], 0) {
            return Err(format!("the histories behind state {s} are not in ascending order from word 0 on"));
        }
    }
    Ok(())
}

/// The parent of each state, and the first child of each.
fn read_tree(r: &mut KaldiReader, num_states: usize) -> kaldi_io::Result<(Vec<StateId>, Vec<StateId>)> {
    let bits = Bits::read(r, 2 * num_states + 1)?;
    let wrong = || r.error(format!("the tree of histories is not one of {num_states} states"));
    if !bits.get(0) || bits.get(1) || bits.ones() != num_states {
        return Err(wrong());
    }
    let (mut parents, mut first_children) = (vec![0], vec![1]);
    for i in 2..bits.len {
        if bits.get(i) {
            let parent = first_children.len() - 1;
            // A child comes behind its parent.
            if parent >= parents.len() {
                return Err(wrong());
            }
            parents.push(parent as StateId);
        } else {
            first_children.push(parents.len() as StateId);
        }
    }
    Ok((parents, first_children))
}

/// Reads the first word of each state.
fn read_futures(r: &mut KaldiReader, num_states: usize, num_words: usize) -> kaldi_io::Result<Vec<u32>> {
    let bits = Bits::read(r, num_words + num_states + 1)?;
    if bits.get(0) || bits.ones() != num_words {
        return Err(r.error(format!("expected {num_words} words of {num_states} states")));
    }
    let mut first = Vec::new();
    let mut words = 0;
    for i in 0..bits.len {
        if bits.get(i) {
            words += 1;
        } else {
            first.push(words);
        }
    }
    if first.last() != Some(&words) {
        return Err(r.error("the file has words after those of the last state"));
    }
    Ok(first)
}

struct Bits {
    len: usize,
    words: Vec<[u8; 8]>,
}

impl Bits {
    fn read(r: &mut KaldiReader, len: usize) -> kaldi_io::Result<Bits> {
        let words =
            r.read_growing(len.div_ceil(64), |r, out: &mut [[u8; 8]]| r.read_exact(out.as_flattened_mut()))?;
        Ok(Bits { len, words })
    }

    fn get(&self, i: usize) -> bool {
        self.words[i / 64][i % 64 / 8] >> (i % 8) & 1 == 1
    }

    fn ones(&self) -> usize {
        (0..self.len).filter(|&i| self.get(i)).count()
    }
}

fn read_values<T>(
    r: &mut KaldiReader,
    count: usize,
    value: impl Fn([u8; 4]) -> T,
) -> kaldi_io::Result<Vec<T>> {
    let raw = r.read_growing(count, |r, out: &mut [[u8; 4]]| r.read_exact(out.as_flattened_mut()))?;
    Ok(raw.into_iter().map(value).collect())
}

/// Writes an FST of type `ngram` with tables of input and output symbols.
pub fn write_ngrams(
    w: &mut KaldiWriter,
    fst: &NgramFst,
    symbols: [Option<Symbols>; 2],
) -> kaldi_io::Result<()> {
    let num_states = fst.num_states();
    let num_arcs = fst.words.len() + num_states - 1;
    let mut header = Header::new::<f32>(NGRAM, fst.start, num_states as i64, num_arcs as i64);
    header.symbols = symbols;
    header.write(w)?;
    let is_final = |&s: &usize| fst.finals[s] != f32::INFINITY;
    let num_finals = (0..num_states).filter(is_final).count();
    for count in [num_states, fst.words.len(), num_finals] {
        w.write_bytes(&(count as u64).to_le_bytes())?;
    }
    let mut tree = vec![true, false];
    let mut futures = vec![false];
    for s in 0..num_states {
        let ones =
            |first: &[u32]| std::iter::repeat_n(true, (first[s + 1] - first[s]) as usize).chain([false]);
        tree.extend(ones(&fst.first_children));
        futures.extend(ones(&fst.first_futures));
    }
    let finals: Vec<bool> = (0..num_states).map(|s| is_final(&s)).collect();
    for bits in [tree, futures, finals] {
        for word in bits.chunks(64) {
            let word = word.iter().enumerate().fold(0u64, |word, (i, &bit)| word | u64::from(bit) << i);
            w.write_bytes(&word.to_le_bytes())?;
        }
    }
    let words = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let costs = |costs: &mut dyn Iterator<Item = &f32>| {
        costs.flat_map(|cost| cost.to_le_bytes()).collect::<Vec<u8>>()
    };
    w.write_bytes(&words(&fst.first_words))?;
    w.write_bytes(&words(&fst.words))?;
    w.write_bytes(&costs(&mut fst.backoff.iter()))?;
    w.write_bytes(&costs(&mut fst.finals.iter().filter(|&&cost| cost != f32::INFINITY)))?;
    w.write_bytes(&costs(&mut fst.costs.iter().chain([&0.0])))
}
