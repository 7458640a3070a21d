//! Prints the counts of a corpus, its first utterances and its faults: `cargo run --example look FOLDER [TEXT-EXTENSION]`.

use kaldi_corpus::{Check, Input, Options, read};

fn main() -> kaldi_corpus::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, extensions @ ..] = arguments.as_slice() else { return Ok(()) };
    let options = Options {
        text_extensions: extensions.to_vec(),
        check: Check::Samples,
        threads: 2,
        ..Options::default()
    };
    let corpus = read(&Input::Path(place.into()), &options)?;
    println!("{}\nrates: {:?}, speakers: {}", corpus.counts(), corpus.rates(), corpus.speakers().len());
    for utterance in corpus.utterances.iter().take(3) {
        println!("{utterance:?}");
    }
    for fault in corpus.faults.iter().take(20) {
        println!("{fault}");
    }
    Ok(())
}
