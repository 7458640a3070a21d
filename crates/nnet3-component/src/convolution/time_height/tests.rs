use super::*;
use crate::by_index::*;
use crate::testing::*;

fn indexes(times: &[i32]) -> Vec<Index> {
    times.iter().map(|&t| Index::new(0, t, 0)).collect()
}

const SMALL: &str = "type=TimeHeightConvolutionComponent num-filters-in=2 num-filters-out=3 height-in=4";

#[test]
fn derivatives_and_files() {
    for (keys, inputs, outputs) in [
        (
            "height-out=4 time-offsets=-1,0,1 height-offsets=-1,0,1 max-change=1",
            &[-1, 0, 1, 2][..],
            &[0, 1][..],
        ),
        ("height-out=2 height-subsample-out=2 offsets=0,-1;0,0;1,1 bias-stddev=1", &[0, 1, 3, 4], &[0, 3]),
        ("height-out=4 offsets=0,0 use-natural-gradient=false", &[2], &[2]),
        ("height-out=2 offsets=0,1 l2-regularize=0.1", &[0, 2], &[0, 2]),
    ] {
        let config = format!("{SMALL} {keys}");
        Check::new(&config).indexes(indexes(inputs), indexes(outputs)).run();
    }
}

/// Filters, heights, offsets, subsampling, missing inputs and memory limits at random.
fn random_config(random: &Random) -> String {
    let times = some_offsets(random, random.int(-3, 0), random.int(0, 3));
    let heights = some_offsets(random, random.int(-2, 0), random.int(0, 2));
    let list = |values: &[i32]| values.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
    let mut keys = format!(
        "type=TimeHeightConvolutionComponent num-filters-in={} num-filters-out={} height-in={} height-out={} \
         height-subsample-out={} bias-stddev=1",
        random.int(1, 3),
        random.int(1, 3),
        random.int(1, 6),
        random.int(1, 4),
        random.int(1, 3)
    );
    if random.int(0, 2) == 0 {
        let pairs: Vec<String> = times
            .iter()
            .flat_map(|t| heights.iter().map(move |h| format!("{t},{h}")))
            .filter(|_| random.uniform() < 0.6)
            .collect();
        keys += &format!(" offsets={}", pairs.join(";"));
    } else {
        keys += &format!(" time-offsets={} height-offsets={}", list(&times), list(&heights));
    }
    if random.int(0, 1) == 0 {
        let required: Vec<i32> = times.iter().copied().filter(|_| random.uniform() < 0.5).collect();
        keys += &if required.is_empty() {
            String::new()
        } else {
            format!(" required-time-offsets={}", list(&required))
        };
    }
    if random.int(0, 1) == 0 {
        keys += &format!(" max-memory-mb={}", random.uniform() * 5e-4);
    }
    keys
}

#[test]
fn agrees_with_the_formula() {
    let random = Random::new(6);
    let (mut trials, mut pieces, mut subsampled, mut padded) = (0, 0, 0, 0);
    while trials < 300 {
        let config = random_config(&random);
        // Many of these configs are invalid: offsets that no output uses, heights without input.
        let Ok(new) = try_component(&config) else { continue };
        let own = downcast::<TimeHeightConvolution>(&*new);
        let start = random.int(-5, 5);
        let step = random.int(1, 4);
        let wanted = images_at(&random, &some_times(&random, start, start + random.int(0, 12), step));
        let (from, to) = (start - random.int(0, 4), start + random.int(0, 15));
        let available = |index: Index| index.t >= from && index.t <= to;
        if !wanted.iter().any(|&index| new.is_computable(index, &available, None)) {
            continue;
        }
        let trial = run(&*new, &wanted, &available, convolution_plan::read_precomputed, &random);
        compare(own, &trial);

        let inputs: Vec<Index> = trial.input.keys().copied().collect();
        let outputs: Vec<Index> = trial.output.keys().copied().collect();
        let grid = padded_grid(&own.model, &inputs, &outputs).unwrap();
        let plan = format!("{:?}", Plan::new(&own.model, &grid, own.max_memory_mb).unwrap());
        let huge = format!("{:?}", Plan::new(&own.model, &grid, 1e9).unwrap());
        pieces += (plan != huge) as u32;
        subsampled += (grid.reorder > 1) as u32;
        padded += (grid.input.count as usize * grid.images.len() > inputs.len()) as u32;
        trials += 1;
    }
    assert!(pieces > 20 && subsampled > 20 && padded > 20, "{pieces} {subsampled} {padded}");
}

