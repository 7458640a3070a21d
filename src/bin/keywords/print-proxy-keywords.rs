//! `print-proxy-keywords`: the strings of proxies, and their costs.

use anyhow::Result;
use kaldi_cli::NOTHING_DONE;
use kaldi_fst::FstHolder;
use kaldi_io::TableWriter;
use kaldi_io::holder::{F64ListHolder, I32VectorHolder};
use kaldi_kws::proxies::{Strings, each_string};
use nnet3::tables::Input;
use nnet3::{lattices, messages};

/// Reads in the proxy keywords FSTs and print them to a file where each line is "kwid w1 w2 .. 2n".
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: print-proxy-keywords ark:proxy.fsts ark,t:kwlist.txt ark,t:costs.txt")]
pub struct Options {
    proxy_rspecifier: String,
    kwlist_wspecifier: String,
    cost_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut list = TableWriter::<I32VectorHolder>::open(&options.kwlist_wspecifier)?;
    let mut costs: Option<TableWriter<F64ListHolder>> =
        lattices::open_writer(options.cost_wspecifier.as_ref())?;
    let mut done = 0;
    Input::<FstHolder>::open(&options.proxy_rspecifier)?.for_each(|key, proxies| {
        let mut lines = Vec::new();
        let listed = each_string(&proxies, Strings::All, |labels, cost| {
            lines.push((labels.to_vec(), cost));
            Ok(())
        });
        if listed.is_err() {
            messages::warn(&format!("Proxy FST has cycles, skip printing paths for {key}"));
            return Ok(());
        }
        for (labels, cost) in &lines {
            list.write(key, labels)?;
            lattices::write(&mut costs, key, &vec![f64::from(*cost)])?;
        }
        done += 1;
        Ok(())
    })?;
    list.close()?;
    lattices::close(costs)?;
    messages::log(&format!("Done {done} keywords"));
    Ok(if done > 0 { 0 } else { NOTHING_DONE })
}
