//! Sounds that are no words: noise, music, and speech whose sounds make no words of a lexicon.

mod noise;
mod scrambled;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use fastrand::Rng;
use kaldi_feat::wave::Wave;
use kaldi_io::threads;
use kaldi_sound::{Channels, Signal, SoundStream};
use rustc_hash::FxHashMap;

pub use noise::Noise;
use noise::uniform;
pub use scrambled::scrambled;

use crate::{Error, Result, text};

/// Utterances of a data folder, from which speech is taken.
#[derive(Debug, Clone, Default)]
pub struct Speech {
    /// Extended file names.
    recordings: Vec<String>,
    utterances: Vec<Span>,
}

/// A part of a recording, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    recording: usize,
    begin: f64,
    end: f64,
}

impl Speech {
    /// Reads `wav.scp`, and `segments` and `utt2dur` if they are there.
    ///
    /// # Errors
    /// A file cannot be read, or a segment makes no sense.
    pub fn read(folder: &Path) -> Result<Speech> {
        let content = |name: &str| {
            let file = folder.join(name);
            text::read(&file).map_err(|message| Error::NotText { file: file.display().to_string(), message })
        };
        let mut speech = Speech::default();
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        for (_, line) in text::lines(&content("wav.scp")?) {
            let (key, name) = line.split_once([' ', '\t']).unwrap_or((line, ""));
            numbers.insert(key.to_owned(), speech.recordings.len());
            speech.recordings.push(name.trim().to_owned());
        }
        let mut lengths: FxHashMap<String, f64> = FxHashMap::default();
        if folder.join("utt2dur").is_file() {
            for (_, line) in text::lines(&content("utt2dur")?) {
                if let Some((key, seconds)) = line.split_once(' ')
                    && let Ok(seconds) = seconds.trim().parse()
                {
                    lengths.insert(key.to_owned(), seconds);
                }
            }
        }
        if !folder.join("segments").is_file() {
            let mut all: Vec<(&String, &usize)> = numbers.iter().collect();
            all.sort();
            // (A length that is not known is that of a short utterance.)
            let whole = |(key, &recording): (&String, &usize)| Span {
                recording,
                begin: 0.0,
                end: lengths.get(key).copied().unwrap_or(SHORT),
            };
            speech.utterances = all.into_iter().map(whole).collect();
            return Ok(speech);
        }
        for (line, row) in text::lines(&content("segments")?) {
            let columns: Vec<&str> = row.split_ascii_whitespace().collect();
            let time = |place: usize| columns.get(place).and_then(|time| time.parse::<f64>().ok());
            let recording = columns.get(1).and_then(|name| numbers.get(*name)).copied();
            let (Some(recording), Some(begin), Some(end)) = (recording, time(2), time(3)) else {
                return Err(Error::Format {
                    file: folder.join("segments").display().to_string(),
                    line,
                    message: format!("expected a recording of wav.scp and two times, found '{row}'"),
                });
            };
            speech.utterances.push(Span { recording, begin, end });
        }
        Ok(speech)
    }

    /// The utterances from which pieces may be taken.
    pub fn num_utterances(&self) -> usize {
        self.utterances.len()
    }

    /// Parts of utterances at random, of so many seconds altogether if there are enough.
    fn parts(&self, random: &mut Rng, seconds: f64) -> Vec<Span> {
        let (mut parts, mut sum) = (Vec::new(), 0.0);
        while sum < seconds && parts.len() < MOST_PARTS && !self.utterances.is_empty() {
            let Span { recording, begin, end } = self.utterances[random.usize(..self.utterances.len())];
            let length = (end - begin).max(0.0).min(seconds - sum);
            let begin = uniform(random, begin, (end - length).max(begin));
            parts.push(Span { recording, begin, end: begin + length });
            sum += length;
        }
        parts
    }
}

/// Seconds of an utterance whose length is not known.
const SHORT: f64 = 0.5;
/// Parts of utterances of which a sound is made.
const MOST_PARTS: usize = 60;
/// The shortest and the longest sound, in seconds.
const LENGTHS: (f64, f64) = (0.5, 4.0);
/// The powers of ten of the lowest and the highest peak, for samples from -1 to 1.
const LEVELS: (f64, f64) = (-1.6, -0.2);
/// Sounds that are made at a time, so that their speech fits into memory.
const BATCH: usize = 512;

