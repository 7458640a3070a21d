//! Statistics for estimating a whole model (`gmm/mle-am-diag-gmm.cc`): counts of transitions, and statistics of each pdf.

use crate::error::Result;
use crate::flags::Parts;
use crate::gmm::DiagGmm;
use crate::likelihood::Frame;
use crate::model::AmDiagGmm;
use crate::stats::GmmStats;
use kaldi_hmm::{TransitionId, TransitionModel};
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, read_vector, write_vector};

/// Statistics of a whole model: counts of transition-ids, and statistics of the mixture of each pdf.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelStats {
    /// The first element is 0, then one for each transition-id.
    pub transitions: Vec<f64>,
    pub pdfs: Vec<GmmStats>,
    /// The sum of log-likelihoods times weights.
    pub log_likelihood: f64,
    /// The sum of the weights of frames.
    pub frames: f64,
}

impl ModelStats {
    /// Zeros for a model whose frames have dimension `dim`, which may differ from the model's.
    pub fn new(transitions: &TransitionModel, model: &AmDiagGmm, dim: usize, parts: Parts) -> ModelStats {
        ModelStats {
            transitions: vec![0.0; transitions.num_transition_ids() + 1],
            pdfs: model.pdfs().iter().map(|pdf| GmmStats::new(pdf.num_gauss(), dim, parts)).collect(),
            log_likelihood: 0.0,
            frames: 0.0,
        }
    }

    /// Counts a transition. (These counts are there whatever the parts are.)
    pub fn add_transition(&mut self, id: TransitionId, weight: f64) {
        self.transitions[id.get()] += weight;
    }

    /// Reads other statistics and adds them, a pdf at a time. An error if they are of another model or other parts; then
    /// some of them may have been added.
    pub fn add_from(&mut self, r: &mut KaldiReader) -> kaldi_io::Result<()> {
        let (transitions, pdfs) = read_beginning(r)?;
        let (found, expected) = (transitions.len(), self.transitions.len());
        if found != expected {
            return Err(r.error(format!(
                "Vector<Real>::Read, adding but dimensions mismatch {expected} vs. {found} (counts of transition-ids)"
            )));
        }
        if pdfs != self.pdfs.len() {
            let expected = self.pdfs.len();
            return Err(r.error(format!(
                "statistics of {pdfs} pdfs cannot be added to statistics of {expected} pdfs"
            )));
        }
        self.transitions.iter_mut().zip(&transitions).for_each(|(sum, count)| *sum += count);
        for (pdf, sum) in self.pdfs.iter_mut().enumerate() {
            sum.merge(&GmmStats::read(r)?).map_err(|e| r.error(format!("pdf {pdf}: {e}")))?;
        }
        let (log_likelihood, frames) = read_end(r)?;
        self.log_likelihood += log_likelihood;
        self.frames += frames;
        Ok(())
    }

    /// The sum of all posteriors.
    pub fn total(&self) -> f64 {
        self.pdfs.iter().map(GmmStats::total).sum()
    }

    /// The sum of the posteriors of each pdf.
    pub fn occupancies(&self) -> Vec<f32> {
        self.pdfs.iter().map(|pdf| pdf.total() as f32).collect()
    }
}

impl KaldiObject for ModelStats {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<ModelStats> {
        let (transitions, count) = read_beginning(r)?;
        let mut pdfs = Vec::new();
        for _ in 0..count {
            pdfs.push(GmmStats::read(r)?);
        }
        let (log_likelihood, frames) = read_end(r)?;
        Ok(ModelStats { transitions, pdfs, log_likelihood, frames })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        write_vector(w, &self.transitions)?;
        w.write_token("<NUMPDFS>")?;
        w.write_i32(w.count(self.pdfs.len())?)?;
        self.pdfs.iter().try_for_each(|pdf| pdf.write(w))?;
        w.write_token("<total_like>")?;
        w.write_f64(self.log_likelihood)?;
        w.write_token("<total_frames>")?;
        w.write_f64(self.frames)
    }
}

/// Reads counts of transitions and the number of pdfs.
fn read_beginning(r: &mut KaldiReader) -> kaldi_io::Result<(Vec<f64>, usize)> {
    let transitions = read_vector::<f64>(r)?;
    r.expect_token("<NUMPDFS>")?;
    let pdfs = r.read_i32().and_then(|n| r.check_count(n, "pdfs"))?;
    Ok((transitions, pdfs))
}

/// Reads the log-likelihood and the number of frames. Files of older versions do not have them.
fn read_end(r: &mut KaldiReader) -> kaldi_io::Result<(f64, f64)> {
    if r.at_eof()? {
        return Ok((0.0, 0.0));
    }
    r.expect_token("<total_like>")?;
    let log_likelihood = r.read_f64()?;
    r.expect_token("<total_frames>")?;
    Ok((log_likelihood, r.read_f64()?))
}

/// Adds frames to statistics, with memory for one frame's posteriors.
#[derive(Debug, Default)]
pub struct Accumulator {
    frame: Frame,
    posteriors: Vec<f32>,
}

