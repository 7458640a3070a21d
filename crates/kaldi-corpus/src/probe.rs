//! Opens recordings: rate, channels, length, loudness.

use std::hash::Hasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use kaldi_feat::wave::{self, WaveDataHolder, WaveHeaderHolder};
use kaldi_io::holder::Holder;
use kaldi_io::{KaldiReader, threads};
use kaldi_sound::{Channels, SoundStream};

use crate::corpus::Source;
use crate::input::Options;

/// The part of a recording that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum Check {
    /// Nothing: lengths and rates are not known.
    Names,
    /// The headers of waves; other recordings are decoded to their end.
    #[default]
    Headers,
    /// All samples.
    Samples,
}

/// Loudness of the chosen signal, for samples from -1 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// The largest magnitude.
    pub peak: f64,
    /// The root of the mean square, in dB of full scale; negative infinity for digital silence.
    pub rms_db: f64,
    /// The share of samples, from 0 to 1, that lie in runs of at least three at an end of the range.
    pub clipped: f64,
    /// A number that files with the same samples share.
    pub hash: u64,
}

/// The header of a recording, checked against its samples.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Probed {
    pub rate: u32,
    pub channels: usize,
    pub samples: u64,
    /// Samples that the header promises, if it does.
    pub promised: Option<u64>,
    /// The fault of a recording that can be read nevertheless.
    pub complaint: Option<String>,
    pub is_wave: bool,
    pub levels: Option<Levels>,
}

impl Probed {
    /// Returns the length, in seconds.
    pub fn seconds(&self) -> f64 {
        if self.rate == 0 { 0.0 } else { self.samples as f64 / f64::from(self.rate) }
    }

    /// Returns the length by the header, in seconds; that of the samples if there is none.
    pub fn promised_seconds(&self) -> f64 {
        match self.promised {
            Some(samples) if self.rate > 0 => samples as f64 / f64::from(self.rate),
            _ => self.seconds(),
        }
    }
}

/// Samples that are read at once.
const PIECE: usize = 1 << 15;
/// Equal samples at an end of the range that are clipping.
const RUN: usize = 3;

/// Opens a recording. The error is a clause behind its name.
pub(crate) fn probe(source: &Source, check: Check, channels: Channels) -> Result<Probed, String> {
    let name = source.rxfilename();
    let says = |error: &dyn std::error::Error| {
        let message = kaldi_io::error::chain(error);
        let own = [format!("{name}: "), format!("{name}, ")];
        own.iter().find_map(|prefix| message.strip_prefix(prefix.as_str())).unwrap_or(&message).to_owned()
    };
    if check == Check::Names {
        return Ok(Probed::default());
    }
    let mut of_header = None;
    if let Source::File(_) = source {
        let open = || KaldiReader::open_raw(&name);
        let mut reader = open().map_err(|error| says(&error))?;
        let begin = reader.peek_bytes(wave::LOOKED_AT).map_err(|error| says(&error))?.to_vec();
        if wave::is_readable(&begin) {
            let promised = WaveHeaderHolder::read(&mut reader).map_err(|error| says(&error))?;
            let mut again = open().map_err(|error| says(&error))?;
            let there = WaveDataHolder::read(&mut again).map_err(|error| says(&error))?;
            channels.signals(there.channels).map_err(|wanted| {
                format!("it has no channel {wanted}: expected a number from 1 to {}", there.channels)
            })?;
            of_header = Some(Probed {
                rate: there.sample_rate,
                channels: there.channels,
                samples: there.samples,
                promised: (!promised.is_streamed).then_some(promised.samples),
                complaint: there.complaint,
                is_wave: true,
                levels: None,
            });
        }
    }
    match of_header {
        Some(header) if check == Check::Headers => Ok(header),
        header => {
            let decoded = decode(&name, channels).map_err(|error| says(&error))?;
            let Some(header) = header else { return Ok(decoded) };
            Ok(Probed {
                levels: decoded.levels,
                complaint: decoded.complaint,
                samples: decoded.samples,
                ..header
            })
        }
    }
}

/// Reads a recording to its end.
fn decode(name: &str, channels: Channels) -> kaldi_sound::Result<Probed> {
    let mut stream = SoundStream::open(name)?;
    let signals = stream.signals(channels)?;
    let mut measure = Measure::default();
    loop {
        let samples = stream.read(PIECE, &signals)?.swap_remove(0);
        if samples.is_empty() {
            break;
        }
        measure.add(&samples);
    }
    let probed = Probed {
        rate: stream.sample_rate(),
        channels: stream.channels(),
        samples: measure.count,
        promised: None,
        complaint: Some(stream.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            .filter(|all| !all.is_empty()),
        is_wave: false,
        levels: Some(measure.levels()),
    };
    stream.close()?;
    Ok(probed)
}

#[derive(Default)]
struct Measure {
    count: u64,
    squares: f64,
    peak: f32,
    clipped: u64,
    /// The last sample, and the number of times that it came.
    last: f32,
    run: usize,
    hash: rustc_hash::FxHasher,
}

impl Measure {
    fn add(&mut self, samples: &[f32]) {
        self.count += samples.len() as u64;
        for &sample in samples {
            self.squares += f64::from(sample) * f64::from(sample);
            self.peak = self.peak.max(sample.abs());
            self.hash.write_u32(sample.to_bits());
            self.run = if sample == self.last { self.run + 1 } else { 1 };
            self.last = sample;
            if self.run >= RUN && !(-32767.5..32766.5).contains(&sample) {
                self.clipped += if self.run == RUN { RUN as u64 } else { 1 };
            }
        }
    }

    fn levels(&self) -> Levels {
        const FULL: f64 = 32768.0;
        let count = self.count.max(1) as f64;
        Levels {
            peak: f64::from(self.peak) / FULL,
            rms_db: 10.0 * (self.squares / count / (FULL * FULL)).log10(),
            clipped: self.clipped as f64 / count,
            hash: self.hash.finish() ^ self.count,
        }
    }
}

/// Opens all recordings on several threads; the results are in their order.
pub(crate) fn probe_all(sources: &[Source], options: &Options) -> Vec<Result<Probed, String>> {
    let Options { check, channels, threads, .. } = *options;
    let is_wanted = || options.is_wanted.as_ref().is_none_or(|is_wanted| is_wanted());
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Probed, String>>>> =
        sources.iter().map(|_| Mutex::new(None)).collect();
    let work = |()| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(number).filter(|_| is_wanted()) else { return };
            *results[number].lock().unwrap_or_else(PoisonError::into_inner) =
                Some(probe(source, check, channels));
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(progress) = &options.progress {
                progress(done, sources.len());
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(sources.len()))
            .filter_map(|_| threads::start_in_or_return(scope, "reading of recordings", (), work).ok())
            .collect();
        work(());
        others.into_iter().for_each(|thread| thread.join());
    });
    let taken = |slot: Mutex<Option<_>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    results
        .into_iter()
        .map(|slot| taken(slot).unwrap_or_else(|| Err("it was not opened".to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_at_full_scale_are_clipping() {
        let mut measure = Measure::default();
        measure.add(&[0.0, 32767.0, 32767.0, 5.0, 32767.0, 32767.0, 32767.0]);
        measure.add(&[32767.0, -32768.0, -32768.0]);
        let levels = measure.levels();
        assert!((levels.clipped - 0.4).abs() < 1e-12, "{levels:?}");
        assert_eq!(levels.peak, 1.0);
        assert_eq!(Measure::default().levels().rms_db, f64::NEG_INFINITY);
    }
}
