//! Hits of keywords against all paths of small lattices, and scores against those of Kaldi.

use std::collections::{BTreeMap, BTreeSet};

use kaldi_fst::{Algebra, Arc, EPSILON, Fst, State, text};
use kaldi_kws::clusters::clusters;
use kaldi_kws::index::optimize;
use kaldi_kws::proxies::{ProxyOptions, Strings, each_string, proxies};
use kaldi_kws::term_weighted::{ScoreOptions, Term, Values, align, values};
use kaldi_kws::{Hit, HitWeight, Index, IndexOptions, Searcher, index_lattice, union_of_indices};
use nnet3_decode::{CompactLattice, CompactLatticeWeight, LatticeWeight};

const OPTIONS: IndexOptions =
    IndexOptions { longest_silence: 3, max_states_scale: -1.0, allow_partial: true };

/// A lattice whose state s is reached after `times[s]` frames.
fn random_lattice(rng: &mut fastrand::Rng) -> (CompactLattice, Vec<usize>) {
    let count = 7;
    let mut times = vec![0];
    (1..count).for_each(|s| times.push(times[s - 1] + rng.usize(0..3)));
    let mut lattice: CompactLattice = Fst { start: Some(0), states: vec![State::default(); count] };
    let weight = |rng: &mut fastrand::Rng, frames: usize| CompactLatticeWeight {
        weight: LatticeWeight::new(rng.f32() * 2.0, rng.f32() * 2.0 - 1.0),
        string: vec![1; frames],
    };
    for s in 0..count - 1 {
        for _ in 0..rng.usize(1..4) {
            let next = rng.usize(s + 1..count.min(s + 4));
            let word = rng.i32(0..4);
            let weight = weight(rng, times[next] - times[s]);
            lattice.states[s].arcs.push(Arc { ilabel: word, olabel: word, weight, next: next as u32 });
        }
    }
    lattice.states[count - 1].final_weight = weight(rng, 0);
    kaldi_fst::ops::connect(&mut lattice);
    let (times, _) = nnet3_decode::times::state_times(&lattice).unwrap();
    (lattice, times.into_iter().map(Option::unwrap).collect())
}

/// Words with clusters, to probability, begin and end.
type Occurrences = BTreeMap<(Vec<i32>, Vec<i32>), (f64, usize, usize)>;

/// Lists all paths, and all pieces of each.
fn occurrences(lattice: &CompactLattice, times: &[usize]) -> Occurrences {
    let clusters = clusters(lattice, times);
    let (mut found, mut total) = (Occurrences::new(), 0.0);
    let mut waiting = vec![(0u32, 0.0f64, Vec::new())];
    while let Some((s, cost, path)) = waiting.pop() {
        let state = lattice.state(s);
        if !state.final_weight.is_zero() {
            let probability = (-cost - state.final_weight.weight.cost()).exp();
            total += probability;
            add_pieces(&path, probability, times, &mut found);
        }
        for (arc, &cluster) in state.arcs.iter().zip(&clusters[s as usize]) {
            let mut longer = path.clone();
            longer.push((arc.ilabel, cluster, s as usize, arc.next as usize));
            waiting.push((arc.next, cost + arc.weight.weight.cost(), longer));
        }
    }
    found.values_mut().for_each(|(probability, ..)| *probability /= total);
    found
}

fn add_pieces(path: &[(i32, i32, usize, usize)], probability: f64, times: &[usize], found: &mut Occurrences) {
    for i in (0..path.len()).filter(|&i| path[i].0 != EPSILON) {
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        for &(word, cluster, from, to) in &path[i..] {
            if word == EPSILON {
                if times[to] - times[from] > OPTIONS.longest_silence {
                    break;
                }
                continue;
            }
            words.push(word);
            numbers.push(cluster);
            let (begin, end) = (times[path[i].2], times[to]);
            let known = found.entry((words.clone(), numbers.clone())).or_insert((0.0, begin, end));
            *known = (known.0 + probability, known.1.min(begin), known.2.max(end));
        }
    }
}

fn linear(words: &[i32]) -> Fst {
    let lines: String =
        words.iter().enumerate().map(|(i, word)| format!("{i} {} {word} {word}\n", i + 1)).collect();
    text::parse(&format!("{lines}{} 0\n", words.len())).unwrap()
}

fn hits(index: &Index, words: &[i32]) -> Vec<Hit> {
    Searcher::new(index.clone()).search(&linear(words)).unwrap().hits(None)
}

/// Asserts that `found` are the expected occurrences, as costs and times, in any order; returns how many there are. Of two
/// occurrences after which a lattice goes on from the same state, only the cheaper one is found, as by Kaldi.
fn assert_hits(found: &[Hit], mut expected: Vec<(f64, usize, usize)>, utterance: i32) -> usize {
    for hit in found {
        assert_eq!(hit.utterance, utterance);
        let place = expected.iter().position(|&(probability, begin, end)| {
            (f64::from(hit.weight.cost) + probability.ln()).abs() < 0.02
                && (hit.weight.begin, hit.weight.end) == (begin as f32, end as f32)
        });
        expected.remove(place.unwrap_or_else(|| panic!("{hit:?} is not among {expected:?}")));
    }
    for (probability, _, end) in expected {
        let is_cheaper =
            |hit: &Hit| hit.weight.end == end as f32 && f64::from(hit.weight.cost) < 0.02 - probability.ln();
        assert!(found.iter().any(is_cheaper), "{found:?}");
    }
    found.len()
}