/// Sizes for which filters over time and height pay, with all that they must get right: other steps, rest, missing inputs.
#[test]
fn filters_agree_with_the_formula() {
    let random = Random::new(7);
    let base = "type=TimeHeightConvolutionComponent num-filters-in=48 num-filters-out=64 bias-stddev=1";
    for (keys, from, to, step) in [
        (
            "height-in=9 height-out=9 time-offsets=-1,0,1 height-offsets=-1,0,1 required-time-offsets=0",
            0,
            30,
            1,
        ),
        ("height-in=9 height-out=7 time-offsets=-2,0,2 height-offsets=0,1,2", 4, 27, 1),
        ("height-in=8 height-out=8 time-offsets=-3,0,3 height-offsets=-2,-1,0", 0, 60, 3),
        (
            "height-in=16 height-out=8 height-subsample-out=2 time-offsets=-1,0,1 height-offsets=-1,0,1",
            0,
            50,
            1,
        ),
    ] {
        let new = component(&format!("{base} {keys}"));
        let own = downcast::<TimeHeightConvolution>(&*new);
        let times: Vec<i32> = (from..=to).step_by(step).collect();
        let wanted = images_at(&random, &times);
        let trial = run(&*new, &wanted, &|index| index.t >= -3, convolution_plan::read_precomputed, &random);
        let inputs: Vec<Index> = trial.input.keys().copied().collect();
        let outputs: Vec<Index> = trial.output.keys().copied().collect();
        let grid = padded_grid(&own.model, &inputs, &outputs).unwrap();
        let plan = Plan::new(&own.model, &grid, own.max_memory_mb).unwrap();
        assert!(plan.filter(&*nnet3_matrix::cpu()).is_some(), "{keys}");
        compare(own, &trial);
    }
}

fn compare(own: &TimeHeightConvolution, trial: &Trial) {
    let model = &own.model;
    let (fi, fo, cols) = (model.filters_in, model.filters_out, own.linear.cols());
    let (weights, bias) = (own.linear.to_vec(), own.bias.to_vec());
    let (mut output, mut in_deriv) = (zeros_like(&trial.output), zeros_like(&trial.input));
    let mut gradient = vec![0.0; fo * cols + fo];
    for (&index, y) in &mut output {
        for h in 0..model.height_out {
            for f in 0..fo {
                let e = trial.out_deriv[&index][h * fo + f];
                y[h * fo + f] += bias[f] as f64;
                gradient[fo * cols + f] += e;
                for (o, &(time, height)) in model.offsets.iter().enumerate() {
                    let at = Index { t: index.t + time, ..index };
                    let from = (h * model.height_subsample) as i32 + height;
                    let Some(x) = trial.input.get(&at).filter(|_| from >= 0 && from < model.height_in as i32)
                    else {
                        continue;
                    };
                    for g in 0..fi {
                        let (w, column) = (f * cols + o * fi + g, from as usize * fi + g);
                        y[h * fo + f] += weights[w] as f64 * x[column];
                        in_deriv.get_mut(&at).unwrap()[column] += weights[w] as f64 * e;
                        gradient[w] += x[column] * e;
                    }
                }
            }
        }
    }
    assert_rows_near(&trial.output, &output, "output");
    assert_rows_near(&trial.in_deriv, &in_deriv, "input derivative");
    assert_values_near(&trial.gradient, &gradient, "gradient");
}

#[test]
fn unit_initialisation() {
    let keys = "type=TimeHeightConvolutionComponent height-in=2 height-out=2 init-unit=true";
    let new = component(&format!("{keys} num-filters-in=2 num-filters-out=2 offsets=0,0;1,0"));
    let expected = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(new.as_updatable().unwrap().vectorize(), expected);
    refused(&format!("{keys} num-filters-in=2 num-filters-out=3 offsets=0,0"), "equal");
    refused(&format!("{keys} num-filters-in=2 num-filters-out=2 offsets=1,0"), "offset 0,0");
}

