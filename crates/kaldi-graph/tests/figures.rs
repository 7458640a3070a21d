//! The stages of a graph compared with Kaldi's, each from Kaldi's input of that stage.

use kaldi_fst::ops::{self, DELTA, DeterminizeStar, Semiring, Side};
use kaldi_fst::store::{self, Symbols};
use kaldi_fst::{EPSILON, Fst, text};
use kaldi_graph::arpa::{ArpaOptions, Event, UnknownWords, Words, compile};
use kaldi_graph::training::{TrainingGraphCompiler, TrainingGraphs};
use kaldi_graph::{Error, IlabelInfo, SelfLoops, Window, add_self_loops, compose_context, make_h_transducer};
use kaldi_hmm::{ContextDependency, TransitionModel};
use kaldi_io::{KaldiObject, KaldiReader, read_object};

fn path(name: &str) -> String {
    format!("{}/tests/data/digits-tri/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn fst(name: &str) -> Fst {
    store::read_fst(&path(name)).unwrap()
}

fn object<T: KaldiObject>(name: &str) -> T {
    read_object(&path(name)).unwrap()
}

fn integers(name: &str) -> Vec<i32> {
    let text = std::fs::read_to_string(path(name)).unwrap();
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

/// Asserts that states and arcs have equal numbers, and that costs agree up to rounding.
fn assert_same(found: &Fst, expected: &Fst) {
    assert_eq!((found.start, found.states.len()), (expected.start, expected.states.len()));
    let near = |a: f32, b: f32| a == b || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(0.01);
    for (s, (a, b)) in found.states.iter().zip(&expected.states).enumerate() {
        assert!(near(a.final_weight, b.final_weight), "state {s}: {} {}", a.final_weight, b.final_weight);
        assert_eq!(a.arcs.len(), b.arcs.len(), "state {s}");
        for (a, b) in a.arcs.iter().zip(&b.arcs) {
            assert_eq!((a.ilabel, a.olabel, a.next), (b.ilabel, b.olabel, b.next), "state {s}");
            assert!(near(a.weight, b.weight), "state {s}: {a:?} {b:?}");
        }
    }
}

fn window() -> Window {
    Window::new(3, 1).unwrap()
}

fn log() -> DeterminizeStar {
    DeterminizeStar { semiring: Semiring::Log, ..DeterminizeStar::default() }
}

fn arpa(text: &[u8], events: &mut dyn FnMut(Event)) -> kaldi_graph::Result<Fst> {
    let symbols = Symbols::load(&path("words.txt")).unwrap();
    let number = |name: &str| symbols.number(name).unwrap() as i32;
    let (begin, end, disambiguation) = (number("<s>"), number("</s>"), number("#0"));
    let words = Words::Symbols(symbols, UnknownWords::Skip);
    let mut options = ArpaOptions { words, begin, end, most_warnings: Some(1) };
    let mut r = KaldiReader::from_bytes("lm", text.to_vec());
    let mut fst = compile(&mut r, &mut options, disambiguation, events)?.fst;
    ops::sort_arcs(&mut fst, Side::Input);
    Ok(fst)
}

#[test]
fn language_model() {
    let text = std::fs::read(path("digits.bi.arpa")).unwrap();
    let mut events = Vec::new();
    assert_same(&arpa(&text, &mut |event| events.push(event)).unwrap(), &fst("G.fst"));
    let sections = ["\\1-grams:", "\\2-grams:"].map(|line| Event::Section(line.to_owned()));
    assert!(events.iter().eq([&Event::Data, &sections[0], &sections[1]]));
}

#[test]
fn damaged_language_models() {
    let text = |unigrams: &str, count: usize| {
        format!("\\data\\\nngram 1={count}\n\n\\1-grams:\n{unigrams}\n\\end\\\n").into_bytes()
    };
    let mut events = Vec::new();
    let unknown = text("-1\t<s>\n-2\tnine\n-3\tfoo\n-3\tbar\n-1\t</s>\n", 5);
    arpa(&unknown, &mut |event| events.push(event)).unwrap();
    let warning = "line 7 [-3\tfoo] skipped: word 'foo' not in symbol table";
    assert!(events.contains(&Event::Warning(warning.to_owned())), "{events:?}");
    assert!(
        matches!(&events[3], Event::ManyWarnings(text) if text.starts_with("Of 2 parse warnings, 1 were reported."))
    );
    for (unigrams, count, words) in [
        ("-1\t</s>", 1, "did not contain the beginning-of-sentence symbol <s>"),
        ("x\t<s>", 1, "lm: line 5 [x\t<s>]: invalid n-gram logprob 'x'"),
        ("-1\t<s>\n-1\tnine", 1, "line 6 [-1\tnine]: header said there would be 1 n-grams of order 1"),
        ("-1", 1, "Invalid n-gram data line"),
        ("-1\t#0", 1, "disambiguation symbol"),
        ("-1\t<eps>", 1, "epsilon symbol '<eps>' is illegal"),
    ] {
        let error = arpa(&text(unigrams, count), &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let error = arpa(b"\\data\\\n", &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("\\data\\ section missing or empty"), "{error}");
}

#[test]
fn lexicon_and_language_model() {
    let lg = ops::compose_transducers(&fst("L_disambig.fst"), &fst("G.fst"), true).unwrap();
    assert_same(&lg, &fst("LG.1compose.fst"));
    let lg = ops::determinize_star(fst("LG.1compose.fst"), log()).unwrap();
    assert_same(&lg, &fst("LG.2det.fst"));
    let mut lg = fst("LG.2det.fst");
    ops::minimize_encoded(&mut lg, DELTA);
    assert_same(&lg, &fst("LG.3min.fst"));
    let mut lg = fst("LG.3min.fst");
    assert!(ops::push_special(&mut lg, DELTA));
    assert_same(&lg, &fst("LG.fst"));
}

#[test]
fn context() {
    let (mut clg, labels) = compose_context(fst("LG.fst"), window(), &integers("disambig.int")).unwrap();
    ops::sort_arcs(&mut clg, Side::Input);
    assert_same(&clg, &fst("CLG.fst"));
    assert_eq!(labels, object::<IlabelInfo>("ilabels"));
    assert_eq!(labels.disambiguation_labels(), integers("disambig_ilabels.int"));
}

#[test]
fn hmms() {
    let (tree, model) = (object::<ContextDependency>("tri.tree"), object::<TransitionModel>("tri.trans_mdl"));
    let h = make_h_transducer(&object("ilabels"), &tree, &model, 1.0, None).unwrap();
    assert_same(&h.fst, &fst("Ha.fst"));
    assert_eq!(h.disambiguation, integers("disambig_tid.int"));
    let graph = ops::compose_transducers(&fst("Ha.fst"), &fst("CLG.fst"), true).unwrap();
    assert_same(&graph, &fst("HCLGa.1compose.fst"));
    let graph = ops::determinize_star(graph, log()).unwrap();
    assert_same(&graph, &fst("HCLGa.2det.fst"));
    let mut graph = fst("HCLGa.2det.fst");
    ops::remove_labels(&mut graph, Side::Input, &h.disambiguation.into_iter().collect());
    ops::remove_epsilons_locally(&mut graph, Semiring::Tropical, Semiring::Log);
    assert_same(&graph, &fst("HCLGa.4rmeps.fst"));
    ops::minimize_encoded(&mut graph, DELTA);
    assert_same(&graph, &fst("HCLGa.fst"));
}

#[test]
fn self_loops() {
    let model: TransitionModel = object("tri.trans_mdl");
    let mut graph = fst("HCLGa.fst");
    add_self_loops(&mut graph, &model, SelfLoops::default()).unwrap();
    assert_same(&graph, &fst("HCLG.fst"));
    let twice = add_self_loops(&mut graph, &model, SelfLoops::default());
    assert!(matches!(twice, Err(Error::HasSelfLoops)));
    let unknown = &mut text::parse("0 1 100000 1\n1\n").unwrap();
    let error = add_self_loops(unknown, &model, SelfLoops::default()).unwrap_err().to_string();
    assert!(error.contains("input label 100000 is neither a transition-id of the model"), "{error}");
}

#[test]
fn training_graphs() {
    let (tree, model) = (object::<ContextDependency>("tri.tree"), object::<TransitionModel>("tri.trans_mdl"));
    let disambiguation = integers("disambig.int");
    let options =
        TrainingGraphs { transition_scale: 0.0, self_loop_scale: 0.0, reorder: true, remove_epsilons: false };
    let compiler = TrainingGraphCompiler::new(&tree, &model, fst("L.fst"), &disambiguation, options).unwrap();
    let words = [4, 5, 4, 11];
    let graph = compiler.compile_words(&words).unwrap();
    // The output of every path is the words.
    let mut said = vec![None; graph.states.len()];
    let mut waiting = vec![(graph.start.unwrap(), 0)];
    let mut ends = 0;
    while let Some((state, count)) = waiting.pop() {
        if said[state as usize].is_some() {
            assert_eq!(said[state as usize], Some(count));
            continue;
        }
        said[state as usize] = Some(count);
        if graph.state(state).is_final() {
            assert_eq!(count, words.len());
            ends += 1;
        }
        for arc in &graph.state(state).arcs {
            let new = usize::from(arc.olabel != EPSILON);
            assert!(new == 0 || arc.olabel == words[count]);
            waiting.push((arc.next, count + new));
        }
    }
    assert!(ends > 0);
    assert!(compiler.compile_words(&[4, 1000]).unwrap().start.is_none());
    let phones = [disambiguation, vec![1]].concat();
    let error = TrainingGraphCompiler::new(&tree, &model, fst("L.fst"), &phones, options).unwrap_err();
    assert_eq!(error.to_string(), "Disambiguation symbol 1 is also a phone.");
}
