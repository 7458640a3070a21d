//! Features against the definitions, written out in double precision, and streams against whole recordings.

use std::f64::consts::{PI, TAU};

use super::*;
use crate::testing::{Numbers, assert_close};

fn options(kind: Kind) -> SpectralOptions {
    SpectralOptions {
        frames: FrameOptions { dither: 0.0, ..FrameOptions::default() },
        mel: MelOptions::default(),
        energy: EnergyOptions { used: false, floor: 0.0, raw: true, htk_compat: false },
        kind,
    }
}

const FBANK: Kind = Kind::Fbank { log: true, power: true };
const MFCC: Kind = Kind::Mfcc { num_ceps: 13, cepstral_lifter: 22.0 };

fn plp(num_ceps: usize, lpc_order: usize) -> Kind {
    Kind::Plp(PlpOptions {
        num_ceps,
        lpc_order,
        compress_factor: 0.33333,
        cepstral_lifter: 22.0,
        cepstral_scale: 1.0,
    })
}

/// Tones in noise.
fn signal(samples: usize) -> Vec<f32> {
    let mut numbers = Numbers(5);
    (0..samples)
        .map(|i| {
            let t = i as f64 / 16000.0;
            let tones = 3000.0 * (TAU * 300.0 * t).sin() + 900.0 * (TAU * 2100.0 * t).cos();
            (tones + 400.0 * numbers.next() + 37.0).round() as f32
        })
        .collect()
}

/// Logarithmic mel energies of frame `t`: Povey window, preemphasis 0.97, and the Fourier sum by its definition.
fn expected_fbank(signal: &[f32], t: usize) -> Vec<f64> {
    let mut x: Vec<f64> = signal[t * 160..t * 160 + 400].iter().map(|&x| f64::from(x)).collect();
    let mean = x.iter().sum::<f64>() / 400.0;
    x.iter_mut().for_each(|x| *x -= mean);
    let x: Vec<f64> = (0..400)
        .map(|i| {
            let window = (0.5 - 0.5 * (TAU * i as f64 / 399.0).cos()).powf(0.85);
            (x[i] - 0.97 * x[if i == 0 { 0 } else { i - 1 }]) * window
        })
        .collect();
    let power = |bin: usize| {
        let angle = |i: usize| TAU * (bin * i) as f64 / 512.0;
        let re: f64 = x.iter().enumerate().map(|(i, x)| x * angle(i).cos()).sum();
        let im: f64 = x.iter().enumerate().map(|(i, x)| x * angle(i).sin()).sum();
        re * re + im * im
    };
    let power: Vec<f64> = (0..256).map(power).collect();
    let mel = |f: f64| 1127.0 * (1.0 + f / 700.0).ln();
    let delta = (mel(8000.0) - mel(20.0)) / 24.0;
    (0..23)
        .map(|b| {
            let centre = mel(20.0) + delta * f64::from(b + 1);
            let weight = |i: usize| (1.0 - (mel(16000.0 / 512.0 * i as f64) - centre).abs() / delta).max(0.0);
            (0..256).map(|i| weight(i) * power[i]).sum::<f64>().ln()
        })
        .collect()
}

#[test]
fn mel_energies_and_cepstra_are_those_of_the_definition() {
    let signal = signal(2000);
    let fbank = Extractor::new(options(FBANK)).unwrap().features(&signal, 16000.0, 1.0).unwrap();
    let mfcc = Extractor::new(options(MFCC)).unwrap().features(&signal, 16000.0, 1.0).unwrap();
    assert_eq!((fbank.rows, fbank.cols, mfcc.rows, mfcc.cols), (11, 23, 11, 13));
    for t in 0..11 {
        let energies = expected_fbank(&signal, t);
        assert_close(fbank.row(t), &energies, 1e-4);
        let cepstrum = |k: usize| {
            let norm = if k == 0 { 1.0 / 23.0f64 } else { 2.0 / 23.0 }.sqrt();
            let lift = 1.0 + 11.0 * (PI * k as f64 / 22.0).sin();
            let cosine = |b: usize| (PI / 23.0 * (b as f64 + 0.5) * k as f64).cos();
            lift * norm * energies.iter().enumerate().map(|(b, e)| e * cosine(b)).sum::<f64>()
        };
        assert_close(mfcc.row(t), &(0..13).map(cepstrum).collect::<Vec<_>>(), 1e-4);
    }
}

