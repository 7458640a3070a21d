//! Decoded sound on its way from a decoder to the stream.

use symphonia::core::audio::GenericAudioBufferRef;

use crate::{Result, Warning};

/// Samples that follow each other.
#[derive(Default)]
pub(crate) struct Block {
    /// In Hz.
    pub rate: u32,
    pub channels: usize,
    /// All channels of the first sample, and so on.
    pub samples: Vec<i16>,
    /// The time of the first sample that the file gives, in samples since the file's beginning.
    pub at: Option<i64>,
    /// The largest difference of that time that is no gap, in samples.
    pub tolerance: i64,
    pub not_finite: u64,
    /// True if this is silence in place of a packet that could not be decoded.
    pub damaged: bool,
    /// True if a file that is joined to the last one begins here.
    pub restart: bool,
}

impl Block {
    pub fn frames(&self) -> usize {
        self.samples.len() / self.channels.max(1)
    }

    /// Leaves out frames at both ends.
    pub fn trim(&mut self, front: usize, keep: usize) {
        let front = front.min(self.frames());
        let keep = keep.min(self.frames() - front);
        self.samples.truncate((front + keep) * self.channels);
        self.samples.drain(..front * self.channels);
        self.at = self.at.map(|at| at + front as i64);
    }

    /// Silence in place of a damaged packet.
    pub fn silence(rate: u32, channels: usize, frames: usize) -> Block {
        Block { rate, channels, samples: vec![0; frames * channels], damaged: true, ..Block::default() }
    }

    pub fn of_buffer(buffer: &GenericAudioBufferRef<'_>) -> Block {
        let spec = buffer.spec();
        let mut block = Block { rate: spec.rate(), channels: spec.channels().count(), ..Block::default() };
        match buffer {
            GenericAudioBufferRef::F32(_) | GenericAudioBufferRef::F64(_) => {
                let mut samples: Vec<f32> = Vec::new();
                buffer.copy_to_vec_interleaved(&mut samples);
                block.not_finite = samples.iter().filter(|sample| !sample.is_finite()).count() as u64;
                // (`as` clips, and makes 0 of NaN.)
                block.samples = samples.iter().map(|&sample| (sample * 32768.0).round() as i16).collect();
            }
            _ => buffer.copy_to_vec_interleaved(&mut block.samples),
        }
        block
    }
}

/// The end of a file, as its header and its bytes have it.
#[derive(Default)]
pub(crate) struct End {
    /// The time at which it should end, in samples since its beginning, and the rate of these in Hz.
    pub expected: Option<(i64, u32)>,
    /// Samples that may be missing at that time without a fault: the header counts whole packets.
    pub slack: usize,
    /// True if a file that ends before that time is cut, without another sign of it.
    pub certain: bool,
    /// The time of the last packet of another track, in seconds since the beginning, if it may tell that the sound was whole.
    pub others: Option<f64>,
    /// The reason why the decoder could not go on.
    pub reason: Option<String>,
    /// True if the samples do not have the checksum of the file.
    pub wrong_checksum: bool,
    /// Other faults.
    pub warnings: Vec<Warning>,
}

/// A decoder of a file.
pub(crate) trait Blocks: Send {
    /// The next samples. `None` at the end.
    fn next(&mut self) -> Result<Option<Block>>;
    /// The end, after it has come.
    fn end(&mut self) -> End;
    /// The length in seconds that the file's header has, if it has one.
    fn seconds(&self) -> Option<f64> {
        None
    }
    /// The number of the track that is decoded, from 1, and the number of tracks.
    fn track(&self) -> (usize, usize) {
        (1, 1)
    }
}

/// The reason why a decoder does not decode a file.
pub(crate) struct NotDecoded {
    pub reason: String,
    /// True if the format is known, or might be, but not the coding of its sound.
    pub unsupported: bool,
    /// True if the file ends before its first sample.
    pub cut: bool,
    /// The number of the track that is to be decoded, from 1, and the number of tracks, if they are known.
    pub track: Option<(usize, usize)>,
}

impl NotDecoded {
    pub fn new(reason: impl Into<String>) -> NotDecoded {
        NotDecoded { reason: reason.into(), unsupported: true, cut: false, track: None }
    }

    /// Says that a file of a known format has no sound that can be used.
    pub fn damaged(reason: impl Into<String>) -> NotDecoded {
        NotDecoded { reason: reason.into(), unsupported: false, cut: false, track: None }
    }
}

/// An error with its causes, without the name of the file.
pub(crate) fn reason(error: &crate::Error) -> String {
    match error {
        crate::Error::NoSound { reason, .. } => reason.clone(),
        crate::Error::Io(kaldi_io::IoError::Io { source, .. }) => source.to_string(),
        other => other.to_string(),
    }
}
