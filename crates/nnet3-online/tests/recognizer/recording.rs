//! Recordings to sentences, beside a recogniser that gets the same pieces by hand.

use kaldi_fst::store::{Names, Symbols};
use kaldi_io::KaldiReader;
use kaldi_sound::{Channels, SoundStream};
use nnet3_online::{
    Model, ModelParts, Recognizer, RecognizerOptions, Recording, RecordingOptions, RecordingWarning,
    Sentence, Sentences, State, Transcript, piece,
};

use super::{endpoint, features, graph, network, parts, signal, transitions};

const RATE: u32 = 16000;

/// A wave of 16-bit samples; its header gives `missing` bytes more than there are.
fn wave(channels: &[Vec<i16>], missing: u32) -> SoundStream {
    let count = channels.len() as u16;
    let mut data = Vec::new();
    for i in 0..channels[0].len() {
        channels.iter().for_each(|channel| data.extend(channel[i].to_le_bytes()));
    }
    let size = data.len() as u32 + missing;
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + size).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(RATE.to_le_bytes());
    bytes.extend((RATE * 2 * u32::from(count)).to_le_bytes());
    bytes.extend((2 * count).to_le_bytes());
    bytes.extend(b"\x10\0data");
    bytes.extend(size.to_le_bytes());
    bytes.extend(data);
    SoundStream::from_reader(KaldiReader::from_bytes("speech.wav", bytes)).unwrap()
}

fn samples(length: usize, seed: u64) -> Vec<i16> {
    signal(length, seed).iter().map(|&x| x as i16).collect()
}

/// A model whose sentences end after half a second.
fn short_sentences() -> (Model, RecognizerOptions) {
    short_sentences_of(true)
}

fn short_sentences_of(is_trained: bool) -> (Model, RecognizerOptions) {
    let mut endpoint = endpoint();
    endpoint.rules[4].min_utterance_length = 0.5;
    let options = RecognizerOptions { endpoint: Some(endpoint), ..RecognizerOptions::default() };
    let words = b"<eps> 0\none 1\ntwo 2\nthree 3\nfour 4\n".to_vec();
    let symbols = Symbols::read_text(&mut KaldiReader::from_bytes("words", words), "words").unwrap();
    let names = Some(Names::try_from(&symbols).unwrap());
    let parts = parts(features(), network(3), graph(&transitions()));
    (Model::from_parts(ModelParts { names, is_trained, ..parts }).unwrap(), options)
}

fn by_hand(model: &Model, options: &RecognizerOptions, samples: &[i16]) -> Vec<Transcript> {
    let mut recognizer = Recognizer::new(model, RATE as f32, options).unwrap();
    let mut found = Vec::new();
    let samples: Vec<f32> = samples.iter().map(|&x| x.into()).collect();
    for samples in samples.chunks(3200) {
        if let State::Endpoint { .. } = recognizer.accept(samples).unwrap() {
            found.push(recognizer.result().unwrap());
        }
    }
    found.push(recognizer.finish().unwrap());
    found
}

fn same(found: &[&Sentence], expected: &[Transcript]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.transcript.words, expected.words);
        assert_eq!((found.transcript.start, found.transcript.frames), (expected.start, expected.frames));
    }
}

#[test]
fn sentences_of_a_recording_are_those_of_a_recogniser() {
    assert_eq!([piece(16000.0), piece(8000.5), piece(1.0)], [3200, 1600, 1]);
    let (model, options) = short_sentences();
    let (first, second) = (samples(40_000, 5), samples(40_000, 6));
    let [first_alone, second_alone] = [&first, &second].map(|signal| by_hand(&model, &options, signal));
    assert!(first_alone.len() > 2);
    let mut sentences = Sentences::new(&model, &options).unwrap();
    // One of two channels, both, and one again: recognisers that were used before begin anew.
    let chosen = |channels| RecordingOptions { channels };
    for (channels, expected) in [
        (Some(Channels::Number(2)), [None, Some(&second_alone)]),
        (Some(Channels::Each), [Some(&first_alone), Some(&second_alone)]),
        (None, [Some(&first_alone), None]),
    ] {
        let sound = wave(&[first.clone(), second.clone()], 0);
        let mut recording = Recording::new(sound, &mut sentences, &chosen(channels)).unwrap();
        let found: Vec<Sentence> = recording.by_ref().map(Result::unwrap).collect();
        assert!(recording.next().is_none());
        assert_eq!(recording.seconds(), 2.5);
        let expected: Vec<&Vec<Transcript>> = expected.into_iter().flatten().collect();
        for (signal, expected) in expected.iter().enumerate() {
            let of_signal: Vec<&Sentence> = found.iter().filter(|one| one.channel == signal + 1).collect();
            same(&of_signal, expected);
        }
        assert_eq!(found.len(), expected.iter().map(|expected| expected.len()).sum::<usize>());
        let warned: Vec<String> = recording.warnings().iter().map(ToString::to_string).collect();
        let first_is_taken: &[&str] = &["the first of 2 channels is taken"];
        assert_eq!(warned, if channels.is_none() { first_is_taken } else { &[] });
    }
}

