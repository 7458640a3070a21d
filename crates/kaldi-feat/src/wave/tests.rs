//! Wave files made by the tests, with unusual headers and orders of chunks.

use kaldi_io::SequentialReader;

use super::*;

struct File {
    big_endian: bool,
    channels: u16,
    extensible: bool,
    riff_size: Option<u32>,
    samples: usize,
}

const PLAIN: File = File { big_endian: false, channels: 1, extensible: false, riff_size: None, samples: 800 };

impl File {
    fn bytes(&self) -> Vec<u8> {
        let u16 = |x: u16| if self.big_endian { x.to_be_bytes() } else { x.to_le_bytes() };
        let u32 = |x: u32| if self.big_endian { x.to_be_bytes() } else { x.to_le_bytes() };
        let mut format = [u16(if self.extensible { EXTENSIBLE } else { PCM }), u16(self.channels)].concat();
        let block = 2 * self.channels;
        format.extend([u32(8000), u32(8000 * u32::from(block))].concat());
        format.extend([u16(block), u16(16)].concat());
        if self.extensible {
            format.extend(u16(22));
            format.extend([0; 6]);
            format.extend(u16(PCM));
            format.extend(GUID_TAIL);
        }
        let mut body = b"WAVEJUNK".to_vec();
        body.extend([&u32(3)[..], b"abcfmt ", &u32(format.len() as u32), &format].concat());
        body.extend([&b"LIST"[..], &u32(2), b"xydata"].concat());
        let data = vec![1; self.samples * usize::from(block)];
        body.extend(u32(data.len() as u32));
        body.extend(data);
        let tag = if self.big_endian { b"RIFX" } else { b"RIFF" };
        [&tag[..], &u32(self.riff_size.unwrap_or(body.len() as u32)), &body].concat()
    }
}

fn both(bytes: &[u8]) -> (Result<WaveInfo>, Result<WaveInfo>) {
    let reader = || KaldiReader::from_bytes("f", bytes.to_vec());
    (WaveHeaderHolder::read(&mut reader()), WaveDataHolder::read(&mut reader()))
}

#[test]
fn durations() {
    for file in [
        PLAIN,
        File { big_endian: true, ..PLAIN },
        File { channels: 2, ..PLAIN },
        File { extensible: true, ..PLAIN },
        File { extensible: true, big_endian: true, ..PLAIN },
    ] {
        let (header, data) = both(&file.bytes());
        assert_eq!(header.unwrap().duration(), 0.1);
        assert_eq!(data.unwrap().duration(), 0.1);
    }
}

#[test]
fn streamed_and_cut_files() {
    let (header, data) = both(&File { riff_size: Some(u32::MAX), ..PLAIN }.bytes());
    for info in [header.unwrap(), data.unwrap()] {
        assert_eq!((info.samples, info.is_streamed), (800, true));
    }
    let whole = PLAIN.bytes();
    let (header, data) = both(&whole[..whole.len() - 800]);
    assert_eq!((header.unwrap().samples, data.unwrap().samples), (800, 400));
}

#[test]
fn samples_and_what_is_written() {
    let read = |bytes: Vec<u8>| WaveHolder::read(&mut KaldiReader::from_bytes("f", bytes));
    let wave = read(File { channels: 2, samples: 3, ..PLAIN }.bytes()).unwrap();
    assert_eq!((wave.sample_rate, wave.channels, wave.len()), (8000, 2, 3));
    assert_eq!((&wave.samples, wave.complaint.as_ref()), (&vec![0x0101; 6], None));
    let written = Wave { samples: (-3..3).map(|x| 10_000 * x).collect(), ..wave };
    let mut w = KaldiWriter::in_memory(true);
    WaveHolder::write(&mut w, &written).unwrap();
    let bytes = w.into_bytes();
    assert_eq!((bytes.len(), bytes[40]), (44 + 12, 12));
    let again = read(bytes.clone()).unwrap();
    assert_eq!(again, written);
    assert_eq!(again.channel(1), [-20_000.0, 0.0, 20_000.0]);
    // Cut within the second sample of the right channel.
    let cut = read(bytes[..44 + 7].to_vec()).unwrap();
    assert_eq!(cut.channel(0), [-30_000.0]);
    assert!(cut.complaint.as_ref().unwrap().contains("Expected 12 bytes"), "{cut:?}");
    let mut stream = WaveStream::new(KaldiReader::from_bytes("f", bytes.clone())).unwrap();
    let mut pieces = || stream.read(2).unwrap();
    assert_eq!((pieces(), pieces(), pieces()), (vec![-30_000.0, -10_000.0], vec![10_000.0], vec![]));
    assert_eq!(stream.complaint(), None);
    let mut stream = WaveStream::new(KaldiReader::from_bytes("f", bytes[..44 + 7].to_vec())).unwrap();
    assert_eq!((stream.read(2).unwrap(), stream.read(2).unwrap()), (vec![-30_000.0], vec![]));
    assert!(stream.complaint().unwrap().contains("Expected 12 bytes"));
    let big = File { big_endian: true, samples: 2, ..PLAIN }.bytes();
    assert_eq!(read(big).unwrap().samples, [0x0101; 2]);
}

