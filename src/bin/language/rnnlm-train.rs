//! `rnnlm-train`: trains a recurrent language model and its embeddings on minibatches of text.

use anyhow::{Context, Result, bail};
use kaldi_cli::kaldi_log;
use kaldi_cli::log::{self, Site};
use kaldi_io::{DenseMatrix, KaldiWriter, SequentialReader, read_object, write_object};
use nnet3::options::training::AllocatorOptions;
use nnet3::options::{compute, device};
use nnet3::{messages, models, progress};
use nnet3_rnnlm::embedding::Embedding;
use nnet3_rnnlm::example::RnnlmExampleHolder;
use nnet3_rnnlm::features::WordFeatures;
use nnet3_rnnlm::training::{RnnlmTrainer, TrainerOptions};

use super::log::{trained, training};
use super::options::{CoreTrainingOptions, EmbeddingTrainingOptions, ObjectiveArguments};

const NO_DATA: Site = Site::main("rnnlm-train.cc", 170);
const WROTE: Site = Site::main("rnnlm-train.cc", 180);

/// Train nnet3-based RNNLM language model (reads minibatches prepared by rnnlm-get-egs).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: rnnlm-get-egs ... ark:- | rnnlm-train --read-rnnlm=foo/0.raw --write-rnnlm=foo/1.raw \
    --read-embedding=foo/0.embedding --write-embedding=foo/1.embedding --read-sparse-word-features=foo/word_feats.txt ark:-"
)]
pub struct Options {
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "yes", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    /// Read RNNLM from this location (e.g. 0.raw). Must be supplied.
    #[arg(long, default_value = "")]
    read_rnnlm: String,
    /// Write RNNLM to this location (e.g. 1.raw). Must be supplied.
    #[arg(long, default_value = "")]
    write_rnnlm: String,
    /// Location to read dense (feature or word) embedding matrix, of dimension (num-words or num-features) by (embedding-dim).
    /// Must be supplied.
    #[arg(long, default_value = "")]
    read_embedding: String,
    /// Location to write embedding matrix. If not provided, the embedding will not be trained.
    #[arg(long, default_value = "")]
    write_embedding: String,
    /// Location to read sparse word-feature matrix, e.g. word_feats.txt. Lines are like '1  30 1.0 516 1.0': a word-index, then
    /// pairs (feature-index, value). If present, the matrix read via --read-embedding will be a feature-embedding matrix.
    #[arg(long, default_value = "")]
    read_sparse_word_features: String,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    #[command(flatten)]
    objective: ObjectiveArguments,
    #[command(flatten)]
    core: CoreTrainingOptions,
    #[command(flatten)]
    embedding: EmbeddingTrainingOptions,
    #[command(flatten)]
    allocator: AllocatorOptions,
    examples_in: String,
}

pub fn run(options: Options) -> Result<u8> {
    let embedding_out = Some(&options.write_embedding).filter(|name| !name.is_empty());
    if [&options.read_rnnlm, &options.write_rnnlm, &options.read_embedding].iter().any(|name| name.is_empty())
    {
        messages::warn("--read-rnnlm, --write-rnnlm and --read-embedding options are required.");
        return Ok(kaldi_cli::NOTHING_DONE);
    }
    options.allocator.check()?;
    let device = options.device.select(&options.use_gpu)?;
    let trainer_options = TrainerOptions {
        core: options.core.core(),
        embedding: embedding_out.map(|_| options.embedding.embedding()),
        objective: options.objective.objective(),
        compiler: compute::compiler_defaults(),
    };
    let nnet = models::load(&options.read_rnnlm)?;
    let matrix: DenseMatrix<f32> = read_object(&options.read_embedding)?;
    let embedding = (|| {
        let file = &options.read_sparse_word_features;
        let features = if file.is_empty() { None } else { Some(WordFeatures::load(file, matrix.rows)?) };
        Embedding::new(&matrix, features, &device)
    })()
    .with_context(|| options.read_embedding.clone())?;
    let mut trainer = RnnlmTrainer::new(nnet, embedding, trainer_options, &device)?;
    for wxfilename in [&options.write_rnnlm].into_iter().chain(embedding_out) {
        KaldiWriter::check(wxfilename)?;
    }
    let mut examples = SequentialReader::<RnnlmExampleHolder>::open(&options.examples_in)?;
    let bar = progress::counter("minibatches", &options.examples_in);
    while let Some((key, example)) = examples.next()? {
        let place = || format!("{}, key '{key}'", options.examples_in);
        trainer.train(example, &mut |event| training(&event)).with_context(place)?;
        bar.inc();
    }
    drop(bar);
    examples.close()?;
    if trainer.minibatches() == 0 {
        log::error(&NO_DATA, "There was no data to train on.");
        return Ok(kaldi_cli::FAILED);
    }
    let done = trainer.finish()?;
    trained(&done);
    if done.embedding.data.iter().any(|value| !value.is_finite()) {
        bail!(
            "values of the embeddings are nan or infinite: the model is not written (are learning rates too high?)"
        );
    }
    models::save_trained(&done.nnet, &options.write_rnnlm, options.mode.binary)?;
    kaldi_log!(WROTE, "Wrote RNNLM to {}", options.write_rnnlm);
    if let Some(name) = embedding_out {
        write_object(name, options.mode.binary, &done.embedding)?;
        kaldi_log!(WROTE, "Wrote embedding matrix to {name}");
    }
    Ok(0)
}
