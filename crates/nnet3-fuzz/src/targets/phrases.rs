//! Files of phrases, and the language models that are estimated of them.

use std::collections::HashMap;

use kaldi_fst::EPSILON;
use nnet3_online::phrases::{bigrams, lines};

pub fn read_phrases(input: &[u8]) {
    let Ok(lines) = lines("phrases", input) else { return };
    assert!(lines.is_sorted_by(|a, b| a.0 < b.0), "numbers of lines go up");
    let mut numbers: HashMap<&str, i32> = HashMap::new();
    let mut sentences = Vec::new();
    for (_, text) in &lines {
        let mut sentence = Vec::new();
        for word in text.split_ascii_whitespace() {
            let next = numbers.len() as i32 + 1;
            sentence.push(*numbers.entry(word).or_insert(next));
        }
        assert!(!sentence.is_empty(), "lines without words are left out");
        sentences.push(sentence);
    }
    // Each phrase is a path of the language model, all of whose costs are those of probabilities.
    let fst = bigrams(&sentences);
    for sentence in &sentences {
        let mut state = fst.state(0);
        for &word in sentence {
            let arc = state.arcs.iter().find(|arc| arc.ilabel == word).expect("an arc with the word");
            state = fst.state(arc.next);
        }
        assert!(state.final_weight.is_finite(), "a phrase may end");
    }
    for state in &fst.states {
        let arcs = state.arcs.iter().map(|arc| f64::from(-arc.weight).exp());
        let total = arcs.sum::<f64>() + f64::from(-state.final_weight).exp();
        let has_backoff = state.arcs.iter().any(|arc| arc.ilabel == EPSILON);
        let expected = if has_backoff { 1.0 } else { 0.5 };
        assert!(sentences.is_empty() || (total - expected).abs() < 1e-3, "{total}");
    }
}

pub fn corpus_phrases() -> Vec<Vec<u8>> {
    [
        "turn on the light\nturn off the light\n[unk]\n",
        "\u{feff}eins zwei\r\n\r\nzwei\tdrei\r\n",
        "a a a a\na b a\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
