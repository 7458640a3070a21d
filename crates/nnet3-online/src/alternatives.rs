//! Several texts of a sentence.

use kaldi_fst::EPSILON;
use nnet3_decode::align::align_words;
use nnet3_decode::posterior::forward_backward;
use nnet3_decode::{CompactLattice, Lattice, lattice, order, path};

use crate::error::Result;
use crate::stream::Stream;
use crate::transcript::{Alternative, Word};
use crate::words::word_alignment;

/// Finds the texts of the best paths of a lattice, at most `most`, each text once. `start` is the beginning of the utterance,
/// in seconds. Also returns the reason if the times of some words are those of the search.
pub(crate) fn alternatives(
    stream: &Stream,
    start: f64,
    compact: &CompactLattice,
    most: usize,
) -> Result<(Vec<Alternative>, Option<String>)> {
    let mut expanded = lattice::expand(compact);
    order::sort(&mut expanded)?;
    let total = forward_backward(&expanded)?.total;
    let mut found: Vec<Alternative> = Vec::new();
    let mut unaligned = None;
    for path in path::best_paths(&expanded, most)? {
        let best = path::read_linear(&path)?;
        let log_likelihood = -(f64::from(best.weight.graph) + f64::from(best.weight.acoustic));
        let probability = (log_likelihood - total).exp().clamp(0.0, 1.0) as f32;
        let (spans, complaint) = spans(stream, &path);
        unaligned = unaligned.or(complaint);
        let frame = f64::from(stream.output_frame_length());
        let mut words = Vec::new();
        for (word, begin, end) in spans {
            words.push(Word {
                text: stream.model().word(word)?.to_owned(),
                start: start + begin as f64 * frame,
                end: start + end as f64 * frame,
                confidence: probability,
            });
        }
        found.push(Alternative { words, log_likelihood, probability });
    }
    Ok((found, unaligned))
}

/// A word with its first frame and the frame after its last one.
type Span = (i32, usize, usize);

/// Returns the words of a path with their frames: those of their phones if these are known, else those of the search, with
/// the reason.
fn spans(stream: &Stream, path: &Lattice) -> (Vec<Span>, Option<String>) {
    let searched = lattice::compact(path);
    let parts = stream.model().parts();
    let Some(boundaries) = &parts.boundaries else { return (spans_of(&searched), None) };
    match align_words(&searched, &parts.transitions, boundaries, &word_alignment()) {
        Ok((aligned, problems)) => {
            let spans = spans_of(&aligned);
            // A word that sound ends in is no reason to complain.
            if problems.is_empty() || same_words(&spans, &spans_of(&searched)) && !stream.reached_final() {
                return (spans, None);
            }
            (spans_of(&searched), Some(problems.join(", ")))
        }
        Err(error) => (spans_of(&searched), Some(error.to_string())),
    }
}

fn same_words(a: &[Span], b: &[Span]) -> bool {
    a.iter().map(|span| span.0).eq(b.iter().map(|span| span.0))
}

/// Reads the words of a lattice with one path.
fn spans_of(lattice: &CompactLattice) -> Vec<Span> {
    let mut time = 0;
    let mut spans = Vec::new();
    for arc in path::linear_arcs(lattice).unwrap_or_default() {
        let end = time + arc.weight.string.len();
        if arc.ilabel != EPSILON {
            spans.push((arc.ilabel, time, end));
        }
        time = end;
    }
    spans
}