#[test]
fn sentences_do_not_depend_on_the_sizes_of_pieces() {
    let (model, options) = short_sentences();
    let signals = [samples(41_111, 5), samples(41_111, 6)];
    let expected: Vec<Vec<Transcript>> =
        signals.iter().map(|signal| by_hand(&model, &options, signal)).collect();
    let sounds: Vec<Vec<f32>> =
        signals.iter().map(|signal| signal.iter().map(|&x| x.into()).collect()).collect();
    let mut sentences = Sentences::new(&model, &options).unwrap();
    for size in [1, 37, 800, 3199, 3200, 3201, 10_000, 41_111] {
        sentences.begin(RATE as f32, 2).unwrap();
        let mut found = Vec::new();
        for begin in (0..sounds[0].len()).step_by(size) {
            let end = sounds[0].len().min(begin + size);
            let pieces: Vec<&[f32]> = sounds.iter().map(|sound| &sound[begin..end]).collect();
            found.extend(sentences.accept(&pieces).unwrap());
        }
        found.extend(sentences.finish().unwrap());
        for (signal, expected) in expected.iter().enumerate() {
            let of_signal: Vec<&Sentence> = found.iter().filter(|one| one.channel == signal + 1).collect();
            assert!(of_signal.len() > 2, "pieces of {size}");
            same(&of_signal, expected);
        }
    }
}

#[test]
fn faults_of_a_recording_are_reported_at_its_end() {
    let (model, options) = short_sentences();
    let quiet: Vec<i16> = samples(8000, 5).iter().map(|x| x / 1000).collect();
    let sound = wave(&[quiet, samples(8000, 6)], 400);
    let options = Sentences::new(&model, &options).unwrap();
    let mut recording = Recording::new(sound, options, &RecordingOptions::default()).unwrap();
    assert!(recording.by_ref().all(|sentence| sentence.is_ok()));
    let [first, damage, silent] = recording.warnings() else { panic!("{:?}", recording.warnings()) };
    assert_eq!(first, &RecordingWarning::FirstChannel { count: 2 });
    assert!(matches!(damage, RecordingWarning::Sound(_)), "{damage}");
    assert_eq!(silent.to_string(), "channel 1 is silent, but channel 2 is not");
    assert!(first.concerns_channels() && silent.concerns_channels() && !damage.concerns_channels());
}

#[test]
fn a_recording_without_a_frame_is_an_error() {
    let (model, options) = short_sentences();
    let mut sentences = Sentences::new(&model, &options).unwrap();
    for (length, expected) in
        [(0, "the recording has no samples"), (10, "the recording has 10 samples, too few for a frame")]
    {
        let sound = wave(&[samples(length, 5)], 0);
        let mut recording = Recording::new(sound, &mut sentences, &RecordingOptions::default()).unwrap();
        assert_eq!(recording.next().unwrap().unwrap_err().to_string(), expected);
        assert!(recording.next().is_none());
    }
    // Sound in pieces: another number of signals than at the beginning.
    sentences.begin(16000.0, 1).unwrap();
    let error = sentences.accept(&[&[0.0][..], &[0.0][..]]).unwrap_err().to_string();
    assert_eq!(error, "expected samples of 1 signal, found 2");
    let error = sentences.begin(10.0, 1).unwrap_err().to_string();
    assert_eq!(error, "expected a sampling rate from 1000 to 192000 Hz, found 10 Hz");
    // A file that is not there is named.
    let error = Recording::open("nowhere.wav", &model).err().unwrap();
    assert!(kaldi_io::error::chain(&error).contains("nowhere.wav"), "{error}");
}

/// Two seconds of tones up to 3.9 kHz.
fn telephone() -> Vec<i16> {
    let mut random = fastrand::Rng::with_seed(8);
    let tones: Vec<(f64, f64)> =
        (3..170).map(|place| (f64::from(place) * 23.0, random.f64() * 6.0)).collect();
    let sample = |at: usize| -> f64 {
        let time = at as f64 / f64::from(RATE);
        tones.iter().map(|(frequency, phase)| (frequency * time * std::f64::consts::TAU + phase).sin()).sum()
    };
    (0..2 * RATE as usize).map(|at| (sample(at) * 300.0) as i16).collect()
}

#[test]
fn missing_bands_are_said_of_models_that_never_heard_such_sound() {
    let (model, options) = short_sentences();
    let (gaussians, _) = short_sentences_of(false);
    let of = |model: &Model, missing_bands: bool, samples: Vec<i16>| -> Vec<String> {
        let options = RecognizerOptions { missing_bands, ..options.clone() };
        let mut sentences = Sentences::new(model, &options).unwrap();
        let mut recording =
            Recording::new(wave(&[samples], 0), &mut sentences, &RecordingOptions::default()).unwrap();
        recording.by_ref().for_each(|sentence| drop(sentence.unwrap()));
        recording.warnings().iter().map(ToString::to_string).collect()
    };
    let said = |missing_bands: bool, samples: Vec<i16>| of(&model, missing_bands, samples);
    let found = of(&gaussians, false, telephone());
    assert!(found.len() == 2 && found[1].contains("model of Gaussians"), "{found:?}");
    let found = said(false, telephone());
    assert!(
        found.len() == 1 && found[0].starts_with("there is no sound above 4 kHz, as behind"),
        "{found:?}"
    );
    assert_eq!(said(true, telephone()), [""; 0]);
    let mut random = fastrand::Rng::with_seed(9);
    assert_eq!(said(false, (0..32000).map(|_| random.i16(-3000..3000)).collect()), [""; 0]);
}
