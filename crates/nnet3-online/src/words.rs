//! The choice of words from a lattice, with their times and confidences.

use nnet3_decode::align::{WordAlignment, align_words};
use nnet3_decode::{CompactLattice, Scale, lattice, mbr};

use crate::alternatives::alternatives;
use crate::error::Result;
use crate::stream::Stream;
use crate::transcript::{Transcript, Warning, Word};

/// States of a lattice with words as arcs, for each of the lattice and besides.
const MOST_STATES: usize = 1_000_000;

/// Ends the utterance of a stream. `start` is the beginning of the utterance, in seconds from that of the sound.
pub(crate) fn transcript(stream: &mut Stream, start: f64) -> Result<Transcript> {
    let frames = stream.frames_decoded();
    let mut transcript = Transcript { start, frames, lattice_start: start, ..Transcript::default() };
    if !stream.finish()? {
        transcript.warnings.push(Warning::NoPath { start });
        return Ok(transcript);
    }
    let (mut lattice, _) = stream.lattice()?;
    if lattice.start.is_none() {
        transcript.warnings.push(Warning::NoPath { start });
        return Ok(transcript);
    }
    if let Some(effort) = stream.options().effort {
        effort.bound_words(&mut lattice, stream.options().search.lattice_beam)?;
    }
    transcript.lattice = stream.options().keep_lattice.then(|| lattice.clone());
    lattice::scale(&mut lattice, Scale::new(stream.options().graph_scale, 1.0));
    let (outcome, warning) = choose(stream, start, &lattice, stream.reached_final())?;
    transcript.warnings.extend(warning);
    if stream.options().alternatives > 0 {
        let (found, cause) = alternatives(stream, start, &lattice, stream.options().alternatives)?;
        transcript.alternatives = found;
        transcript.warnings.extend(cause.map(|cause| Warning::UnalignedAlternatives { start, cause }));
    }
    transcript.words = named(stream, start, &outcome)?;
    Ok(transcript)
}

/// Returns the words of an utterance so far. Must be called before it is finished.
pub(crate) fn so_far(stream: &Stream, start: f64) -> Result<Vec<Word>> {
    let (mut lattice, _) = stream.determinized()?;
    if lattice.start.is_none() {
        return Ok(Vec::new());
    }
    if let Some(effort) = stream.options().effort {
        effort.bound_words(&mut lattice, stream.options().search.lattice_beam)?;
    }
    lattice::scale(&mut lattice, Scale::new(stream.options().graph_scale, 1.0));
    let (outcome, _) = choose(stream, start, &lattice, false)?;
    named(stream, start, &outcome)
}

fn named(stream: &Stream, start: f64, outcome: &mbr::Outcome) -> Result<Vec<Word>> {
    let frame = f64::from(stream.output_frame_length());
    let words = outcome.words.iter().zip(&outcome.times).zip(&outcome.confidences);
    let named = words.map(|((&word, &(begin, end)), &confidence)| {
        Ok(Word {
            text: stream.model().word(word)?.to_owned(),
            start: start + f64::from(begin) * frame,
            end: start + f64::from(end) * frame,
            confidence,
        })
    });
    named.collect()
}

/// The way to align words with phones: silences are no words.
pub(crate) fn word_alignment() -> WordAlignment {
    WordAlignment { reorder: true, silence_label: 0, partial_word_label: 0, max_states: Some(MOST_STATES) }
}

/// Finds the words with the least risk. Their times are the times of their phones. If the lattice cannot be aligned to
/// words, all words are kept, with the times of the search, and a warning gives the reason. The last word of a lattice that
/// is not `complete` may lack its end.
fn choose(
    stream: &Stream,
    start: f64,
    lattice: &CompactLattice,
    complete: bool,
) -> Result<(mbr::Outcome, Option<Warning>)> {
    let decode = |lattice: &CompactLattice| mbr::decode(lattice, None, mbr::Options::default());
    let parts = stream.model().parts();
    let Some(boundaries) = &parts.boundaries else { return Ok((decode(lattice)?, None)) };
    let (cause, aligned) = match align_words(lattice, &parts.transitions, boundaries, &word_alignment()) {
        Ok((aligned, problems)) if problems.is_empty() => return Ok((decode(&aligned)?, None)),
        Ok((aligned, problems)) => (problems.join(", "), decode(&aligned).ok()),
        Err(error) => (error.to_string(), None),
    };
    let outcome = decode(lattice)?;
    match aligned {
        // A word that sound ends in is no reason to complain.
        Some(aligned) if aligned.words == outcome.words && !complete => Ok((aligned, None)),
        _ => Ok((outcome, Some(Warning::Unaligned { start, cause }))),
    }
}
