//! Edges of speech: where the sound becomes loud or quiet.
//!
//! A frame sees 25 ms of sound, and loud sound hides quiet sound in it. So phones beside a pause are up to two frames too long, and a
//! closure begins too late. These edges move to the steepest change of the loudness nearby, which is known every 2 ms: to the place
//! that divides a stretch of levels (in dB) into two parts with the least squared deviations from their means.

use crate::aligned::AlignedUtterance;

/// Seconds between two levels, and of the window of one.
const STEP: f64 = 0.002;
const WINDOW: f64 = 0.005;
const PREEMPHASIS: f32 = 0.97;

/// Seconds around a boundary beside a pause, and around others, in which the edge may be.
const REACH: f64 = 0.06;
const INNER_REACH: f64 = 0.03;
/// The least difference of the levels on both sides, in dB, of edges beside pauses and of others.
const LEAST: f64 = 6.0;
const INNER_LEAST: f64 = 10.0;
/// A closure is at most so much louder than the quietest twentieth of the utterance, in dB.
const QUIET: f64 = 12.0;
/// The part of the range of levels that counts as quiet.
const QUIET_PART: f32 = 0.35;
/// Seconds that are left of each phone.
const SHORTEST: f64 = 0.01;
/// Boundaries that differ by less touch.
const TOUCHING: f64 = 1e-3;
/// The least number of levels that can be divided.
const FEWEST: usize = 10;

/// Levels of an utterance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Levels(Vec<f32>);

impl Levels {
    /// Measures samples with this rate, in Hz.
    pub(crate) fn of(samples: &[f32], rate: u32) -> Levels {
        let rate = f64::from(rate);
        let mut sums = Vec::with_capacity(samples.len() + 1);
        let (mut sum, mut before) = (0.0, samples.first().copied().unwrap_or_default());
        sums.push(0.0);
        for &sample in samples {
            let value = f64::from(sample - PREEMPHASIS * before);
            before = sample;
            sum += value * value;
            sums.push(sum);
        }
        let (half, count) = (0.5 * WINDOW * rate, (samples.len() as f64 / (STEP * rate)) as usize);
        let level = |number: usize| {
            let middle = (number as f64 + 0.5) * STEP * rate;
            let from = (middle - half).max(0.0) as usize;
            let to = ((middle + half) as usize).clamp(from + 1, samples.len().max(from + 1));
            let power = (sums[to.min(samples.len())] - sums[from.min(samples.len())]) / (to - from) as f64;
            10.0 * power.max(0.0).ln_1p() as f32 / std::f32::consts::LN_10
        };
        Levels((0..count).map(level).collect())
    }

    /// The levels from one frame to another; frames are so many seconds apart.
    pub(crate) fn part(&self, frames: &std::ops::Range<usize>, seconds: f64) -> Levels {
        let place = |frame: usize| ((frame as f64 * seconds / STEP).round() as usize).min(self.0.len());
        Levels(self.0[place(frames.start)..place(frames.end)].to_vec())
    }

    /// The level below which a twentieth of the utterance is.
    fn floor(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f32::total_cmp);
        sorted.get(sorted.len() / 20).map_or(0.0, |&level| f64::from(level))
    }

    /// The share of quiet levels between two times: quiet ones are at most [`QUIET_PART`] of the way from the quietest twentieth of the
    /// utterance to the loudest one.
    pub(crate) fn quiet_share(&self, from: f64, to: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f32::total_cmp);
        let twentieth = sorted.len() / 20;
        let (Some(&low), Some(&high)) = (sorted.get(twentieth), sorted.iter().rev().nth(twentieth)) else {
            return 0.0;
        };
        let limit = low + QUIET_PART * (high - low);
        let place = |seconds: f64| ((seconds / STEP).round().max(0.0) as usize).min(self.0.len());
        let levels = self.0.get(place(from)..place(to)).unwrap_or_default();
        levels.iter().filter(|&&level| level < limit).count() as f64 / levels.len().max(1) as f64
    }

    /// The steepest rise or fall between two times; `None` if no place has the least difference with the quiet side below
    /// `highest`.
    fn edge(&self, (from, to): (f64, f64), rises: bool, least: f64, highest: f64) -> Option<f64> {
        let place = |seconds: f64| ((seconds / STEP).round().max(0.0) as usize).min(self.0.len());
        let (first, last) = (place(from), place(to));
        let levels = self.0.get(first..last).filter(|levels| levels.len() >= FEWEST)?;
        let (all, count) = (levels.iter().map(|&level| f64::from(level)).sum::<f64>(), levels.len() as f64);
        let (mut sum, mut best) = (0.0, None);
        for (number, &level) in levels[..levels.len() - 1].iter().enumerate() {
            sum += f64::from(level);
            let before = (number + 1) as f64;
            let (left, right) = (sum / before, (all - sum) / (count - before));
            let (quiet, loud) = if rises { (left, right) } else { (right, left) };
            let gain = before * (count - before) / count * (right - left).powi(2);
            if loud - quiet > least && quiet < highest && best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, first + number + 1));
            }
        }
        best.map(|(_, place)| place as f64 * STEP)
    }
}

