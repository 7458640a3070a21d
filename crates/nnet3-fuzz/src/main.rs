//! `nnet3-fuzz corpus DIR` writes valid inputs for every target to DIR/TARGET.
//!
//! `nnet3-fuzz [TARGET|all] [COUNT] [SEED]` reads COUNT mutated inputs (default: a million) and prints how many that
//! were and how many seconds it took. An input that makes a reader panic or take too much memory ends the run and is
//! written to TARGET.failed.

use nnet3_fuzz::{TARGETS, Target, find, mutate::mutated};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "all".to_string());
    if name == "corpus" {
        let folder = arguments.next().unwrap_or_else(|| "corpus".to_string());
        return match write_corpus(Path::new(&folder)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("{folder}: {e}");
                ExitCode::FAILURE
            }
        };
    }
    let mut number = |default: u64| match arguments.next().map(|text| text.parse::<u64>()) {
        None => Some(default),
        Some(number) => number.ok(),
    };
    let (Some(count), Some(seed)) = (number(1_000_000), number(0)) else {
        eprintln!("usage: nnet3-fuzz [TARGET|all] [COUNT] [SEED]");
        return ExitCode::FAILURE;
    };
    let chosen: Vec<&Target> = match find(&name) {
        Some(target) => vec![target],
        None if name == "all" => TARGETS.iter().collect(),
        None => {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!("no target '{name}'; there are {}", names.join(" "));
            return ExitCode::FAILURE;
        }
    };
    for target in chosen {
        let start = Instant::now();
        if let Err(input) = fuzz(target, count, seed) {
            let file = format!("{}.failed", target.name);
            match std::fs::write(&file, input) {
                Ok(()) => println!("{}: the input in {file} fails", target.name),
                Err(e) => println!("{}: an input fails; it cannot be written to {file}: {e}", target.name),
            }
            return ExitCode::FAILURE;
        }
        println!("{}: {count} inputs read in {:.0} s", target.name, start.elapsed().as_secs_f64());
    }
    ExitCode::SUCCESS
}

fn write_corpus(folder: &Path) -> std::io::Result<()> {
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (i, input) in (target.corpus)().iter().enumerate() {
            std::fs::write(folder.join(i.to_string()), input)?;
        }
    }
    Ok(())
}

/// The error is an input that fails.
fn fuzz(target: &Target, count: u64, seed: u64) -> Result<(), Vec<u8>> {
    let corpus = (target.corpus)();
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..count {
        let input = mutated(&corpus, &mut rng);
        catch_unwind(AssertUnwindSafe(|| target.run(&input))).map_err(|_| input)?;
    }
    Ok(())
}
