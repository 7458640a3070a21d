//! The sound of a recording, which a thread of its own reads. So a decoder that stalls stops neither sockets nor recognition.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kaldi_io::{KaldiReader, threads};
use kaldi_sound::{Channels, SoundStream};
use nnet3_online::piece;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use crate::process::{DecoderProgram, Decoding, Process, Trouble};

/// The name of a recording in errors.
pub const SOUND: &str = "the recording";
/// Pieces that wait to be recognised.
const PIECES: usize = 4;

/// A step of a recording.
enum Step {
    /// The rate of the sound, in Hz.
    Rate(u32),
    Samples(Vec<f32>),
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
    /// Begins to decode the first channel of a recording, and waits for its rate. Without a program the thread decodes.
    pub async fn open(
        recording: File,
        program: Option<DecoderProgram>,
        patience: Duration,
    ) -> Result<Sound, Trouble> {
        let (give, steps) = channel(PIECES);
        let process = Slot::default();
        let theirs = process.clone();
        threads::start("the sound of a recording", move || {
            if let Err(trouble) = read(recording, program, &theirs, &give) {
                let _nobody = give.blocking_send(Err(trouble));
            }
        })
        .map_err(|error| Trouble::Server(error.chain()))?;
        let mut sound = Sound { steps, process, patience, rate: 0, warnings: Vec::new() };
        match sound.step().await? {
            Step::Rate(rate) => sound.rate = rate,
            Step::Samples(_) | Step::End(_) => return Err(unexpected()),
        }
        Ok(sound)
    }

    /// Waits for the next samples; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<f32>>, Trouble> {
        match self.step().await? {
            Step::Samples(samples) => Ok(Some(samples)),
            Step::End(warnings) => {
                self.warnings = warnings;
                Ok(None)
            }
            Step::Rate(_) => Err(unexpected()),
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
    slot: &Slot,
    give: &Sender<Result<Step, Trouble>>,
) -> Result<(), Trouble> {
    let warnings = match program {
        None => read_stream(KaldiReader::from_read(SOUND, recording), give)?,
        Some(program) => {
            let Decoding { process, samples, ending } = program.start(recording)?;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
            if give.is_closed() {
                return Ok(());
            }
            let outcome = read_stream(KaldiReader::from_read(SOUND, samples), give);
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

/// Gives all samples. Returns warnings about what is missing.
fn read_stream(reader: KaldiReader, give: &Sender<Result<Step, Trouble>>) -> Result<Vec<String>, Trouble> {
    let mut sound = SoundStream::from_reader(reader).map_err(fault)?;
    let signals = sound.signals(Channels::First).map_err(fault)?;
    let rate = sound.sample_rate();
    if give.blocking_send(Ok(Step::Rate(rate))).is_err() {
        return Ok(Vec::new());
    }
    loop {
        let samples = sound.read(piece(rate as f32), &signals).map_err(fault)?.pop().unwrap_or_default();
        if samples.is_empty() {
            let warnings = sound.warnings().iter().map(ToString::to_string).collect();
            return sound.close().map(|()| warnings).map_err(fault);
        }
        if give.blocking_send(Ok(Step::Samples(samples))).is_err() {
            return Ok(Vec::new());
        }
    }
}