#[test]
fn all_pieces_of_all_paths() {
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut count, mut all) = (0, 0);
    for _ in 0..60 {
        let (lattice, times) = random_lattice(&mut rng);
        let expected = occurrences(&lattice, &times);
        let index = index_lattice(&lattice, 5, OPTIONS).unwrap().index;
        let keywords: BTreeSet<&Vec<i32>> = expected.keys().map(|(words, _)| words).collect();
        for words in keywords {
            let of_words = expected.iter().filter(|((other, _), _)| other == words);
            let of_words: Vec<_> = of_words.map(|(_, &occurrence)| occurrence).collect();
            all += of_words.len();
            count += assert_hits(&hits(&index, words), of_words, 5);
        }
        assert!(hits(&index, &[9]).is_empty() && hits(&index, &[1, 9]).is_empty());
    }
    assert!(count > 1000 && count * 10 > all * 9, "{count} of {all}");
}

#[test]
fn unions_find_what_their_parts_find() {
    let mut rng = fastrand::Rng::with_seed(4);
    let lattices: Vec<_> = (0..6).map(|_| random_lattice(&mut rng).0).collect();
    let index = |(number, lattice)| index_lattice(lattice, number, OPTIONS).unwrap().index;
    let parts: Vec<Index> = (1..).zip(&lattices).map(index).collect();
    let union = union_of_indices(parts.clone());
    let (small, complete) = optimize(&union, None).unwrap();
    let (large, too_large) = optimize(&union, Some(3)).unwrap();
    assert!(complete && !too_large && small.states.len() < union.states.len());
    let key = |hit: &Hit| {
        (
            hit.utterance,
            hit.weight.begin as i32,
            hit.weight.end as i32,
            (hit.weight.cost * 50.0).round() as i32,
        )
    };
    let sorted = |hits: Vec<Hit>| {
        let mut keys: Vec<_> = hits.iter().map(key).collect();
        keys.sort_unstable();
        keys
    };
    for words in [vec![1], vec![2], vec![3, 1], vec![1, 2, 3], vec![2, 2]] {
        let expected = sorted(parts.iter().flat_map(|part| hits(part, &words)).collect());
        for index in [&union, &small, &large] {
            let found = sorted(hits(index, &words));
            let near = |a: &(i32, i32, i32, i32), b: &(i32, i32, i32, i32)| {
                (a.0, a.1, a.2) == (b.0, b.1, b.2) && (a.3 - b.3).abs() <= 1
            };
            assert!(found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| near(a, b)));
        }
    }
    // The best hits come first, and each path is a hit of one keyword.
    let searcher = Searcher::new(small);
    let several = text::parse("0 1 1 1 0.5\n0 1 2 2 0\n1 0\n").unwrap();
    let found = searcher.search(&several).unwrap();
    let all = found.hits(None);
    assert!(all.is_sorted_by(|a, b| a.weight.cost <= b.weight.cost));
    assert_eq!(found.hits(Some(2)), all[..2]);
    let mut paths = 0;
    found
        .each_path(|_, words| {
            paths += 1;
            assert!(
                words.len() == 3 && words[0] == EPSILON && words[2] == EPSILON && [1, 2].contains(&words[1])
            );
            Ok::<(), ()>(())
        })
        .unwrap();
    assert_eq!(paths, hits(&union, &[1]).len() + hits(&union, &[2]).len());
}

#[test]
fn indices_that_are_cut_or_damaged() {
    let (lattice, _) = random_lattice(&mut fastrand::Rng::with_seed(5));
    let limited = IndexOptions { max_states_scale: 0.2, ..OPTIONS };
    assert_eq!(index_lattice(&lattice, 1, limited).unwrap().stopped_at, Some(1));
    let whole = index_lattice(&lattice, 1, IndexOptions { allow_partial: false, ..limited }).unwrap();
    assert_eq!(
        hits(&whole.index, &[1]).len(),
        hits(&index_lattice(&lattice, 1, OPTIONS).unwrap().index, &[1]).len()
    );
    assert!(index_lattice(&lattice, 0, OPTIONS).unwrap_err().to_string().contains("above 0, found 0"));
    assert!(index_lattice(&CompactLattice::default(), 1, OPTIONS).is_err());
    // A cycle without words in a keyword, and a cycle in an index.
    let searcher = Searcher::new(whole.index.clone());
    assert!(searcher.search(&text::parse("0 0 0 0 1\n0 1 1 1\n1 0\n").unwrap()).is_err());
    let mut cyclic = whole.index;
    let back = Arc { ilabel: 1, olabel: 0, weight: HitWeight::one(), next: 0 };
    cyclic.states[0].arcs.push(back);
    assert!(optimize(&cyclic, None).is_err());
    assert!(hits(&Index::default(), &[1]).is_empty());
}

