//! Files compared with bytes that the reference wrote, and refused files. Comparisons with OpenFst itself are in
//! `tests/interop/test_fst.py`.

use kaldi_fst::store::{FileOrMemory, FlatOrNgrams};
use kaldi_fst::{Arc, FlatFst, Fst, FstHolder, MappedFst, State, store, text};
use kaldi_io::holder::Holder;
use kaldi_io::{KaldiReader, KaldiWriter};

/// 0→1 (label 1, weight .25), 1→2 (label 2), final 2, as supervision in a binary chain example.
const COMPACT: &[u8] = b"\xD6\xFD\xB2\x7E\x10\0\0\0compact_acceptor\x08\0\0\0standard\x02\0\0\0\0\0\0\0\
    \x01\0\x95\x5A\x69\x95\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\
    \0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\
    \x01\0\0\0\0\0\x80\x3E\x01\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\xFF\xFF\xFF\xFF\0\0\0\0\xFF\xFF\xFF\xFF";

/// 0→1 (label 1, weight .25), final(1) = .5.
const VECTOR: &[u8] = b"\xD6\xFD\xB2\x7E\x06\0\0\0vector\x08\0\0\0standard\x02\0\0\0\0\0\0\0\
    \x03\0\x81\x5A\x69\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\x80\x7F\x01\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\x80\x3E\x01\0\0\0\0\0\0\x3F\0\0\0\0\0\0\0\0";

fn binary(bytes: &[u8]) -> kaldi_io::Result<Fst> {
    let reader = || {
        let mut r = KaldiReader::from_bytes("file", bytes.to_vec());
        r.set_binary(true);
        r
    };
    let fst = store::read(&mut reader());
    // Reading into one array finds the same, and refuses the same.
    let flat = store::read_flat(&mut reader());
    assert_eq!(flat.is_ok(), fst.is_ok());
    if let (Ok(flat), Ok(fst)) = (flat, &fst) {
        assert_eq!(flat, FlatFst::from(fst));
    }
    fst
}

fn written(write: impl FnOnce(&mut KaldiWriter) -> kaldi_io::Result<()>) -> Vec<u8> {
    let mut w = KaldiWriter::in_memory(true);
    write(&mut w).unwrap();
    w.into_bytes()
}

#[test]
fn a_compact_acceptor() {
    let fst = text::parse("0\t1\t1\t1\t0.25\n1\t2\t2\t2\n2\n").unwrap();
    assert_eq!(binary(COMPACT).unwrap(), fst);
    assert_eq!(written(|w| store::write_compact_acceptor(w, &fst)), COMPACT);
}

#[test]
fn a_vector() {
    let fst = text::parse("0\t1\t1\t1\t0.25\n1\t0.5\n").unwrap();
    assert_eq!(binary(VECTOR).unwrap(), fst);
    // We claim more properties than a file that was made arc by arc.
    let ours = written(|w| store::write_vector(w, &fst));
    assert_eq!((&ours[..34], &ours[42..]), (&VECTOR[..34], &VECTOR[42..]));
    let unknown_states = [&VECTOR[..50], &[0xFF; 8], &VECTOR[58..]].concat();
    assert_eq!(binary(&unknown_states).unwrap(), fst);
}

#[test]
fn a_finished_graph() {
    let fst = text::parse("0\t1\t1\t1\t0.25\n0\t2\t0\t3\n1\t0.5\n2\t0\t7\t0\t1.5\n2\n").unwrap();
    for aligned in [false, true] {
        let file = written(|w| store::write_const(w, &fst, aligned));
        assert_eq!(binary(&file).unwrap(), fst);
        // The second state claims an arc of the third one; the last arc leads to a state that there is not.
        let (arcs, padding) = (3 * 16, if aligned { 4 } else { 0 });
        for (from_end, value) in [(arcs + padding + 3 * 20 - 28, 1), (4, 3)] {
            let mut damaged = file.clone();
            let at = file.len() - from_end;
            damaged[at] = value;
            assert!(binary(&damaged).is_err(), "{from_end}");
        }
        assert!(binary(&file[..file.len() - 1]).is_err());
    }
}