#[test]
fn wrong_configs_are_refused() {
    let base = format!("{SMALL} height-out=2");
    refused(&base, "'offsets' is missing");
    for (keys, part) in [
        ("offsets=0,0;0,0", "none repeated"),
        ("offsets=0;1", "pairs time,height"),
        ("offsets=", "pairs time,height"),
        ("time-offsets=0", "'offsets' is missing"),
        ("time-offsets=1,0 height-offsets=0", "greater than the one before"),
        ("time-offsets=0 height-offsets=0 offsets=0,0", "unused key"),
        ("offsets=0,0 required-time-offsets=1", "required time offset 1"),
        ("offsets=0,0;1,5", "the offset 1,5 reads no"),
        ("offsets=0,3;1,0", ""),
        ("offsets=0,3", "output height 1 reads no"),
        ("offsets=0,3;1,0 required-time-offsets=0", "output height 1 reads no"),
        ("offsets=0,0 max-memory-mb=0", "max-memory-mb"),
        ("offsets=0,0 num-minibatches-history=1", "num-minibatches-history"),
        ("offsets=0,0 rank-in=0", "rank"),
        ("offsets=0,0 height-subsample-out=0", "height-subsample-out=0"),
    ] {
        match part {
            "" => drop(component(&format!("{base} {keys}"))),
            part => refused(&format!("{base} {keys}"), part),
        }
    }
    refused(&base.replace("height-out=2", "height-out=2000000000 offsets=0,0"), "too many");
}

#[test]
fn older_and_broken_files() {
    let text = written_text(&*component(&format!("{SMALL} height-out=2 offsets=0,0;1,1")));
    let older = from_text(&text.replace("<LearningRate> 0.001 ", ""));
    assert_eq!(written_text(&*older), text);
    for (what, instead, part) in [
        ("<Offsets> [ 0,0 1,1 ]", "<Offsets> [ 1,1 0,0 ]", "sorted"),
        ("<Offsets> [ 0,0 1,1 ]", "<Offsets> [ 0,0 ]", "required time offset 1"),
        ("<Offsets> [ 0,0 1,1 ]", "<Offsets> [ 0,0 1,0 1,1 ]", "expected 3 x 6, found 3 x 4"),
        ("<RequiredTimeOffsets> [ 0 1 ]", "<RequiredTimeOffsets> [ ]", "no required time offsets"),
        ("<HeightOut> 2", "<HeightOut> -2", "<HeightOut>"),
        ("<HeightOut> 2", "<HeightOut> 2000000000", "too many"),
        ("<MaxMemoryMb> 200", "<MaxMemoryMb> 0", "<MaxMemoryMb>"),
        ("<NumMinibatchesHistory> 4", "<NumMinibatchesHistory> 0.5", "num-minibatches-history"),
    ] {
        read_refused(&text.replace(what, instead), part);
    }
}

#[test]
fn broken_plans_are_refused() {
    let new = component(&format!("{SMALL} height-out=2 offsets=0,0;1,1"));
    let plan = new.precompute_indexes(&indexes(&[0, 1, 2]), &indexes(&[0, 1]), true).unwrap().unwrap();
    let mut w = KaldiWriter::in_memory(false);
    plan.write(&mut w).unwrap();
    let text = String::from_utf8(w.into_bytes()).unwrap();
    let read = |text: &str| {
        let mut r = KaldiReader::from_bytes("test", text.as_bytes().to_vec());
        assert_eq!(r.read_token().unwrap(), format!("<{PRECOMPUTED_NAME}>"));
        convolution_plan::read_precomputed(&mut r).map(|_| ()).map_err(|e| e.to_string())
    };
    read(&text).unwrap();
    for (what, instead, part) in [
        ("<NumTInOut> 3 2", "<NumTInOut> 2 2", "does not have"),
        ("<NumTInOut> 3 2", "<NumTInOut> 3 -2", "found -2"),
        ("<HeightMap> [ 0 1 ]", "<HeightMap> [ 0 4 ]", "from -1 to 3"),
        ("<HeightMap> [ 0 1 ]", "<HeightMap> [ -1 -1 ]", "reads nothing"),
        ("<HeightMap> [ 0 1 ]", "<HeightMap> [ ]", "from -1 to 3"),
        ("<TempRowsCols> 2 4", "<TempRowsCols> 2 2", "wrong size"),
        ("<ParamsStartCol> 2", "<ParamsStartCol> 1", "does not have"),
    ] {
        assert!(text.contains(what), "{what} in {text}");
        let message = read(&text.replace(what, instead)).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn indexes_that_do_not_fit_are_errors() {
    let new = component(&format!("{SMALL} height-out=2 offsets=0,0;2,1"));
    for (inputs, outputs) in [(&[-1, 0, 2][..], &[0][..]), (&[0, 2, 3], &[0]), (&[0, 1], &[0]), (&[], &[0])] {
        let (mut inputs, mut outputs) = (indexes(inputs), indexes(outputs));
        assert!(new.precompute_indexes(&inputs, &outputs, true).is_err(), "{inputs:?}");
        let _ = new.reorder_indexes(&mut inputs, &mut outputs);
    }
}
