//! Pitch against figures of the reference, streams against whole recordings, options that do not fit.

use kaldi_io::holder::MatrixHolder;
use kaldi_io::{DenseMatrix, SequentialReader};

use super::*;
use crate::testing::Numbers;
use crate::wave::WaveHolder;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/sound/pitch");

fn signal() -> Vec<f32> {
    let bytes = std::fs::read(format!("{DATA}/a.wav")).unwrap();
    let mut reader = kaldi_io::KaldiReader::from_bytes("a.wav", bytes);
    let wave = <WaveHolder as kaldi_io::holder::Holder>::read(&mut reader).unwrap();
    wave.channel(0)
}

fn figure(name: &str) -> DenseMatrix<f32> {
    let mut table = SequentialReader::<MatrixHolder>::open(&format!("ark:{DATA}/{name}.ark")).unwrap();
    table.next().unwrap().unwrap().1
}

fn assert_equal(found: &DenseMatrix<f32>, expected: &DenseMatrix<f32>, tolerance: f32, what: &str) {
    assert_eq!((found.rows, found.cols), (expected.rows, expected.cols), "{what}");
    for t in 0..found.rows {
        for (a, b) in found.row(t).iter().zip(expected.row(t)) {
            assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{what}, frame {t}: {a} for {b}");
        }
    }
}

fn extract(options: &PitchOptions, signal: &[f32]) -> crate::Result<DenseMatrix<f32>> {
    Ok(super::extract(&mut PitchTracker::new(options)?, signal))
}

fn usual() -> PitchOptions {
    PitchOptions::default()
}

fn cases() -> Vec<(&'static str, PitchOptions)> {
    vec![
        ("pitch", usual()),
        ("pitch.preemph", PitchOptions { preemphasis: 0.5, ..usual() }),
        ("pitch.noedges", PitchOptions { snip_edges: false, ..usual() }),
        ("pitch.chunks", PitchOptions { frames_per_chunk: 10, ..usual() }),
        ("pitch.recompute", PitchOptions { frames_per_chunk: 10, recompute_frame: 40, ..usual() }),
        ("pitch.ballast", PitchOptions { frames_per_chunk: 7, nccf_ballast_online: true, ..usual() }),
        (
            "pitch.firstpass",
            PitchOptions {
                frames_per_chunk: 10,
                simulate_first_pass_online: true,
                max_frames_latency: 10,
                ..usual()
            },
        ),
        (
            "pitch.firstpass0",
            PitchOptions { frames_per_chunk: 20, simulate_first_pass_online: true, ..usual() },
        ),
        (
            "pitch.options",
            PitchOptions {
                min_f0: 70.0,
                max_f0: 500.0,
                soft_min_f0: 5.0,
                penalty_factor: 0.05,
                lowpass_cutoff: 1500.0,
                delta_pitch: 0.008,
                nccf_ballast: 20000.0,
                lowpass_filter_width: 2,
                upsample_filter_width: 4,
                frame_length: 20.0,
                frame_shift: 12.5,
                ..usual()
            },
        ),
    ]
}

#[test]
fn pitch_is_that_of_the_reference() {
    let signal = signal();
    for (name, options) in cases() {
        let mut tracker = PitchTracker::new(&options).unwrap();
        assert_equal(&super::extract(&mut tracker, &signal), &figure(name), 1e-5, name);
        let cost = tracker.cost_per_frame();
        assert!((0.5..1.5).contains(&cost.unwrap()), "{name}: {cost:?}");
        // A recording before leaves no traces.
        super::extract(&mut tracker, &signal[8000..]);
        assert_equal(&super::extract(&mut tracker, &signal), &figure(name), 1e-5, name);
    }
}

