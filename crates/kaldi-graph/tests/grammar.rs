//! Graphs that refer to each other: against graphs that Kaldi made, and against a grammar that was expanded by hand.

use kaldi_fst::{Fst, ops, store, text};
use kaldi_graph::grammar::{GrammarFst, Nonterminals, Prepared, SPECIAL_COST, prepare_for_grammar};
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, read_object};

const OF_FIGURES: Nonterminals = Nonterminals { first_symbol: 27 };
/// One phone, 1; `#nonterm_bos` is 2, the only symbol of users is 6.
const SMALL: Nonterminals = Nonterminals { first_symbol: 2 };

fn path(name: &str) -> String {
    format!("{}/tests/data/grammar/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn assert_same(found: &Fst, expected: &Fst) {
    assert_eq!((found.start, found.states.len()), (expected.start, expected.states.len()));
    for (s, (a, b)) in found.states.iter().zip(&expected.states).enumerate() {
        assert!(a.final_weight == b.final_weight || (a.final_weight - b.final_weight).abs() < 1e-5, "{s}");
        assert_eq!(a.arcs.len(), b.arcs.len(), "state {s}");
        for (a, b) in a.arcs.iter().zip(&b.arcs) {
            assert_eq!((a.ilabel, a.olabel, a.next), (b.ilabel, b.olabel, b.next), "state {s}");
            assert!((a.weight - b.weight).abs() < 1e-5, "state {s}: {a:?} {b:?}");
        }
    }
}

#[test]
fn preparation() {
    let mut graph = store::read_fst(&path("recursive.fst")).unwrap();
    let prepared = prepare_for_grammar(&mut graph, OF_FIGURES).unwrap();
    assert_eq!(prepared, Prepared { new_states: 35, marked_before: 0 });
    assert_same(&graph, &store::read_fst(&path("recursive.prepared.fst")).unwrap());
    let marked = graph.states.iter().filter(|state| state.final_weight == SPECIAL_COST).count();
    assert_eq!(prepare_for_grammar(&mut graph, OF_FIGURES).unwrap().marked_before, marked);
    let error = prepare_for_grammar(&mut graph, Nonterminals { first_symbol: 40 }).unwrap_err().to_string();
    assert!(error.contains("wrong --nonterm-phones-offset option?"), "{error}");
}

#[test]
fn figures() {
    let grammar: GrammarFst = read_object(&path("grammar.gra")).unwrap();
    let mut w = KaldiWriter::in_memory(true);
    grammar.write(&mut w).unwrap();
    let mut r = KaldiReader::from_bytes("again", w.into_bytes());
    r.set_binary(true);
    assert_eq!(GrammarFst::read(&mut r).unwrap(), grammar);
    // The file that the reference writes for the same grammar has so many states and arcs, and this best path.
    let expanded = grammar.expanded().unwrap();
    assert_eq!((expanded.states.len(), expanded.num_arcs()), (740, 1531));
    let best = ops::distances_to_end(&expanded).unwrap()[expanded.start.unwrap() as usize];
    assert!((best - 9.336_617).abs() < 1e-4, "{best}");
}

fn label(nonterminal: i32, phone: i32) -> i32 {
    SMALL.label(nonterminal, phone).unwrap()
}

fn top() -> Fst {
    let (leave, [enter, first]) = (label(6, 1), [label(5, 1), label(5, 2)]);
    text::parse(&format!(
        "0 1 1 10 0.5\n1 2 {leave} 0 1\n1 4096\n2 3 {enter} 0 0.25\n2 4 {first} 0 0.75\n3 5 1 0 0\n4 5 1 11 0\n5 0\n"
    ))
    .unwrap()
}

/// `after` are the lines of the state behind the word.
fn part(after: &str) -> Fst {
    let [begin, first] = [label(3, 1), label(3, 2)];
    text::parse(&format!("0 1 {begin} 12 0.125\n0 2 {first} 0 0.1\n1 3 2 0 0\n2 3 2 13 0\n{after}")).unwrap()
}

fn ending() -> String {
    format!("3 4 {} 0 0.0625\n3 4 {} 0 0.2\n3 4096\n4 0\n", label(4, 1), label(4, 2))
}

fn error(top: Fst, parts: Vec<(i32, Fst)>) -> String {
    let grammar = GrammarFst::new(SMALL, top, parts);
    grammar.and_then(|grammar| grammar.expanded()).unwrap_err().to_string()
}

#[test]
fn expansion_by_hand() {
    let grammar = GrammarFst::new(SMALL, top(), vec![(6, part(&ending()))]).unwrap();
    // Two arcs come to each place, so half of the probability of each is given back.
    let half = -std::f32::consts::LN_2;
    let (enter, leave, last) = (half + 1.0 + 0.125, half + 0.0625 + 0.25, half + 0.2 + 0.75);
    let expected = format!(
        "0 1 1 10 0.5\n1 2 0 12 {enter}\n2 3 2 0 0\n3 4 0 0 {leave}\n3 5 0 0 {last}\n4 6 1 0 0\n5 6 1 11 0\n6 0\n"
    );
    assert_same(&grammar.expanded().unwrap(), &text::parse(&expected).unwrap());
    // Without references, the graph is as it is.
    let plain = text::parse("0 1 1 10 0.5\n1 0.25\n").unwrap();
    assert_eq!(GrammarFst::new(SMALL, plain.clone(), Vec::new()).unwrap().expanded().unwrap(), plain);
    // A part that is empty cannot be entered.
    let empty = GrammarFst::new(SMALL, top(), vec![(6, Fst::default())]).unwrap().expanded().unwrap();
    assert_eq!((empty.states.len(), empty.num_arcs()), (2, 1));
}

#[test]
fn grammars_that_do_not_fit_together() {
    for (top, parts, words) in [
        (top(), vec![(5, part(&ending()))], "Nonterminal symbol 5 in input pairs, was expected to be >= 6"),
        (top(), vec![(6, part(&ending())), (6, top())], "Nonterminal symbol 6 is paired with two FSTs."),
        (top(), vec![(7, part(&ending()))], "Nonterminal 6 was requested, but there is no FST for it."),
        (top(), vec![(6, top())], "did you forget to add #nonterm_begin"),
        (part(&ending()), Vec::new(), "Did not expect #nonterm_end symbol in FST-instance 0."),
        (
            top(),
            vec![(6, part(&format!("3 4 {} 0 0.5\n3 4096\n4 0\n5 6 {} 0\n", label(4, 1), label(5, 1))))],
            "",
        ),
    ] {
        if words.is_empty() {
            // What is wrong where nobody comes does no harm.
            assert!(GrammarFst::new(SMALL, top, parts).unwrap().expanded().is_ok());
            continue;
        }
        let found = error(top, parts);
        assert!(found.contains(words), "{found}");
    }
    let only = text::parse(&format!(
        "0 1 {} 0 0\n1 2 2 0 0\n{}",
        label(3, 2),
        ending().replace('3', "2").replace("4 ", "3 ")
    ));
    assert!(
        error(top(), vec![(6, only.unwrap())])
            .contains("does not have an entry point for left-context-phone 1")
    );
    // The word of a nonterminal is another one: there is no end to it.
    let again =
        format!("3 4 {} 0 0\n3 4096\n4 5 {} 0 0\n4 5 {} 0 0\n5 0\n", label(6, 1), label(5, 1), label(5, 2));
    assert!(error(top(), vec![(6, part(&again))]).contains("a nonterminal refers to itself"));
}

#[test]
fn damaged_files() {
    let whole = std::fs::read(path("grammar.gra")).unwrap();
    let read = |bytes: Vec<u8>| {
        let mut r = KaldiReader::from_bytes("grammar", bytes);
        r.set_binary(true);
        GrammarFst::read(&mut r).unwrap_err().to_string()
    };
    let mut other_version = whole[2..].to_vec();
    other_version[14] = 2;
    assert!(read(other_version).contains("expected version 1 of grammar files, found 2"));
    assert!(read(whole[2..20_000].to_vec()).contains("grammar"));
    let mut r = KaldiReader::from_bytes("grammar", b"<GrammarFst> 1 0 27".to_vec());
    r.set_binary(false);
    assert!(GrammarFst::read(&mut r).unwrap_err().to_string().contains("it has no text form"));
}
