//! The sound of a recording, which a thread of its own reads. So a decoder that stalls stops neither sockets nor recognition.
//!
//! The decoder gives all channels, and this process chooses among them.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kaldi_io::{KaldiReader, threads};
use kaldi_sound::{Channels, SoundStream};
use nnet3_online::{Loudness, RecordingWarning, piece};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use crate::process::{DecoderProgram, Decoding, Process, Trouble};

/// The name of a recording in errors.
pub const SOUND: &str = "the recording";
/// Pieces that wait to be recognised.
const PIECES: usize = 4;
/// Channels of a recording that are recognised one by one, at most: each one needs a recogniser.
const MOST_SIGNALS: usize = 16;

/// A step of a recording.
enum Step {
    /// The rate of the sound, in Hz, and the number of its signals.
    Form { rate: u32, signals: usize },
    /// The next samples of each signal.
    Samples(Vec<Vec<f32>>),
    /// The end, with warnings about what is missing.
    End(Vec<String>),
}

/// The process of a decoder, once there is one.
type Slot = Arc<Mutex<Option<Arc<Process>>>>;

/// The sound of a recording that is decoded. Its decoder is ended when this is dropped.
pub struct Sound {
    steps: Receiver<Result<Step, Trouble>>,
    process: Slot,
    /// Longest wait for a step.
    patience: Duration,
    /// In Hz.
    pub rate: u32,
    /// The number of signals: the channels that are recognised.
    pub signals: usize,
    /// Warnings about what is missing, once all samples have come.
    pub warnings: Vec<String>,
}

impl Drop for Sound {
    fn drop(&mut self) {
        // (The thread notices that nobody listens if the process is not there yet.)
        self.steps.close();
        if let Some(process) = self.process.lock().unwrap_or_else(PoisonError::into_inner).take() {
            process.kill();
        }
    }
}

impl Sound {
    /// Begins to decode a recording, and waits for its rate. Without a program the thread decodes. Without `channels` the first
    /// one is taken, with a warning if there are others.
    pub async fn open(
        recording: File,
        program: Option<DecoderProgram>,
        channels: Option<Channels>,
        patience: Duration,
    ) -> Result<Sound, Trouble> {
        let (give, steps) = channel(PIECES);
        let process = Slot::default();
        let theirs = process.clone();
        threads::start("the sound of a recording", move || {
            if let Err(trouble) = read(recording, program, channels, &theirs, &give) {
                let _nobody = give.blocking_send(Err(trouble));
            }
        })
        .map_err(|error| Trouble::Server(error.chain()))?;
        let mut sound = Sound { steps, process, patience, rate: 0, signals: 0, warnings: Vec::new() };
        match sound.step().await? {
            Step::Form { rate, signals } => (sound.rate, sound.signals) = (rate, signals),
            Step::Samples(_) | Step::End(_) => return Err(unexpected()),
        }
        Ok(sound)
    }

    /// Waits for the next samples of each signal; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Vec<f32>>>, Trouble> {
        match self.step().await? {
            Step::Samples(samples) => Ok(Some(samples)),
            Step::End(warnings) => {
                self.warnings = warnings;
                Ok(None)
            }
            Step::Form { .. } => Err(unexpected()),
        }
    }

    async fn step(&mut self) -> Result<Step, Trouble> {
        match timeout(self.patience, self.steps.recv()).await {
            Ok(Some(step)) => step,
            Ok(None) => Err(unexpected()),
            Err(_) => Err(Trouble::Stalled(self.patience.as_secs_f64())),
        }
    }
}

fn unexpected() -> Trouble {
    Trouble::Server("the decoder of the recording ended early".to_owned())
}

/// A fault of a recording, which its error names.
fn fault(error: kaldi_sound::Error) -> Trouble {
    Trouble::Recording(kaldi_io::error::chain(&error))
}

/// Reads a recording to its end, or until nobody listens.
fn read(
    recording: File,
    program: Option<DecoderProgram>,
    channels: Option<Channels>,
    slot: &Slot,
    give: &Sender<Result<Step, Trouble>>,
) -> Result<(), Trouble> {
    let open = |reader| SoundStream::from_reader(reader).map_err(fault);
    let warnings = match program {
        None => {
            let sound = open(KaldiReader::from_read(SOUND, recording))?;
            let chosen = Chosen::of(&sound, channels)?;
            give_all(sound, chosen, give)?
        }
        Some(program) => {
            let Decoding { process, samples, ending } = program.start(recording)?;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
            if give.is_closed() {
                return Ok(());
            }
            let outcome = match open(KaldiReader::from_read(SOUND, samples)) {
                // (A channel that is not there is no fault of the program, which is ended.)
                Ok(sound) => {
                    let chosen = Chosen::of(&sound, channels)?;
                    give_all(sound, chosen, give)
                }
                Err(trouble) => Err(trouble),
            };
            if give.is_closed() {
                return Ok(());
            }
            // A program that failed knows why its output is none.
            let mut warnings = ending.outcome()?;
            warnings.extend(outcome?);
            warnings
        }
    };
    let _nobody = give.blocking_send(Ok(Step::End(warnings)));
    Ok(())
}

