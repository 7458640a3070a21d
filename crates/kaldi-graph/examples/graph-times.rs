//! `graph-times LANG ARPA TREE MODEL OUT`: makes a decoding graph as `utils/mkgraph.sh` does, with self-loop scale 1, and
//! prints how long each stage takes. FSTs between the stages are written to memory and read again, as programs do
//! with pipes and files.

use std::error::Error;
use std::time::Instant;

use kaldi_fst::ops::{self, DELTA, DeterminizeStar, Semiring, Side};
use kaldi_fst::store::{self, Symbols};
use kaldi_fst::{Fst, properties};
use kaldi_graph::arpa::{ArpaOptions, UnknownWords, Words, compile};
use kaldi_graph::{SelfLoops, Window, add_self_loops, compose_context, make_h_transducer};
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::{KaldiReader, KaldiWriter, read_object};

type Outcome<T> = Result<T, Box<dyn Error>>;

struct Stages {
    total: f64,
}

impl Stages {
    fn run(&mut self, name: &str, make: impl FnOnce() -> Outcome<Fst>) -> Outcome<Fst> {
        let begin = Instant::now();
        let fst = make()?;
        let made = begin.elapsed().as_secs_f64();
        let mut w = KaldiWriter::in_memory(true);
        store::write_vector(&mut w, &fst)?;
        let mut r = KaldiReader::from_bytes("memory", w.into_bytes());
        r.set_binary(true);
        let fst = store::read(&mut r)?;
        let all = begin.elapsed().as_secs_f64();
        self.total += all;
        println!(
            "{name:<12} {made:6.2} s, {:5.2} s written and read; {} states, {} arcs",
            all - made,
            fst.states.len(),
            fst.num_arcs()
        );
        Ok(fst)
    }
}

fn integers(name: &str) -> Outcome<Vec<i32>> {
    Ok(std::fs::read_to_string(name)?.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [lang, arpa, tree, model, out] = &arguments[..] else {
        return Err("usage: graph-times LANG ARPA TREE MODEL OUT".into());
    };
    let tree: ContextDependency = read_object(tree)?;
    let model: TransitionModel = read_object(model)?;
    let symbols = Symbols::load(&format!("{lang}/words.txt"))?;
    let phones = integers(&format!("{lang}/phones/disambig.int"))?;
    let word = |name: &str| symbols.number(name).map(|number| number as i32).ok_or(format!("no word {name}"));
    let (disambiguation, begin, end) = (word("#0")?, word("<s>")?, word("</s>")?);
    let l = store::read_fst(&format!("{lang}/L_disambig.fst"))?;
    let log = DeterminizeStar { semiring: Semiring::Log, ..DeterminizeStar::default() };

    let mut stages = Stages { total: 0.0 };
    let g = stages.run("G", || {
        let words = Words::Symbols(symbols, UnknownWords::Skip);
        let mut options = ArpaOptions { words, begin, end, most_warnings: Some(0) };
        let mut r = KaldiReader::open_raw(arpa)?;
        let mut fst = compile(&mut r, &mut options, disambiguation, &mut |_| ())?.fst;
        ops::sort_arcs(&mut fst, Side::Input);
        Ok(fst)
    })?;
    let lg = stages.run("L o G", || ops::compose_transducers(&l, &g, true).ok_or("not sorted".into()))?;
    let lg = stages.run("LG det", || Ok(ops::determinize_star(lg, log)?))?;
    let lg = stages.run("LG min", || {
        let mut lg = lg;
        ops::minimize_encoded(&mut lg, DELTA);
        Ok(lg)
    })?;
    let lg = stages.run("LG push", || {
        let mut lg = lg;
        ops::push_special(&mut lg, DELTA);
        Ok(lg)
    })?;
    let window = Window::new(tree.context_width(), tree.central_position())?;
    let mut labels = None;
    let clg = stages.run("CLG", || {
        let (mut clg, windows) = compose_context(lg, window, &phones)?;
        labels = Some(windows);
        ops::sort_arcs(&mut clg, Side::Input);
        Ok(clg)
    })?;
    let mut symbols = Vec::new();
    let ha = stages.run("Ha", || {
        let h = make_h_transducer(&labels.ok_or("no labels")?, &tree, &model, 1.0, None)?;
        symbols = h.disambiguation;
        Ok(h.fst)
    })?;
    let hclg =
        stages.run("H o CLG", || ops::compose_transducers(&ha, &clg, true).ok_or("not sorted".into()))?;
    let hclg = stages.run("HCLGa det", || Ok(ops::determinize_star(hclg, log)?))?;
    let hclg = stages.run("HCLGa eps", || {
        let mut hclg = hclg;
        ops::remove_labels(&mut hclg, Side::Input, &symbols.into_iter().collect());
        ops::remove_epsilons_locally(&mut hclg, Semiring::Tropical, Semiring::Log);
        Ok(hclg)
    })?;
    let hclg = stages.run("HCLGa min", || {
        let mut hclg = hclg;
        ops::minimize_encoded(&mut hclg, DELTA);
        Ok(hclg)
    })?;
    let hclg = stages.run("HCLG", || {
        let mut hclg = hclg;
        add_self_loops(&mut hclg, &model, SelfLoops::default())?;
        Ok(hclg)
    })?;
    println!("{:<12} {:6.2} s", "in all", stages.total);
    let begin = Instant::now();
    let bits = properties::compute(&hclg);
    println!("properties {:.2} s ({bits:x})", begin.elapsed().as_secs_f64());
    let mut w = KaldiWriter::create(out, false)?;
    store::write_const(&mut w, &hclg, false)?;
    w.finish()?;
    let begin = Instant::now();
    let read = store::read_fst(out)?;
    println!("{} states read in {:.2} s", read.states.len(), begin.elapsed().as_secs_f64());
    Ok(())
}
