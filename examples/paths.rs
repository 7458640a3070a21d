//! The cheapest paths of a composition: `paths A.fst B.fst words.txt 5`.

use std::error::Error;

use nnet3_toolkit::Fst;
use nnet3_toolkit::fst::ops::{compose_transducers, shortest_paths, sort_arcs};
use nnet3_toolkit::fst::{EPSILON, Side, Symbols, read_fst};

/// Composes two transducers, and returns the cheapest `count` paths, one a line: its cost, and the names of its outputs.
pub fn paths(first: &Fst, mut second: Fst, names: &Symbols, count: usize) -> Result<String, Box<dyn Error>> {
    sort_arcs(&mut second, Side::Input);
    let composed = compose_transducers(first, &second, true).ok_or("the second transducer is not sorted")?;
    let mut lines = String::new();
    for (arcs, last) in shortest_paths(&composed, count, f32::INFINITY)? {
        let cost: f32 = arcs.iter().map(|arc| arc.weight).sum::<f32>() + last;
        let outputs = arcs.iter().map(|arc| arc.olabel).filter(|&label| label != EPSILON);
        let words: Vec<&str> = outputs.map(|label| names.name(label.into()).unwrap_or("?")).collect();
        lines += &format!("{cost:.2} {}\n", words.join(" "));
    }
    Ok(lines)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, first, second, names, count] = &arguments[..] else {
        return Err("expected two transducers, the names of words, and the number of paths".into());
    };
    let names = Symbols::load(names)?;
    print!("{}", paths(&read_fst(first)?, read_fst(second)?, &names, count.parse()?)?);
    Ok(())
}