#[test]
fn features_are_those_of_the_reference() {
    let pitch = figure("pitch");
    let options = PitchProcessOptions {
        delta_pitch_noise_stddev: 0.0,
        add_raw_log_pitch: true,
        ..PitchProcessOptions::default()
    };
    let found = process(&options, || 1.0, &pitch).unwrap();
    assert_equal(&found, &figure("process.nonoise"), 1e-5, "process.nonoise");
    // All but the column of the slope, which has noise.
    let options = PitchProcessOptions {
        pitch_scale: 1.5,
        pov_scale: 3.0,
        pov_offset: 0.2,
        normalization_left_context: 20,
        normalization_right_context: 10,
        add_delta_pitch: false,
        delay: 4,
        ..PitchProcessOptions::default()
    };
    let expected = figure("process.options");
    let data = (0..expected.rows).flat_map(|t| expected.row(t)[..2].to_vec()).collect();
    let expected = DenseMatrix { rows: expected.rows, cols: 2, data };
    let found = process(&options, || 0.0, &pitch).unwrap();
    assert_equal(&found, &expected, 1e-5, "process.options");
    let noise = |options: &PitchProcessOptions| {
        let mut count = 0.0;
        let next = || {
            count += 1.0;
            count
        };
        process(options, next, &pitch).unwrap()
    };
    // Each frame takes one number, multiplied with the deviation and the scale.
    let (with, without) = (
        PitchProcessOptions::default(),
        PitchProcessOptions { delta_pitch_noise_stddev: 0.0, ..PitchProcessOptions::default() },
    );
    let (with, without) = (noise(&with), noise(&without));
    for t in 0..with.rows {
        let added = with.row(t)[2] - without.row(t)[2];
        assert!((added - 0.05 * (t + 1) as f32).abs() < 1e-3, "frame {t}: {added}");
    }
}

#[test]
fn both_at_once() {
    let signal = signal();
    let quiet = PitchProcessOptions { delta_pitch_noise_stddev: 0.0, ..PitchProcessOptions::default() };
    let near = PitchProcessOptions { normalization_right_context: 5, ..quiet.clone() };
    let chunks = PitchOptions { frames_per_chunk: 10, ..usual() };
    let online = PitchOptions { simulate_first_pass_online: true, max_frames_latency: 5, ..chunks.clone() };
    for (name, pitch, process) in
        [("both", usual(), quiet), ("both.chunks", chunks, near.clone()), ("both.online", online, near)]
    {
        let mut tracker = PitchTracker::new(&pitch).unwrap();
        let found = extract_and_process(&mut tracker, &process, || 0.0, &signal).unwrap();
        assert_equal(&found, &figure(name), 1e-4, name);
    }
}

/// Compares samples in pieces of random sizes with the whole recording, for frames that do not depend on the energy of
/// the samples so far. The changes of frames that are ready stay within their limits.
#[test]
fn pieces_give_what_the_whole_gives() {
    let signal = signal();
    let mut numbers = Numbers(9);
    for snip_edges in [true, false] {
        for latency in [0, 12] {
            let options = PitchOptions {
                nccf_ballast: 0.0,
                max_frames_latency: latency,
                snip_edges,
                recompute_frame: 60,
                ..usual()
            };
            let expected = extract(&options, &signal).unwrap();
            for longest in [90.0, 700.0, 9000.0] {
                let mut tracker = PitchTracker::new(&options).unwrap();
                let (mut rest, mut ready) = (&signal[..], 0);
                while !rest.is_empty() {
                    let size = (longest * numbers.next().abs()) as usize;
                    let (piece, left) = rest.split_at(size.min(rest.len()));
                    tracker.accept(piece);
                    assert!(tracker.ready() + latency >= ready, "frames are taken back");
                    ready = tracker.ready();
                    rest = left;
                }
                tracker.finish();
                let data = (0..tracker.ready()).flat_map(|t| tracker.frame(t)).collect();
                let found = DenseMatrix { rows: tracker.ready(), cols: COLUMNS, data };
                assert_eq!(found, expected, "pieces of {longest}");
            }
        }
    }
}

/// Compares a stream of features, read at the end, with the whole recording.
#[test]
fn streams_of_features() {
    let signal = signal();
    let options = PitchOptions { nccf_ballast: 0.0, ..usual() };
    let process = PitchProcessOptions {
        delta_pitch_noise_stddev: 0.0,
        normalization_right_context: 20,
        ..PitchProcessOptions::default()
    };
    let mut tracker = PitchTracker::new(&options).unwrap();
    let expected = extract_and_process(&mut tracker, &process, || 0.0, &signal).unwrap();
    let mut stream = PitchStream::new(&options, &process).unwrap();
    assert_eq!((stream.ready(), stream.dim()), (0, 3));
    for piece in signal.chunks(1777) {
        stream.accept(16000.0, piece).unwrap();
    }
    // The last three frames need samples after the longest lag.
    assert_eq!(stream.ready(), expected.rows - 3 - 20);
    assert!(stream.accept(8000.0, &[1.0]).unwrap_err().to_string().contains("8000 Hz"));
    stream.finish();
    assert!(stream.accept(16000.0, &[1.0]).is_err());
    let mut data = Vec::new();
    (0..stream.ready() + 5).for_each(|t| stream.append(t, &mut data));
    assert_eq!(DenseMatrix { rows: stream.ready(), cols: 3, data }, expected);
    // Sound at another rate has about the same pitch.
    let mut half = PitchStream::new(&options, &process).unwrap();
    half.accept(8000.0, &signal.iter().step_by(2).copied().collect::<Vec<f32>>()).unwrap();
    half.finish();
    assert_eq!(half.ready(), expected.rows);
}

