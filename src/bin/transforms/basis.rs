//! Transforms within a basis, for the programs with posteriors of transition-ids and with posteriors of Gaussians.

use anyhow::{Context, Result};
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::basis::{Basis, BasisOptions, BasisStats};
use kaldi_io::holder::{MatrixHolder, VectorHolder};
use kaldi_io::{KaldiWriter, TableWriter, read_object, write_object};
use nnet3::{gaussians, messages};

use crate::transforms::speakers::{Improvement, Occupancies, Tables};

/// Collects the statistics of all speakers. As in the reference, the last frame of each speaker does not count.
pub fn accumulate<O: Occupancies>(
    model: &str,
    tables: &Tables<'_>,
    accs_out: &str,
    binary: bool,
) -> Result<u8> {
    let (transitions, model) = gaussians::read_model(model)?;
    KaldiWriter::check(accs_out)?;
    let mut sum = BasisStats::new(model.dim());
    let mut speakers = 0;
    let counts = tables.for_each::<O>(&transitions, &model, |_, mut stats| {
        sum.add(&mut stats);
        speakers += 1;
        Ok(())
    })?;
    if tables.by_speaker() {
        messages::log(&format!("Accumulate statistics from {speakers} speakers"));
    }
    write_object(accs_out, binary, &sum)?;
    messages::log(&format!(
        "Done {} files, {} with no posts, {} with other errors.",
        counts.done, counts.missing, counts.failed
    ));
    messages::log(&format!("Written gradient scatter to {accs_out}"));
    Ok(counts.status())
}

// Options of gmm-est-basis-fmllr and its sister.
#[derive(clap::Args)]
pub struct BasisArgs {
    /// Number of iterations in basis fMLLR update during testing
    #[arg(long, default_value_t = 10)]
    num_iters: usize,
    /// Scale (< 1.0) on speaker's amount of data to get number of basis elements to use
    #[arg(long, default_value_t = 0.2)]
    size_scale: f32,
    /// Minimum count required to update fMLLR
    #[arg(long, default_value_t = 50.0)]
    fmllr_min_count: f32,
    /// Number of iterations in computing step size
    #[arg(long, default_value_t = 3)]
    step_size_iters: usize,
}

/// Names of files and tables.
pub struct Files<'a> {
    pub model: &'a str,
    pub basis: &'a str,
    pub transforms: &'a str,
    /// Empty if weights are not wanted.
    pub weights: &'a str,
}

impl BasisArgs {
    /// The whole of both programs. As in the reference, the last frame of each speaker does not count.
    pub fn run<O: Occupancies>(&self, files: &Files<'_>, tables: &Tables<'_>) -> Result<u8> {
        let options = BasisOptions {
            iterations: self.num_iters,
            size_scale: self.size_scale.into(),
            min_count: self.fmllr_min_count.into(),
            step_size_iterations: self.step_size_iters,
        };
        let (transitions, model) = gaussians::read_model(files.model)?;
        let basis: Basis = read_object(files.basis)?;
        let mut output = TableWriter::<MatrixHolder>::open(files.transforms)?;
        let mut weights = match files.weights {
            "" => None,
            name => Some(TableWriter::<VectorHolder>::open(name)?),
        };
        let mut improvement = Improvement::default();
        let unit = if tables.by_speaker() { "speaker" } else { "utterance" };
        let counts = tables.for_each::<O>(&transitions, &model, |key, mut stats| {
            let estimate = basis.estimate(&mut stats, &options).with_context(|| files.basis.to_owned())?;
            let count = stats.count();
            if count < options.min_count {
                messages::warn(&format!("Not updating fMLLR since count is below min-count: {}", num(count)));
            }
            output.write(key, &estimate.transform)?;
            if let Some(weights) = weights.as_mut().filter(|_| !estimate.weights.is_empty()) {
                weights.write(key, &estimate.weights)?;
            }
            messages::log(&format!(
                "For {unit} {key}, auxf-impr from Basis fMLLR is {}, over {} frames, the top {} basis elements have been used",
                ratio(estimate.improvement, count),
                num(count),
                estimate.weights.len()
            ));
            improvement.add(estimate.improvement, count);
            Ok(())
        })?;
        output.close()?;
        weights.map_or(Ok(()), TableWriter::close)?;
        improvement.log(&counts, "posts", "auxf-impr");
        Ok(counts.status())
    }
}
