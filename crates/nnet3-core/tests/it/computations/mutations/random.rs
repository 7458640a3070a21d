//! Checks that every stored computation which the reader and the checker accept can be planned and run. The test
//! changes numbers at random.

use super::*;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::Random;
use nnet3_core::execute::{Executor, Model, Program};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const CHANGES: usize = 1000;

fn text(computation: &Computation) -> String {
    let mut w = KaldiWriter::in_memory(false);
    computation.write(&mut w).unwrap();
    String::from_utf8(w.into_bytes()).unwrap()
}

/// One integer becomes another.
fn change_a_number(text: &str, random: &mut fastrand::Rng) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let numbers: Vec<usize> = (0..words.len()).filter(|&i| words[i].parse::<i32>().is_ok()).collect();
    let place = random.choice(numbers).unwrap();
    let old: i32 = words[place].parse().unwrap();
    let new = match random.u32(0..5) {
        0 => old + 1,
        1 => old - 1,
        2 => 0,
        3 => -1,
        _ => random.i32(0..40),
    };
    let new = new.to_string();
    let changed: Vec<&str> =
        words.iter().enumerate().map(|(i, &w)| if i == place { &new } else { w }).collect();
    changed.join(" ")
}

/// Runs it to its end with some inputs.
fn run_all(nnet: &Nnet, computation: Computation) -> nnet3_core::Result<()> {
    let program = Arc::new(Program::new(nnet, computation)?);
    let (mut nnet, mut gradient) = (nnet.clone(), nnet.clone());
    gradient.scale(0.0);
    gradient.set_as_gradient();
    let device = nnet3_matrix::cpu();
    let mut executor = Executor::new(&device);
    executor.start(&program).unwrap();
    while !executor.finished() {
        while let Some(node) = executor.wants() {
            device.fill_normal(executor.input(&nnet, nnet.node_name(node))?, 1);
        }
        let mut model = Model::Gradient { nnet: &mut nnet, gradient: &mut gradient };
        executor.run(&mut model, &Random::new(0))?;
    }
    Ok(())
}

#[test]
fn what_passes_runs() {
    let Fixture { nnet, plain, optimized } = fixture();
    let recurrent = crate::computations::support::nnet(include_str!("../golden/recurrent.config"));
    let request = training_request(2, -2..6, 0..4);
    let mut split = compile(&recurrent, std::slice::from_ref(&request)).unwrap();
    optimize(&OptimizeOptions::default(), &recurrent, 3, &mut split).unwrap();
    let mut random = fastrand::Rng::with_seed(11);
    let mut passed = 0;
    for (nnet, computation) in [(&nnet, plain), (&nnet, optimized), (&recurrent, split)] {
        let text = text(&computation);
        for _ in 0..CHANGES {
            let changed = change_a_number(&text, &mut random);
            let mut r = KaldiReader::from_bytes("changed", changed.clone().into_bytes());
            r.set_binary(false);
            let Ok(computation) = Computation::read(&mut r) else { continue };
            if check(nnet, &computation, CheckOptions::default()).is_err() {
                continue;
            }
            passed += 1;
            let listing = print(nnet, &computation);
            // An error is a valid answer; a panic is not.
            let ran = catch_unwind(AssertUnwindSafe(|| run_all(nnet, computation)));
            assert!(ran.is_ok(), "{listing}");
        }
    }
    // Indexes of rows, times in the debug info and the like change a computation, and leave it valid.
    assert!(passed > CHANGES / 10, "{passed}");
}
