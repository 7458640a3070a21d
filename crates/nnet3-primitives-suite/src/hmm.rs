//! Steps of hidden Markov models, accesses to single elements, and related primitives.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::Element;
use nnet3_matrix::hmm::{Hmm, HmmArc, HmmPosteriors, HmmStep, HmmWayBack};

/// Sums of a few dozen products.
const SUM: f64 = 2e-6;

/// A model, its arcs and its distribution, and the number of sequences, of many sizes.
fn models(device: &Device, mut check: impl FnMut(&mut Case, &Hmm, &[HmmArc], &[f32], usize)) {
    cases(device, |case, rows, cols| {
        let (states, symbols) = (rows.min(40), 1 + case.below(9));
        let distribution: Vec<f32> = (0..states).map(|_| case.normal().abs()).collect();
        let count = if states == 0 { 0 } else { case.below(8 * states) };
        let state = |case: &mut Case| case.below(states.max(1)) as u32;
        let arcs: Vec<HmmArc> = (0..count)
            .map(|_| HmmArc {
                from: state(case),
                to: state(case),
                emission: case.below(symbols) as u32,
                probability: case.normal().abs(),
            })
            .collect();
        let hmm = Hmm::new(symbols, &distribution, &arcs);
        assert_eq!((hmm.states(), hmm.emissions(), hmm.arcs()), (states, symbols, count));
        check(case, &hmm, &arcs, &distribution, cols)
    });
}

/// The contribution of an arc to its end, for a sequence.
fn brought(arc: &HmmArc, distribution: &[f32], step: [&Operand; 3], leak: f64, n: usize) -> f64 {
    let [alpha, likelihoods, scale] = step;
    let from = arc.from as usize;
    let here = scale.at(0, n) * alpha.at(from, n) + leak * f64::from(distribution[from]);
    f64::from(arc.probability) * likelihoods.at(arc.emission as usize, n) * here
}

/// Positive numbers.
fn positive(case: &mut Case, rows: usize, cols: usize) -> Operand {
    case.operand_in(Element::Float, rows, cols, |case, _, _| case.normal().abs())
}

fn step<'a>([alpha, likelihoods, scale]: [&'a Operand; 3], leak: f32) -> HmmStep<'a> {
    HmmStep { alpha: alpha.view(), likelihoods: likelihoods.view(), scale: scale.view(), leak }
}

pub(crate) fn hmm_forward(device: &Device) {
    models(device, |case, hmm, arcs, distribution, n| {
        let alpha = positive(case, hmm.states(), n);
        let (likelihoods, scale) = (positive(case, hmm.emissions(), n), positive(case, 1, n));
        let sources = [&alpha, &likelihoods, &scale];
        let leak = case.one_of(&[0.0, 0.1]);
        let (mut next, mut total) = (case.normal_floats(hmm.states(), n), case.normal_floats(1, n));
        device.hmm_forward(next.view_mut(), total.view_mut(), hmm, step(sources, leak));
        let sum = |to: Option<usize>, n| {
            let into = arcs.iter().filter(|arc| to.is_none_or(|to| arc.to as usize == to));
            let sum = into.map(|arc| brought(arc, distribution, sources, leak.into(), n)).sum();
            (sum, sum)
        };
        next.expect(SUM, |j, n| sum(Some(j), n));
        total.expect(SUM, |_, n| sum(None, n));
    });
}