#[test]
fn other_kinds_of_files_are_named() {
    let error = |bytes: &[u8]| both(bytes).0.unwrap_err().to_string();
    for (bytes, name) in [(&b"fLaC\0\0"[..], "FLAC"), (b"OggS\0", "Ogg"), (b"NIST_1A", "NIST SPHERE")] {
        assert!(error(bytes).contains(name), "{}", error(bytes));
    }
    let mut compressed = PLAIN.bytes();
    let at = compressed.windows(4).position(|w| w == b"fmt ").unwrap() + 8;
    compressed[at] = 7;
    assert!(error(&compressed).contains("format 7 (mu-law)"), "{}", error(&compressed));
    assert!(error(b"").contains("f"), "{}", error(b""));
}

#[test]
fn what_is_refused() {
    let good = PLAIN.bytes();
    let at = good.windows(4).position(|w| w == b"fmt ").unwrap() + 8;
    for (place, value, why) in
        [(0, b'X', "RIFF"), (8, b'X', "WAVE"), (at, 3, "format 3"), (at + 14, 8, "8 bits")]
    {
        let mut bytes = good.clone();
        bytes[place] = value;
        let error = both(&bytes).0.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let mut rate = good.clone();
    rate[at + 8] ^= 1;
    assert!(both(&rate).0.unwrap_err().to_string().contains("do not fit"));
    assert!(both(&good[..30]).0.is_err());
    assert!(both(&File { samples: 0, ..PLAIN }.bytes()).1.unwrap_err().to_string().contains("no sound"));
}

/// A file with 32-bit floating-point samples, one of them NaN, through all readers.
#[test]
fn other_codings() {
    let mut bytes = Vec::new();
    for value in [0.25_f32, f32::NAN, -0.25, 0.0] {
        bytes.extend(value.to_le_bytes());
    }
    let mut format = [3_u16.to_le_bytes(), 2_u16.to_le_bytes()].concat();
    format.extend([8000_u32.to_le_bytes(), 64_000_u32.to_le_bytes()].concat());
    format.extend([8_u16.to_le_bytes(), 32_u16.to_le_bytes(), 0_u16.to_le_bytes()].concat());
    let file = riff(&[chunk(b"fmt ", &format), chunk(b"data", &bytes)]);
    let wave = WaveHolder::read(&mut KaldiReader::from_bytes("f", file.clone())).unwrap();
    assert_eq!((wave.channels, wave.samples), (2, vec![8192, 0, -8192, 0]));
    assert_eq!(wave.complaint.unwrap(), "1 samples are NaN or infinite; NaN is taken for silence");
    let (header, data) = both(&file);
    assert_eq!((header.unwrap().samples, data.unwrap().samples), (2, 2));
    let mut stream = WaveStream::new(KaldiReader::from_bytes("f", file)).unwrap();
    assert_eq!(stream.read(100).unwrap(), [8192.0, -8192.0]);
}

/// A chunk with its byte of padding.
fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = [&name[..], &(body.len() as u32).to_le_bytes(), body].concat();
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    bytes
}

fn format() -> Vec<u8> {
    chunk(b"fmt ", b"\x01\0\x01\0\x40\x1F\0\0\x80\x3E\0\0\x02\0\x10\0")
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = [b"WAVE".to_vec(), chunks.concat()].concat();
    [&b"RIFF"[..], &(body.len() as u32).to_le_bytes(), &body].concat()
}

