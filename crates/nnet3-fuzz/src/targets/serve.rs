//! Messages of the clients of a server.

use nnet3_online::SampleBytes;
use nnet3_serve::protocol::{self, Message};

pub fn read_message(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        // (Any two pieces have the samples of the whole.)
        let (first, second) = input.split_at(input.len() / 3);
        let mut bytes = SampleBytes::default();
        let mut samples = bytes.take(first, i16::from_le_bytes);
        samples.extend(bytes.take(second, i16::from_le_bytes));
        assert_eq!(samples, SampleBytes::default().take(input, i16::from_le_bytes));
        assert!(samples.len() == input.len() / 2 && samples.iter().all(|sample| sample.abs() <= 32768.0));
        return;
    };
    match Message::parse(text) {
        Ok(Message::Config(config)) => {
            assert!(config.sample_rate.is_none_or(|rate| protocol::RATES.contains(&rate)));
            assert!(config.max_alternatives.is_none_or(|most| most as u64 <= protocol::MOST_ALTERNATIVES));
            assert!(config.phrase_list.is_none_or(|list| list.len() <= protocol::MOST_PHRASES));
        }
        Ok(Message::Reset | Message::Eof) => {}
        Err(fault) => assert!(fault.0.len() < 1000 && !fault.0.contains(char::is_control), "{fault}"),
    }
}

pub fn corpus_messages() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"config" : {"sample_rate" : 16000, "words" : 1, "max_alternatives" : 3}}"#,
        r#"{"config": {"phrase_list": ["one two", "[unk]"], "sample_rate": 8000.0, "words": false}}"#,
        r#"{"config": {"phrase_list": null, "model": "m", "max_alternatives": 0}}"#,
        r#"{"config": {"phrase_list": "[\"one\"]", "sample_rate": "8000", "words": "no", "x": {}}}"#,
        r#"{"eof" : 1}"#,
        r#"{"reset" : true}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
