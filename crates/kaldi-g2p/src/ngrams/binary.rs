//! N-grams in a binary file: the arrays of [`Ngrams`] one after the other, so that a large model is there at once.

use kaldi_io::{KaldiReader, KaldiWriter, read_vector, write_vector};

use super::{BEGIN, END, FIRST, MOST_BACKOFF, Ngrams, ROOT};
use crate::error::{Error, Result};

/// Writes the arrays.
///
/// # Errors
/// The file cannot be written.
pub fn write(ngrams: &Ngrams, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
    let numbers = |numbers: &[u32]| numbers.iter().map(|&number| number as i32).collect::<Vec<i32>>();
    w.write_token("<Levels>")?;
    w.write_i32_vector(&ngrams.levels.iter().map(|&level| level as i32).collect::<Vec<i32>>())?;
    for (token, values) in [
        ("<Tokens>", &ngrams.tokens),
        ("<FirstChildren>", &ngrams.first_children),
        ("<Suffixes>", &ngrams.suffixes),
    ] {
        w.write_token(token)?;
        w.write_i32_vector(&numbers(values))?;
    }
    for (token, values) in [("<LogProbs>", &ngrams.log_probs), ("<Backoffs>", &ngrams.backoffs)] {
        w.write_token(token)?;
        write_vector(w, values)?;
    }
    Ok(())
}

/// Reads the arrays of a model with so many graphones.
///
/// # Errors
/// The arrays do not fit each other.
pub fn read(r: &mut KaldiReader, graphones: usize) -> Result<Ngrams> {
    let name = r.name().to_owned();
    let wrong = |what: &str| Error::data(format!("{name}: the model is damaged: {what}"));
    r.expect_token("<Levels>")?;
    let levels = numbers(r)?.ok_or_else(|| wrong("a level is negative"))?;
    let mut ngrams =
        Ngrams { levels: levels.iter().map(|&level| level as usize).collect(), ..Ngrams::default() };
    for (token, values) in [
        ("<Tokens>", &mut ngrams.tokens),
        ("<FirstChildren>", &mut ngrams.first_children),
        ("<Suffixes>", &mut ngrams.suffixes),
    ] {
        r.expect_token(token)?;
        *values = numbers(r)?.ok_or_else(|| wrong("a number is negative"))?;
    }
    for (token, values) in [("<LogProbs>", &mut ngrams.log_probs), ("<Backoffs>", &mut ngrams.backoffs)] {
        r.expect_token(token)?;
        *values = read_vector(r)?;
    }
    if let Some(what) = fault(&ngrams, FIRST as usize + graphones) {
        return Err(wrong(what));
    }
    ngrams.find_histories();
    Ok(ngrams)
}

/// Reads numbers; `None` if one is negative.
fn numbers(r: &mut KaldiReader) -> Result<Option<Vec<u32>>> {
    Ok(r.read_i32_vector()?.into_iter().map(|number| u32::try_from(number).ok()).collect())
}

/// Describes the first fault of arrays that do not form a tree of n-grams.
fn fault(ngrams: &Ngrams, vocabulary: usize) -> Option<&'static str> {
    let Ngrams { tokens, log_probs, backoffs, first_children, suffixes, levels, .. } = ngrams;
    let nodes = tokens.len();
    let lengths = [log_probs.len(), backoffs.len(), suffixes.len()];
    if lengths.iter().any(|&length| length != nodes) || first_children.len() != nodes + 1 {
        return Some("its arrays have different lengths");
    }
    let ascending = levels.windows(2).all(|pair| pair[0] < pair[1]);
    if levels.len() < 3 || levels[..2] != [0, 1] || levels[levels.len() - 1] != nodes || !ascending {
        return Some("its levels do not fit");
    }
    if levels[2] - levels[1] != vocabulary
        || tokens[1..levels[2]].iter().zip(0..).any(|(&token, place)| token != place)
    {
        return Some("its single tokens are not those of its graphones");
    }
    if first_children.windows(2).any(|pair| pair[0] > pair[1]) || first_children[nodes] as usize != nodes {
        return Some("its histories are not in order");
    }
    // The children of each level are the next one.
    let fits = |pair: &[usize]| first_children[pair[0]] as usize == pair[1];
    if !levels.windows(2).all(|pair| pair[0] == nodes || fits(pair)) {
        return Some("its levels do not fit its histories");
    }
    for level in levels.windows(2).skip(1) {
        if suffixes[level[0]..level[1]].iter().any(|&suffix| suffix as usize >= level[0]) {
            return Some("a suffix is not shorter");
        }
    }
    if suffixes[ROOT as usize] != ROOT {
        return Some("the empty history has a suffix");
    }
    for node in 0..nodes {
        let children = &tokens[first_children[node] as usize..first_children[node + 1] as usize];
        if children.windows(2).any(|pair| pair[0] >= pair[1])
            || children.iter().any(|&token| token as usize >= vocabulary)
        {
            return Some("its tokens are not in order");
        }
        let is_end = node != ROOT as usize && tokens[node] == END;
        if (is_end && !children.is_empty()) || (node != ROOT as usize && children.contains(&BEGIN)) {
            return Some("an n-gram has its beginning or its end inside");
        }
    }
    let longest = levels[levels.len() - 2]..nodes;
    let valid = |values: &[f32], most: f32| values.iter().all(|value| *value <= most);
    let has_backoff = |value: &f32| *value != 0.0;
    if !valid(log_probs, 0.0) || !valid(backoffs, MOST_BACKOFF) || backoffs[longest].iter().any(has_backoff) {
        return Some("a probability or a backoff weight is invalid");
    }
    None
}
