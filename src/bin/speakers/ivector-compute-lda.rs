//! `ivector-compute-lda`: discriminant analysis of speakers.

use anyhow::{Result, bail};
use kaldi_cli::log::num;
use kaldi_io::RandomReader;
use kaldi_io::holder::{TokenHolder, VectorHolder};
use kaldi_speaker::lda::{LdaOptions, lda};
use kaldi_speaker::vectors::check;
use nnet3::messages;
use nnet3::tables::Input;
use rustc_hash::{FxHashMap, FxHashSet};

/// Compute an LDA matrix for iVector system. Reads in iVectors per utterance, and an utt2spk file which it uses to help
/// work out the within-speaker and between-speaker covariance matrices. Outputs an LDA projection to a specified
/// dimension. By default it normalizes the projected within-class covariance to unit. With --total-covariance-factor=1
/// it normalizes the total covariance. The last column is an offset.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-compute-lda ark:ivectors.ark ark:utt2spk lda.mat\n\
    See also: ivector-transform, transform-vec")]
pub struct Options {
    /// Dimension we keep with the LDA transform
    #[arg(long, default_value_t = 100)]
    dim: i32,
    /// If this is 0.0 we normalize to make the within-class covariance unit; if 1.0, the total covariance; if between,
    /// we normalize an interpolated matrix.
    #[arg(long, default_value_t = 0.0)]
    total_covariance_factor: f32,
    /// Floor the eigenvalues of the interpolated covariance matrix to the product of its largest eigenvalue and this number.
    #[arg(long, default_value_t = 1e-6)]
    covariance_floor: f32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    ivector_rspecifier: String,
    utt2spk_rspecifier: String,
    lda_matrix_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Ok(dim) = usize::try_from(options.dim) else {
        bail!("--dim={}: expected a number above 0", options.dim);
    };
    let speakers = read(&options.ivector_rspecifier, &options.utt2spk_rspecifier)?;
    let (factor, floor) = (options.total_covariance_factor, options.covariance_floor);
    let lda =
        lda(&speakers, &LdaOptions { dim, total_factor: factor.into(), covariance_floor: floor.into() })?;
    let utterances: usize = speakers.iter().map(Vec::len).sum();
    messages::log(&format!("2-norm of iVector mean is {}", num(lda.mean_norm)));
    messages::log(&format!("Stats have {} speakers, {utterances} utterances. ", speakers.len()));
    if let (floored @ 1.., floor) = lda.floored {
        messages::warn(&format!("Floored {floored} eigenvalues of covariance to {}", num(floor)));
    }
    let variances: Vec<String> = lda.variances.iter().map(|&x| num(x)).collect();
    messages::log(&format!(
        "Singular values of between-class covariance after projecting with interpolated [total/within] covariance \
         with a weight of {} on the total covariance, are:  [ {} ]",
        num(factor.into()),
        variances.join(" ")
    ));
    kaldi_io::write_object(&options.lda_matrix_out, options.mode.binary, &lda.transform)?;
    messages::log(&format!("Wrote LDA transform to {}", options.lda_matrix_out));
    Ok(0)
}

/// Reads the vectors of each speaker. One without a speaker, a second one of a key, or an empty one is left out with a
/// warning.
fn read(vectors: &str, utt2spk: &str) -> Result<Vec<Vec<Vec<f32>>>> {
    let mut table = RandomReader::<TokenHolder>::open(utt2spk)?;
    let mut speakers: FxHashMap<String, usize> = FxHashMap::default();
    let (mut grouped, mut seen) = (Vec::<Vec<Vec<f32>>>::new(), FxHashSet::default());
    let (mut done, mut failed, mut dim) = (0, 0, None);
    Input::<VectorHolder>::open(vectors)?.for_each(|key, vector| {
        let mut skip = |reason: String| {
            messages::warn(&reason);
            failed += 1;
            Ok(())
        };
        if !seen.insert(key.to_owned()) {
            return skip(format!("Duplicate iVector found for utterance {key}, ignoring it."));
        }
        if vector.is_empty() {
            return skip(format!("{key}: empty vector"));
        }
        let Some(speaker) = table.get(key)? else {
            return skip(format!("utt2spk has no entry for utterance {key}, skipping it."));
        };
        check(&vector)?;
        let (found, expected) = (vector.len(), *dim.get_or_insert(vector.len()));
        if found != expected {
            bail!("dimension {found}, the vectors before it have {expected}");
        }
        let speaker = *speakers.entry(speaker.clone()).or_insert_with(|| {
            grouped.push(Vec::new());
            grouped.len() - 1
        });
        grouped[speaker].push(vector);
        done += 1;
        Ok(())
    })?;
    table.close()?;
    messages::log(&format!("Read {done} utterances, {failed} with errors."));
    Ok(grouped)
}