/// Reads a graph from a file, which is then removed.
fn graph_in_a_file(name: &str, bytes: &[u8]) -> kaldi_io::Result<FileOrMemory> {
    let path = std::env::temp_dir().join(format!("kaldi-fst-{}-{name}.fst", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let mut r = KaldiReader::open_raw(path.to_str().unwrap()).unwrap();
    r.set_binary(true);
    let graph = store::read_graph(&mut r).map(|(graph, _)| graph);
    std::fs::remove_file(&path).unwrap();
    graph
}

/// All states of a graph that is left in its file.
fn all_states(mapped: &MappedFst) -> Result<Vec<State>, kaldi_fst::Error> {
    let state = |s| {
        let known = mapped.state(s)?;
        let arcs: Vec<Arc> = mapped.arcs(known.arcs.clone()).iter().map(Arc::unpack).collect();
        let last = arcs.iter().rposition(|arc| arc.ilabel == 0);
        let end_of_input_epsilons = known.arcs.start + last.map_or(0, |last| last as u32 + 1);
        assert_eq!(known.end_of_input_epsilons, end_of_input_epsilons, "state {s}");
        let largest = arcs.iter().map(|arc| arc.ilabel).max();
        assert_eq!(known.largest_input_label, largest.unwrap_or(0), "state {s}");
        Ok(State { final_weight: mapped.final_cost(s)?, arcs })
    };
    (0..mapped.num_states() as u32).map(state).collect()
}

/// A graph that stays in its file has the same contents as a graph that is read. If a file cannot be mapped, it is
/// read, or it causes the reader's error. Faults of a state are found at the first visit.
#[test]
fn a_graph_that_stays_in_its_file() {
    let fst = text::parse("0\t1\t1\t1\t0.25\n0\t2\t0\t3\n1\t0.5\n2\t0\t7\t0\t1.5\n2\n").unwrap();
    for aligned in [false, true] {
        let file = written(|w| store::write_const(w, &fst, aligned));
        let FileOrMemory::File(mapped) = graph_in_a_file("whole", &file).unwrap() else {
            panic!("it was not left there")
        };
        assert_eq!((mapped.start(), mapped.num_states()), (fst.start, 3));
        assert_eq!(all_states(&mapped).unwrap(), fst.states);
        // Each byte behind the beginning of the header is changed, and the file is cut behind each.
        for at in 4..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x81;
            for (name, bytes) in [("changed", &damaged[..]), ("cut", &file[..at])] {
                let mut r = KaldiReader::from_bytes("file", bytes.to_vec());
                r.set_binary(true);
                let expected = store::read_flat(&mut r);
                match graph_in_a_file(name, bytes) {
                    Ok(FileOrMemory::File(mapped)) => match (all_states(&mapped), expected) {
                        (Ok(states), Ok(read)) => {
                            assert_eq!(
                                FlatFst::from(&Fst { start: mapped.start(), states }),
                                read,
                                "byte {at} {name}"
                            );
                        }
                        // (The state named in the error differs if the arcs are not in order.)
                        (Err(found), Err(_)) => {
                            let found = found.to_string();
                            assert!(found.starts_with(mapped.name()) && found.contains("state"), "{found}");
                        }
                        (found, expected) => panic!("byte {at} {name}: {found:?}, expected {expected:?}"),
                    },
                    Ok(FileOrMemory::Memory(FlatOrNgrams::Flat(flat))) => {
                        assert_eq!(flat, expected.unwrap(), "byte {at} {name}");
                    }
                    Ok(found) => panic!("byte {at} {name}: {found:?}"),
                    Err(found) => {
                        let why =
                            |e: &kaldi_io::IoError| e.to_string().split_once(", ").unwrap().1.to_owned();
                        assert_eq!(why(&found), why(&expected.unwrap_err()), "byte {at} {name}");
                    }
                }
            }
        }
    }
    let vector = graph_in_a_file("vector", &written(|w| store::write_vector(w, &fst))).unwrap();
    let FileOrMemory::Memory(FlatOrNgrams::Flat(flat)) = vector else { panic!("{vector:?}") };
    assert_eq!(flat, FlatFst::from(&fst));
}

/// The parts of aligned files begin at multiples of 16.
#[test]
fn an_aligned_file_with_symbols() {
    let (header, rest) = COMPACT.split_at(76);
    let (offsets, elements) = rest.split_at(16);
    for (version, flags) in [(2, 4), (1, 0), (2, 7)] {
        let mut file = header.to_vec();
        file[36] = version;
        file[40] = flags;
        for _ in 0..(flags & 3u8).count_ones() {
            file.extend_from_slice(b"\x74\xFB\xB2\x7E\x04\0\0\0name\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0");
            file.extend_from_slice(b"\x03\0\0\0eps\0\0\0\0\0\0\0\0");
        }
        for part in [offsets, elements] {
            file.resize(file.len().next_multiple_of(16), 0);
            file.extend_from_slice(part);
        }
        assert_eq!(binary(&file).unwrap(), binary(COMPACT).unwrap());
    }
}

#[test]
fn text_in_a_table() {
    let fst = binary(VECTOR).unwrap();
    let mut w = KaldiWriter::in_memory(false);
    FstHolder::write(&mut w, &fst).unwrap();
    let text = w.into_bytes();
    assert_eq!(text, b"\n0\t1\t1\t1\t0.25\n1\t0.5\n\n");
    let read = |bytes: &[u8]| FstHolder::read(&mut KaldiReader::from_bytes("table", bytes.to_vec()));
    assert_eq!(read(&text).unwrap(), fst);
    assert_eq!(read(b" \r\n0 1 1 1 0.25\r\n1 0.5\r\n\r\n").unwrap(), fst);
    assert_eq!(read(VECTOR).unwrap(), fst);
    assert_eq!(read(b"\n\n").unwrap(), Fst::default());
}

/// Gaps in the numbers, infinite weights, a start that is not state 0.
#[test]
fn odd_texts() {
    let fst = text::parse("3 1 5 6 -0.5\n3 7 7 7 1e-3\n1 Infinity\n2\n").unwrap();
    assert_eq!((fst.start, fst.states.len(), fst.num_arcs()), (Some(3), 8, 2));
    assert_eq!(fst.state(3).arcs[0], Arc { ilabel: 5, olabel: 6, weight: -0.5, next: 1 });
    assert!(fst.state(2).is_final() && !fst.state(1).is_final());
    let mut w = KaldiWriter::in_memory(false);
    text::write(&mut w, &fst).unwrap();
    let written = String::from_utf8(w.into_bytes()).unwrap();
    assert!(
        written
            .starts_with("\n3\t1\t5\t6\t-0.5\n3\t7\t7\t7\t0.001\n0\tInfinity\n1\tInfinity\n2\n4\tInfinity\n")
    );
    assert_eq!(text::parse(written.trim_start()).unwrap(), fst);
}

#[test]
fn what_is_refused() {
    for (text, why) in [
        ("0 1 1\n", "1, 2, 4 or 5 columns, found 3"),
        ("0 1 1 1 0 0\n", "found 6"),
        ("a 1 1 1\n", "'a' is not an integer"),
        ("-1 1 1 1\n", "state -1 is negative"),
        ("0 1 -1 1\n", "label -1 is negative"),
        ("0 nan\n", "'nan' is not a possible weight"),
        ("0 1 1 1 x\n", "'x' is not a possible weight"),
    ] {
        let error = text::parse(text).unwrap_err().to_string();
        assert!(error.contains(why) && error.starts_with("FST, line 2: "), "{text}: {error}");
    }
    let with = |at: usize, bytes: &[u8]| {
        let mut file = COMPACT.to_vec();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        binary(&file).unwrap_err().to_string()
    };
    for (error, why) in [
        (with(0, b"x"), "expected an OpenFst file, found 'x\\xfd\\xb2~'"),
        (with(4, b"\xFF\xFF\xFF\xFF"), "invalid length of a name: -1"),
        (with(8, b"d"), "found 'dompact_acceptor'"),
        (with(28, b"l"), "arcs of type 'standard', found 'ltandard'"),
        (with(36, b"\x03"), "version 3"),
        (with(52, b"\x03"), "the start is state 3, but there are 3"),
        (with(60, b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), "invalid number of states: -1"),
        (with(60, b"\xFF\xFF\xFF"), "the file ends within a block"),
        (with(76, b"\x01"), "the offsets of the states"),
        (with(80, b"\x04"), "the offsets of the states"),
        (with(120, b"\0\0\xC0\x7F"), "state 2 has the final weight NaN"),
        (with(92, b"\xFE\xFF\xFF\xFF"), "has the labels -2 and -2"),
        (with(96, b"\0\0\xC0\x7F"), "weight NaN"),
        (with(100, b"\x03"), "leads to state 3, but there are 3"),
        (binary(&COMPACT[..125]).unwrap_err().to_string(), "the file ends within a block"),
    ] {
        assert!(error.contains(why), "{error} / {why}");
    }
}
