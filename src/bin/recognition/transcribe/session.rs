//! A thread's work: from the sound of a file to its text.

use anyhow::{Result, bail};
use kaldi_sound::{Channels, SoundOptions, SoundStream};
use nnet3::messages;
use nnet3_online::formats::{self, Format, Parts, Segment, sort_by_time};
use nnet3_online::voices::Voices;
use nnet3_online::{Model, Recognizer, RecognizerOptions, State, Transcript};

use super::names::is_live;
use super::progress::{Minutes, partial_results};
use super::speakers::Speakers;
use super::{Sound, print};

/// Seconds of sound in a piece: of files as in vosk, and of live sound.
const PIECE: f32 = 0.2;
const LIVE_PIECE: f32 = 0.05;
/// Seconds of sound between two displays of partial results.
const LOOK: f32 = 0.6;
/// A channel is silent if its root mean square is below this share of the loudest one's.
const SILENT: f64 = 0.01;

/// The parts that all threads share.
pub struct Job<'j> {
    pub model: &'j Model,
    pub options: RecognizerOptions,
    pub channels: Option<Channels>,
    pub sound: SoundOptions,
    pub speakers: Option<&'j Speakers>,
    pub format: Format,
    pub parts: Parts,
    pub min_confidence: f32,
    pub minutes: &'j Minutes,
}

pub struct Session<'j> {
    job: &'j Job<'j>,
    /// A recogniser for each signal of a file.
    recognizers: Vec<Recognizer>,
    /// With a speaker model, the voices of the segments of the present file.
    voices: Vec<Voices>,
}

impl<'j> Session<'j> {
    pub fn new(job: &'j Job<'j>) -> Result<Session<'j>> {
        let mut session = Session { job, recognizers: Vec::new(), voices: Vec::new() };
        session.need_recognizers(1)?;
        Ok(session)
    }

    fn need_recognizers(&mut self, count: usize) -> Result<()> {
        let Job { model, options, speakers, .. } = self.job;
        while self.recognizers.len() < count {
            let mut recognizer = Recognizer::new(model, model.sample_rate(), options)?;
            if let Some(speakers) = speakers {
                recognizer.set_speaker_model(speakers.model.clone())?;
            }
            self.recognizers.push(recognizer);
        }
        Ok(())
    }

    /// Returns the text of a file, or the part that has not been printed. If `at_once`, sentences of live sound are
    /// printed when they end. Speakers are known at the end only.
    pub fn text(&mut self, sound: &Sound, at_once: bool) -> Result<String> {
        let Job { format, parts, speakers, .. } = *self.job;
        let at_once = at_once
            && speakers.is_none()
            && matches!(format, Format::Text | Format::Json)
            && is_live(sound.path)
            && sound.to.is_none();
        let each = |segment: &Segment| match at_once && !segment.words.is_empty() {
            true => print(&formats::write_sentence(format, parts, &sound.name, segment)),
            false => Ok(()),
        };
        let mut segments = self.file(sound.path, each)?;
        if let Some(speakers) = speakers {
            return speakers.write(format, parts, &sound.name, &segments, &self.voices);
        }
        let printed = segments.iter().any(|segment| !segment.words.is_empty()) || format == Format::Json;
        if at_once && printed {
            return Ok(String::new());
        }
        sort_by_time(&mut segments);
        Ok(formats::write(format, parts, &sound.name, &segments))
    }

    /// Returns the text of a file, with a new speaker. Calls `each` for each segment when it ends.
    fn file(&mut self, path: &str, each: impl Fn(&Segment) -> Result<()>) -> Result<Vec<Segment>> {
        let Job { channels, minutes, min_confidence, .. } = *self.job;
        let mut stream = SoundStream::open_with(path, &self.job.sound)?;
        let count = stream.channels();
        let warn = |message: &str| minutes.suspend(|| messages::warn(&format!("{path}: {message}")));
        if count > 1 && channels.is_none() {
            warn(&format!("the first of {count} channels is taken; see --channels"));
        }
        let mut signals = stream.signals(channels.unwrap_or_default())?;
        let used = signals.len();
        self.need_recognizers(used)?;
        let mut loudness = Loudness::new(count, &signals);
        signals.clone_from(&loudness.channels);
        let rate = stream.sample_rate() as f32;
        let seconds = if is_live(path) { LIVE_PIECE } else { PIECE };
        let piece = ((rate * seconds) as usize).max(1);
        let pieces_to_a_look = (LOOK / seconds).round() as usize;
        let shown = if is_live(path) { partial_results() } else { indicatif::ProgressBar::hidden() };
        let (mut segments, mut voices) = (Vec::new(), Vec::new());
        let mut end = |transcript: Transcript, signal: usize| -> Result<()> {
            transcript.warnings.iter().for_each(|warning| warn(&warning.to_string()));
            // (A signal that is alone is channel 1 of the text.)
            let channel = if used > 1 { signal + 1 } else { 1 };
            let (segment, of_segment) = Segment::of(transcript, channel, min_confidence);
            shown.set_message("");
            shown.suspend(|| each(&segment))?;
            segments.push(segment);
            voices.extend(of_segment);
            Ok(())
        };
        let (mut taken, mut pieces) = (0, 0);
        self.recognizers.iter_mut().take(used).try_for_each(|recognizer| recognizer.reset(rate))?;
        loop {
            let samples = stream.read(piece, &signals)?;
            if samples[0].is_empty() {
                break;
            }
            loudness.add(&samples);
            taken += samples[0].len();
            pieces += 1;
            minutes.add(samples[0].len() as f64 / f64::from(rate));
            for (signal, (recognizer, samples)) in
                self.recognizers.iter_mut().zip(&samples[..used]).enumerate()
            {
                let state = recognizer.accept(samples)?;
                if signal == 0 && pieces % pieces_to_a_look == 0 && !shown.is_hidden() {
                    shown.set_message(recognizer.partial()?);
                }
                if let State::Endpoint { .. } = state {
                    end(recognizer.result()?, signal)?;
                }
            }
        }
        stream.warnings().iter().for_each(|warning| warn(&warning.to_string()));
        stream.close()?;
        if taken == 0 {
            bail!("the recording has no samples");
        }
        let mut is_too_short = true;
        for signal in 0..used {
            let last = self.recognizers[signal].finish()?;
            is_too_short &= last.frames == 0;
            if last.frames > 0 {
                end(last, signal)?;
            }
        }
        if is_too_short && segments.is_empty() {
            bail!("the recording has {taken} samples, too few for a frame");
        }
        shown.finish_and_clear();
        loudness.warning(used).iter().for_each(|warning| warn(warning));
        self.voices = voices;
        Ok(segments)
    }
}