/// The signals of a recording that are recognised.
struct Chosen {
    signals: Vec<Option<usize>>,
    warning: Option<String>,
}

impl Chosen {
    fn of(sound: &SoundStream, channels: Option<Channels>) -> Result<Chosen, Trouble> {
        let signals = sound.signals(channels.unwrap_or_default()).map_err(fault)?;
        if signals.len() > MOST_SIGNALS {
            return Err(Trouble::Recording(format!(
                "channels=each: expected at most {MOST_SIGNALS} channels, found {}",
                signals.len()
            )));
        }
        let count = sound.channels();
        let warning = (count > 1 && channels.is_none()).then(|| {
            format!("the first of {count} channels is taken; channels=each, mix or a number chooses others")
        });
        Ok(Chosen { signals, warning })
    }
}

/// The warning about silent channels beside others, with the parameter that takes another one.
fn silent(loudness: &Loudness, used: usize) -> Option<String> {
    let (channels, others) = loudness.silent(used)?;
    let hint = match others.first() {
        Some(other) if used == 1 => format!("; channels={other} takes that one"),
        _ => String::new(),
    };
    let warning = RecordingWarning::Silent { channels, others, is_alone: used == 1 };
    Some(format!("{warning}{hint}"))
}

/// Gives all samples. Returns warnings about what is missing.
fn give_all(
    mut sound: SoundStream,
    chosen: Chosen,
    give: &Sender<Result<Step, Trouble>>,
) -> Result<Vec<String>, Trouble> {
    let Chosen { signals, warning } = chosen;
    let rate = sound.sample_rate();
    let used = signals.len();
    let mut loudness = Loudness::new(sound.channels(), &signals);
    if give.blocking_send(Ok(Step::Form { rate, signals: used })).is_err() {
        return Ok(Vec::new());
    }
    loop {
        let mut samples = sound.read(piece(rate as f32), &loudness.channels).map_err(fault)?;
        if samples.first().is_none_or(Vec::is_empty) {
            let of_sound = sound.warnings();
            let warnings = warning.into_iter().chain(of_sound.iter().map(ToString::to_string));
            let warnings = warnings.chain(silent(&loudness, used)).collect();
            return sound.close().map(|()| warnings).map_err(fault);
        }
        loudness.add(&samples);
        samples.truncate(used);
        if give.blocking_send(Ok(Step::Samples(samples))).is_err() {
            return Ok(Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_channel_beside_speech_is_a_warning_with_the_other_one() {
        // A wave of 16 bits at 8 kHz: the first of two channels is silent.
        let mut wave = b"RIFF\x64\x06\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0\x40\x1f\0\0\0\x7d\0\0\x04\0\x10\0data\x40\x06\0\0".to_vec();
        (0..400_i16).for_each(|n| wave.extend([[0, 0], (n * 50 % 3000).to_le_bytes()].concat()));
        let warnings = |channels: Option<Channels>| {
            let sound =
                SoundStream::from_reader(KaldiReader::from_read(SOUND, std::io::Cursor::new(wave.clone())));
            let sound = sound.unwrap();
            let chosen = Chosen::of(&sound, channels).ok().unwrap();
            let (give, mut steps) = channel(1000);
            let warnings = give_all(sound, chosen, &give).ok().unwrap();
            drop(give);
            let mut count = 0;
            while let Some(Ok(step)) = steps.blocking_recv() {
                if let Step::Samples(samples) = step {
                    count = samples.len();
                }
            }
            (count, warnings)
        };
        let first = "the first of 2 channels is taken; channels=each, mix or a number chooses others";
        let silent = "channel 1 is silent, but channel 2 is not";
        let alone = format!("{silent}; channels=2 takes that one");
        assert_eq!(warnings(None), (1, vec![first.to_owned(), alone.clone()]));
        assert_eq!(warnings(Some(Channels::Number(1))), (1, vec![alone]));
        assert_eq!(warnings(Some(Channels::Each)), (2, vec![silent.to_owned()]));
        assert_eq!(warnings(Some(Channels::Number(2))), (1, vec![]));
        assert_eq!(warnings(Some(Channels::Mix)), (1, vec![]));
    }
}
