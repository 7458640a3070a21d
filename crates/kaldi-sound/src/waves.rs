//! A wave file, and those that follow it, as one stream of samples.

use kaldi_feat::wave::WaveStream;
use kaldi_io::KaldiReader;

use crate::conversion::Conversion;
use crate::{Result, Warning};

/// Waves one behind the other. Sound of another rate, or with other channels, is given as that of the first one.
pub(crate) struct Waves {
    /// `None` behind a file that cannot be read.
    now: Option<WaveStream>,
    ended: bool,
    /// Rate in Hz and channels of the first file.
    form: (u32, usize),
    conversion: Conversion,
    /// Samples that are ready, all channels of the first one first; those before `taken` have been returned.
    ready: Vec<i16>,
    taken: usize,
    /// Samples of each channel so far.
    count: u64,
    /// Samples of earlier files that are NaN or infinite.
    not_finite: u64,
    /// Samples of each channel in the first file, once another one follows it.
    first: Option<u64>,
    /// Files behind the first one.
    following: usize,
    /// Faults of earlier files.
    warnings: Vec<Warning>,
}

impl Waves {
    /// Reads the header of the first file. It is the only one if the samples are `raw`, whatever these look like.
    pub fn new(reader: KaldiReader, raw: bool) -> kaldi_io::Result<Waves> {
        let file = reader.name().to_owned();
        let now = match reader.is_whole() && !raw {
            true => WaveStream::one_of_several(reader)?,
            // (Behind a wave in an archive comes the next key.)
            false => WaveStream::new(reader)?,
        };
        let form = (now.sample_rate(), now.channels());
        Ok(Waves {
            conversion: Conversion::new(&file),
            now: Some(now),
            ended: false,
            form,
            ready: Vec::new(),
            taken: 0,
            count: 0,
            not_finite: 0,
            first: None,
            following: 0,
            warnings: Vec::new(),
        })
    }

    /// In Hz.
    pub fn sample_rate(&self) -> u32 {
        self.form.0
    }

    pub fn channels(&self) -> usize {
        self.form.1
    }

    /// The length of the first file in seconds, as its header has it.
    pub fn seconds(&self) -> Option<f64> {
        self.now.as_ref().and_then(WaveStream::seconds)
    }

    /// Up to `most` samples of each channel. Fewer only at the end of a chunk, none only at the end.
    pub fn read(&mut self, most: usize) -> Result<Vec<i16>> {
        let wanted = most.saturating_mul(self.channels());
        while self.taken == self.ready.len() && !self.ended {
            self.ready.clear();
            self.taken = 0;
            self.step(most)?;
        }
        let end = self.ready.len().min(self.taken.saturating_add(wanted));
        let samples = self.ready[self.taken..end].to_vec();
        self.taken = end;
        self.count += (samples.len() / self.channels()) as u64;
        Ok(samples)
    }

    /// Decodes samples, or goes on to the next file.
    fn step(&mut self, most: usize) -> Result<()> {
        let Some(now) = &mut self.now else { return Ok(()) };
        let samples = now.read_all(most)?;
        if !samples.is_empty() {
            let (rate, channels) = (now.sample_rate(), now.channels());
            return self.conversion.add(rate, channels, &samples, &mut self.ready);
        }
        let Some(last) = self.now.take_if(|now| now.follows()) else {
            self.conversion.finish(&mut self.ready);
            self.ended = true;
            return Ok(());
        };
        self.not_finite += last.not_finite();
        self.warnings.extend(last.complaint().map(Warning::Other));
        match WaveStream::one_of_several(last.into_next()) {
            Ok(next) => {
                self.now = Some(next);
                self.first.get_or_insert(self.count);
                self.following += 1;
            }
            Err(error) => {
                self.conversion.finish(&mut self.ready);
                self.ended = true;
                let at = self.count as f64 / f64::from(self.form.0);
                self.warnings.push(Warning::Other(format!(
                    "a file that is joined to the first {at:.2} s of sound is left out: {error}"
                )));
            }
        }
        Ok(())
    }

    /// Faults of the files so far, and that there are several: other programs read the first one only.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut all = self.warnings.clone();
        if let Some(first) = self.first {
            let (at, count) = (first as f64 / f64::from(self.form.0), self.following);
            all.push(Warning::Other(format!(
                "the wave ends after {at:.2} s of sound, and {} it; all are read here, other programs read the first one only",
                if count == 1 { "another one follows".to_owned() } else { format!("{count} others follow") }
            )));
        }
        all.extend(self.now.as_ref().and_then(WaveStream::complaint).map(Warning::Other));
        let count = self.not_finite + self.now.as_ref().map_or(0, WaveStream::not_finite);
        if count > 0 {
            all.push(Warning::NotFinite { count });
        }
        all
    }

    /// Closes the input; fails if it is a pipe and its command failed.
    pub fn close(self) -> kaldi_io::Result<()> {
        self.now.map_or(Ok(()), WaveStream::close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(rate: u32, channels: u8, samples: &[i16]) -> Vec<u8> {
        let size = 2 * samples.len() as u32;
        let block = 2 * u32::from(channels);
        let mut out = [&b"RIFF"[..], &(size + 36).to_le_bytes(), b"WAVEfmt \x10\0\0\0\x01\0"].concat();
        out.extend([channels, 0]);
        out.extend([rate.to_le_bytes(), (block * rate).to_le_bytes()].concat());
        out.extend([block as u8, 0, 16, 0]);
        out.extend([&b"data"[..], &size.to_le_bytes()].concat());
        out.extend(samples.iter().flat_map(|x| x.to_le_bytes()));
        out
    }

    fn read(bytes: Vec<u8>) -> (Vec<i16>, Vec<Warning>) {
        let mut waves = Waves::new(KaldiReader::from_bytes("f", bytes), false).unwrap();
        let mut all = Vec::new();
        loop {
            match waves.read(3).unwrap() {
                samples if samples.is_empty() => return (all, waves.warnings()),
                samples => all.extend(samples),
            }
        }
    }

    #[test]
    fn waves_that_follow_are_given_in_the_form_of_the_first() {
        let first = wave(8000, 1, &[1, 2, 3, 4, 5]);
        let (samples, warnings) = read([first.clone(), wave(8000, 1, &[6, 7])].concat());
        assert_eq!((samples, warnings.len()), (vec![1, 2, 3, 4, 5, 6, 7], 1));
        assert!(warnings[0].to_string().contains("another one follows"), "{}", warnings[0]);
        assert_eq!(read(first.clone()).1, []);
        let stereo = wave(8000, 2, &[10, 20, 30, 50]);
        assert_eq!(read([first.clone(), stereo].concat()).0, [1, 2, 3, 4, 5, 15, 40]);
        let faster = wave(16000, 1, &[100; 1000]);
        let last = wave(8000, 1, &[9]);
        let (samples, warnings) = read([first.clone(), faster, last].concat());
        assert!(samples.len() == 506 && warnings.len() == 1, "{}", samples.len());
        assert!(warnings[0].to_string().contains("2 others follow"), "{}", warnings[0]);
        assert!(samples[100..400].iter().all(|x| (99..=101).contains(x)) && samples[505] == 9, "{samples:?}");
    }

    #[test]
    fn a_wave_that_cannot_be_read_is_a_warning() {
        let first = wave(8000, 1, &[1, 2]);
        let mut second = wave(8000, 1, &[3]);
        second[20] = 99;
        let (samples, warnings) = read([first, second].concat());
        assert_eq!((samples, warnings.len()), (vec![1, 2], 1));
        assert!(warnings[0].to_string().contains("is left out"), "{}", warnings[0]);
    }
}
