//! Files of statistics: both forms, sums, and files that do not fit.

use kaldi_io::testing::{from_binary, from_text, in_both_forms};

use super::*;
use crate::testing::{random as extractor, with_regression};

/// Statistics of multiples of 1/4, which single precision holds.
fn stats(extractor: &IvectorExtractor, variances: bool, seed: u64) -> ExtractorStats {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut out = ExtractorStats::new(extractor, variances);
    let mut fill = |values: &mut Vec<f64>| {
        values.iter_mut().for_each(|x| *x = f64::from(rng.i32(-40..40)) / 4.0);
    };
    fill(&mut out.counts);
    fill(&mut out.linear);
    fill(&mut out.quadratic);
    out.scatter.iter_mut().for_each(&mut fill);
    if let Some(weights) = &mut out.weights {
        fill(&mut weights.quadratic);
        fill(&mut weights.linear);
    }
    fill(&mut out.ivector_sum);
    fill(&mut out.ivector_scatter);
    (out.objective, out.num_ivectors) = (-12.5, 3.0);
    out
}

fn written(stats: &ExtractorStats) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(true);
    stats.write(&mut w).unwrap();
    w.into_bytes()
}

#[test]
fn both_forms_and_sums() {
    let fixed = extractor(3, 2, 4, 1);
    for extractor in [&fixed, &with_regression(fixed.clone(), 2)] {
        for variances in [true, false] {
            let (first, second) = (stats(extractor, variances, 3), stats(extractor, variances, 4));
            let (text, binary) = in_both_forms(&first);
            assert!(binary.starts_with(b"<IvectorExtractorStats> <TotAuxf> \x08"));
            let start = &mut text.split("<R>").nth(1).unwrap().split_whitespace();
            assert_eq!(start.next(), Some("["));
            let mut r = KaldiReader::from_bytes("test", written(&second));
            r.set_binary(true);
            let mut sum = first.clone();
            sum.read_and_add(&mut r).unwrap();
            let added = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f64>>();
            assert_eq!(sum.counts, added(&first.counts, &second.counts));
            assert_eq!(sum.linear, added(&first.linear, &second.linear));
            assert_eq!(sum.quadratic, added(&first.quadratic, &second.quadratic));
            assert_eq!(sum.ivector_sum, added(&first.ivector_sum, &second.ivector_sum));
            assert_eq!(sum.ivector_scatter, added(&first.ivector_scatter, &second.ivector_scatter));
            assert_eq!((sum.objective, sum.num_ivectors), (-25.0, 6.0));
            if let (Some(sum), Some(first), Some(second)) = (&sum.scatter, &first.scatter, &second.scatter) {
                assert_eq!(sum, &added(first, second));
            }
            if let (Some(sum), Some(first), Some(second)) = (&sum.weights, &first.weights, &second.weights) {
                assert_eq!(sum.quadratic, added(&first.quadratic, &second.quadratic));
                assert_eq!(sum.linear, added(&first.linear, &second.linear));
            }
        }
    }
}

#[test]
fn statistics_of_another_model() {
    let first = stats(&extractor(3, 2, 4, 1), true, 1);
    let refused = |other: &ExtractorStats, words: &str| {
        let mut r = KaldiReader::from_bytes("test", written(other));
        r.set_binary(true);
        let error = first.clone().read_and_add(&mut r).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(&stats(&extractor(2, 2, 4, 1), true, 1), "<gamma>: expected 3 values, found 2");
    refused(&stats(&extractor(3, 3, 4, 1), true, 1), "<Y>: expected 2×4, found 3×4");
    refused(&stats(&extractor(3, 2, 3, 1), true, 1), "<Y>: expected 2×4, found 2×3");
    refused(&stats(&extractor(3, 2, 4, 1), false, 1), "<S>: expected 3 matrices, found 0");
    refused(&stats(&with_regression(extractor(3, 2, 4, 1), 1), true, 1), "<Q>: expected 0×0, found 3×10");
}

#[test]
fn damaged_files() {
    let (text, _) = in_both_forms(&stats(&with_regression(extractor(2, 2, 3, 1), 1), true, 1));
    let refused = |old: &str, new: &str, words: &str| {
        assert!(text.contains(old), "{old}: {text}");
        let error = from_text::<ExtractorStats>(&text.replacen(old, new, 1)).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused("<Y> 2", "<Y> 3", "<Y>: expected a matrix for each of 2 Gaussians, found 3");
    refused("<Y> 2", "<Y> -1", "found -1");
    refused("<S> 2", "<S> 1", "<S>: expected 2 matrices, found 1");
    refused("<G>  [", "<G>  [\n 1 2 3", "<G>: expected 2×3, found 3×3");
    refused("<IvectorSum>  [", "<IvectorSum>  [ 1", "<IvectorSum>: expected 1×3, found 1×4");
    refused("<gamma>  [", "<gamma>  [ ]\n<gamma> [", "expected token '<Y>'");
    for end in 0..text.len() - 2 {
        assert!(from_text::<ExtractorStats>(&text[..end]).is_err(), "{end}");
    }
    let mut infinite = stats(&extractor(2, 2, 3, 1), true, 1);
    infinite.num_ivectors = f64::INFINITY;
    let error = from_binary::<ExtractorStats>(&written(&infinite)).unwrap_err().to_string();
    assert!(error.contains("<NumIvectors> is not finite"), "{error}");
    let mut w = KaldiWriter::in_memory(true);
    assert!(ExtractorStats::default().write(&mut w).unwrap_err().to_string().contains("no statistics"));
}
