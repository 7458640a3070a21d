//! Files of other programs than Kaldi's: HTK, Sphinx and wave files; and statistics of features.

use kaldi_feat::htk::HtkHolder;
use kaldi_feat::lda::LdaStats;
use kaldi_feat::sphinx::SphinxHolder;
use kaldi_feat::wave::{WaveDataHolder, WaveHeaderHolder, WaveHolder, WaveStream};
use kaldi_io::holder::Holder;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiWriter};

use super::{both, reader};

pub fn read_htk(input: &[u8]) {
    let _ = HtkHolder::read(&mut reader(input));
}

pub fn corpus_htk() -> Vec<Vec<u8>> {
    let file = |kind: u16| {
        let mut bytes = [&2i32.to_be_bytes()[..], &100_000i32.to_be_bytes(), &8i16.to_be_bytes()].concat();
        bytes.extend(kind.to_be_bytes());
        (0..4u8).for_each(|i| bytes.extend(f32::from(i).to_be_bytes()));
        bytes.extend(*b"xy");
        bytes
    };
    [6, 6 | 0o10000, 9].map(file).into()
}

pub fn read_sphinx(input: &[u8]) {
    let _ = SphinxHolder::read(&mut reader(input));
}

pub fn corpus_sphinx() -> Vec<Vec<u8>> {
    let file = |frames: i32| {
        let mut bytes = (13 * frames).to_be_bytes().to_vec();
        (0..13 * frames).for_each(|i| bytes.extend((i as f32).to_be_bytes()));
        bytes
    };
    [0, 1, 2].map(file).into()
}

pub fn read_wave(input: &[u8]) {
    let _ = WaveHeaderHolder::read(&mut reader(input)).map(|wave| wave.duration());
    let _ = WaveDataHolder::read(&mut reader(input)).map(|wave| wave.duration());
    let whole = WaveHolder::read(&mut reader(input)).map(|wave| (wave.channel(0), wave.complaint));
    if let Ok(mut stream) = WaveStream::new(reader(input)) {
        let mut samples = Vec::new();
        while let Ok(piece) = stream.read(3)
            && !piece.is_empty()
        {
            samples.extend(piece);
        }
        assert!(whole.is_ok_and(|(channel, _)| channel == samples) || samples.is_empty());
    }
}

/// Wave files of many forms. The 16-bit mono files have a chunk before the data, unknown lengths, the extensible
/// format, two chunks of samples, or odd chunks. Others have sizes that are too small, or sizes of 64 bits. Other
/// files are of other kinds.
pub fn corpus_wave() -> Vec<Vec<u8>> {
    let file = |order: &[u8; 4], format: &[u8], extra: &[u8], data_length: u32| {
        let samples = [0u8, 1, 2, 3, 4, 5, 6, 7];
        let mut body = b"WAVEfmt ".to_vec();
        body.extend((format.len() as u32).to_le_bytes());
        body.extend(format);
        body.extend(extra);
        body.extend(*b"data");
        body.extend(data_length.to_le_bytes());
        body.extend(samples);
        [&order[..], &(body.len() as u32).to_le_bytes(), &body].concat()
    };
    let plain = b"\x01\0\x01\0\x40\x1F\0\0\x80\x3E\0\0\x02\0\x10\0";
    let extensible = b"\xFE\xFF\x01\0\x40\x1F\0\0\x80\x3E\0\0\x02\0\x10\0\x16\0\x10\0\x04\0\0\0\x01\0\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71";
    let mut long = b"RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0\x50\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0".to_vec();
    long.extend([0; 12]);
    long.extend(&file(b"RIFF", plain, b"", u32::MAX)[12..]);
    vec![
        file(b"RIFF", plain, b"LIST\x03\0\0\0abc\0data\x02\0\0\0xy", 8),
        file(b"RIFF", plain, b"data\x03\0\0\0xyz\0LIST\x04\0\0\0abcd", 8),
        file(b"RIFF", plain, b"", 2),
        long,
        b"\0\0\0\x20ftypM4A \0\0\0\0".to_vec(),
        b"OggS\0\x02\0\0\0\0\0\0\0\0OpusHead".to_vec(),
        file(b"RIFF", plain, b"", 8),
        file(b"RIFF", plain, b"LIST\x04\0\0\0abcd", 8),
        file(b"RIFF", plain, b"", u32::MAX),
        file(b"RIFF", plain, b"", 0),
        file(b"RIFF", extensible, b"", 8),
        file(b"RIFX", plain, b"", 8),
    ]
}

pub fn read_lda(input: &[u8]) {
    if let Ok(stats) = LdaStats::read(&mut reader(input)) {
        let _ = (stats.dim(), stats.classes(), stats.count());
        let mut w = KaldiWriter::in_memory(true);
        let _ = stats.write(&mut w);
    }
}

pub fn corpus_lda() -> Vec<Vec<u8>> {
    let mut stats = LdaStats::new(2, 3);
    let vectors = DenseMatrix::from_rows(&[[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [4.0, 1.0, 0.0]]);
    let classes = DenseMatrix::from_rows(&[[1.0, 0.0], [0.0, 1.0], [0.25, 0.75]]);
    stats.add(&vectors, &classes.into(), |weight| weight).expect("vectors and their classes");
    both(|w| stats.write(w).expect("in memory"))
}
