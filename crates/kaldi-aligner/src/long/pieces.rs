//! Pieces of a long utterance, between pauses.

use std::ops::Range;

use kaldi_align::WordTime;

/// Seconds of a piece that may end at a pause, and of one that ends at the longest pause that it has.
const PIECE: f64 = 6.0;
const MOST_PIECE: f64 = 25.0;
/// Seconds of a pause at which a piece may end, and of the sound around a piece.
const PAUSE: f64 = 0.2;
const AROUND: f64 = 0.3;

/// A piece of a long utterance.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub frames: Range<usize>,
    /// Places of its words in the text.
    pub words: Vec<usize>,
}

/// Words of a long utterance that were left out one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gap {
    /// From the end of the word before them to the begin of the word behind them.
    pub frames: Range<usize>,
    /// Their places in the text.
    pub words: Range<usize>,
}

/// The words without frames.
pub(super) fn gaps(words: &[WordTime], frames: usize) -> Vec<Gap> {
    let is_left_out = |word: &WordTime| word.end <= word.begin;
    let (mut gaps, mut first) = (Vec::new(), 0);
    for run in words.chunk_by(|a, b| is_left_out(a) == is_left_out(b)) {
        let places = first..first + run.len();
        first = places.end;
        if is_left_out(&run[0]) {
            let begin = places.start.checked_sub(1).map_or(0, |before| words[before].end);
            let end = words.get(places.end).map_or(frames, |behind| behind.begin);
            gaps.push(Gap { frames: begin..end, words: places });
        }
    }
    gaps
}

/// Cuts words with their times into pieces.
pub(super) fn pieces(words: &[WordTime], frames: usize, seconds: f64) -> Vec<Piece> {
    let in_frames = |length: f64| (length / seconds).round() as usize;
    let (least, most, pause, around) =
        (in_frames(PIECE), in_frames(MOST_PIECE), in_frames(PAUSE), in_frames(AROUND));
    let spoken: Vec<usize> =
        (0..words.len()).filter(|&place| words[place].end > words[place].begin).collect();
    let gap = |at: usize| words[spoken[at]].begin - words[spoken[at - 1]].end;
    let mut cuts = vec![0];
    let mut first = 0;
    for at in 1..spoken.len() {
        let length = words[spoken[at - 1]].end - words[spoken[first]].begin;
        // Sound without text is in no piece.
        if (gap(at) >= pause && length >= least) || gap(at) > 4 * around {
            first = at;
            cuts.push(at);
        } else if length > most
            && let Some(longest) = (first + 1..=at).max_by_key(|&at| gap(at))
        {
            first = longest;
            cuts.push(longest);
        }
    }
    cuts.push(spoken.len());
    let piece = |range: &[usize]| {
        let members = &spoken[range[0]..range[1]];
        let (&begin, &end) = (members.first()?, members.last()?);
        let lower = if range[0] == 0 { 0 } else { words[spoken[range[0] - 1]].end };
        let upper = spoken.get(range[1]).map_or(frames, |&next| words[next].begin);
        let (from, to) = (words[begin].begin, words[end].end);
        let from = from - around.min((from - lower) / if range[0] == 0 { 1 } else { 2 });
        let to = to + around.min((upper - to) / if range[1] == spoken.len() { 1 } else { 2 });
        Some(Piece { frames: from..to, words: members.to_vec() })
    };
    cuts.windows(2).filter_map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(begin: usize, end: usize) -> WordTime {
        WordTime { word: 1, begin, end, fine: (begin as f64, end as f64) }
    }

    #[test]
    fn pieces_end_at_pauses_and_have_all_spoken_words() {
        // A word of 90 frames each 100 frames; the pause before every tenth word has 30 frames more.
        let mut words: Vec<WordTime> = Vec::new();
        let mut now = 50;
        for number in 0..60 {
            now += if number % 10 == 0 { 40 } else { 10 };
            words.push(word(now, now + 90));
            now += 90;
        }
        // One was left out.
        words[25] = word(words[24].end, words[24].end);
        let found = pieces(&words, now + 200, 0.01);
        let all: Vec<usize> = found.iter().flat_map(|piece| piece.words.clone()).collect();
        let expected: Vec<usize> = (0..60).filter(|&place| place != 25).collect();
        assert_eq!(all, expected);
        for pair in found.windows(2) {
            assert!(pair[0].frames.end <= pair[1].frames.start, "{pair:?}");
            let gap = words[pair[1].words[0]].begin - words[*pair[0].words.last().unwrap()].end;
            assert!(gap >= 20, "{pair:?}");
        }
        let gap = Gap { frames: words[24].end..words[26].begin, words: 25..26 };
        assert_eq!(gaps(&words, now + 200), [gap]);
        let first = &found[0];
        assert_eq!(first.frames.start, words[0].begin - 30);
        assert!(found.iter().all(|piece| piece.frames.len() < 2600));
    }

    #[test]
    fn words_that_are_left_out_lie_between_their_neighbours() {
        let out = word(0, 0);
        let words = [out, word(10, 20), out, out, word(60, 80), out];
        let found: Vec<_> = gaps(&words, 100).into_iter().map(|gap| (gap.frames, gap.words)).collect();
        assert_eq!(found, [(0..10, 0..1), (20..60, 2..4), (80..100, 5..6)]);
    }

    #[test]
    fn sound_without_text_is_in_no_piece() {
        let words = [word(10, 100), word(110, 200), word(5000, 5100)];
        let found = pieces(&words, 9000, 0.01);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].frames.end, found[1].frames.clone()), (230, 4970..5130));
    }
}
