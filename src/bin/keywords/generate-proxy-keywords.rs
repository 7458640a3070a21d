//! `generate-proxy-keywords`: known words that sound like unknown keywords.

use anyhow::{Context, Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_fst::FstHolder;
use kaldi_io::TableWriter;
use kaldi_io::holder::{F64ListHolder, I32VectorHolder};
use kaldi_kws::proxies::{ProxyOptions, Strings, each_string, proxies};
use nnet3::tables::{Input, Output};
use nnet3::{fsts, lattices, messages};

/// Convert the keywords into in-vocabulary words using the given phone level edit distance fst (E.fst). The large lexicon
/// (L2.fst) and inverted small lexicon (L1'.fst) are also expected to be present.
///
/// We actually use the composed FST L2xE.fst to be more efficient. Both FSTs are sorted on input. Keywords are in the transcription
/// format. If kwlist-wspecifier is given, the program also prints out the proxies in a format where each line is "kwid weight
/// proxy". It leaves out proxies that begin with another one. A keyword without proxies has an empty FST and no lines; if there are
/// no lines at all, the status is 1.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: generate-proxy-keywords L2xE.fst L1'.fst ark:keywords.int ark:proxy.fsts ark,t:proxy.kwlist.txt"
)]
pub struct Options {
    /// Prune KxL2xE transducer to only contain top n phone sequences, -1 means all sequences.
    #[arg(long, default_value_t = 50)]
    phone_nbest: i32,
    /// Prune KxL2xExL1' transducer to only contain top n proxy keywords, -1 means all proxies.
    #[arg(long, default_value_t = 100)]
    proxy_nbest: i32,
    /// Prune KxL2xE transducer to the given beam, -1 means no prune.
    #[arg(long, default_value_t = 5.0)]
    phone_beam: f32,
    /// Prune KxL2xExL1' transducer to the given beam, -1 means no prune.
    #[arg(long, default_value_t = 5.0)]
    proxy_beam: f32,
    /// Prune kxL2xExL1' transducer to the given number of states, 0 means no prune. Needs --proxy-beam.
    #[arg(long, default_value_t = 100_000)]
    max_states: usize,
    l2xe_fst_in: String,
    l1_inverted_fst_in: String,
    keyword_rspecifier: String,
    proxy_wspecifier: String,
    kwlist_wspecifier: Option<String>,
}

fn count(name: &str, value: i32) -> Result<Option<usize>> {
    match usize::try_from(value) {
        Ok(count) if count > 0 => Ok(Some(count)),
        _ if value == -1 => Ok(None),
        _ => bail!("--{name} must either be -1 or positive, found {value}"),
    }
}

fn beam(name: &str, value: f32) -> Result<Option<f32>> {
    match value {
        -1.0 => Ok(None),
        beam if beam >= 0.0 => Ok(Some(beam)),
        other => bail!("--{name} must either be -1 or non-negative, found {other}"),
    }
}

pub fn run(options: Options) -> Result<u8> {
    let how = ProxyOptions {
        phone_beam: beam("phone-beam", options.phone_beam)?,
        phone_nbest: count("phone-nbest", options.phone_nbest)?,
        proxy_beam: beam("proxy-beam", options.proxy_beam)?,
        proxy_nbest: count("proxy-nbest", options.proxy_nbest)?,
        most_states: Some(options.max_states).filter(|&most| most > 0),
    };
    let phones = fsts::read(Some(&options.l2xe_fst_in))?;
    let words = fsts::read(Some(&options.l1_inverted_fst_in))?;
    let mut output = Output::<FstHolder>::open(&options.proxy_wspecifier)?;
    let mut list: Option<TableWriter<F64ListHolder>> =
        lattices::open_writer(options.kwlist_wspecifier.as_ref())?;
    let mut listed_any = false;
    Input::<I32VectorHolder>::open(&options.keyword_rspecifier)?.for_each(|key, keyword| {
        messages::log(&format!("Processing {key}"));
        let found = proxies(&keyword, &phones, &words, how)
            .with_context(|| format!("{} and {}", options.l2xe_fst_in, options.l1_inverted_fst_in))?;
        output.write(key, &found)?;
        let Some(list) = &mut list else { return Ok(()) };
        let mut lines = Vec::new();
        let listed = each_string(&found, Strings::Shortest, |labels, cost| {
            lines.push(
                [cost.into()].into_iter().chain(labels.iter().map(|&label| f64::from(label))).collect(),
            );
            Ok(())
        });
        if listed.is_err() {
            messages::warn(&format!("Proxy FST has cycles, skip printing paths for {key}"));
            return Ok(());
        }
        if lines.is_empty() {
            messages::warn(&format!("{key} has no proxies"));
        }
        listed_any |= !lines.is_empty();
        Ok(lines.iter().try_for_each(|line: &Vec<f64>| list.write(key, line))?)
    })?;
    let nothing_listed = list.is_some() && !listed_any;
    lattices::close(list)?;
    messages::log(&format!("Done {} keywords", output.done));
    let status = output.finish()?;
    Ok(if nothing_listed { NOTHING_DONE } else { status })
}