/// Samples and complaint, by all readers.
fn by_all_readers(bytes: &[u8]) -> (Vec<i16>, Option<String>) {
    let wave = WaveHolder::read(&mut KaldiReader::from_bytes("f", bytes.to_vec())).unwrap();
    let folder = std::env::temp_dir().join(format!("wave-{}-{:p}", std::process::id(), bytes));
    std::fs::write(&folder, bytes).unwrap();
    let file = || KaldiReader::open_raw(folder.to_str().unwrap()).unwrap();
    assert_eq!(WaveHolder::read(&mut file()).unwrap(), wave);
    for info in [WaveHeaderHolder::read(&mut file()).unwrap(), WaveDataHolder::read(&mut file()).unwrap()] {
        assert_eq!((info.samples, &info.complaint), (wave.len() as u64, &wave.complaint));
    }
    std::fs::remove_file(&folder).unwrap();
    let mut stream = WaveStream::new(KaldiReader::from_bytes("f", bytes.to_vec())).unwrap();
    let mut streamed = Vec::new();
    loop {
        let piece = stream.read(2).unwrap();
        if piece.is_empty() {
            break;
        }
        streamed.extend(piece);
    }
    assert_eq!((streamed, stream.complaint()), (wave.channel(0), wave.complaint.clone()));
    (wave.samples, wave.complaint)
}

#[test]
fn several_chunks_of_samples() {
    let one = [1, 0, 2, 0, 3, 0];
    let two = [4, 0, 5, 0];
    let both = (vec![1, 2, 3, 4, 5], None);
    let list = chunk(b"LIST", b"INFOodd");
    let data = |bytes: &[u8]| chunk(b"data", bytes);
    assert_eq!(by_all_readers(&riff(&[format(), data(&one), data(&two)])), both);
    assert_eq!(by_all_readers(&riff(&[format(), data(&one), list.clone(), data(&two), list.clone()])), both);
    // Odd chunks before the samples, with and without padding.
    let expected = (vec![1, 2, 3], None);
    assert_eq!(by_all_readers(&riff(&[list.clone(), format(), list.clone(), data(&one)])), expected);
    let unpadded = list[..list.len() - 1].to_vec();
    assert_eq!(by_all_readers(&riff(&[format(), unpadded, data(&one)])), expected);
    // Chunks behind the samples, and behind the end that the header has.
    assert_eq!(by_all_readers(&riff(&[format(), data(&one), list.clone()])), expected);
    assert_eq!(by_all_readers(&[riff(&[format(), data(&one)]), list].concat()), expected);
}

#[test]
fn sizes_that_are_too_small() {
    let mut bytes = riff(&[format(), chunk(b"data", &[1, 0, 2, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])]);
    bytes[40] = 4;
    let (samples, complaint) = by_all_readers(&bytes);
    assert_eq!(samples, [1, 2]);
    let complaint = complaint.unwrap();
    assert!(complaint.starts_with("6 bytes behind the samples are not used"), "{complaint}");
    // Bytes that happen to look like the name of a chunk, with a size beyond the end.
    bytes.truncate(48);
    bytes.extend(b"abcdefghij");
    assert!(by_all_readers(&bytes).1.unwrap().starts_with("10 bytes behind"));
}

#[test]
fn a_second_file_behind_the_first_is_said() {
    let one = riff(&[format(), chunk(b"data", &[1, 0, 2, 0])]);
    let (samples, complaint) = by_all_readers(&[one.clone(), one.clone()].concat());
    assert_eq!(samples, [1, 2]);
    let complaint = complaint.unwrap();
    assert!(complaint.starts_with("another wave file of 48 bytes"), "{complaint}");
}

#[test]
fn files_that_follow_can_be_read() {
    let one = riff(&[format(), chunk(b"data", &[1, 0, 2, 0])]);
    let two = riff(&[format(), chunk(b"data", &[3, 0])]);
    let reader = KaldiReader::from_bytes("f", [one, two].concat());
    let mut first = WaveStream::one_of_several(reader).unwrap();
    assert_eq!(first.read_all(100).unwrap(), [1, 2]);
    assert!(first.read_all(100).unwrap().is_empty() && first.follows() && first.complaint().is_none());
    let mut second = WaveStream::one_of_several(first.into_next()).unwrap();
    assert_eq!(second.read_all(100).unwrap(), [3]);
    assert!(second.read_all(100).unwrap().is_empty() && !second.follows());
}

