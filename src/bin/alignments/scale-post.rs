//! `scale-post`: multiplies posteriors by one number or one each.

use anyhow::{Result, bail};
use kaldi_feat::posterior;
use kaldi_io::RandomReader;
use kaldi_io::holder::{FloatHolder, PosteriorHolder};
use kaldi_io::text::parse_real;
use nnet3::{messages, tables};

/// Scale posteriors with either a global scale, or a different scale for each utterance.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: scale-post ark:post.ark 0.5 ark:-\n  scale-post ark:post.ark ark:scales.ark ark:-"
)]
pub struct Options {
    post_rspecifier: String,
    /// A number, or a table of numbers
    #[arg(value_name = "(<scale-rspecifier>|<scale>)")]
    scale: String,
    post_wspecifier: String,
}

enum Scale {
    Global(f32),
    Table(Box<RandomReader<FloatHolder>>),
}

pub fn run(options: Options) -> Result<u8> {
    let mut scale = if tables::is_input(&options.scale) {
        Scale::Table(Box::new(RandomReader::open(&options.scale)?))
    } else if let Some(scale) = parse_real(&options.scale) {
        Scale::Global(scale as f32)
    } else {
        bail!("'{}': expected a scale or a table of scales", options.scale);
    };
    let (from, to) = (&options.post_rspecifier, &options.post_wspecifier);
    let output = tables::map::<PosteriorHolder, PosteriorHolder>(from, to, |key, mut posterior| {
        let scale = match &mut scale {
            Scale::Global(scale) => *scale,
            Scale::Table(table) => match table.get(key)? {
                Some(scale) => *scale,
                None => return tables::skip(format!("no scale in {}", options.scale)),
            },
        };
        posterior::scale(&mut posterior, scale);
        Ok(Ok(posterior))
    })?;
    if let Scale::Table(table) = scale {
        table.close()?;
    }
    messages::log(&format!("Done {} posteriors;  {} had no scales.", output.done, output.failed));
    output.finish()
}