/// The pitch of a tone is its frequency. Memory does not grow with the recording, except for the pitch itself.
#[test]
fn a_tone() {
    let tone: Vec<f32> = (0..16000 * 20)
        .map(|i| 3000.0 * (std::f32::consts::TAU * 125.0 * (i % 16000) as f32 / 16000.0).sin())
        .collect();
    let mut tracker = PitchTracker::new(&usual()).unwrap();
    tone.chunks(16000).for_each(|second| tracker.accept(second));
    assert_eq!(tracker.ready(), 1996);
    tracker.finish();
    for t in 20..1900 {
        let [nccf, pitch] = tracker.frame(t);
        assert!(nccf > 0.98 && (pitch / 125.0 - 1.0).abs() < 0.01, "frame {t}: {nccf} {pitch}");
    }
}

#[test]
fn short_and_silent_recordings() {
    for samples in [0, 1, 99, 396] {
        assert_eq!(extract(&usual(), &vec![5.0; samples]).unwrap(), DenseMatrix::default());
    }
    let silence = extract(&usual(), &[0.0; 3200]).unwrap();
    assert!(silence.rows == 18 && silence.data.chunks(2).all(|frame| frame == [0.0, 400.0]));
    // Edges that are not cut: no frame of less than a window, then one each shift.
    for (samples, rows) in [(396, 0), (400, 3), (560, 4), (3200, 20)] {
        let options = PitchOptions { snip_edges: false, ..usual() };
        assert_eq!(extract(&options, &vec![1.0; samples]).unwrap().rows, rows);
    }
}

#[test]
fn options_that_do_not_fit() {
    let refused = |change: fn(&mut PitchOptions), words: &str| {
        let mut options = usual();
        change(&mut options);
        let error = extract(&options, &[]).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(words), "{words}: {error}");
    };
    refused(|o| o.min_f0 = 0.0, "pitch from 0 to 400 Hz");
    refused(|o| o.max_f0 = 40.0, "pitch from 50 to 40 Hz");
    refused(|o| o.lowpass_cutoff = 3000.0, "a lowpass cutoff of 3000 Hz");
    refused(|o| o.sample_rate = 1000.0, "(1000 and 4000 Hz)");
    refused(|o| o.frame_length = 0.1, "a frame length of 0.1 ms");
    refused(|o| o.frame_shift = f32::INFINITY, "a frame shift of inf ms");
    refused(|o| o.min_f0 = 1e-3, "a pitch of 0.001 Hz is too low");
    refused(|o| o.lowpass_filter_width = 0, "`lowpass-filter-width`=0");
    refused(|o| o.upsample_filter_width = 2000, "`upsample-filter-width`=2000");
    refused(|o| o.upsample_filter_width = 30, "negative lags at 400 Hz");
    refused(|o| o.preemphasis = 2.0, "preemphasis coefficient of 2");
    refused(|o| o.penalty_factor = -1.0, "`penalty-factor`=-1");
    refused(|o| o.delta_pitch = 0.0, "`delta-pitch`=0");
    refused(|o| o.simulate_first_pass_online = true, "needs `frames-per-chunk`");
    let refused = |change: fn(&mut PitchProcessOptions), pitch: &[Vec<f32>], words: &str| {
        let mut options = PitchProcessOptions::default();
        change(&mut options);
        let found = process(&options, || 0.0, &DenseMatrix::from_rows(pitch));
        let error = found.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(words), "{words}: {error}");
    };
    let good = [vec![0.5, 100.0]];
    let none = |o: &mut PitchProcessOptions| {
        (o.add_pov_feature, o.add_normalized_log_pitch, o.add_delta_pitch) = (false, false, false);
    };
    refused(none, &good, "no feature is chosen");
    refused(|o| o.delta_window = 0, &good, "`delta-window`=0");
    refused(|o| o.delay = usize::MAX, &good, "`delay`=");
    refused(|_| (), &[vec![0.5, 100.0, 1.0]], "3 columns: expected 2");
    refused(|_| (), &[good[0].clone(), vec![0.5, 0.0]], "frame 1 has NCCF 0.5 and pitch 0");
    refused(|_| (), &[vec![f32::NAN, 90.0]], "frame 0 has NCCF NaN");
    assert!(process(&PitchProcessOptions::default(), || 0.0, &DenseMatrix::default()).unwrap().rows == 0);
}
