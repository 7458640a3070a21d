//! `idx-to-feats`: images in the format of MNIST as features.

use crate::learning::labels::label;
use anyhow::{Context, Result, bail};
use kaldi_io::holder::{I32VectorHolder, MatrixHolder};
use kaldi_io::{DenseMatrix, KaldiReader};
use nnet3::{messages, tables};
use nnet3_images::{Idx, ImageShape};

/// Convert images and labels in IDX files (the format of MNIST) to features, and alignments of one frame.
///
/// A row of features is an image. With --columns=true it is a column of its pixels, for convolutions.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: idx-to-feats --scale=0.00392157 'gunzip -c train-images-idx3-ubyte.gz|' ark:images.ark \
                  'gunzip -c train-labels-idx1-ubyte.gz|' ark:labels.ark"
)]
pub struct Options {
    /// A row for each column of pixels
    #[arg(long)]
    columns: bool,
    /// Values are multiplied by this
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    /// Prefix of keys
    #[arg(long, default_value = "image-")]
    prefix: String,
    /// Take at most this number of images; 0 means all
    #[arg(long, default_value_t = 0)]
    count: usize,
    images_rxfilename: String,
    feats_wspecifier: String,
    #[arg(requires = "alignments_wspecifier")]
    labels_rxfilename: Option<String>,
    alignments_wspecifier: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut images = Idx::open(KaldiReader::open_raw(&options.images_rxfilename)?)?;
    let mut labels = match &options.labels_rxfilename {
        None => None,
        Some(name) => Some((name, Idx::open(KaldiReader::open_raw(name)?)?)),
    };
    if let Some((name, labels)) = &labels
        && (!labels.item.is_empty() || labels.len() != images.len())
    {
        bail!("{name}: expected a label for each of {} images, found {} items", images.len(), labels.len());
    }
    let shape = match (&images.item[..], options.columns) {
        (_, false) => None,
        (&[height, width], true) => Some(ImageShape { width, height, channels: 1 }),
        (&[height, width, channels], true) => Some(ImageShape { width, height, channels }),
        (other, true) => {
            bail!("{}: expected images, found items of {other:?} numbers", options.images_rxfilename)
        }
    };
    let digits = images.len().to_string().len();
    let mut feats = tables::Output::<MatrixHolder>::open(&options.feats_wspecifier)?;
    let mut alignments = match &options.alignments_wspecifier {
        None => None,
        Some(name) => Some(tables::Output::<I32VectorHolder>::open(name)?),
    };
    let all = images.len();
    let count = if options.count == 0 { all } else { options.count.min(all) };
    for k in 0..count {
        let Some(mut values) = images.next()? else { break };
        values.iter_mut().for_each(|value| *value *= options.scale);
        let key = format!("{}{k:0digits$}", options.prefix);
        let matrix = match shape {
            Some(shape) => shape.columns(&values)?,
            None => DenseMatrix { rows: 1, cols: values.len(), data: values },
        };
        feats.write(&key, &matrix)?;
        if let (Some((_, labels)), Some(alignments)) = (&mut labels, &mut alignments) {
            let number = labels.next()?.and_then(|label| label.first().copied());
            let number = number.with_context(|| format!("image {key} has no label"))?;
            alignments.write(&key, &vec![label(number).with_context(|| key.clone())?])?;
        }
    }
    if count == all {
        // Further data after the last item are an error, and so is the failure of the command that wrote them.
        images.next()?;
        images.close()?;
        if let Some((_, mut labels)) = labels {
            labels.next()?;
            labels.close()?;
        }
    }
    messages::log(&format!("Converted {} images.", feats.done));
    if let Some(alignments) = alignments {
        alignments.finish_any()?;
    }
    feats.finish()
}
