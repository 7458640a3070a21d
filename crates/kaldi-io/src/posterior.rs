//! Posteriors (`hmm/posterior.cc`): for each frame, pairs of an id and its probability.
//!
//! Binary: I32(frames), for each I32(k) and k × (I32 F32). Text, one line: `[ 3 0.5 7 0.5 ] [ ] \n`.
//!
//! Posteriors of Gaussians have a vector in the place of the probability, one element for each Gaussian of the id. Both
//! modes have their counts: `1 1 4  [ 1 -2 ]\n\n` is one frame with one pair.

use crate::error::Result;
use crate::matrix::{read_vector, write_vector};
use crate::reader::KaldiReader;
use crate::writer::KaldiWriter;

/// A list of (id, probability) pairs for each frame.
pub type Posterior = Vec<Vec<(i32, f32)>>;

/// A list of (id, probabilities of its Gaussians) pairs for each frame.
pub type GaussPost = Vec<Vec<(i32, Vec<f32>)>>;

/// The number of frames from which on Kaldi takes a file for corrupt.
const TOO_MANY_FRAMES: usize = 10_000_000;

pub fn read_posterior(r: &mut KaldiReader) -> Result<Posterior> {
    if r.binary() { read_frames(r, KaldiReader::read_f32) } else { read_line(r) }
}

pub fn read_gauss_post(r: &mut KaldiReader) -> Result<GaussPost> {
    read_frames(r, read_vector)
}

/// Reads counts and pairs. `value` reads the second element of a pair.
fn read_frames<T>(
    r: &mut KaldiReader,
    value: impl Fn(&mut KaldiReader) -> Result<T>,
) -> Result<Vec<Vec<(i32, T)>>> {
    let frames = r.read_i32().and_then(|n| r.check_count(n, "frames"))?;
    if frames > TOO_MANY_FRAMES {
        return Err(r.error(format!("the number of frames, {frames}, is too large")));
    }
    let mut out = Vec::with_capacity(frames.min(4096));
    for _ in 0..frames {
        let count = r.read_i32().and_then(|n| r.check_count(n, "entries of a frame"))?;
        let mut frame = Vec::with_capacity(count.min(64));
        for _ in 0..count {
            frame.push((r.read_i32()?, value(r)?));
        }
        out.push(frame);
    }
    Ok(out)
}

fn read_line(r: &mut KaldiReader) -> Result<Posterior> {
    let line = r.read_complete_line()?;
    let line = line.ok_or_else(|| r.error("expected a posterior, found the end of the file"))?;
    let mut words = line.split_ascii_whitespace();
    let mut posterior = Vec::new();
    let bad = |word: &str| r.error(format!("expected frames like '[ 3 0.5 7 0.5 ]', found '{word}'"));
    while let Some(word) = words.next() {
        if word != "[" {
            return Err(bad(word));
        }
        let mut frame = Vec::new();
        loop {
            let id = words.next().ok_or_else(|| bad("the end of the line"))?;
            if id == "]" {
                break;
            }
            let probability = words.next().ok_or_else(|| bad("the end of the line"))?;
            let (number, closed) =
                probability.strip_suffix(']').map_or((probability, false), |number| (number, true));
            match (id.parse(), number.parse::<f32>()) {
                (Ok(id), Ok(p)) if p.is_finite() => frame.push((id, p)),
                _ => return Err(bad(&format!("{id} {probability}"))),
            }
            if closed {
                break;
            }
        }
        posterior.push(frame);
    }
    Ok(posterior)
}

pub(crate) fn write_posterior(w: &mut KaldiWriter, posterior: &Posterior) -> Result<()> {
    if w.binary() {
        w.write_i32(w.count(posterior.len())?)?;
    }
    for frame in posterior {
        if w.binary() {
            w.write_i32(w.count(frame.len())?)?;
        } else {
            w.write_bytes(b"[ ")?;
        }
        for &(id, probability) in frame {
            w.write_i32(id)?;
            w.write_f32(probability)?;
        }
        if !w.binary() {
            w.write_bytes(b"] ")?;
        }
    }
    w.newline_in_text()
}

pub(crate) fn write_gauss_post(w: &mut KaldiWriter, posterior: &GaussPost) -> Result<()> {
    w.write_i32(w.count(posterior.len())?)?;
    for frame in posterior {
        w.write_i32(w.count(frame.len())?)?;
        for (id, probabilities) in frame {
            w.write_i32(*id)?;
            write_vector(w, probabilities)?;
        }
    }
    w.newline_in_text()
}