#[test]
fn words_that_sound_alike() {
    // Word 9 is the phones 1 2; 2 may be taken for 3 at a cost of 0.75. Word 5 is 1 2, word 6 is 1 3, word 7 is 3.
    let phones = text::parse("0 1 9 1 0\n1 0 0 2 0\n1 0 0 3 0.75\n0 0\n").unwrap();
    let mut words = text::parse("0 1 1 5 0\n0 2 1 6 0.25\n0 0 3 7 0\n1 0 2 0 0\n2 0 3 0 0\n0 0\n").unwrap();
    kaldi_fst::ops::sort_arcs(&mut words, kaldi_fst::ops::Side::Input);
    let all = ProxyOptions {
        phone_beam: None,
        phone_nbest: None,
        proxy_beam: None,
        proxy_nbest: None,
        most_states: None,
    };
    let listed = |options: ProxyOptions, keyword: &[i32]| {
        let found = proxies(keyword, &phones, &words, options).unwrap();
        let mut strings = Vec::new();
        each_string(&found, Strings::All, |labels, cost| {
            strings.push((labels.to_vec(), (cost * 100.0).round() as i32));
            Ok(())
        })
        .unwrap();
        strings
    };
    assert_eq!(listed(all, &[9]), [(vec![5], 0), (vec![6], 100)]);
    assert_eq!(listed(ProxyOptions { proxy_beam: Some(0.5), ..all }, &[9]), [(vec![5], 0)]);
    assert_eq!(
        listed(ProxyOptions { phone_nbest: Some(1), proxy_nbest: Some(5), ..all }, &[9]),
        [(vec![5], 0)]
    );
    let two = ProxyOptions { phone_beam: Some(2.0), proxy_beam: Some(2.0), proxy_nbest: Some(3), ..all };
    assert_eq!(listed(two, &[9, 9]), [(vec![5, 5], 0), (vec![5, 6], 100), (vec![6, 5], 100)]);
    assert!(listed(all, &[8]).is_empty());
    let unsorted = text::parse("0 1 3 5\n0 1 1 6\n1 0\n").unwrap();
    assert!(proxies(&[9], &phones, &unsorted, ProxyOptions { proxy_beam: Some(1.0), ..all }).is_err());
}

fn terms(name: &str) -> Vec<Term> {
    let file = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let term = |line: &str| {
        let mut fields = line.split_whitespace();
        let keyword = fields.next().unwrap();
        Term::new(keyword, &fields.map(|field| field.parse().unwrap()).collect::<Vec<f64>>()).unwrap()
    };
    text.lines().map(term).collect()
}

#[test]
fn term_weighted_values() {
    let options = ScoreOptions {
        cost_fa: 0.1,
        value_corr: 1.0,
        prior_kw_probability: 1e-4,
        score_threshold: 0.5,
        sweep_step: 0.05,
        trials: 43.5,
    };
    let (references, hits) = (terms("ref.txt"), terms("hyp.best.txt"));
    let alignment = align(&references, &hits, 50);
    assert_eq!((alignment.hits, alignment.pairs.len()), (75, 75));
    let Values { actual, supremum, maximum, maximum_threshold, optimum } = values(&alignment, options);
    let names = ["ATWV", "STWV", "MTWV", "MTWV threshold", "OTWV"];
    let found = [actual, supremum, maximum, maximum_threshold, optimum];
    let lines: String =
        names.iter().zip(found).map(|(name, value)| format!("aproximate {name} = {value:.4}\n")).collect();
    let expected = format!("{}/tests/data/atwv.best.out", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(lines, std::fs::read_to_string(expected).unwrap());
    assert_eq!(values(&align(&[], &hits, 50), options), Values::default());
    assert!(Term::new("K", &[1.0, 2.0, 3.0]).is_none());
    // By hand: one of two references is found, and one hit is wrong.
    let term =
        |begin: i32, score| Term { keyword: "K".to_owned(), utterance: 1, begin, end: begin + 10, score };
    let (references, hits) = ([term(0, 1.0), term(500, 1.0)], [term(5, 0.9), term(100, 0.8), term(300, 0.1)]);
    let by_hand = align(&references, &hits, 20);
    let decisions: Vec<String> =
        by_hand.pairs.iter().map(|pair| pair.line(100.0, |value| value.to_string())).collect();
    assert_eq!(decisions[0], ",1,1,K,K,0,0.1,0.05,0.15,0.9,YES,CORR");
    assert_eq!(decisions[1], ",1,1,K,K,,,1,1.1,0.8,YES,FA");
    assert_eq!(decisions[2], ",1,1,K,K,,,3,3.1,0.1,NO,CORR!DET");
    assert_eq!(decisions[3], ",1,1,K,K,5,5.1,,,,,MISS");
    let found = values(&by_hand, ScoreOptions { trials: 1002.0, ..options }).actual;
    assert!((found - (0.5 - 999.9 / 1000.0)).abs() < 1e-5, "{found}");
}
