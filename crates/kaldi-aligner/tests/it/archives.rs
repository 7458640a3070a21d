//! Models in the form of the Montreal Forced Aligner's archives give the same times as in folders.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use kaldi_align::features::Normalized;
use kaldi_aligner::Model;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::{Value, json};

use crate::sounds::{Made, phones};

/// Packs files of a folder under these names, with this `meta.json`.
fn pack(folder: &Path, names: &[(&str, &str)], meta: &Value) -> std::path::PathBuf {
    let mut out = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut out);
    let mut put = |name: &str, content: &[u8]| {
        let (mut entry, config) = archive
            .new_file(&format!("english/{name}"))
            .compression_method(CompressionMethod::Deflate)
            .start()
            .unwrap();
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        writer.write_all(content).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    };
    for (from, to) in names {
        put(to, &std::fs::read(folder.join(from)).unwrap());
    }
    put("meta.json", meta.to_string().as_bytes());
    archive.finish().unwrap();
    let file = folder.join("model.zip");
    std::fs::write(&file, out).unwrap();
    file
}

/// The settings that a version of that aligner writes for these sounds.
fn meta(of: Value) -> Value {
    let mut features = json!({
        "feature_type": "mfcc", "use_energy": false, "frame_shift": 10, "snip_edges": false, "dither": 0.0, "energy_floor": 0.0,
        "num_coefficients": 13, "num_mel_bins": 23, "cepstral_lifter": 22, "preemphasis_coefficient": 0.97, "low_frequency": 20,
        "high_frequency": 0, "sample_frequency": 8000, "allow_downsample": true, "allow_upsample": true, "use_pitch": false,
        "use_voicing": false, "uses_cmvn": true, "uses_deltas": true, "uses_splices": false, "uses_voiced": false,
        "uses_speaker_adaptation": false,
    });
    for (name, value) in of.as_object().unwrap() {
        features[name] = value.clone();
    }
    json!({
        "version": "2.2.17", "architecture": "gmm-hmm", "features": features, "oov_phone": "SPN", "optional_silence_phone": "SIL",
        "silence_probability": 0.5, "phones": ["a", "b", "c", "d"],
    })
}

#[test]
fn derivatives_give_the_same_times() {
    let made = Made::new(12);
    let model = made.monophones();
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("model");
    model.save(&saved).unwrap();
    let names = [("final.mdl", "final.mdl"), ("tree", "tree"), ("phones.txt", "phones.txt")];
    let packed = Model::open(&pack(&saved, &names, &meta(json!({})))).unwrap();
    let expected = phones(&made.align(&model));
    assert_eq!(phones(&made.align(&Model::open(&saved).unwrap())), expected);
    assert_eq!(phones(&made.align(&packed)), expected);
    // A model that was packed and is saved again keeps what the archive says of silence.
    let again = folder.path().join("again");
    packed.save(&again).unwrap();
    let opened = Model::open(&again).unwrap();
    assert_eq!((&opened.silence, &opened.features), (&packed.silence, &packed.features));
    assert_eq!(opened.silence.phone.as_deref(), Some("SIL"));
}

#[test]
fn settings_of_the_archive_count() {
    let made = Made::new(6);
    let model = made.monophones();
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("model");
    model.save(&saved).unwrap();
    let names = [("final.mdl", "final.mdl"), ("tree", "tree"), ("phones.txt", "phones.txt")];
    let open = |of: Value| Model::open(&pack(&saved, &names, &meta(of)));
    assert_eq!(open(json!({})).unwrap().system.normalized, Normalized::Means);
    assert_eq!(open(json!({"uses_cmvn": false})).unwrap().system.normalized, Normalized::Nothing);
    let says = |of: Value| open(of).unwrap_err().to_string();
    assert!(says(json!({"use_pitch": true})).contains("pitch"));
    assert!(says(json!({"num_coefficients": 20})).contains("cepstra, its features have 20"));
    assert!(says(json!({"uses_splices": true})).contains("uses_splices"));
    assert!(says(json!({"uses_speaker_adaptation": true})).contains("uses_speaker_adaptation"));
}
