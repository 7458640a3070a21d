use super::*;
use crate::ngrams::{END, FIRST};

const A: u32 = FIRST;
const B: u32 = FIRST + 1;

fn model(sequences: &[&[u32]], vocabulary: u32, order: usize) -> Ngrams {
    estimate(&Counts::new(sequences.iter().copied(), vocabulary, order), order, 1)
}

#[track_caller]
fn close(found: f32, expected: f64) {
    assert!((f64::from(found).exp() - expected).abs() < 1e-6, "{} instead of {expected}", found.exp());
}

#[test]
fn discounts_are_those_of_the_formula() {
    // Y = 8 / (8 + 2 * 4) = 1/2; 1 - 2 Y 4/8, 2 - 3 Y 2/4, 3 - 4 Y 1/2.
    assert_eq!(Discounts::new([8, 4, 2, 1]), Discounts([0.5, 1.25, 2.0]));
    assert_eq!(Discounts::new([0, 4, 2, 1]), Discounts(USUAL));
    assert_eq!(Discounts::new([8, 4, 2, 0]), Discounts([0.5, 1.25, 1.5]));
    // 2 - 3 Y 100 would be below 0.
    let Discounts([one, two, _]) = Discounts::new([1, 1, 100, 1]);
    assert!((one - 1.0 / 3.0).abs() < 1e-12 && two == 1.0);
}

/// Words aab, ab, b. The discounts are written out; where a count of counts is 0 they are the usual ones.
#[test]
fn bigrams_are_those_counted_by_hand() {
    let ngrams = model(&[&[A, A, B], &[A, B], &[B]], 4, 2);
    // Different tokens before: a has 2 (<s>, a), b has 2 (a, <s>), </s> has 1 (b). One count of 1, two of 2: Y = 1/5.
    let (d1, d2) = (1.0 - 2.0 * 0.2 * 2.0, 1.0);
    let left = (d1 + d2 + d2) / 5.0;
    let (a, b, end) =
        ((2.0 - d2) / 5.0 + left / 3.0, (2.0 - d2) / 5.0 + left / 3.0, (1.0 - d1) / 5.0 + left / 3.0);
    close(ngrams.score(ROOT, A).0, a);
    close(ngrams.score(ROOT, END).0, end);
    // Bigrams: <s> a 2, <s> b 1, a a 1, a b 2, b </s> 3. So Y = 2 / (2 + 4).
    let y = 1.0 / 3.0;
    let (d1, d2, d3) = (1.0 - 2.0 * y, 2.0 - 3.0 * y / 2.0, 1.5);
    let history = ngrams.child(ROOT, A).unwrap();
    let left = (d1 + d2) / 3.0;
    close(ngrams.score(history, A).0, (1.0 - d1) / 3.0 + left * a);
    close(ngrams.score(history, B).0, (2.0 - d2) / 3.0 + left * b);
    close(ngrams.score(history, END).0, left * end);
    close(ngrams.score(ngrams.start(), B).0, (1.0 - d1) / 3.0 + left * b);
    let history = ngrams.child(ROOT, B).unwrap();
    close(ngrams.score(history, END).0, (3.0 - d3) / 3.0 + d3 / 3.0 * end);
}

#[test]
fn trigram_counts_below_the_highest_order_are_of_different_tokens_before() {
    // ab three times behind x, once behind y: the bigram ab counts 2 different tokens before it.
    let (x, y) = (FIRST + 2, FIRST + 3);
    let sequences: [&[u32]; 4] = [&[x, A, B], &[x, A, B], &[x, A, B], &[y, A, A]];
    let counts = Counts::new(sequences.into_iter(), 6, 3);
    let levels = counts.levels.clone();
    let adjusted = adjusted_counts(&counts, &levels, &suffixes(&counts, &levels));
    let ngrams = estimate(&counts, 3, 1);
    let node =
        |tokens: &[u32]| tokens.iter().fold(ROOT, |node, &token| ngrams.child(node, token).unwrap()) as usize;
    assert_eq!(adjusted[node(&[A, B])], 1);
    assert_eq!(adjusted[node(&[x, A])], 1);
    assert_eq!(adjusted[node(&[BEGIN, x])], 3);
    assert_eq!(adjusted[node(&[x, A, B])], 3);
    assert_eq!(adjusted[node(&[A])], 3);
}

#[test]
fn probabilities_sum_to_one_behind_each_history_even_when_rare_ngrams_are_left_out() {
    let mut random = fastrand::Rng::with_seed(5);
    let sequences: Vec<Vec<u32>> = (0..200)
        .map(|_| (0..random.usize(1..8)).map(|_| FIRST + random.u32(0..4) * random.u32(0..3)).collect())
        .collect();
    // One token of the vocabulary does not occur.
    let vocabulary = FIRST + 9;
    let counts = Counts::new(sequences.iter().map(Vec::as_slice), vocabulary, 4);
    for (order, min_count) in [(1, 1), (2, 1), (4, 1), (4, 2), (4, 5)] {
        let ngrams = estimate(&counts, order, min_count);
        assert_eq!(ngrams.order(), order);
        for history in 0..ngrams.tokens.len() as u32 {
            if ngrams.tokens[history as usize] == END && history != ROOT {
                continue;
            }
            let all = (0..vocabulary).filter(|&token| token != BEGIN);
            let sum: f64 = all.map(|token| f64::from(ngrams.score(history, token).0).exp()).sum();
            assert!((sum - 1.0).abs() < 1e-5, "order {order}, history {history}: {sum}");
        }
    }
    let sizes = |min_count| estimate(&counts, 4, min_count).sizes();
    assert!(sizes(5)[3] < sizes(2)[3] && sizes(2)[3] < sizes(1)[3] && sizes(5)[1] == sizes(1)[1]);
}