/// Settings of [`make`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Sounds to make.
    pub count: usize,
    /// In Hz.
    pub rate: u32,
    /// Sounds of equal seeds are equal.
    pub seed: u64,
    /// Threads, at least 1.
    pub threads: usize,
}

/// A sound that is planned.
struct Plan {
    random: Rng,
    count: usize,
    level: f64,
    /// The speech of a scrambled sound.
    parts: Option<Vec<Span>>,
    kind: Noise,
}

/// Makes sounds, and passes each with its number to `take`, in order. Half of them are noise and music, half are scrambled speech. They
/// depend on the seed, not on the threads.
///
/// # Errors
/// A recording cannot be read, or `take` fails.
pub fn make(
    speech: &Speech,
    options: &Options,
    mut take: impl FnMut(usize, Wave) -> Result<()>,
) -> Result<()> {
    let rate = options.rate;
    let mut seeds = Rng::with_seed(options.seed);
    let mut plan = |number: usize| {
        let mut random = seeds.fork();
        let seconds = uniform(&mut random, LENGTHS.0, LENGTHS.1);
        let level = 10f64.powf(uniform(&mut random, LEVELS.0, LEVELS.1));
        let parts = (number % 2 == 1).then(|| speech.parts(&mut random, 2.0 * seconds));
        let kind = Noise::ALL[number / 2 % Noise::ALL.len()];
        Plan { random, count: ((seconds * f64::from(rate)) as usize).max(1), level, parts, kind }
    };
    for first in (0..options.count).step_by(BATCH) {
        let plans: Vec<Plan> = (first..options.count.min(first + BATCH)).map(&mut plan).collect();
        let parts: Vec<Span> =
            plans.iter().filter_map(|plan| plan.parts.as_ref()).flatten().copied().collect();
        let found = read_parts(speech, &parts, rate, options.threads)?;
        let mut starts = Vec::with_capacity(plans.len());
        let mut at = 0;
        for plan in &plans {
            starts.push(at);
            at += plan.parts.as_ref().map_or(0, Vec::len);
        }
        let waves = on_threads(plans.len(), options.threads, |number| {
            let Plan { random, count, level, parts, kind } = &plans[number];
            let mut random = random.clone();
            let samples = match parts {
                None => kind.samples(&mut random, *count, rate),
                Some(parts) => {
                    let speech = found[starts[number]..][..parts.len()].concat();
                    scrambled(&mut random, &speech, *count, rate)
                }
            };
            Ok(wave(samples, rate, *level))
        })?;
        for (number, wave) in waves.into_iter().enumerate() {
            take(first + number, wave)?;
        }
    }
    Ok(())
}

/// A wave whose highest sample has this level, for samples from -1 to 1.
fn wave(mut samples: Vec<f32>, rate: u32, level: f64) -> Wave {
    let peak = samples.iter().fold(0f32, |peak, x| peak.max(x.abs()));
    let scale = (32767.0 * level) as f32 / peak.max(1e-9);
    samples.iter_mut().for_each(|x| *x *= scale);
    Wave::from_channels(rate, &[samples]).0
}

/// Reads parts of recordings, each recording once, and brings each part to the same peak.
fn read_parts(speech: &Speech, parts: &[Span], rate: u32, threads: usize) -> Result<Vec<Vec<f32>>> {
    let mut of_recording: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        of_recording.entry(part.recording).or_default().push(number);
    }
    let of_recording: Vec<(usize, Vec<usize>)> = of_recording.into_iter().collect();
    let read = on_threads(of_recording.len(), threads, |place| {
        let (recording, numbers) = &of_recording[place];
        let spans =
            numbers.iter().map(|&number| (parts[number].begin, parts[number].end)).collect::<Vec<_>>();
        read_spans(&speech.recordings[*recording], &spans, rate)
    })?;
    let mut found = vec![Vec::new(); parts.len()];
    for ((_, numbers), samples) in of_recording.iter().zip(read) {
        for (&number, mut samples) in numbers.iter().zip(samples) {
            let peak = samples.iter().fold(0f32, |peak, x| peak.max(x.abs()));
            samples.iter_mut().for_each(|x| *x /= peak.max(1.0));
            found[number] = samples;
        }
    }
    Ok(found)
}

