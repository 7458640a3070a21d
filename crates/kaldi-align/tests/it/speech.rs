//! Speech of known phones at known times.

use kaldi_align::Utterance;
use kaldi_io::DenseMatrix;
use kaldi_lang::{Lang, LangOptions, Lexicon, TopologyKind};

pub const LEXICON: &str = "abe a b e\nbad b a d\ncab c a b\ncab k a b\nda d a\ndeck d e k\ne e\n";
pub const DIM: usize = 5;

pub fn lang() -> Lang {
    let (lexicon, _) = Lexicon::parse(LEXICON, "lexicon").unwrap();
    let options = LangOptions { topology: TopologyKind::Hmm, ..LangOptions::default() };
    Lang::new(&lexicon, &options).unwrap()
}

/// The mean of a part (of three) of a phone.
fn mean(phone: &str, part: usize) -> Vec<f32> {
    let seed = phone.bytes().fold(7, |hash, byte| hash * 31 + u64::from(byte));
    let mut numbers = fastrand::Rng::with_seed(seed);
    let phone_mean: Vec<f32> = (0..DIM).map(|_| 6.0 * numbers.f32() - 3.0).collect();
    let mut numbers = fastrand::Rng::with_seed(seed + part as u64 * 1000);
    phone_mean.iter().map(|x| x + 1.5 * (numbers.f32() - 0.5)).collect()
}

/// Phones (`SIL` for silence) with the frames at which they begin and end.
pub type Times = Vec<(String, usize, usize)>;

/// Utterances of random words, with their times. Speakers differ by an offset.
pub fn corpus(lang: &Lang, count: usize, speakers: usize) -> (Vec<Utterance>, Vec<Times>) {
    let mut numbers = fastrand::Rng::with_seed(3);
    let words: Vec<&str> = vec!["abe", "bad", "cab", "da", "deck", "e"];
    let mut utterances = Vec::new();
    let mut all_times = Vec::new();
    for number in 0..count {
        let speaker = number % speakers;
        let chosen: Vec<&str> =
            (0..numbers.usize(2..5)).map(|_| words[numbers.usize(0..words.len())]).collect();
        let mut phones = vec!["SIL".to_owned()];
        for word in &chosen {
            let entry = lang_phones(word, &mut numbers);
            phones.extend(entry.split(' ').map(str::to_owned));
            if numbers.f32() < 0.3 {
                phones.push("SIL".to_owned());
            }
        }
        if phones.last().is_none_or(|last| last != "SIL") {
            phones.push("SIL".to_owned());
        }
        let (mut data, mut times, mut t) = (Vec::new(), Vec::new(), 0);
        for phone in phones {
            let begin = t;
            for part in 0..3 {
                for _ in 0..numbers.usize(1..4) {
                    let noise =
                        |numbers: &mut fastrand::Rng| (0..6).map(|_| numbers.f32() - 0.5).sum::<f32>() * 0.6;
                    data.extend(mean(&phone, part).iter().map(|x| x + speaker as f32 + noise(&mut numbers)));
                    t += 1;
                }
            }
            times.push((phone, begin, t));
        }
        let features = DenseMatrix { rows: t, cols: DIM, data };
        let words = chosen.iter().map(|word| lang.word(word) as u32).collect();
        utterances.push(Utterance {
            key: format!("utt{number:03}"),
            speaker: format!("speaker{speaker}"),
            features,
            words,
        });
        all_times.push(times);
    }
    (utterances, all_times)
}

fn lang_phones(word: &str, numbers: &mut fastrand::Rng) -> &'static str {
    let prons: Vec<&str> = LEXICON
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|pair| pair.0 == word)
        .map(|pair| pair.1)
        .collect();
    prons[numbers.usize(0..prons.len())]
}
