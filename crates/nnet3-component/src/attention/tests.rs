use super::super::by_index::*;
use super::super::testing::*;
use super::*;

fn indexes(times: &[i32]) -> Vec<Index> {
    times.iter().map(|&t| Index::new(0, t, 0)).collect()
}

const SMALL: &str =
    "type=RestrictedAttentionComponent key-dim=2 value-dim=3 num-left-inputs=1 num-right-inputs=2";

#[test]
fn derivatives_and_files() {
    for (keys, inputs, outputs) in [
        ("num-heads=2", &[0, 1, 2, 3, 4][..], &[1, 2][..]),
        ("time-stride=2 output-context=false key-scale=0.9", &[0, 2, 4, 6], &[2]),
        ("num-left-inputs-required=0 num-right-inputs-required=0", &[0, 3], &[0, 3]),
    ] {
        let config = format!("{SMALL} {keys}");
        Check::new(&config).indexes(indexes(inputs), indexes(outputs)).run();
    }
}

#[test]
fn agrees_with_the_formula() {
    let random = Random::new(8);
    let (mut trials, mut missing) = (0, 0);
    while trials < 300 {
        let (left, right) = (random.int(0, 3), random.int(0, 3));
        let stride = random.int(1, 4);
        let config = format!(
            "type=RestrictedAttentionComponent num-heads={} key-dim={} value-dim={} num-left-inputs={left} \
             num-right-inputs={right} time-stride={stride} num-left-inputs-required={} \
             num-right-inputs-required={} output-context={}",
            random.int(1, 3),
            random.int(1, 4),
            random.int(1, 4),
            random.int(-1, left),
            random.int(-1, right),
            random.int(0, 1) == 0
        );
        let Ok(new) = try_component(&config) else { continue };
        let start = random.int(-5, 5);
        let wanted =
            images_at(&random, &some_times(&random, start, start + random.int(0, 12), random.int(1, 4)));
        let (from, to) = (start - random.int(0, 6), start + random.int(0, 20));
        let available = |index: Index| index.t >= from && index.t <= to;
        if !wanted.iter().any(|&index| new.is_computable(index, &available, None)) {
            continue;
        }
        let trial = run(&*new, &wanted, &available, read_precomputed, &random);
        missing += compare(downcast(&*new), &trial, stride) as u32;
        trials += 1;
    }
    assert!(missing > 50, "{missing}");
}

/// Returns whether some position was missing.
fn compare(own: &Attention, trial: &Trial, stride: i32) -> bool {
    let (k, v, c) = (own.key_dim, own.value_dim, own.context());
    let (in_dim, out_dim) = (2 * k + v + c, v + if own.output_context { c } else { 0 });
    let (mut output, mut in_deriv) = (zeros_like(&trial.output), zeros_like(&trial.input));
    let mut missing = false;
    for (&index, y) in &mut output {
        let at = |o: usize| Index { t: index.t + (o as i32 - own.num_left as i32) * stride, ..index };
        missing |= (0..c).any(|o| !trial.input.contains_key(&at(o)));
        for head in 0..own.num_heads {
            let part = |row: &[f64]| row[head * in_dim..(head + 1) * in_dim].to_vec();
            let source = |o: usize| trial.input.get(&at(o)).map_or(vec![0.0; in_dim], |row| part(row));
            // The present position may be missing too: then the query is zero.
            let query = source(own.num_left);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let b: Vec<f64> = (0..c)
                .map(|o| {
                    own.key_scale as f64 * dot(&query[k + v..2 * k + v], &source(o)[..k])
                        + query[2 * k + v + o]
                })
                .collect();
            let total: f64 = b.iter().map(|b| b.exp()).sum();
            let weights: Vec<f64> = b.iter().map(|b| b.exp() / total).collect();
            let e = &trial.out_deriv[&index][head * out_dim..(head + 1) * out_dim];
            let y = &mut y[head * out_dim..(head + 1) * out_dim];
            let mut dc = vec![0.0; c];
            for o in 0..c {
                let value = source(o)[k..k + v].to_vec();
                (0..v).for_each(|j| y[j] += weights[o] * value[j]);
                dc[o] = dot(&e[..v], &value);
                if own.output_context {
                    y[v + o] = weights[o];
                    dc[o] += e[v + o];
                }
            }
            let mean = dot(&weights, &dc);
            for o in 0..c {
                let db = weights[o] * (dc[o] - mean);
                let (scaled, keys) = (own.key_scale as f64 * db, source(o)[..k].to_vec());
                if let Some(deriv) = in_deriv.get_mut(&at(own.num_left)) {
                    deriv[head * in_dim + 2 * k + v + o] += db;
                    (0..k).for_each(|j| deriv[head * in_dim + k + v + j] += scaled * keys[j]);
                }
                if let Some(deriv) = in_deriv.get_mut(&at(o)) {
                    (0..k).for_each(|j| deriv[head * in_dim + j] += scaled * query[k + v + j]);
                    (0..v).for_each(|j| deriv[head * in_dim + k + j] += weights[o] * e[j]);
                }
            }
        }
    }
    assert_rows_near(&trial.output, &output, "output");
    assert_rows_near(&trial.in_deriv, &in_deriv, "input derivative");
    missing
}

