//! The reference's results for one utterance. (`dev/lattice-figures.py` compares all figures, with the programs.)

use kaldi_fst::{Arc, Fst, store};
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::Holder;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, SequentialReader, read_object};
use nnet3_decode::align::{
    AlignmentLexicon, LexiconAlignment, PhoneAlignment, WordAlignment, WordBoundaries, align_phones,
    align_words, align_words_by_lexicon, test_alignment,
};
use nnet3_decode::compose::SecondFst;
use nnet3_decode::determinize::{self, Options, PhoneOptions, determinize_connected, determinize_phones};
use nnet3_decode::lattice::{expand, scale};
use nnet3_decode::lm::ConstArpa;
use nnet3_decode::posterior::transition_posteriors;
use nnet3_decode::rescore::{LanguageModel, rescore};
use nnet3_decode::{
    CompactLattice, CompactLatticeHolder, Lattice, LatticeHolder, Scale, mbr, oracle, path, prune, push,
};

fn file(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn first<H: Holder>(name: &str) -> H::T {
    let mut reader = SequentialReader::<H>::open(&format!("ark:{}", file(name))).unwrap();
    reader.next().unwrap().expect("a value").1
}

fn compact(name: &str) -> CompactLattice {
    first::<CompactLatticeHolder>(name)
}

fn plain(name: &str) -> Lattice {
    first::<LatticeHolder>(name)
}

fn rich() -> CompactLattice {
    let mut lattice = compact("rich.lat");
    scale(&mut lattice, Scale::new(1.0, 0.1));
    lattice
}

/// The numbers of a line, without the key.
fn line(name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(file(name)).unwrap();
    let words = text.split_ascii_whitespace().skip(1).filter(|word| !["[", "]"].contains(word));
    words.map(|word| word.parse().unwrap()).collect()
}

/// Words, transition-ids and costs of the best paths. (Arcs without words may be anywhere.)
fn best_paths(lattice: &CompactLattice, n: usize) -> Vec<(Vec<i32>, Vec<i32>, [f32; 2])> {
    let mut paths: Vec<_> = path::best_paths(&expand(lattice), n)
        .unwrap()
        .iter()
        .map(|path| {
            let path = path::read_linear(path).unwrap();
            (path.words, path.ids, [path.weight.graph, path.weight.acoustic])
        })
        .collect();
    paths.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    paths
}

#[track_caller]
fn assert_same_paths(found: &CompactLattice, expected: &str, n: usize) {
    let (found, expected) = (best_paths(found, n), best_paths(&compact(expected), n));
    assert_eq!(found.len(), expected.len());
    for (ours, theirs) in found.iter().zip(&expected) {
        assert_eq!((&ours.0, &ours.1), (&theirs.0, &theirs.1));
        for (a, b) in ours.2.iter().zip(&theirs.2) {
            assert!((a - b).abs() < 1e-2, "{:?}: {a} instead of {b}", ours.0);
        }
    }
}

fn raw() -> Lattice {
    let mut lattice = plain("raw.lat");
    scale(&mut lattice, Scale::new(1.0, 0.1));
    lattice
}

fn unscaled(mut lattice: CompactLattice) -> CompactLattice {
    scale(&mut lattice, Scale::new(1.0, 10.0));
    lattice
}

#[test]
fn determinization() {
    let options = Options::default();
    let (out, report) = determinize_connected(&mut raw(), 4.0, &options).unwrap();
    assert!(report.complete && report.events.is_empty());
    assert_same_paths(&unscaled(out), "determinized.txt", 1000);
    let (mut out, _) = determinize_connected(&mut raw(), 2.5, &options).unwrap();
    push::minimize_pushed(&mut out).unwrap();
    assert_same_paths(&unscaled(out), "minimized.txt", 1000);
}

#[test]
fn determinization_with_phones() {
    let model: TransitionModel = read_object(&file("mono.mdl")).unwrap();
    let (out, _) = determinize_phones(&model, &mut raw(), 4.0, &PhoneOptions::default()).unwrap();
    assert_same_paths(&unscaled(out), "determinized-phones.txt", 1000);
}

/// Shows that with little memory the search stops early, and is done again with less of the lattice, and that the best
/// path stays.
#[test]
fn determinization_within_limits() {
    use determinize::Event;
    let lattice = || expand(&rich());
    let (all, _) = determinize_connected(&mut lattice(), 6.0, &Options::default()).unwrap();
    // (Memory is checked after every ten states.)
    assert!(all.states.len() > 20);
    let little = Options { max_mem: 4000, retry_cutoff: 0.99, ..Options::default() };
    let (out, report) = determinize_connected(&mut lattice(), 6.0, &little).unwrap();
    let has = |wanted: fn(&Event) -> bool| report.events.iter().any(wanted);
    assert!(has(|event| *event == Event::Rebuilt) && has(|event| matches!(event, Event::OutOfMemory { .. })));
    assert!(has(|event| matches!(event, Event::Retrying { .. })));
    assert_eq!(best_paths(&out, 1), best_paths(&all, 1));
    let few = Options { max_arcs: 3, retry_cutoff: 0.0, ..Options::default() };
    let (_, report) = determinize_connected(&mut lattice(), 6.0, &few).unwrap();
    assert!(!report.complete);
}

#[test]
fn pruning_and_depths() {
    let depths: Vec<f64> = prune::depth_per_frame(&rich()).unwrap().into_iter().map(f64::from).collect();
    assert_eq!(depths, line("depth"));
    let mut lattice = rich();
    assert!(prune::prune(&mut lattice, 2.0).unwrap());
    assert_same_paths(&unscaled(lattice), "pruned.txt", 1000);
}

#[test]
fn best_paths_in_order() {
    let lattice = expand(&rich());
    let paths = path::best_paths(&lattice, 20).unwrap();
    let [words, graph, acoustic] = ["nbest.words", "nbest.lm", "nbest.ac"].map(|name| {
        let text = std::fs::read_to_string(file(name)).unwrap();
        let numbers = |line: &str| -> Vec<f32> {
            line.split_ascii_whitespace().skip(1).map(|word| word.parse().unwrap()).collect()
        };
        text.lines().map(numbers).collect::<Vec<_>>()
    });
    assert_eq!(paths.len(), words.len());
    for (i, found) in paths.iter().enumerate() {
        let found = path::read_linear(found).unwrap();
        assert_eq!(found.words, words[i].iter().map(|&word| word as i32).collect::<Vec<_>>());
        assert!((found.weight.graph - graph[i][0]).abs() < 1e-3);
        assert!((found.weight.acoustic * 10.0 - acoustic[i][0]).abs() < 1e-2);
    }
}

#[test]
fn posteriors() {
    let frames = transition_posteriors(&mut expand(&rich())).unwrap().posterior;
    let found: Vec<f64> =
        frames.into_iter().flatten().flat_map(|(id, p)| [f64::from(id), f64::from(p)]).collect();
    let expected = line("posteriors");
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
fn minimum_bayes_risk() {
    let outcome = mbr::decode(&rich(), None, mbr::Options::default()).unwrap();
    assert_eq!(outcome.words.iter().map(|&word| f64::from(word)).collect::<Vec<_>>(), line("mbr.words"));
    assert!((outcome.risk - line("mbr.risk")[0]).abs() < 1e-4);
    let bins: Vec<f64> =
        outcome.bins.into_iter().flatten().flat_map(|(word, p)| [f64::from(word), f64::from(p)]).collect();
    let expected = line("mbr.sausage");
    assert_eq!(bins.len(), expected.len());
    assert!(bins.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-3));
}

#[test]
fn oracle_words() {
    let expected: Vec<i32> = line("oracle.words").into_iter().map(|word| word as i32).collect();
    let oracle = oracle::oracle(&expand(&rich()), &expected, &[]).unwrap().unwrap();
    assert_eq!((oracle.words, oracle.errors.total()), (expected, 0));
}

#[test]
fn alignment_with_phones_and_words() {
    let model: TransitionModel = read_object(&file("mono.mdl")).unwrap();
    let options = PhoneAlignment { reorder: true, remove_epsilon: true, replace_output_symbols: true };
    let lattice = compact("rich.lat");
    let (aligned, problems) = align_phones(&lattice, &model, &options).unwrap();
    assert_eq!(problems, Vec::<String>::new());
    assert_same_paths(&aligned, "aligned-phones.txt", 100);

    let lexicon = AlignmentLexicon::load(&file("align_lexicon.int")).unwrap();
    let options = LexiconAlignment { reorder: true, partial_word_label: 0, max_expand: None };
    let (aligned, problems) = align_words_by_lexicon(&lattice, &model, &lexicon, &options).unwrap();
    assert_eq!(problems, Vec::<String>::new());
    assert_same_paths(&aligned, "aligned-lexicon.txt", 100);
    assert_eq!(test_alignment(&lattice, &aligned), Ok(None));

    let model: TransitionModel = read_object(&file("wb.mdl")).unwrap();
    let boundaries = WordBoundaries::load(&file("word_boundary.int")).unwrap();
    let options = WordAlignment { reorder: true, silence_label: 0, partial_word_label: 0, max_states: None };
    let lattice = compact("rich-wb.lat");
    let (aligned, problems) = align_words(&lattice, &model, &boundaries, &options).unwrap();
    assert_eq!(problems, Vec::<String>::new());
    assert_same_paths(&aligned, "aligned-words.txt", 100);
    assert_eq!(test_alignment(&lattice, &aligned), Ok(None));
}

/// The language model's words on both sides: its way to back off then has no label.
fn projected() -> Fst {
    let mut fst: Fst = store::read_fst(&file("G.fst")).unwrap();
    for arc in fst.states.iter_mut().flat_map(|state| &mut state.arcs) {
        *arc = Arc { ilabel: arc.olabel, ..*arc };
    }
    fst
}

#[test]
fn rescoring() {
    let lm = LanguageModel::Fst(SecondFst::exact(projected()));
    let (subtracted, _) = rescore(plain("rich.lat"), &lm, -1.0).unwrap();
    assert_same_paths(&subtracted, "lm-subtracted.txt", 100);
    let lm = LanguageModel::ConstArpa(read_object(&file("digits.bi.carpa")).unwrap());
    let (replaced, _) = rescore(expand(&subtracted), &lm, 1.0).unwrap();
    assert_same_paths(&replaced, "lm-replaced.txt", 100);
}

#[test]
fn const_arpa_files() {
    use kaldi_graph::arpa::{ArpaOptions, Words};
    let mut options = ArpaOptions { words: Words::Numbers, begin: 13, end: 14, most_warnings: None };
    let mut r = KaldiReader::open_raw(&file("digits.bi.arpa")).unwrap();
    let lm = ConstArpa::from_arpa(&mut r, &mut options, Some(1), &mut |_| {}).unwrap();
    let mut w = KaldiWriter::in_memory(true);
    w.write_header().unwrap();
    lm.write(&mut w).unwrap();
    assert_eq!(w.into_bytes(), std::fs::read(file("digits.bi.carpa")).unwrap());
    // Probabilities add up to one after any history.
    for history in [&[13][..], &[4], &[]] {
        let sum: f64 =
            (1..=14).filter(|&word| word != 13).map(|w| f64::from(lm.log_prob(history, w)).exp()).sum();
        assert!((sum - 1.0).abs() < 2e-3, "{history:?}: {sum}");
    }
}