#[test]
fn sizes_of_64_bits() {
    for tag in [b"RF64", b"BW64"] {
        let mut bytes = riff(&[
            chunk(b"ds64", &[&70u64.to_le_bytes()[..], &4u64.to_le_bytes(), &[0; 12]].concat()),
            format(),
            chunk(b"data", &[7, 0, 8, 0]),
        ]);
        bytes[..4].copy_from_slice(tag);
        bytes[4..8].fill(0xff);
        let size = bytes.len() - 8;
        bytes[size..size + 4].fill(0xff);
        assert_eq!(by_all_readers(&bytes), (vec![7, 8], None));
        // A sound of five gigabytes, of which only the header exists.
        bytes[28..36].copy_from_slice(&5_000_000_000u64.to_le_bytes());
        let info = WaveHeaderHolder::read(&mut KaldiReader::from_bytes("f", bytes.clone())).unwrap();
        assert_eq!(info.samples, 2_500_000_000);
        bytes[12] = b'x';
        let error = WaveHolder::read(&mut KaldiReader::from_bytes("f", bytes)).unwrap_err().to_string();
        assert!(error.contains("ds64"), "{error}");
    }
}

/// Chunks behind the samples do not hide the next key.
#[test]
fn waves_in_archives() {
    let wave = |sample: u8| {
        riff(&[format(), chunk(b"data", &[sample, 0]), chunk(b"LIST", b"odd"), chunk(b"data", &[sample, 1])])
    };
    let mut archive = [&b"a "[..], &wave(1), b"b ", &wave(2)].concat();
    // The size of the first file is too large by 8, as some programs write it.
    archive[2 + 4] += 8;
    let path = std::env::temp_dir().join(format!("waves-{}.ark", std::process::id()));
    std::fs::write(&path, archive).unwrap();
    let mut reader = SequentialReader::<WaveHolder>::open(&format!("ark:{}", path.display())).unwrap();
    let mut next = || reader.next().unwrap().map(|(key, wave)| (key, wave.samples, wave.complaint));
    assert_eq!(next(), Some(("a".to_owned(), vec![1, 257], None)));
    assert_eq!(next(), Some(("b".to_owned(), vec![2, 258], None)));
    assert_eq!(next(), None);
    std::fs::remove_file(&path).unwrap();
}

/// Archives of kaldiio: `AUDIO`, the size, and a file of sound.
#[test]
fn sound_with_a_size_before_it() {
    let entry = |sound: &[u8]| [&b"AUDIO\x02"[..], &(sound.len() as u16).to_le_bytes(), sound].concat();
    let wave = |sample: u8| riff(&[format(), chunk(b"data", &[sample, 0]), chunk(b"LIST", b"odd")]);
    let archive = [&b"a "[..], &entry(&wave(1)), b"b ", &entry(&wave(2)), b"c ", &wave(3)].concat();
    let path = std::env::temp_dir().join(format!("audio-{}.ark", std::process::id()));
    std::fs::write(&path, &archive).unwrap();
    let name = format!("ark:{}", path.display());
    let mut reader = SequentialReader::<WaveHolder>::open(&name).unwrap();
    let mut lengths = SequentialReader::<WaveDataHolder>::open(&name).unwrap();
    for (key, sample) in [("a", 1), ("b", 2), ("c", 3)] {
        let (found, wave) = reader.next().unwrap().unwrap();
        assert_eq!((found.as_str(), wave.samples), (key, vec![sample]));
        assert_eq!(lengths.next().unwrap().unwrap().1.samples, 1);
    }
    assert!(reader.next().unwrap().is_none() && lengths.next().unwrap().is_none());
    // By an offset, as a script has it.
    let mut r = KaldiReader::open_raw(&format!("{}:2", path.display())).unwrap();
    assert_eq!(WaveHeaderHolder::read(&mut r).unwrap().samples, 1);
    std::fs::remove_file(&path).unwrap();

    let error = |bytes: &[u8]| {
        WaveHolder::read(&mut KaldiReader::from_bytes("f", bytes.to_vec())).unwrap_err().to_string()
    };
    assert!(error(&entry(b"fLaC\x80\0\0\0")).contains("archive of kaldiio has a FLAC file"));
    assert!(error(b"AUDIO\x09 ").contains("1 to 8 bytes of a size"));
    let cut = entry(&wave(1));
    assert!(error(&cut[..cut.len() - 3]).contains("ends within"), "{}", error(&cut[..cut.len() - 3]));
    let mut small = entry(&wave(1));
    small[6] = 20;
    assert!(error(&small).contains("longer than the size"), "{}", error(&small));
}
