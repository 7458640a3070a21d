//! Wave files piece by piece, as they arrive.

use kaldi_io::KaldiReader;

use super::Result;
use super::body::Body;

/// A wave file after its header.
pub struct WaveStream {
    reader: KaldiReader,
    body: Body,
}

impl WaveStream {
    /// Reads the header.
    pub fn new(mut reader: KaldiReader) -> Result<WaveStream> {
        let body = Body::new(&mut reader, false)?;
        Ok(WaveStream { reader, body })
    }

    /// Reads the header of a file that others may follow, as `cat a.wav b.wav` makes them. See [`follows`](Self::follows).
    pub fn one_of_several(mut reader: KaldiReader) -> Result<WaveStream> {
        let body = Body::new(&mut reader, true)?;
        Ok(WaveStream { reader, body })
    }

    /// True at the end of one of several files, if another one follows.
    pub fn follows(&self) -> bool {
        self.body.follows
    }

    /// Returns the reader, which is at the beginning of the file that follows.
    pub fn into_next(self) -> KaldiReader {
        self.reader
    }

    /// In Hz.
    pub fn sample_rate(&self) -> u32 {
        self.body.header.sample_rate
    }

    pub fn channels(&self) -> usize {
        self.body.header.channels()
    }

    /// The length in seconds that the headers so far announce. `None` if they do not know it.
    pub fn seconds(&self) -> Option<f64> {
        let header = &self.body.header;
        let samples = self.body.announced()? / header.block_align.max(1);
        Some(samples as f64 / f64::from(header.sample_rate))
    }

    /// Up to `most` samples of the first channel, not scaled; waits for them. Fewer only at the end of a chunk, none
    /// only at the end.
    pub fn read(&mut self, most: usize) -> Result<Vec<f32>> {
        let channels = self.channels();
        Ok(self.read_all(most)?.into_iter().step_by(channels).map(f32::from).collect())
    }

    /// Up to `most` samples of each channel, as [`WaveStream::read`]: all channels of the first sample, and so on.
    pub fn read_all(&mut self, most: usize) -> Result<Vec<i16>> {
        let mut bytes = vec![0; most.saturating_mul(self.body.header.block_align as usize)];
        let read = self.body.read(&mut self.reader, &mut bytes)?;
        let mut samples = Vec::with_capacity(read / self.body.header.coding.bytes());
        self.body.decode(&bytes[..read], &mut samples);
        Ok(samples)
    }

    /// The fault of the file, once all of it was read. It says nothing about single samples.
    pub fn complaint(&self) -> Option<String> {
        self.body.fault()
    }

    /// The number of samples so far that are NaN or infinite.
    pub fn not_finite(&self) -> u64 {
        self.body.not_finite
    }

    /// Returns the number of samples that are NaN or infinite since the last call.
    pub fn take_not_finite(&mut self) -> u64 {
        std::mem::take(&mut self.body.not_finite)
    }

    /// Closes the file; fails if it is a pipe and its command failed.
    pub fn close(self) -> Result<()> {
        self.reader.close()
    }
}
