//! Gaussian selection: the best Gaussians of each frame.

use anyhow::{Result, bail};
use kaldi_cli::log::ratio;
use kaldi_gmm::selection;
use kaldi_io::holder::{FloatHolder, I32VectorVectorHolder};
use nnet3::messages;
use nnet3::tables::Output;

use crate::background::mixture::{Mixture, read_scorer};
use crate::background::utterances::{self, Sources};

// Options and arguments of programs that select Gaussians.
#[derive(clap::Args)]
pub struct SelectionOptions {
    /// Number of Gaussians to keep per frame
    #[arg(long, default_value_t = 50)]
    n: i32,
    /// wspecifier for likelihoods per utterance
    #[arg(long, default_value = "")]
    write_likes: String,
    /// rspecifier for gselect objects to limit the search to
    #[arg(long, default_value = "")]
    gselect: String,
    model_in: String,
    feature_rspecifier: String,
    gselect_wspecifier: String,
}

/// Number of Gaussians for each frame: --n, or all of the mixture with a warning that ends with `note`.
pub fn number(n: i32, num_gauss: usize, note: &str) -> Result<usize> {
    let Some(wanted) = usize::try_from(n).ok().filter(|&n| n > 0) else {
        bail!("--n={n}: expected a number of Gaussians above 0");
    };
    if wanted > num_gauss {
        messages::warn(&format!(
            "You asked for {wanted} Gaussians but GMM only has {num_gauss}, returning this many. {note}"
        ));
    }
    Ok(wanted.min(num_gauss))
}

/// Log-likelihoods and frames of all files.
#[derive(Default)]
pub struct Totals {
    pub log_likelihood: f64,
    pub frames: usize,
}

impl Totals {
    pub fn log(&self, done: u64, failed: u64) {
        messages::log(&format!(
            "Done {done} files, {failed} with errors, average UBM log-likelihood is {} over {} frames.",
            ratio(self.log_likelihood, self.frames as f64),
            self.frames
        ));
    }
}

pub fn run<M: Mixture>(options: &SelectionOptions) -> Result<u8> {
    let scorer = read_scorer::<M>(&options.model_in)?;
    let note = "Note: this means the Gaussian selection is pointless.";
    let n = number(options.n, scorer.num_gauss(), note)?;
    let mut output = Output::<I32VectorVectorHolder>::open(&options.gselect_wspecifier)?;
    let mut likes = match options.write_likes.as_str() {
        "" => None,
        table => Some(Output::<FloatHolder>::open(table)?),
    };
    let mut totals = Totals::default();
    let sources =
        Sources { features: &options.feature_rspecifier, lists: &options.gselect, ..Sources::default() };
    let counts = utterances::for_each(&sources, &scorer, |utterance| {
        let (features, mut of_file) = (utterance.features, 0.0);
        let mut selected = Vec::with_capacity(features.rows);
        let mut select = |pairs: Vec<(usize, f32)>| {
            let (best, log_likelihood) = selection::best(pairs, n)?;
            of_file += f64::from(log_likelihood);
            selected.push(best.into_iter().map(|g| g as i32).collect());
            Ok(())
        };
        match &utterance.lists {
            None => scorer
                .for_each_frame(features, |_, values| select(values.iter().copied().enumerate().collect()))?,
            Some(lists) => lists.iter().enumerate().try_for_each(|(t, list)| {
                select(list.iter().copied().zip(scorer.listed(features.row(t), list)).collect())
            })?,
        }
        if output.done.is_multiple_of(10) {
            messages::log(&format!(
                "For {}'th file, average UBM likelihood over {} frames is {}",
                output.done,
                features.rows,
                ratio(of_file, features.rows as f64)
            ));
        }
        output.write(utterance.key, &selected)?;
        if let Some(likes) = &mut likes {
            likes.write(utterance.key, &(of_file as f32))?;
        }
        totals.frames += features.rows;
        totals.log_likelihood += of_file;
        Ok(Ok(()))
    })?;
    totals.log(counts.done, counts.failed);
    let status = output.finish()?;
    likes.map_or(Ok(status), |likes| likes.finish().map(|_| status))
}