impl Accumulator {
    /// Computes the posteriors of the Gaussians of a mixture at a frame, times `weight`, and the log-likelihood of the frame.
    pub fn posteriors(&mut self, gmm: &DiagGmm, frame: &[f32], weight: f32) -> Result<(&mut [f32], f32)> {
        self.frame.set(frame);
        let log_likelihood = gmm.posteriors(&self.frame, &mut self.posteriors)?;
        self.posteriors.iter_mut().for_each(|posterior| *posterior *= weight);
        Ok((&mut self.posteriors, log_likelihood))
    }

    /// Adds a frame to the statistics of a pdf. `frame` gives the posteriors of its Gaussians, and `added` is summed. Both
    /// are the same frame, or frames of two kinds of features. Returns the log-likelihood of the frame.
    pub fn add(
        &mut self,
        stats: &mut ModelStats,
        model: &AmDiagGmm,
        (pdf, weight): (i32, f32),
        (frame, added): (&[f32], &[f32]),
    ) -> Result<f32> {
        let (posteriors, log_likelihood) = self.posteriors(model.pdf(pdf)?, frame, weight)?;
        stats.pdfs[pdf as usize].add(added, posteriors);
        stats.log_likelihood += f64::from(log_likelihood) * f64::from(weight);
        stats.frames += f64::from(weight);
        Ok(log_likelihood)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::from_text;
    use crate::testing_models::{both_forms, features, model};
    use kaldi_io::DenseMatrix;

    fn stats(parts: &str) -> ModelStats {
        let (model, features) = (model(2, 3, 4, 7), features(10, 4, 8));
        let pdfs = vec![GmmStats::new(3, 4, Parts::parse(parts).unwrap()); 2];
        let transitions = vec![0.0, 4.0, 6.0];
        let mut stats = ModelStats { transitions, pdfs, log_likelihood: 0.0, frames: 0.0 };
        let mut accumulator = Accumulator::default();
        for t in 0..features.rows {
            let frame = features.row(t);
            accumulator.add(&mut stats, &model, (t as i32 % 2, 0.5), (frame, frame)).unwrap();
        }
        stats
    }

    #[test]
    fn sums_of_all_gaussians_are_those_of_the_frames() {
        let (stats, features) = (stats("mvwt"), features(10, 4, 8));
        assert_eq!((stats.frames, stats.pdfs[0].dim()), (5.0, 4));
        assert!((stats.total() - 5.0).abs() < 1e-6 && (stats.occupancies()[1] - 2.5).abs() < 1e-6);
        for d in 0..4 {
            for pdf in 0..2 {
                let column = || (pdf..10).step_by(2).map(|t| f64::from(features.row(t)[d]));
                let total = |matrix: &DenseMatrix<f64>| (0..3).map(|g| matrix.row(g)[d]).sum::<f64>();
                let (sum, squares) = (total(&stats.pdfs[pdf].sums), total(&stats.pdfs[pdf].products));
                assert!((sum - 0.5 * column().sum::<f64>()).abs() < 1e-6);
                assert!((squares - 0.5 * column().map(|x| x * x).sum::<f64>()).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn merging_doubles() {
        let (mut sum, (text, _)) = (stats("mvwt"), both_forms(&stats("mvwt")));
        let add = |sum: &mut ModelStats, text: &str| {
            let read =
                sum.add_from(&mut KaldiReader::from_read("stats", std::io::Cursor::new(text.to_owned())));
            read.map_err(|e| e.to_string())
        };
        add(&mut sum, &text).unwrap();
        assert_eq!((sum.transitions.clone(), sum.frames), (vec![0.0, 8.0, 12.0], 10.0));
        let occupancy = stats("mvwt").pdfs[1].occupancies()[2];
        assert!((sum.pdfs[1].occupancies()[2] - 2.0 * occupancy).abs() < 1e-6 * occupancy);
        let error = add(&mut sum, &both_forms(&stats("m")).0).unwrap_err();
        assert!(error.contains("pdf 0") && error.contains("flags 5"), "{error}");
        sum.transitions.pop();
        assert!(add(&mut sum, &text).unwrap_err().contains("2 vs. 3"));
    }

    #[test]
    fn files() {
        let stats = stats("m");
        let (text, binary) = both_forms(&stats);
        assert!(
            text.contains("<FLAGS> 5 <OCCUPANCY>  [ ") && text.contains("<DIAGVARACCS>  [ ]\n"),
            "{text}"
        );
        assert!(binary.windows(3).any(|bytes| bytes == [0xfe, 5, 0]));
        let again: ModelStats = from_text(&text).unwrap();
        assert_eq!((again.transitions.clone(), again.pdfs.len(), again.frames), (stats.transitions, 2, 5.0));
        let refused = |old: &str, new: &str, words: &str| {
            assert!(text.contains(old), "{old}");
            let error = from_text::<ModelStats>(&text.replace(old, new)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("<FLAGS> 5", "<FLAGS> 1", "invalid flags of statistics: 1");
        refused("<FLAGS> 5", "<FLAGS> 7", "0×0 squares");
        refused("<NUMCOMPONENTS> 3", "<NUMCOMPONENTS> 2", "3 occupancies and 3×4 sums");
        refused("<VECSIZE> 4", "<VECSIZE> -4", "dimensions");
    }
}