fn stream(extractor: Extractor, pieces: &[&[f32]], rate: f32) -> Vec<f32> {
    let mut stream = FeatureStream::new(extractor).unwrap();
    for piece in pieces {
        stream.accept(rate, piece).unwrap();
    }
    stream.finish();
    (0..stream.ready()).flat_map(|t| stream.frame(t).unwrap().to_vec()).collect()
}

#[test]
fn pieces_give_the_frames_of_the_whole() {
    let spectrogram = Kind::Spectrogram { raw_fft: false };
    for (snip_edges, kind) in [(true, MFCC), (false, MFCC), (true, plp(13, 12)), (true, spectrogram)] {
        let mut options = options(kind);
        options.frames.snip_edges = snip_edges;
        for samples in [0, 1, 100, 279, 399, 400, 560, 4001] {
            let signal = signal(samples);
            let whole = Extractor::new(options.clone()).unwrap().features(&signal, 16000.0, 1.0).unwrap();
            for size in [1, 37, 160, 3000] {
                let pieces: Vec<&[f32]> = signal.chunks(size).collect();
                let frames = stream(Extractor::new(options.clone()).unwrap(), &pieces, 16000.0);
                assert_eq!(frames, whole.data, "{samples} samples, {size} at a time");
            }
        }
    }
}

#[test]
fn frames_become_ready_as_soon_as_their_samples_are_there() {
    let mut stream = FeatureStream::new(Extractor::new(options(FBANK)).unwrap()).unwrap();
    for (samples, ready) in [(399, 0), (1, 1), (159, 1), (1, 2), (1600, 12)] {
        stream.accept(16000.0, &vec![1.0; samples]).unwrap();
        assert_eq!(stream.ready(), ready);
    }
    assert!(stream.frame(12).is_none() && !stream.is_finished());
    assert!(stream.accept(8000.0, &[1.0]).unwrap_err().to_string().contains("8000 Hz"));
    stream.finish();
    assert_eq!(stream.ready(), 12);
    assert!(stream.accept(16000.0, &[1.0]).is_err());
    stream.restart();
    assert_eq!(stream.ready(), 0);
    stream.accept(16000.0, &[1.0; 400]).unwrap();
    assert_eq!(stream.ready(), 1);
}

#[test]
fn old_frames_go_where_that_is_wanted() {
    let mut options = options(FBANK);
    options.frames.max_feature_vectors = Some(201);
    let mut kept = FeatureStream::new(Extractor::new(options.clone()).unwrap()).unwrap();
    kept.accept(16000.0, &signal(160 * 1000 + 240)).unwrap();
    assert_eq!(kept.ready(), 1000);
    assert!(kept.frame(0).is_none() && kept.frame(799).is_some());
    options.frames.max_feature_vectors = Some(200);
    assert!(FeatureStream::new(Extractor::new(options).unwrap()).is_err());
}

/// A tone below both cutoffs must be the same tone after resampling.
#[test]
fn tones_survive_resampling() {
    let tone = |rate: f64, i: usize| (1000.0 * (TAU * 440.0 * i as f64 / rate).sin()) as f32;
    for (from, to) in [(16000.0, 8000.0), (8000.0, 16000.0), (16000.0, 22050.0), (44100.0, 16000.0)] {
        let input: Vec<f32> = (0..8000).map(|i| tone(from, i)).collect();
        let cutoff = 0.495 * from.min(to);
        let whole = Resampler::new(from as f32, to as f32, cutoff as f32).unwrap().finish(&input);
        assert_eq!(whole.len(), (8000.0 * to / from).ceil() as usize);
        for (i, &x) in whole.iter().enumerate().skip(100).take(whole.len() - 200) {
            assert!((x - tone(to, i)).abs() < 5.0, "{from} to {to}, sample {i}: {x}");
        }
        for size in [1, 333] {
            let mut resampler = Resampler::new(from as f32, to as f32, cutoff as f32).unwrap();
            let mut pieces: Vec<f32> = input.chunks(size).flat_map(|piece| resampler.accept(piece)).collect();
            pieces.extend(resampler.finish(&[]));
            assert_eq!(pieces, whole, "{from} to {to}, {size} at a time");
        }
    }
}

#[test]
fn rates_that_are_not_allowed() {
    let signal = signal(16000);
    let mut extractor = Extractor::new(options(FBANK)).unwrap();
    let error = extractor.features(&signal, 44100.0, 1.0).unwrap_err().to_string();
    assert!(error.contains("44100 .vs 16000") && error.contains("--allow-downsample=true"), "{error}");
    assert!(extractor.features(&signal, 8000.0, 1.0).unwrap_err().to_string().contains("--allow-upsample"));
    let mut options = options(FBANK);
    options.frames.allow_upsample = true;
    let found = Extractor::new(options).unwrap().features(&signal, 8000.0, 1.0).unwrap();
    assert_eq!(found.rows, 198);
}

