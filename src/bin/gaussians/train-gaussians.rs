//! `train-gaussians`: trains Gaussian models from a flat start, up to speaker-adaptive ones, and aligns the data with them.

use anyhow::{Result, bail};
use kaldi_align::features::Normalized;
use kaldi_align::recipe::{Amount, StageKind};
use kaldi_align::{Event, Recipe, train};
use kaldi_cli::NOTHING_DONE;
use nnet3::options::threads;
use nnet3::{messages, progress};

use crate::gaussians::alignment_output::{STEPS, show, write};
use crate::gaussians::data_folder::{CepstraOptions, Data, read_lang};
use crate::gaussians::texts::TextScoreOptions;

/// Train monophones, triphones, LDA+MLLT and speaker-adaptive models in one process, and align all data with the last model.
///
/// The data folder has text, utt2spk, and either feats.scp (cepstra without normalisation) or wav.scp and maybe segments. The
/// lang folder is as Kaldi's. The result is as those of steps/train_sat.sh and steps/align_fmllr.sh: final.mdl, final.alimdl, tree,
/// final.mat, ali.1.gz, trans.1; also utterances.tsv, a line for each utterance with the reason if it is not aligned, and
/// phones.ctm. Sizes of models follow from the amount of data.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: train-gaussians --num-threads=4 data/train data/lang exp/tri\nSee also: align-gaussians, prepare-lang"
)]
pub struct Options {
    /// Number of threads; -1 for one for each processor.
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    /// The last stage: mono, tri, lda or sat; empty for the last one that the data can train.
    #[arg(long, default_value = "")]
    last_stage: String,
    /// Gaussians of monophones; 0 for as many as the data can train.
    #[arg(long, default_value_t = 0)]
    mono_gauss: usize,
    /// Leaves of the trees, from triphones to SAT, such as 2000:2500:2500; empty for as many as the data can train.
    #[arg(long, default_value = "")]
    leaves: String,
    /// Gaussians of the models with trees, such as 10000:15000:15000.
    #[arg(long, default_value = "")]
    gauss: String,
    /// Factor of the probabilities of silence in alignments.
    #[arg(long, default_value_t = 1.0)]
    boost_silence: f32,
    /// Beam of the search; if it finds no path, one four times, and then one sixteen times as wide.
    #[arg(long, default_value_t = 10.0)]
    beam: f32,
    /// Normalisation of each speaker's cepstra: means, means-and-variances, or nothing. gaussians-to-network can write models with
    /// nothing and without SAT as networks.
    #[arg(long, default_value = "means")]
    normalize: String,
    #[command(flatten)]
    scores: TextScoreOptions,
    #[command(flatten)]
    cepstra: CepstraOptions,
    data_dir: String,
    lang_dir: String,
    exp_dir: String,
}

/// The numbers of an option such as `2000:2500:2500`.
fn numbers(name: &str, list: &str) -> Result<Vec<usize>> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let number = |part: &str| match part.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => bail!("--{name}={list}: expected numbers above 0 between colons"),
    };
    list.split(':').map(number).collect()
}

impl Options {
    /// Chooses what the data can train, and applies options.
    fn recipe(&self, amount: &Amount) -> Result<Recipe> {
        let last = match self.last_stage.as_str() {
            "" => amount.last_stage(),
            "mono" => StageKind::Monophones,
            "tri" => StageKind::Triphones,
            "lda" => StageKind::LdaMllt,
            "sat" => StageKind::Sat,
            other => bail!("--last-stage={other}: expected mono, tri, lda or sat"),
        };
        let mut recipe = Recipe::up_to(last, amount);
        let (leaves, gauss) = (numbers("leaves", &self.leaves)?, numbers("gauss", &self.gauss)?);
        for (name, list) in [("leaves", &leaves), ("gauss", &gauss)] {
            if list.len() > 3 {
                bail!(
                    "--{name}: expected at most three numbers, for triphones, LDA+MLLT and SAT, found {}",
                    list.len()
                );
            }
        }
        for (place, stage) in recipe.stages.iter_mut().enumerate() {
            if place == 0 {
                stage.gaussians = if self.mono_gauss > 0 { self.mono_gauss } else { stage.gaussians };
                continue;
            }
            stage.leaves = leaves.get(place - 1).copied().unwrap_or(stage.leaves);
            stage.gaussians = gauss.get(place - 1).copied().unwrap_or(stage.gaussians);
        }
        recipe.normalized = match self.normalize.as_str() {
            "nothing" => Normalized::Nothing,
            "means" => Normalized::Means,
            "means-and-variances" => Normalized::MeansAndVariances,
            other => bail!("--normalize={other}: expected nothing, means or means-and-variances"),
        };
        recipe.boost_silence = self.boost_silence;
        if !(self.beam > 0.0 && self.beam.is_finite()) {
            bail!("--beam={}: expected a number above 0", self.beam);
        }
        let beam = self.beam;
        recipe.beams.0 = vec![beam, 4.0 * beam, 16.0 * beam];
        recipe.monophone_beams = recipe.beams.clone();
        Ok(recipe)
    }
}

pub fn run(options: Options) -> Result<u8> {
    let threads = match options.num_threads {
        -1 => threads::number("num-threads", threads::processors() as i64)?,
        wanted => threads::number("num-threads", wanted.into())?,
    };
    let lang = read_lang(&options.lang_dir)?;
    let data = Data::read(&options.data_dir, &lang, &options.cepstra)?;
    messages::log(&format!("{} utterances, {:.3} hours", data.utterances.len(), data.hours(data.frames())));
    let recipe = options.recipe(&Amount::of(&lang, &data.utterances))?;
    let trained = {
        let bar = progress::steps("steps of training", STEPS);
        train(&lang, &data.utterances, &recipe, threads, &mut |event: Event| show(event, &bar))?
    };
    trained.system.save(&options.exp_dir, &lang.phones)?;
    data.write_options(&options.exp_dir)?;
    let aligned = {
        let bar = progress::steps("steps of alignment", STEPS);
        trained.system.align(&lang, &data.utterances, threads, &mut |event: Event| show(event, &bar))?
    };
    options.scores.write(&trained.system, &lang, &data, &aligned, threads)?;
    let done = write(&options.exp_dir, &data, &aligned, &lang.phones)?;
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