/// After a step forward, as recursions use it.
pub(crate) fn hmm_backward(device: &Device) {
    models(device, |case, hmm, arcs, distribution, n| {
        let alpha = positive(case, hmm.states(), n);
        let (likelihoods, scale) = (positive(case, hmm.emissions(), n), positive(case, 1, n));
        let sources = [&alpha, &likelihoods, &scale];
        let leak = case.one_of(&[0.0, 0.1]);
        let (mut next, mut total) = (case.normal_floats(hmm.states(), n), case.normal_floats(1, n));
        device.hmm_forward(next.view_mut(), total.view_mut(), hmm, step(sources, leak));
        let (mut beta, mut shared) = (positive(case, hmm.states(), n), positive(case, 1, n));
        let mut entries = case.normal_floats(hmm.entries(), n);
        let mut posteriors = case.normals(hmm.emissions(), n);
        let after: Vec<f64> =
            (0..hmm.states() * n).map(|k| beta.at(k / n, k % n) + shared.at(0, k % n)).collect();
        let after = |arc: &HmmArc, c: usize| after[arc.to as usize * n + c];
        let initial = case.operand_in(Element::Float, hmm.states(), 1, |_, state, _| distribution[state]);
        let way = HmmWayBack {
            beta: beta.view_mut(),
            shared: shared.view_mut(),
            initial: initial.view(),
            entries: entries.view_mut(),
        };
        let result = HmmPosteriors { values: posteriors.view_mut(), factor: -0.5 };
        device.hmm_backward(way, result, hmm, step(sources, leak), next.view());
        posteriors.expect(SUM, |symbol, n| {
            // A main entry's part is a difference of sums over all entries of its state.
            let (mut sum, mut size) = (0.0, 0.0);
            for arc in arcs {
                let brought = brought(arc, distribution, sources, leak.into(), n) * after(arc, n);
                size += brought;
                sum += if arc.emission as usize == symbol { -0.5 * brought } else { 0.0 };
            }
            (sum, size)
        });
        let before = |i: usize, n: usize| {
            let out = arcs.iter().filter(|arc| arc.from as usize == i);
            let likelihood = |arc: &HmmArc| likelihoods.at(arc.emission as usize, n);
            let sum =
                out.map(|arc| f64::from(arc.probability) * likelihood(arc) * after(arc, n)).sum::<f64>();
            sum * scale.at(0, n)
        };
        beta.expect(SUM, |i, n| (before(i, n), before(i, n)));
        shared.expect(SUM, |_, n| {
            let terms = distribution.iter().enumerate().map(|(i, &p)| f64::from(p) * before(i, n));
            let sum = f64::from(leak) * terms.sum::<f64>();
            (sum, sum)
        });
    });
}

/// Pairs of rows and columns, each once.
fn places(case: &mut Case, rows: usize, cols: usize) -> Vec<[u32; 2]> {
    let all = (0..rows * cols).filter(|_| case.below(3) == 0);
    let mut places: Vec<[u32; 2]> = all.map(|k| [(k / cols) as u32, (k % cols) as u32]).collect();
    places.reverse();
    places
}

pub(crate) fn fetch_elements(device: &Device) {
    cases(device, |case, rows, cols| {
        let (src, places) = (case.normals(rows, cols), places(case, rows, cols));
        let mut values = vec![f32::NAN; places.len()];
        device.fetch_elements(&mut values, src.view(), &places);
        for (value, [r, c]) in values.iter().zip(places) {
            assert_eq!(f64::from(*value), src.at(r as usize, c as usize));
        }
    });
}

pub(crate) fn add_elements(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, places) = (case.normals(rows, cols), places(case, rows, cols));
        let values: Vec<f32> = places.iter().map(|_| case.normal()).collect();
        device.add_elements(dst.view_mut(), -0.5, &values, &places);
        let added: std::collections::HashMap<_, _> = places.iter().zip(values).collect();
        dst.expect(CLOSE, |i, j| {
            let more = added.get(&[i as u32, j as u32]).map_or(0.0, |&value| -0.5 * f64::from(value));
            (dst.at(i, j) + more, dst.at(i, j).abs() + more.abs())
        });
    });
}

/// Normal numbers, and some that are not finite or very large.
fn wild(case: &mut Case, rows: usize, cols: usize) -> Operand {
    let others = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30];
    case.operand(
        rows,
        cols,
        |case, _, _| {
            if case.below(5) == 0 { case.one_of(&others) } else { 4.0 * case.normal() }
        },
    )
}

pub(crate) fn exp_within(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, mut src) = (case.normals(rows, cols), wild(case, rows, cols));
        let exact = |x: f64| if x.is_nan() { (-5.0f64).exp() } else { x.clamp(-5.0, 5.0).exp() };
        device.exp_within(dst.view_mut(), src.view(), 5.0);
        dst.expect_values(CLOSE, |i, j| exact(src.at(i, j)));
        let view = src.view_mut();
        device.exp_within(view, view.as_view(), 5.0);
        src.expect_values(CLOSE, |i, j| exact(src.at(i, j)));
    });
}

pub(crate) fn add_excess(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, src) = (case.normals(rows, cols), wild(case, rows, cols));
        device.add_excess(dst.view_mut(), -0.25, src.view(), 3.0);
        dst.expect(CLOSE, |i, j| {
            let x = src.at(i, j);
            let more = if x.is_nan() { 0.0 } else { -0.25 * (x - x.clamp(-3.0, 3.0)) };
            (dst.at(i, j) + more, dst.at(i, j).abs() + more.abs() + 1.0)
        });
    });
}