#[test]
fn dither_changes_features_little_and_repeatably() {
    let signal = signal(1600);
    let mut dithered = options(FBANK);
    dithered.frames.dither = 1.0;
    let features = |options: &SpectralOptions| {
        Extractor::new(options.clone()).unwrap().features(&signal, 16000.0, 1.0).unwrap()
    };
    let (with, without) = (features(&dithered), features(&options(FBANK)));
    assert_eq!(with, features(&dithered));
    assert_ne!(with, without);
    let largest = with.data.iter().zip(&without.data).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 0.1, "{largest}");
}

/// Compares spectra with Fourier sums. Without preemphasis, window and offset, the energy of a frame is the energy of
/// its samples.
#[test]
fn spectra_are_those_of_the_definition() {
    let signal = signal(800);
    let mut options = options(Kind::Spectrogram { raw_fft: true });
    options.frames.window = WindowType::Rectangular;
    options.frames.preemphasis = 0.0;
    options.frames.remove_dc_offset = false;
    let raw = Extractor::new(options.clone()).unwrap().features(&signal, 16000.0, 1.0).unwrap();
    options.kind = Kind::Spectrogram { raw_fft: false };
    options.energy.used = true;
    let logs = Extractor::new(options).unwrap().features(&signal, 16000.0, 1.0).unwrap();
    assert_eq!((raw.rows, raw.cols, logs.rows, logs.cols), (3, 512, 3, 257));
    for t in 0..3 {
        let x: Vec<f64> = signal[t * 160..t * 160 + 400].iter().map(|&x| f64::from(x)).collect();
        let sum = |bin: usize, f: fn(f64) -> f64| {
            x.iter().enumerate().map(|(i, x)| x * f(TAU * (bin * i) as f64 / 512.0)).sum::<f64>()
        };
        let (re, im) = (|bin| sum(bin, f64::cos), |bin| -sum(bin, f64::sin));
        let between = (1..256).flat_map(|bin| [re(bin), im(bin)]);
        let expected: Vec<f64> = [re(0), re(256)].into_iter().chain(between).collect();
        let scale = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        assert!(raw.row(t).iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5 * scale));
        let energy = x.iter().map(|x| x * x).sum::<f64>().ln();
        let power = (1..257).map(|bin| (re(bin).powi(2) + im(bin).powi(2)).ln());
        let expected: Vec<f64> = [energy].into_iter().chain(power).collect();
        assert_close(logs.row(t), &expected, 1e-3);
    }
}

#[test]
fn silence_has_finite_features() {
    let features = Extractor::new(options(MFCC)).unwrap().features(&[0.0; 800], 16000.0, 1.0).unwrap();
    assert!(features.rows == 3 && features.data.iter().all(|x| x.is_finite()));
}

#[test]
fn options_that_make_no_sense() {
    let refused = |change: fn(&mut SpectralOptions), why: &str| {
        let mut options = options(MFCC);
        change(&mut options);
        let error = Extractor::new(options).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(why), "{why}: {error}");
    };
    refused(|o| o.frames.sample_rate = 0.0, "sample frequency of 0 Hz");
    refused(|o| o.frames.shift = 0.0, "frame shift of 0 ms");
    refused(|o| o.frames.length = f32::INFINITY, "frame length");
    refused(|o| o.frames.preemphasis = 1.5, "1.5");
    refused(|o| (o.frames.length, o.frames.round_to_power_of_two) = (25.0625, false), "401 samples");
    refused(|o| o.mel.bins = 2, "2 mel bins");
    refused(|o| o.mel.bins = 200, "too many");
    refused(|o| o.mel.high = 9000.0, "9000 Hz");
    refused(|o| o.mel.low = 8000.0, "8000");
    refused(
        |o| o.kind = Kind::Mfcc { num_ceps: 24, cepstral_lifter: 0.0 },
        "24 cepstra of 23 mel bins: there are at most 23",
    );
    refused(|o| o.kind = plp(14, 12), "14 cepstra of a prediction of order 12: there are at most 13");
    refused(|o| o.kind = plp(3, 0), "linear prediction of order 0");
    let mut extractor = Extractor::new(options(FBANK)).unwrap();
    for warp in [0.0, 100.0, -1.0] {
        assert!(extractor.features(&signal(400), 16000.0, warp).is_err(), "{warp}");
    }
    assert!("kaiser".parse::<WindowType>().is_err());
}