#[test]
fn statistics_by_hand() {
    let mut new = component(
        "type=RestrictedAttentionComponent key-dim=1 value-dim=1 num-left-inputs=1 num-right-inputs=0 num-heads=2",
    );
    let harness = Harness::new();
    let memo = Matrix::from_vec(2, 4, vec![0.5, 0.5, 1.0, 0.0, 0.25, 0.75, 1.0, 0.0]);
    let mut stored = 0;
    for _ in 0..3000 {
        let before = downcast::<Attention>(&*new).stats_count.value();
        new.store_stats(harness.context(), View::empty(), View::empty(), memo.view());
        stored += (downcast::<Attention>(&*new).stats_count.value() > before) as u32;
    }
    assert!((1900..2100).contains(&stored), "{stored} of 3000");
    let own = downcast::<Attention>(&*new);
    assert_eq!(own.stats_count.value(), 2.0 * stored as f64);
    let average =
        |sums: &Accumulator| sums.values().iter().map(|v| v / own.stats_count.value()).collect::<Vec<_>>();
    assert_eq!(average(&own.posterior), [0.375, 0.625, 1.0, 0.0]);
    let entropy = (2f64.ln() - 0.25 * 0.25f64.ln() - 0.75 * 0.75f64.ln()) / 2.0;
    assert!((average(&own.entropy)[0] - entropy).abs() < 1e-6 && average(&own.entropy)[1] == 0.0);
    let info = new.info(false);
    let expected = format!(
        ", entropy={},0, posterior-stats[0]=0.375,0.625, posterior-stats[1]=1,0, stats-count={}",
        number(entropy),
        2 * stored
    );
    assert!(info.ends_with(&expected), "{info}");
    round_trip(&*new);

    let mut sum = new.clone_box();
    sum.zero_stats();
    sum.add(0.5, &*new);
    assert_eq!(downcast::<Attention>(&*sum).stats_count.value(), stored as f64);
    let mut empty = component(&format!("type={NAME} {}", TYPES[0].example));
    assert!(
        written_text(&*empty).contains("<EntropyStats>  [ ]\n<PosteriorStats>  [ ]\n"),
        "{}",
        written_text(&*empty)
    );
    empty.zero_stats();
    assert!(!empty.info(false).contains("entropy"));
}

#[test]
fn wrong_configs_are_refused() {
    refused(
        "type=RestrictedAttentionComponent key-dim=2 value-dim=3 num-left-inputs=1",
        "'num-right-inputs' is missing",
    );
    for (keys, part) in [
        ("num-heads=0", "num-heads=0"),
        ("time-stride=0", "time-stride=0"),
        ("num-left-inputs-required=2", "num-left-inputs=1"),
        ("key-scale=2", "at most 1"),
        ("key-scale=0", "above 0"),
        ("output-context=no", "true or false"),
        ("num-heads=2000000000", "too many"),
        ("time-stride=2000000000", "too many"),
        ("dim=3", "dim=3"),
    ] {
        refused(&format!("{SMALL} {keys}"), part);
    }
    refused(
        &SMALL.replace("left-inputs=1", "left-inputs=0").replace("right-inputs=2", "right-inputs=0"),
        "before or after",
    );
    refused(&SMALL.replace("left-inputs=1", "left-inputs=-1"), "at least 0");
}

#[test]
fn broken_files_are_refused() {
    let text = written_text(&*component(SMALL));
    for (what, instead, part) in [
        ("<NumLeftInputs> 1", "<NumLeftInputs> -1", "found -1"),
        ("<NumLeftInputsRequired> 1", "<NumLeftInputsRequired> 2", "more positions are required"),
        ("<TimeStride> 1", "<TimeStride> 0", "<TimeStride>"),
        ("<NumHeads> 1", "<NumHeads> 2000000000", "too many"),
        ("<EntropyStats>  [ ]", "<EntropyStats>  [ 1 2 ]", "expected 1 elements, found 2"),
        ("<PosteriorStats>  [ ]", "<PosteriorStats>  [ 1 2 ]", "expected 1 x 4 elements, found 1 x 2"),
    ] {
        assert!(text.contains(what), "{what} in {text}");
        read_refused(&text.replace(what, instead), part);
    }
}

#[test]
fn indexes_that_do_not_fit_are_errors() {
    let new = component(SMALL);
    for (inputs, outputs) in [(&[0, 1, 2][..], &[1][..]), (&[-1, 0, 1, 2, 3], &[1]), (&[], &[1])] {
        assert!(new.precompute_indexes(&indexes(inputs), &indexes(outputs), true).is_err(), "{inputs:?}");
    }
}