/// Reads parts of one recording, in seconds.
fn read_spans(name: &str, spans: &[(f64, f64)], rate: u32) -> Result<Vec<Vec<f32>>> {
    let mut signal = Signal::new(SoundStream::open(name)?, Channels::First, Some(rate))?;
    let at = |seconds: f64| (seconds * f64::from(rate)) as usize;
    let spans: Vec<(usize, usize)> = spans.iter().map(|&(begin, end)| (at(begin), at(end))).collect();
    let end = spans.iter().map(|span| span.1).max().unwrap_or(0);
    let mut found = vec![Vec::new(); spans.len()];
    let mut position = 0;
    while position < end || name.ends_with('|') {
        // (A program is read to its end, so that it does not complain.)
        let samples = signal.read(1 << 15)?;
        if samples.is_empty() {
            break;
        }
        for (&(begin, end), found) in spans.iter().zip(&mut found) {
            let from = begin.max(position) - position;
            let to = end.saturating_sub(position).min(samples.len());
            if from < to {
                found.extend_from_slice(&samples[from..to]);
            }
        }
        position += samples.len();
    }
    signal.close()?;
    Ok(found)
}

/// The results of work on numbers, on several threads. The first error counts.
fn on_threads<T: Send>(
    count: usize,
    wanted: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<Result<T>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let run = |()| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(number) else { return };
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(work(number));
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..wanted.min(count))
            .filter_map(|_| threads::start_in_or_return(scope, "garbage sounds", (), run).ok())
            .collect();
        run(());
        others.into_iter().for_each(|thread| thread.join());
    });
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

#[cfg(test)]
mod tests {
    use kaldi_feat::wave::WaveHolder;
    use kaldi_io::holder::Holder;

    use super::*;

    #[test]
    fn sounds_depend_on_the_seed_and_not_on_threads() {
        let folder = tempfile::tempdir().unwrap();
        let wave_file = folder.path().join("it's.wav");
        let tone: Vec<f32> = (0..16000).map(|t| 9000.0 * (t as f32 * 0.2).sin()).collect();
        let mut out = kaldi_io::KaldiWriter::create(wave_file.to_str().unwrap(), false).unwrap();
        WaveHolder::write(&mut out, &Wave::from_channels(8000, &[tone]).0).unwrap();
        out.finish().unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        put("wav.scp", &format!("a {}\n", wave_file.display()));
        put("segments", "u a 0.25 0.75\nv a 1.0 2.5\n");
        let speech = Speech::read(folder.path()).unwrap();
        assert_eq!(speech.num_utterances(), 2);
        let sounds = |seed, threads| {
            let mut found = Vec::new();
            make(&speech, &Options { count: 20, rate: 8000, seed, threads }, |number, wave| {
                assert_eq!((number, wave.sample_rate), (found.len(), 8000));
                found.push(wave.samples);
                Ok(())
            })
            .unwrap();
            found
        };
        let first = sounds(1, 1);
        assert_eq!(first, sounds(1, 3));
        assert_ne!(first, sounds(2, 1));
        for samples in &first {
            assert!((4000..=32000).contains(&samples.len()));
            let peak = samples.iter().map(|x| x.unsigned_abs()).max().unwrap();
            assert!((800..=20700).contains(&peak), "{peak}");
        }
        // A part lies within its utterance.
        let mut random = Rng::with_seed(4);
        for part in speech.parts(&mut random, 5.0) {
            assert!(
                (part.begin >= 0.25 && part.end <= 0.7501) || (part.begin >= 1.0 && part.end <= 2.5001),
                "{part:?}"
            );
        }
        put("segments", "u b 0.25 0.75\n");
        let error = Speech::read(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with(
            "segments, line 1: expected a recording of wav.scp and two times, found 'u b 0.25 0.75'"
        ));
    }
}
