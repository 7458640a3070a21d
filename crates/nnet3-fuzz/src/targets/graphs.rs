//! Inputs of graphs: symbol tables, the text of FSTs, language models, meanings of labels.

use kaldi_fst::look_ahead::ReachBuilder;
use kaldi_fst::ngrams::FirstSteps;
use kaldi_fst::openfst_text::{self, Format, Shown};
use kaldi_fst::ops::{self, Determinize, DeterminizeStar, Push, Semiring};
use kaldi_fst::store::{self, FlatOrNgrams, Symbols};
use kaldi_fst::{FlatFst, Fst, LookAheadFst, NgramFst, text};
use kaldi_graph::IlabelInfo;
use kaldi_graph::arpa::{ArpaOptions, UnknownWords, Words, compile, compile_ngrams};
use kaldi_graph::grammar::{GrammarFst, Nonterminals, prepare_for_grammar};
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};

use super::{both, reader};

fn in_memory(write: impl FnOnce(&mut KaldiWriter) -> kaldi_io::Result<()>) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(true);
    write(&mut w).expect("in memory");
    w.into_bytes()
}

/// FSTs with symbol tables, and tables alone.
pub fn read_symbols(input: &[u8]) {
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    r.set_binary(true);
    let both = store::read_with_symbols::<f32>(&mut r);
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    r.set_binary(true);
    let flat = store::read_flat(&mut r);
    assert!(flat.is_err() || both.is_ok());
    if let Ok((fst, symbols)) = both {
        match flat {
            Ok(flat) => assert_eq!(flat, FlatFst::from(&fst)),
            // Halves of graphs are FSTs, but must not be taken for graphs.
            Err(error) => assert!(error.to_string().contains("found '"), "{error}"),
        }
        let again = in_memory(|w| store::write_with_symbols(w, &fst, symbols.clone()));
        let mut r = KaldiReader::from_bytes("again", again);
        r.set_binary(true);
        let read = store::read_with_symbols(&mut r).expect("what was just written");
        assert_eq!(read, (fst, symbols));
    }
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    if let Ok(symbols) = Symbols::read_text(&mut r, "title") {
        let again = in_memory(|w| symbols.write_text(w));
        let mut r = KaldiReader::from_bytes("again", again);
        assert_eq!(Symbols::read_text(&mut r, "title").expect("what was just written"), symbols);
    }
}

pub fn corpus_symbols() -> Vec<Vec<u8>> {
    let mut symbols = Symbols::new("words.txt");
    for name in ["<eps>", "one", "two"] {
        symbols.number_or_add(name);
    }
    let fst = text::parse("0 1 1 2 0.5\n1\n").expect("an FST");
    let tables = [Some(symbols.clone()), Some(symbols.clone())];
    let constant = |aligned: bool| in_memory(|w| store::write_const(w, &fst, aligned));
    vec![
        in_memory(|w| store::write_with_symbols(w, &fst, tables)),
        in_memory(|w| symbols.write_text(w)),
        constant(true),
        constant(false),
    ]
}

/// The two parts of graphs that are composed during the search.
pub fn read_graph_halves(input: &[u8]) {
    let reader = || {
        let mut r = KaldiReader::from_bytes("input", input.to_vec());
        r.set_binary(true);
        r
    };
    if let Ok(fst) = store::read_look_ahead(&mut reader()) {
        let again = in_memory(|w| store::write_look_ahead(w, &fst));
        let mut r = KaldiReader::from_bytes("again", again);
        r.set_binary(true);
        assert_eq!(store::read_look_ahead(&mut r).expect("what was just written"), fst);
    }
    if let Ok(fst) = store::read::<f32>(&mut reader())
        && fst.states.len() < 100
    {
        // The result of the operation is read again.
        let made = ops::look_ahead(fst.clone());
        let again = in_memory(|w| store::write_look_ahead(w, &made.fst));
        let mut r = KaldiReader::from_bytes("again", again);
        r.set_binary(true);
        assert_eq!(store::read_look_ahead(&mut r).expect("what was just written"), made.fst);
        if let Ok(ngrams) = ops::ngrams(&fst) {
            let again = in_memory(|w| store::write_ngrams(w, &ngrams, [None, None]));
            let mut r = KaldiReader::from_bytes("again", again);
            r.set_binary(true);
            let read = store::read::<f32>(&mut r).expect("what was just written");
            assert_eq!(read.num_arcs(), Fst::from(&ngrams).num_arcs());
        }
    }
    if let Ok((FlatOrNgrams::Ngrams(fst), _)) = store::read_with_names(&mut reader()) {
        for state in 0..fst.num_states() as u32 {
            for &word in fst.words(state) {
                assert!((fst.next(state, word) as usize) < fst.num_states());
            }
        }
        let again = in_memory(|w| store::write_ngrams(w, &fst, [None, None]));
        let mut r = KaldiReader::from_bytes("again", again);
        r.set_binary(true);
        let read = store::read_with_names(&mut r).expect("what was just written");
        assert_eq!(read, (FlatOrNgrams::Ngrams(fst), None));
    }
}