/// Moves the boundaries of an aligned utterance to edges of its sound.
pub(crate) fn sharpen(utterance: &mut AlignedUtterance, levels: &Levels) {
    let (begin, length) = (utterance.begin, utterance.end - utterance.begin);
    let phones = utterance.words.iter().flat_map(|word| &word.phones);
    let mut spans: Vec<(f64, f64)> = phones.map(|phone| (phone.begin - begin, phone.end - begin)).collect();
    let highest = levels.floor() + QUIET;
    for place in 0..spans.len() {
        let (from, to) = spans[place];
        let before = place.checked_sub(1).map(|before| spans[before]);
        let pause = from - before.map_or(0.0, |before| before.1);
        if pause > TOUCHING {
            // (The pause inside is shared with the edge at its other end.)
            let lowest = from - before.map_or(pause, |_| pause / 2.0).min(REACH);
            let reach = (lowest, (from + REACH).min((to - SHORTEST).max(from + 2.0 * SHORTEST)));
            if let Some(edge) =
                levels.edge(reach, true, LEAST, f64::INFINITY).filter(|edge| to - edge >= SHORTEST)
            {
                spans[place].0 = edge;
            }
        } else if let Some(before) = before {
            let reach =
                ((from - INNER_REACH).max(before.0 + SHORTEST), (from + INNER_REACH).min(to - SHORTEST));
            if let Some(edge) = levels.edge(reach, false, INNER_LEAST, highest) {
                (spans[place - 1].1, spans[place].0) = (edge, edge);
            }
        }
        let (from, after) = (spans[place].0, spans.get(place + 1).map_or(length, |after| after.0));
        let pause = after - to;
        if pause > TOUCHING {
            let highest_end = to + spans.get(place + 1).map_or(pause, |_| pause / 2.0).min(REACH);
            let reach = ((to - REACH).max((from + SHORTEST).min(to - 2.0 * SHORTEST)), highest_end);
            let edge = levels.edge(reach, false, LEAST, f64::INFINITY);
            if let Some(edge) = edge.filter(|edge| edge - from >= SHORTEST) {
                spans[place].1 = edge;
            }
        }
    }
    let time = |seconds: f64| ((begin + seconds) * 1e5).round() / 1e5;
    let mut spans = spans.into_iter();
    for word in &mut utterance.words {
        for (phone, (from, to)) in word.phones.iter_mut().zip(spans.by_ref()) {
            (phone.begin, phone.end) = (time(from), time(to));
        }
        if let (Some(first), Some(last)) = (word.phones.first(), word.phones.last()) {
            (word.begin, word.end) = (first.begin, last.end);
        }
    }
    // A word without phones has no sound, and stays between its neighbours.
    let mut now = begin;
    for word in &mut utterance.words {
        if word.phones.is_empty() {
            (word.begin, word.end) = (now, now);
        }
        now = word.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aligned::{AlignedPhone, AlignedWord};

    const RATE: u32 = 16_000;
    /// An edge may be half a window and half a step beside the change of the sound.
    const NEAR: f64 = 0.5 * (WINDOW + STEP) + 1e-4;

    /// A sound that is loud between these times.
    fn sound(loud: &[(f64, f64)], seconds: f64) -> Vec<f32> {
        let mut state = 1_u32;
        let sample = |n: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
            let now = n as f64 / f64::from(RATE);
            let is_loud = loud.iter().any(|&(from, to)| (from..to).contains(&now));
            noise * if is_loud { 4000.0 } else { 40.0 }
        };
        (0..(seconds * f64::from(RATE)) as usize).map(sample).collect()
    }

    fn utterance(spans: &[(f64, f64)], seconds: f64, begin: f64) -> AlignedUtterance {
        let phone = |&(from, to): &(f64, f64)| AlignedPhone {
            name: "a".to_owned(),
            begin: begin + from,
            end: begin + to,
            score: None,
        };
        let word = |span: &(f64, f64)| AlignedWord {
            text: "a".to_owned(),
            begin: begin + span.0,
            end: begin + span.1,
            is_unknown: false,
            is_any_speech: false,
            phones: vec![phone(span)],
            score: None,
            is_doubtful: false,
        };
        AlignedUtterance {
            begin,
            end: begin + seconds,
            words: spans.iter().map(word).collect(),
            log_likelihood: 0.0,
            retried: false,
        }
    }

    #[test]
    fn speech_begins_and_ends_where_the_sound_does() {
        let loud = [(0.213, 0.407), (0.621, 0.855)];
        let levels = Levels::of(&sound(&loud, 1.2), RATE);
        for begin in [0.0, 3.7] {
            let mut found = utterance(&[(0.19, 0.43), (0.6, 0.88)], 1.2, begin);
            sharpen(&mut found, &levels);
            for (word, (from, to)) in found.words.iter().zip(loud) {
                assert!((word.begin - begin - from).abs() < NEAR, "{} {from}", word.begin - begin);
                assert!((word.end - begin - to).abs() < NEAR, "{} {to}", word.end - begin);
                assert_eq!((word.begin, word.end), (word.phones[0].begin, word.phones[0].end));
            }
        }
    }

    #[test]
    fn a_closure_begins_where_the_sound_falls_and_equal_sounds_stay() {
        // A vowel, a closure with its burst, a vowel.
        let levels = Levels::of(&sound(&[(0.1, 0.302), (0.36, 0.6)], 0.7), RATE);
        let mut found = utterance(&[(0.1, 0.32), (0.32, 0.38), (0.38, 0.5), (0.5, 0.6)], 0.7, 0.0);
        sharpen(&mut found, &levels);
        let ends: Vec<f64> = found.words.iter().map(|word| word.end).collect();
        assert!((ends[0] - 0.302).abs() < NEAR && found.words[1].begin == ends[0], "{ends:?}");
        assert_eq!(ends[1..3], [0.38, 0.5]);
        assert!((ends[3] - 0.6).abs() < NEAR, "{ends:?}");
    }

    #[test]
    fn quiet_parts_are_found() {
        let levels = Levels::of(&sound(&[(0.5, 1.0)], 2.0), RATE);
        assert!(levels.quiet_share(1.1, 1.9) > 0.95 && levels.quiet_share(0.55, 0.95) < 0.05);
        assert!((levels.quiet_share(0.75, 1.25) - 0.5).abs() < 0.05);
        assert_eq!(Levels::default().quiet_share(0.0, 1.0), 0.0);
    }

    #[test]
    fn noise_alone_moves_no_boundary_and_no_phone_vanishes() {
        let levels = Levels::of(&sound(&[], 1.0), RATE);
        let before = utterance(&[(0.2, 0.21), (0.21, 0.3), (0.5, 0.51)], 1.0, 0.0);
        let mut after = before.clone();
        sharpen(&mut after, &levels);
        assert_eq!(after, before);
        for loud in [(0.0, 1.0), (0.3, 0.7), (0.205, 0.215), (0.49, 0.52)] {
            let mut found = before.clone();
            sharpen(&mut found, &Levels::of(&sound(&[loud], 1.0), RATE));
            let mut now = 0.0;
            for word in &found.words {
                assert!(
                    word.begin >= now - 1e-9 && word.end - word.begin > 0.009,
                    "{loud:?} {:?}",
                    found.words
                );
                now = word.end;
            }
        }
        let mut found = before.clone();
        sharpen(&mut found, &Levels::default());
        assert_eq!(found, before);
    }
}
