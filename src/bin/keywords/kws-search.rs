//! `kws-search`: finds keywords in an index.

use anyhow::{Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::num;
use kaldi_fst::{FstHolder, ops};
use kaldi_io::holder::F64ListHolder;
use kaldi_io::{RandomReader, TableWriter};
use kaldi_kws::{Hit, HitWeight, Searcher};
use nnet3::tables::Input;
use nnet3::{lattices, messages};

/// Search the keywords over the index. This program can be executed in parallel, either on the index side or the keywords
/// side; we use a script to combine the final search results. Note that the index archive has a single key "global".
///
/// Results are lines "kw_id utt_id beg_frame end_frame neg_logprob", one for each occurrence. Statistics are lines
/// "kw_id utt_id beg_frame end_frame neg_logprob 0 w_id1 w_id2 ... 0", one for each path of keyword and index; their frames are not
/// multiplied by the subsampling factor.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: kws-search ark:index.idx ark:keywords.fsts ark,t:results ark,t:stats")]
pub struct Options {
    /// Frame subsampling factor.
    #[arg(long, default_value_t = 1)]
    frame_subsampling_factor: i32,
    /// Return the best n hypotheses. -1: all.
    #[arg(long, default_value_t = -1)]
    nbest: i32,
    /// Pick the best n keywords if the FST contains multiple keywords. -1: all.
    #[arg(long, default_value_t = -1)]
    keyword_nbest: i32,
    /// Affects the return status of the program: if true, it is 1 if no keyword was found.
    #[arg(long, default_value_t = true)]
    strict: bool,
    /// The program will print a warning if we get negative score smaller than this tolerance.
    #[arg(long, default_value_t = -0.1)]
    negative_tolerance: f64,
    /// Prune the FST with the given beam if the FST contains multiple keywords. -1: no beam.
    #[arg(long, default_value_t = -1.0)]
    keyword_beam: f32,
    index_rspecifier: String,
    keywords_rspecifier: String,
    results_wspecifier: String,
    stats_wspecifier: Option<String>,
}

/// The value of an option for which -1 means that there is no limit.
fn limit(name: &str, value: i32) -> Result<Option<usize>> {
    match usize::try_from(value) {
        Ok(limit) => Ok(Some(limit)),
        Err(_) if value == -1 => Ok(None),
        Err(_) => bail!("Bad number for {name}: expected -1 or a number from 0 on, found {value}"),
    }
}

/// An occurrence, with the number by which frames are multiplied.
fn line(hit: &Hit, factor: i32, cost: f32) -> Vec<f64> {
    let frame = |frame: f32| f64::from(frame as i32) * f64::from(factor);
    vec![f64::from(hit.utterance), frame(hit.weight.begin), frame(hit.weight.end), f64::from(cost)]
}

pub fn run(options: Options) -> Result<u8> {
    let (nbest, keyword_nbest) =
        (limit("nbest", options.nbest)?, limit("keyword-nbest", options.keyword_nbest)?);
    if options.keyword_beam < 0.0 && options.keyword_beam != -1.0 {
        bail!(
            "Bad number for keyword-beam: expected -1 or a number from 0 on, found {}",
            options.keyword_beam
        );
    }
    let mut indices = RandomReader::<FstHolder<HitWeight>>::open(&options.index_rspecifier)?;
    let Some(index) = indices.get("global")? else {
        bail!("{}: there is no index with the key 'global' (see kws-index-union)", options.index_rspecifier);
    };
    let searcher = Searcher::new(index.clone());
    indices.close()?;
    let mut results = TableWriter::<F64ListHolder>::open(&options.results_wspecifier)?;
    let mut stats: Option<TableWriter<F64ListHolder>> =
        lattices::open_writer(options.stats_wspecifier.as_ref())?;
    let mut done = 0;
    Input::<FstHolder>::open(&options.keywords_rspecifier)?.for_each(|key, mut keyword| {
        if options.keyword_beam != -1.0 {
            ops::prune(&mut keyword, options.keyword_beam, None)?;
        }
        if let Some(count) = keyword_nbest {
            keyword = kaldi_kws::proxies::best_strings(keyword, count)?;
        }
        let found = match searcher.search(&keyword) {
            Ok(found) => found,
            Err(error) => {
                messages::warn(&format!("Not searching keyword {key}: {error}"));
                return Ok(());
            }
        };
        if let Some(stats) = &mut stats {
            found.each_path(|hit, words| {
                let mut values = line(&hit, 1, hit.weight.cost);
                values.extend(words.iter().map(|&word| f64::from(word)));
                stats.write(key, &values)
            })?;
        }
        let hits = found.hits(nbest);
        for hit in &hits {
            let cost = hit.weight.cost;
            if f64::from(cost) < options.negative_tolerance {
                messages::warn(&format!("{key}: Score out of expected range: {}", num(cost.into())));
            }
            results.write(key, &line(hit, options.frame_subsampling_factor, cost.max(0.0)))?;
        }
        done += usize::from(!hits.is_empty());
        Ok(())
    })?;
    results.close()?;
    lattices::close(stats)?;
    messages::log(&format!("Done {done} keywords"));
    Ok(if done > 0 || !options.strict { 0 } else { NOTHING_DONE })
}
