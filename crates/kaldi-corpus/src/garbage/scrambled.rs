//! Speech whose sounds make no words: pieces in another order, some of them turned round, without pauses.

use fastrand::Rng;

use super::noise::uniform;

/// The shortest and the longest piece, in seconds.
const PIECES: (f64, f64) = (0.06, 0.3);
/// The share of pieces that are turned round.
const TURNED: f64 = 0.6;
/// Seconds at both ends of a piece in which it fades.
const FADE: f64 = 0.005;
/// A piece below this share of the loudest one is a pause.
const PAUSE: f64 = 0.1;

/// Makes `count` samples of pieces of speech at a rate in Hz. Pieces come again if there are too few. Silence if there are none.
pub fn scrambled(random: &mut Rng, speech: &[f32], count: usize, rate: u32) -> Vec<f32> {
    let rate = f64::from(rate);
    let mut pieces: Vec<&[f32]> = Vec::new();
    let mut rest = speech;
    while !rest.is_empty() {
        let length = ((uniform(random, PIECES.0, PIECES.1) * rate) as usize).clamp(1, rest.len());
        let (piece, others) = rest.split_at(length);
        pieces.push(piece);
        rest = others;
    }
    let loudness = |piece: &[f32]| {
        let squares: f64 = piece.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        (squares / piece.len() as f64).sqrt()
    };
    let loudest = pieces.iter().map(|piece| loudness(piece)).fold(0.0, f64::max);
    pieces.retain(|piece| loudest > 0.0 && loudness(piece) >= PAUSE * loudest);
    if pieces.is_empty() {
        return vec![0.0; count];
    }
    let fade = ((FADE * rate) as usize).max(1);
    let mut out: Vec<f32> = Vec::with_capacity(count + rate as usize);
    while out.len() < count {
        let piece = pieces[random.usize(..pieces.len())];
        let from = out.len();
        out.extend(piece);
        let new = &mut out[from..];
        if random.f64() < TURNED {
            new.reverse();
        }
        let length = new.len();
        for i in 0..fade.min(length / 2) {
            let weight = i as f32 / fade as f32;
            new[i] *= weight;
            new[length - 1 - i] *= weight;
        }
    }
    out.truncate(count);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_go_and_samples_are_those_of_the_speech() {
        let speech: Vec<f32> =
            (0..4000).map(|i| 1000.0 + i as f32).chain(std::iter::repeat_n(0.0, 4000)).collect();
        let out = scrambled(&mut Rng::with_seed(2), &speech, 8000, 8000);
        assert_eq!(out.len(), 8000);
        // Low samples are those where pieces meet.
        assert!(out.iter().filter(|x| x.abs() < 500.0).count() < 1600);
        let whole = out.iter().filter(|x| x.fract() == 0.0 && (1000.0..5000.0).contains(*x)).count();
        assert!(whole > 6000, "{whole}");
        let falls = out.windows(2).filter(|two| two[1] == two[0] - 1.0).count();
        let rises = out.windows(2).filter(|two| two[1] == two[0] + 1.0).count();
        assert!(falls > 1000 && rises > 1000, "{falls} {rises}");
    }

    #[test]
    fn silence_stays_silence() {
        assert_eq!(scrambled(&mut Rng::with_seed(2), &[], 5, 8000), [0.0; 5]);
        assert_eq!(scrambled(&mut Rng::with_seed(2), &[0.0; 900], 3, 8000), [0.0; 3]);
    }
}