pub fn corpus_graph_halves() -> Vec<Vec<u8>> {
    let fst = text::parse("0 1 1 0 0.5\n0 2 2 3\n1 2 3 4\n2\n").expect("an FST");
    let mut reach = ReachBuilder::new(9);
    [[3, 5], [4, 5], [9, 10]].iter().for_each(|&interval| reach.add(&[interval]).expect("intervals"));
    let look_ahead = LookAheadFst { fst: FlatFst::from(&fst), reach: reach.build() };
    let ngrams = NgramFst {
        start: Some(1),
        shorter: vec![0, 0, 0, 1],
        first_children: vec![1, 3, 4, 4, 4],
        first_words: vec![0, 1, 2, 2, 0],
        backoff: vec![0.0, 0.5, 0.25, 0.125, 0.0],
        finals: vec![1.0, f32::INFINITY, 0.5, f32::INFINITY],
        first_futures: vec![0, 2, 3, 3, 4],
        words: vec![1, 2, 2, 1],
        costs: vec![0.5, 1.5, 2.0, 0.75],
        first_steps: FirstSteps::default(),
    };
    vec![
        in_memory(|w| store::write_look_ahead(w, &look_ahead)),
        in_memory(|w| store::write_ngrams(w, &ngrams, [None, None])),
    ]
}

/// The text of `fstcompile`; small FSTs go through the operations that graphs are made with.
pub fn read_openfst_text(input: &[u8]) {
    for (acceptor, keep_numbers) in [(false, false), (true, false), (false, true)] {
        let format = Format { acceptor, keep_numbers, ..Format::default() };
        let mut r = KaldiReader::from_bytes("input", input.to_vec());
        let Ok(fst) = openfst_text::read(&mut r, &format) else { continue };
        // Numbers that are kept may make many states, which would only take time.
        if fst.states.len() < 10_000 {
            in_memory(|w| openfst_text::write(w, &fst, &Shown { acceptor, ..Shown::default() }));
        }
        if fst.states.len() < 20 {
            operate(fst);
        }
    }
}

fn operate(mut fst: Fst) {
    for state in &mut fst.states {
        // This target does not test costs, and infinite ones leave no paths to compare.
        state.arcs.retain(|arc| arc.weight.is_finite());
    }
    let mut local = fst.clone();
    ops::remove_epsilons_locally(&mut local, Semiring::Tropical, Semiring::Log);
    let options = DeterminizeStar { semiring: Semiring::Log, most_states: Some(50), ..Default::default() };
    let _ = ops::determinize_star(fst.clone(), options);
    let mut minimal = fst.clone();
    ops::minimize_encoded(&mut minimal, ops::DELTA);
    let _ = ops::compose_transducers(&fst, &minimal, true);
    let _ = ops::topological_sort(&mut minimal);
    ops::push_special(&mut ops::reverse(&fst), ops::DELTA);
    let push = Push { weights: true, labels: true, ..Push::default() };
    let pushed = ops::push(fst.clone(), push);
    let deterministic = Determinize { most_states: Some(50), ..Determinize::default() };
    if let Ok(deterministic) = ops::determinize_labels(fst.clone(), deterministic) {
        let _ = ops::minimize_labels(deterministic, ops::Semiring::Tropical, ops::DELTA, false);
    }
    let _ = ops::equivalent(&fst, &fst, ops::DELTA);
    if let (Ok(paths), Ok(_)) = (ops::shortest_paths(&fst, 3, f32::INFINITY), pushed) {
        assert!(paths.len() <= 3);
        ops::union_of_paths(&paths);
    }
    let mut pruned = fst.clone();
    let _ = ops::prune(&mut pruned, 1.0, Some(3));
    let _ = ops::replace((&fst, 99), &[(&pruned, 1)], false);
}

