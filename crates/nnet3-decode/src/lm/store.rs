//! Files of language models: binary only.

use kaldi_io::{IoError, KaldiObject, KaldiReader, KaldiWriter};

use super::ConstArpa;

/// The first line of an ARPA file.
const ARPA: &[u8] = b"\\data\\";

/// Value in files for an absent entry.
const NONE: i32 = -1;

impl KaldiObject for ConstArpa {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<ConstArpa> {
        if !r.binary() {
            let expected = "expected a language model of type ConstArpaLm, which is always binary, found";
            // (Files of SRILM begin with an empty line.)
            let is_arpa =
                r.peek_bytes(ARPA.len() + 1)?.trim_ascii_start().starts_with(&ARPA[..ARPA.len() - 1]);
            return Err(r.error(match is_arpa {
                true => format!("{expected} an ARPA file; arpa-to-const-arpa makes one of it"),
                false => format!("{expected} text"),
            }));
        }
        // The format of older programs begins with the size of the first number, and has no tokens.
        let lm = if r.peek_byte()? == Some(4) { read_old(r)? } else { read_new(r)? };
        check(&lm).map_err(|why| r.error(format!("invalid ConstArpaLm: {why}")))?;
        Ok(lm)
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        if !w.binary() {
            return Err(IoError::Value("a ConstArpaLm cannot be written as text".to_owned()));
        }
        w.write_token("<ConstArpaLm>")?;
        w.write_token("<LmInfo>")?;
        for value in [self.begin, self.end, self.unknown.unwrap_or(NONE), self.order as i32] {
            w.write_i32(value)?;
        }
        w.write_token("</LmInfo>")?;
        w.write_token("<LmStates>")?;
        w.write_i64(self.states.len() as i64)?;
        self.states.iter().try_for_each(|value| w.write_bytes(&value.to_le_bytes()))?;
        w.write_token("</LmStates>")?;
        for (name, list) in [("LmUnigram", &self.unigrams), ("LmOverflow", &self.far)] {
            w.write_token(&format!("<{name}>"))?;
            w.write_i32(list.len() as i32)?;
            list.iter().try_for_each(|value| w.write_bytes(&value.to_le_bytes()))?;
            w.write_token(&format!("</{name}>"))?;
        }
        w.write_token("</ConstArpaLm>")
    }
}

fn with_info(r: &KaldiReader, info: [i32; 4]) -> kaldi_io::Result<ConstArpa> {
    let [begin, end, unknown, order] = info;
    let order = usize::try_from(order).ok().filter(|&order| order > 0);
    Ok(ConstArpa {
        begin,
        end,
        unknown: Some(unknown).filter(|&word| word != NONE),
        order: order.ok_or_else(|| r.error("the order of the n-grams is below 1"))?,
        states: Vec::new(),
        unigrams: Vec::new(),
        far: Vec::new(),
    })
}

fn read_info(r: &mut KaldiReader) -> kaldi_io::Result<[i32; 4]> {
    Ok([r.read_i32()?, r.read_i32()?, r.read_i32()?, r.read_i32()?])
}

fn read_new(r: &mut KaldiReader) -> kaldi_io::Result<ConstArpa> {
    r.expect_token("<ConstArpaLm>")?;
    r.expect_token("<LmInfo>")?;
    let info = read_info(r)?;
    let mut lm = with_info(r, info)?;
    r.expect_token("</LmInfo>")?;
    r.expect_token("<LmStates>")?;
    let count = r.read_i64()?;
    let count = usize::try_from(count).map_err(|_| r.error(format!("invalid size of the array: {count}")))?;
    let states: Vec<[u8; 4]> = r.read_growing(count, |r, out| r.read_exact(out.as_flattened_mut()))?;
    lm.states = states.into_iter().map(i32::from_le_bytes).collect();
    r.expect_token("</LmStates>")?;
    for (name, list) in [("LmUnigram", &mut lm.unigrams), ("LmOverflow", &mut lm.far)] {
        r.expect_token(&format!("<{name}>"))?;
        let count = r.read_i32().and_then(|count| r.check_count(count, "addresses"))?;
        let raw: Vec<[u8; 8]> = r.read_growing(count, |r, out| r.read_exact(out.as_flattened_mut()))?;
        *list = raw.into_iter().map(i64::from_le_bytes).collect();
        r.expect_token(&format!("</{name}>"))?;
    }
    r.expect_token("</ConstArpaLm>")?;
    Ok(lm)
}

fn read_old(r: &mut KaldiReader) -> kaldi_io::Result<ConstArpa> {
    let info = read_info(r)?;
    let mut lm = with_info(r, info)?;
    let count = r.read_i32().and_then(|count| r.check_count(count, "numbers in the array"))?;
    for _ in 0..count {
        lm.states.push(r.read_i32()?);
    }
    for list in [&mut lm.unigrams, &mut lm.far] {
        let count = r.read_i32().and_then(|count| r.check_count(count, "addresses"))?;
        for _ in 0..count {
            list.push(r.read_i64()?);
        }
    }
    Ok(lm)
}

/// Checks that every later lookup stays inside the tables. The error names the fault.
fn check(lm: &ConstArpa) -> Result<(), String> {
    let in_list = |place: i64| {
        let at = usize::try_from(place).ok();
        at.is_some_and(|at| at == 0 || at - 1 < lm.states.len().saturating_sub(2))
    };
    if let Some(place) = lm.unigrams.iter().chain(&lm.far).find(|&&place| !in_list(place)) {
        return Err(format!("address {place} is outside the array"));
    }
    for (what, word) in [("<s>", Some(lm.begin)), ("</s>", Some(lm.end)), ("unknown words", lm.unknown)] {
        if let Some(word) = word.filter(|&word| word <= 0 || word as usize >= lm.unigrams.len()) {
            return Err(format!("word {word} for {what} is not in the language model"));
        }
    }
    // States follow each other without gaps.
    let mut at = 0;
    let mut starts = Vec::new();
    while at < lm.states.len() {
        let count = lm.states.get(at + 2).copied().unwrap_or(-1);
        let next = usize::try_from(count).ok().and_then(|count| at.checked_add(3 + 2 * count));
        let next = next.filter(|&next| next <= lm.states.len());
        starts.push(at);
        at = next.ok_or_else(|| format!("the state at {at} does not end within the array"))?;
    }
    let is_start = |place: usize| starts.binary_search(&place).is_ok();
    let bad_place = |place: &&i64| **place != 0 && !is_start((**place - 1) as usize);
    if let Some(place) = lm.unigrams.iter().chain(&lm.far).find(bad_place) {
        return Err(format!("there is no state at address {place}"));
    }
    for &place in &starts {
        let count = lm.states[place + 2] as usize;
        let (pairs, _) = lm.states[place + 3..place + 3 + 2 * count].as_chunks::<2>();
        if !pairs.is_sorted_by(|a, b| a[0] < b[0]) {
            return Err(format!("the words after the state at {place} are not in order"));
        }
        for &[word, info] in pairs {
            let target = match info {
                _ if info % 2 == 0 => continue,
                _ if info > 1 => Some(place + (info / 2) as usize),
                _ => lm.far.get(-(info / 2) as usize).and_then(|&far| usize::try_from(far - 1).ok()),
            };
            // Longer n-grams come behind, so there are no circles.
            if !target.is_some_and(|target| target > place && is_start(target)) {
                return Err(format!("word {word} after the state at {place} leads to no state behind it"));
            }
        }
    }
    Ok(())
}
