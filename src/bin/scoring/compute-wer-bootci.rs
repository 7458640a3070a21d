//! `compute-wer-bootci`: word error rates with confidence intervals.

use crate::scoring::counts::Mode;
use anyhow::{Context, Result, bail};
use kaldi_io::holder::TokenVectorHolder;
use kaldi_io::{KaldiWriter, RandomReader};
use nnet3::tables::Input;
use nnet3_core::c_rand::CRand;
use nnet3_decode::edit_distance::errors;

/// Compute a bootstrapping of WER to extract the 95% confidence interval.
///
/// Takes a reference and a transcription file, in integer or text format, and outputs overall WER statistics to standard
/// output. The statistics have a confidence interval by the bootstrap method of Bisani and Ney. If a second transcription
/// file corresponding to the same reference is provided, a bootstrap comparison of the two transcriptions is performed to
/// estimate the probability of improvement.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-wer-bootci --mode=present ark:data/train/text ark:hyp_text\n\
    or: compute-wer-bootci ark:data/train/text ark:hyp_text ark:hyp_text2\n\
    See also: compute-wer")]
pub struct Options {
    /// Scoring mode: "present"|"all"|"strict": "present" means score those we have transcriptions for; "all" means
    /// treat absent transcriptions as empty; "strict" means die if all in ref not also in hyp
    #[arg(long, default_value = "strict")]
    mode: String,
    /// Number of replications to compute the intervals
    #[arg(long, default_value_t = 10000)]
    replications: i32,
    ref_rspecifier: String,
    hyp_rspecifier: String,
    hyp2_rspecifier: Option<String>,
}

/// Errors and words of a sentence.
type Scored = (usize, usize);

pub fn run(options: Options) -> Result<u8> {
    let mode: Mode = options.mode.parse()?;
    let replications = usize::try_from(options.replications).ok().filter(|&count| count > 0);
    let replications = replications
        .with_context(|| format!("--replications={}: expected a number above 0", options.replications))?;
    let names = [Some(&options.hyp_rspecifier), options.hyp2_rspecifier.as_ref()].into_iter().flatten();
    let mut tables =
        names.map(|name| RandomReader::<TokenVectorHolder>::open(name)).collect::<Result<Vec<_>, _>>()?;
    let mut sets: Vec<Vec<Scored>> = vec![Vec::new(); tables.len()];
    Input::<TokenVectorHolder>::open(&options.ref_rspecifier)?.for_each(|key, reference| {
        let mut scored = Vec::new();
        for table in &mut tables {
            match (table.get(key)?, mode) {
                (Some(hypothesis), _) => scored.push(errors(&reference, hypothesis).total()),
                (None, Mode::All) => scored.push(reference.len()),
                (None, Mode::Present) => return Ok(()),
                (None, Mode::Strict) => {
                    bail!("No hypothesis for key {key} and strict mode specifier.")
                }
            }
        }
        for (set, wrong) in sets.iter_mut().zip(scored) {
            set.push((wrong, reference.len()));
        }
        Ok(())
    })?;
    let [first, others @ ..] = &sets[..] else { bail!("expected a table of hypotheses") };
    if first.is_empty() {
        bail!("there is no sentence to score in {}", options.ref_rspecifier);
    }
    // As the reference draws them: without a seed the C library begins with 1.
    let mut random = CRand::new(1);
    let mut out = String::new();
    for (i, set) in sets.iter().enumerate() {
        let (mean, interval) = interval(set, replications, &mut random);
        out += &format!(
            "Set{}: %WER {:.2} 95% Conf Interval [ {:.2}, {:.2} ]\n",
            i + 1,
            100.0 * mean,
            100.0 * mean - 100.0 * interval,
            100.0 * mean + 100.0 * interval
        );
    }
    if let [second] = others {
        let better = improvement(first, second, replications, &mut random);
        out += &format!("Probability of Set2 improving Set1: {:.2}\n", 100.0 * better);
    }
    let mut writer = KaldiWriter::create("-", false)?;
    writer.write_str(&out)?;
    writer.finish()?;
    Ok(0)
}

/// As many sentences as there are, drawn at random.
fn draw(count: usize, random: &mut CRand) -> impl Iterator<Item = usize> {
    (0..count).map(move |_| random.int(0, count as i32 - 1) as usize)
}

/// Mean and half of the 95% interval of the error rate of sentences drawn at random.
fn interval(set: &[Scored], replications: usize, random: &mut CRand) -> (f32, f32) {
    let (mut sum, mut squares) = (0.0_f32, 0.0_f32);
    for _ in 0..replications {
        let (wrong, words) =
            draw(set.len(), random).fold((0, 0), |(wrong, words), i| (wrong + set[i].0, words + set[i].1));
        let rate = wrong as f32 / words as f32;
        sum += rate;
        squares += rate * rate;
    }
    let mean = sum / replications as f32;
    (mean, 1.96 * (squares / replications as f32 - mean * mean).max(0.0).sqrt())
}

/// Share of random draws of sentences in which the second has fewer errors.
fn improvement(first: &[Scored], second: &[Scored], replications: usize, random: &mut CRand) -> f32 {
    let mut better = 0;
    for _ in 0..replications {
        let sums =
            draw(first.len(), random).fold((0, 0), |sums, i| (sums.0 + first[i].0, sums.1 + second[i].0));
        better += usize::from(sums.0 > sums.1);
    }
    better as f32 / replications as f32
}
