//! Models as safetensors files, and tensors for models.

use std::sync::LazyLock;

use nnet3_export::safetensors::{ModelFile, NameMap, assign, export, restore};

use super::networks::{NETWORKS, network};
use super::written;

fn model(config: &str) -> ModelFile {
    let bytes = written(true, |w| network(config).write(w).expect("in memory"));
    ModelFile::read("corpus", bytes).expect("a model")
}

/// Round trip: a model restored from a file is exported and restored again unchanged. Bytes that are no whole model may
/// still have values for one.
pub fn read_safetensors(input: &[u8]) {
    static MODEL: LazyLock<ModelFile> = LazyLock::new(|| model(NETWORKS[1]));
    if let Ok(bytes) = restore(input) {
        let model = ModelFile::read("input", bytes.clone()).expect("it has been read");
        let again = export(&model).and_then(|file| restore(&file)).expect("a model goes both ways");
        assert!(again == bytes, "other bytes have come back");
    }
    let _ = NameMap::parse(&String::from_utf8_lossy(input));
    let strict = input.len().is_multiple_of(2);
    let _ = assign(&MODEL, input, &NameMap::default(), strict);
}

pub fn corpus_safetensors() -> Vec<Vec<u8>> {
    let names = b"# theirs, ours\nfc.weight  a.linear_params\nfc.bias -\n".to_vec();
    let files = NETWORKS.iter().map(|config| export(&model(config)).expect("a model fits"));
    files.chain([names]).collect()
}