/// The loudness of all channels, for a warning if the one that is used is silent.
struct Loudness {
    /// The channels of the signals; `None` for a mean of channels.
    channels: Vec<Option<usize>>,
    /// Sums of squares.
    energies: Vec<f64>,
}

impl Loudness {
    /// Measures these signals, and the other ones of `count` channels if single channels are used.
    fn new(count: usize, signals: &[Option<usize>]) -> Loudness {
        let mut channels = signals.to_vec();
        if signals.iter().all(Option::is_some) {
            channels.extend((0..count).map(Some).filter(|channel| !signals.contains(channel)));
        }
        Loudness { energies: vec![0.0; channels.len()], channels }
    }

    fn add(&mut self, samples: &[Vec<f32>]) {
        for (energy, samples) in self.energies.iter_mut().zip(samples) {
            *energy += samples.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        }
    }

    /// Describes silent channels among the first `used` ones, if another channel is not silent.
    fn warning(&self, used: usize) -> Option<String> {
        let loudest = self.energies.iter().copied().fold(0.0, f64::max);
        let is_silent = |energy: &f64| *energy <= loudest * SILENT * SILENT;
        let names = |silent: bool, energies: &[f64]| -> Vec<String> {
            let chosen = energies.iter().zip(&self.channels).filter(|(e, _)| is_silent(e) == silent);
            chosen.filter_map(|(_, channel)| channel.map(|channel| (channel + 1).to_string())).collect()
        };
        let silent = names(true, &self.energies[..used]);
        if loudest == 0.0 || silent.is_empty() {
            return None;
        }
        let hint = if used == 1 { "; see --channels" } else { "" };
        let others = names(false, &self.energies).join(", ");
        Some(format!("channel {} is silent, but channel {others} is not{hint}", silent.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_channels() {
        let with = |count, signals: &[Option<usize>], samples: &[Vec<f32>]| {
            let mut loudness = Loudness::new(count, signals);
            loudness.add(samples);
            loudness.warning(signals.len())
        };
        let (loud, quiet) = (vec![3000.0, -1000.0], vec![3.0, -1.0]);
        let warned = with(2, &[Some(0)], &[quiet.clone(), loud.clone()]);
        assert_eq!(warned.as_deref(), Some("channel 1 is silent, but channel 2 is not; see --channels"));
        assert_eq!(with(2, &[Some(1)], &[loud.clone(), quiet.clone()]), None);
        assert_eq!(with(2, &[Some(0)], &[vec![300.0], vec![3000.0]]), None);
        let warned = with(2, &[Some(0), Some(1)], &[loud.clone(), quiet]);
        assert_eq!(warned.as_deref(), Some("channel 2 is silent, but channel 1 is not"));
        assert_eq!(with(2, &[None], std::slice::from_ref(&loud)), None);
        assert_eq!(with(1, &[Some(0)], &[vec![0.0]]), None);
    }
}
