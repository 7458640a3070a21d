//! State numbers in text: any order, any gaps, read back in all forms; texts that are cut short.

use kaldi_fst::openfst_text::{self, Format};
use kaldi_fst::{Arc, Fst, FstHolder, store, text};
use kaldi_io::holder::Holder;
use kaldi_io::{KaldiReader, KaldiWriter};

use super::rustfst_oracle::random;

/// Makes the lines of an FST with these state numbers. The start's first line comes first, and the others in random
/// order. Lines of one state keep their order.
fn lines(fst: &Fst, numbers: &[i64], rng: &mut fastrand::Rng) -> String {
    let mut queues: Vec<Vec<String>> = Vec::new();
    for (s, state) in fst.numbered() {
        let own = numbers[s as usize];
        let mut queue: Vec<String> = state
            .arcs
            .iter()
            .map(|Arc { ilabel, olabel, weight, next }| {
                format!("{own} {} {ilabel} {olabel} {weight}\n", numbers[*next as usize])
            })
            .collect();
        let weight = if state.is_final() { state.final_weight.to_string() } else { "Infinity".to_owned() };
        queue.insert(rng.usize(0..=queue.len()), format!("{own} {weight}\n"));
        queue.reverse();
        queues.push(queue);
    }
    let mut text: String = queues[fst.start.unwrap() as usize].pop().unwrap();
    loop {
        let open: Vec<usize> = (0..queues.len()).filter(|&s| !queues[s].is_empty()).collect();
        if open.is_empty() {
            return text;
        }
        text += &queues[open[rng.usize(0..open.len())]].pop().unwrap();
    }
}

/// The FST with its states moved to other places among `count`.
fn moved(fst: &Fst, places: &[usize], count: usize) -> Fst {
    let mut out = Fst { start: fst.start.map(|s| places[s as usize] as u32), ..Fst::default() };
    out.states.resize_with(count, Default::default);
    for (state, &place) in fst.states.iter().zip(places) {
        out.states[place] = state.clone();
        out.states[place].arcs.iter_mut().for_each(|arc| arc.next = places[arc.next as usize] as u32);
    }
    out
}

fn reader(text: &str) -> KaldiReader {
    KaldiReader::from_bytes("text", text.as_bytes().to_vec())
}

/// Writes and reads in every form that keeps states and arcs.
fn assert_round_trips(fst: &Fst) {
    for binary in [false, true] {
        let mut w = KaldiWriter::in_memory(binary);
        FstHolder::write(&mut w, fst).unwrap();
        let mut r = KaldiReader::from_bytes("written", w.into_bytes());
        assert_eq!(&<FstHolder as Holder>::read(&mut r).unwrap(), fst);
    }
    for aligned in [false, true] {
        let mut w = KaldiWriter::in_memory(true);
        store::write_const(&mut w, fst, aligned).unwrap();
        let mut r = KaldiReader::from_bytes("written", w.into_bytes());
        r.set_binary(true);
        assert_eq!(&store::read::<f32>(&mut r).unwrap(), fst);
    }
    let mut w = KaldiWriter::in_memory(false);
    openfst_text::write(&mut w, fst, &Default::default()).unwrap();
    let mut r = KaldiReader::from_bytes("written", w.into_bytes());
    let format = Format { keep_numbers: true, ..Format::default() };
    assert_eq!(&openfst_text::read(&mut r, &format).unwrap(), fst);
}

#[test]
fn numbers_come_in_any_order() {
    let mut rng = fastrand::Rng::with_seed(41);
    for _ in 0..200 {
        let fst = random(&mut rng, 0.2, true);
        let count = fst.states.len();
        let mut places: Vec<usize> = (0..count).collect();
        rng.shuffle(&mut places);
        let numbers: Vec<i64> = places.iter().map(|&place| place as i64).collect();
        let text = lines(&fst, &numbers, &mut rng);
        let expected = moved(&fst, &places, count);
        assert_eq!(text::parse(&text).unwrap(), expected);
        let format = Format { keep_numbers: true, ..Format::default() };
        assert_eq!(openfst_text::read(&mut reader(&text), &format).unwrap(), expected);
        assert_round_trips(&expected);
    }
}

/// Large gaps are closed, and the order of the numbers stays.
#[test]
fn numbers_far_apart() {
    let mut rng = fastrand::Rng::with_seed(42);
    for _ in 0..200 {
        let fst = random(&mut rng, 0.2, true);
        let count = fst.states.len();
        let mut sorted: Vec<i64> = (0..count).map(|_| i64::from(rng.i32(0..i32::MAX))).collect();
        sorted.push(i64::from(i32::MAX));
        sorted.sort_unstable();
        sorted.dedup();
        // The largest number is always in use, so that the gaps are large.
        let chosen: Vec<i64> = sorted[sorted.len() - count..].to_vec();
        let mut places: Vec<usize> = (0..count).collect();
        rng.shuffle(&mut places);
        let numbers: Vec<i64> = places.iter().map(|&place| chosen[place]).collect();
        let read = text::parse(&lines(&fst, &numbers, &mut rng)).unwrap();
        assert_eq!(read, moved(&fst, &places, count));
        assert_round_trips(&read);
    }
}

/// The first state of a lattice has an arc to the last one, thousands of lines below.
#[test]
fn a_far_state_in_the_first_line() {
    let mut text = String::from("0 5000 1 1\n");
    (0..5000).for_each(|s| text += &format!("{s} {} 2 2\n", s + 1));
    text += "5000\n";
    let fst = text::parse(&text).unwrap();
    assert_eq!((fst.states.len(), fst.num_arcs(), fst.state(0).arcs[0].next), (5001, 5001, 5000));
    assert_round_trips(&fst);
}

/// Numbers that are to be kept may ask for many states, but not for memory without end.
#[test]
fn numbers_to_keep() {
    let format = Format { keep_numbers: true, ..Format::default() };
    let fst = openfst_text::read(&mut reader("0 900000 1 1\n900000\n"), &format).unwrap();
    assert_eq!(fst.states.len(), 900_001);
    let error = openfst_text::read(&mut reader("0 9000000000 1 1\n"), &format).unwrap_err().to_string();
    assert!(error.contains("the largest of 2 states has number 9000000000"), "{error}");
    let fst = openfst_text::read(&mut reader("0 9000000000 1 1\n9000000000\n"), &Format::default()).unwrap();
    assert_eq!(fst.states.len(), 2);
}

#[test]
fn texts_that_are_cut_short() {
    let whole = "\n0\t1\t1\t2\t0.5\n0\t1\t3\t4\n1\t0.25\n\n";
    let read = |text: &str| <FstHolder as Holder>::read(&mut reader(text));
    assert_eq!(read(whole).unwrap().num_arcs(), 2);
    for end in 0..whole.len() {
        let error = read(&whole[..end]).map(|fst| panic!("{end} bytes are read as {fst:?}")).unwrap_err();
        assert!(error.to_string().starts_with("text, line "), "{error}");
    }
    let error = read(&whole[..whole.len() - 1]).unwrap_err().to_string();
    assert!(error.contains("the file ends inside an FST: expected an empty line"), "{error}");
}
