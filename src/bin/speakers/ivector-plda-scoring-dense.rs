//! `ivector-plda-scoring-dense`: PLDA scores of all pairs of vectors of a recording.

use anyhow::{Context, Result, bail};
use kaldi_io::RandomReader;
use kaldi_io::holder::{MatrixHolder, TokenVectorHolder, VectorHolder};
use kaldi_speaker::plda::{Length, Plda};
use kaldi_speaker::plda_dense::score_all_pairs;
use nnet3::{messages, tables};

/// Perform PLDA scoring for speaker diarization. The input reco2utt should be of the form `<recording-id> <seg1> <seg2>
/// ... <segN>` and there should be one iVector for each segment. PLDA scoring is performed between all pairs of
/// iVectors in a recording and outputs an archive of score matrices, one for each recording-id.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: ivector-plda-scoring-dense plda reco2utt scp:ivectors.scp ark:scores.ark ark,t:ivectors.1.ark\n\
    See also: agglomerative-cluster"
)]
pub struct Options {
    /// Reduce dimensionality of i-vectors using a recording-dependent PCA such that this fraction of the total energy
    /// remains.
    #[arg(long, default_value_t = 0.5)]
    target_energy: f32,
    /// If true, do length normalization as part of PLDA
    #[arg(long, default_value_t = true)]
    normalize_length: bool,
    /// If true, replace the default length normalization by dividing by the length and multiplying by sqrt(dimension)
    #[arg(long, default_value_t = false)]
    simple_length_normalization: bool,
    plda: String,
    reco2utt_rspecifier: String,
    ivectors_rspecifier: String,
    scores_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: Plda = kaldi_io::read_object(&options.plda)?;
    let length = Length::new(options.normalize_length, options.simple_length_normalization);
    let energy = f64::from(options.target_energy);
    let table_name = &options.ivectors_rspecifier;
    let mut table = RandomReader::<VectorHolder>::open(table_name)?;
    let (from, to) = (&options.reco2utt_rspecifier, &options.scores_wspecifier);
    let output = tables::map::<TokenVectorHolder, MatrixHolder>(from, to, |_, utterances| {
        let mut vectors = Vec::new();
        for utterance in &utterances {
            match table.get(utterance)? {
                Some(vector) if vector.len() == model.dim() => vectors.push(vector.clone()),
                Some(vector) => {
                    let (found, dim) = (vector.len(), model.dim());
                    return tables::skip(format!("{utterance} has dimension {found}, the PLDA model {dim}"));
                }
                None => bail!("No iVector present in input for utterance {utterance}"),
            }
        }
        if vectors.is_empty() {
            return tables::skip("no utterances");
        }
        let scores = score_all_pairs(&model, &vectors, energy, length);
        Ok(Ok(scores.with_context(|| table_name.clone())?))
    })?;
    table.close()?;
    messages::log(&format!("Processed {} recordings, {} had errors.", output.done, output.failed));
    output.finish()
}