pub fn corpus_openfst_text() -> Vec<Vec<u8>> {
    let texts = [
        "0 1 1 2 0.5\n1 2 0 3\n1 0.25\n2\n",
        "0 7000 1 1\n7000 9 2 2\n9\n",
        "5 7 1\n7 5 2 -1\n7 Infinity\n",
        "0 0 0 1 -1\n0 1\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

pub fn read_arpa(input: &[u8]) {
    for (disambiguation, unknown) in [
        (1, UnknownWords::Add),
        (0, UnknownWords::Skip),
        (1, UnknownWords::Replace(4)),
        (0, UnknownWords::Refuse),
    ] {
        let mut symbols = Symbols::new("words.txt");
        for name in ["<eps>", "#0", "<s>", "</s>", "a"] {
            symbols.number_or_add(name);
        }
        let words = Words::Symbols(symbols, unknown);
        let mut options = ArpaOptions { words, begin: 2, end: 3, most_warnings: Some(2) };
        let mut r = KaldiReader::from_bytes("input", input.to_vec());
        let _ = compile(&mut r, &mut options, disambiguation, &mut |_| ());
    }
    let mut symbols = Symbols::new("words.txt");
    ["<eps>", "a", "b"].into_iter().for_each(|name| {
        symbols.number_or_add(name);
    });
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    if let Ok(fst) = compile_ngrams(&mut r, &symbols, Some(2), &mut |_| ()) {
        let _ = ops::ngrams(&fst);
    }
    let mut options = ArpaOptions { words: Words::Numbers, begin: 2, end: 3, most_warnings: None };
    let _ = compile(&mut KaldiReader::from_bytes("input", input.to_vec()), &mut options, 1, &mut |_| ());
}

pub fn corpus_arpa() -> Vec<Vec<u8>> {
    let words = "\\data\\\nngram 1=4\nngram 2=3\n\n\\1-grams:\n-1.5\t<s>\t-0.3\n-1\ta\t-0.2\n-1\tb\n-0.7\t</s>\n\n\
        \\2-grams:\n-0.5\t<s> a\n-0.25 a b\n-0.1 b </s>\n\n\\end\\\n";
    let numbers = "\\data\\\nngram 1=3\n\n\\1-grams:\n-99 2\n-0.5 4\n-1 3\n\n\\end\\\n";
    [words, numbers].map(|text| text.as_bytes().to_vec()).into()
}

pub fn read_ilabels(input: &[u8]) {
    let Ok(labels) = IlabelInfo::read(&mut reader(input)) else { return };
    let _ = labels.disambiguation_labels();
    for bytes in both(|w| labels.write(w).expect("in memory")) {
        assert_eq!(IlabelInfo::read(&mut reader(&bytes)).expect("what was just written"), labels);
    }
}

pub fn corpus_ilabels() -> Vec<Vec<u8>> {
    let labels = IlabelInfo(vec![vec![], vec![0], vec![0, 5], vec![-3], vec![5, 6]]);
    both(|w| labels.write(w).expect("in memory"))
}

/// Graphs that refer to each other. Damaged ones must be expanded, or refused.
pub fn read_grammar(input: &[u8]) {
    let mut r = KaldiReader::from_bytes("input", input.to_vec());
    r.set_binary(true);
    let Ok(grammar) = GrammarFst::read(&mut r) else { return };
    let again = in_memory(|w| grammar.write(w));
    let mut r = KaldiReader::from_bytes("again", again);
    r.set_binary(true);
    assert_eq!(GrammarFst::read(&mut r).expect("what was just written"), grammar);
    for graph in grammar.graphs() {
        let _ = prepare_for_grammar(&mut graph.clone(), grammar.nonterminals());
    }
    let _ = grammar.expanded();
}

pub fn corpus_grammar() -> Vec<Vec<u8>> {
    let symbols = Nonterminals { first_symbol: 2 };
    let label = |nonterminal, phone| symbols.label(nonterminal, phone).expect("a label");
    let fst = |lines: &str| text::parse(lines).expect("an FST");
    let top = fst(&format!(
        "0 1 1 10 0.5\n1 2 {} 0 1\n1 4096\n2 3 {} 0 0.25\n3 4 1 0 0\n4 0\n",
        label(6, 1),
        label(5, 1)
    ));
    let part = fst(&format!("0 1 {} 12 0.125\n1 2 {} 0 0\n1 4096\n2 0\n", label(3, 1), label(4, 1)));
    let grammar = GrammarFst::new(symbols, top, vec![(6, part)]).expect("a grammar");
    vec![in_memory(|w| grammar.write(w))]
}
