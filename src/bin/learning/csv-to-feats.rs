//! `csv-to-feats`: tables of numbers with labels as features.

use crate::learning::labels::label;
use anyhow::{Context, Result, bail};
use kaldi_io::holder::{I32VectorHolder, MatrixHolder};
use kaldi_io::{DenseMatrix, KaldiReader};
use nnet3::{messages, tables};
use nnet3_images::ImageShape;

/// Convert lines of numbers separated by commas to features, and a label in each line to an alignment of one frame.
///
/// A row of features is a line, or with --image a column of the line's pixels, for convolutions.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: csv-to-feats --label-column=-1 --scale=0.0625 --image=8x8 'gunzip -c digits.csv.gz|' ark:images.ark \
                  ark:labels.ark"
)]
pub struct Options {
    /// Separator of the numbers in a line
    #[arg(long, default_value = ",")]
    delimiter: String,
    /// Skip this number of lines at the beginning
    #[arg(long, default_value_t = 0)]
    skip: usize,
    /// Take at most this number of lines after them; 0 means all
    #[arg(long, default_value_t = 0)]
    count: usize,
    /// Column of the label, counting from 0, or from -1 backwards at the end; only with an output for alignments
    #[arg(long, default_value_t = -1, allow_negative_numbers = true)]
    label_column: i32,
    /// Values are multiplied by this; labels are not
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    /// WIDTHxHEIGHT or WIDTHxHEIGHTxCHANNELS of images, row by row in a line: their columns become rows
    #[arg(long, default_value = "")]
    image: String,
    /// Prefix of keys
    #[arg(long, default_value = "line-")]
    prefix: String,
    csv_rxfilename: String,
    feats_wspecifier: String,
    alignments_wspecifier: Option<String>,
}

/// Digits of the line's number in keys.
const KEY_DIGITS: usize = 6;

pub fn run(options: Options) -> Result<u8> {
    let shape = match &*options.image {
        "" => None,
        text => Some(ImageShape::parse(text).context("--image")?),
    };
    let mut reader = KaldiReader::open_raw(&options.csv_rxfilename)?;
    let mut feats = tables::Output::<MatrixHolder>::open(&options.feats_wspecifier)?;
    let mut alignments = match &options.alignments_wspecifier {
        None => None,
        Some(name) => Some(tables::Output::<I32VectorHolder>::open(name)?),
    };
    let mut number = 0;
    let mut width = None;
    while let Some(line) = reader.read_line()? {
        number += 1;
        if number <= options.skip || line.trim().is_empty() {
            continue;
        }
        if options.count > 0 && number > options.skip + options.count {
            break;
        }
        let place = || format!("{}:{number}", options.csv_rxfilename);
        let mut values = line
            .split(&*options.delimiter)
            .map(|text| {
                text.trim()
                    .parse::<f32>()
                    .with_context(|| format!("expected a number, found '{}'", text.trim()))
            })
            .collect::<Result<Vec<f32>>>()
            .with_context(place)?;
        match width {
            None => width = Some(values.len()),
            Some(width) if width == values.len() => {}
            Some(width) => bail!("{}: expected {width} numbers, found {}", place(), values.len()),
        }
        let key = format!("{}{number:0KEY_DIGITS$}", options.prefix);
        if let Some(alignments) = &mut alignments {
            let label = take_label(&mut values, options.label_column).with_context(place)?;
            alignments.write(&key, &vec![label])?;
        }
        values.iter_mut().for_each(|value| *value *= options.scale);
        let matrix = match shape {
            Some(shape) => shape.columns(&values).with_context(place)?,
            None => DenseMatrix { rows: 1, cols: values.len(), data: values },
        };
        feats.write(&key, &matrix)?;
    }
    if options.count == 0 {
        // A command that wrote the lines may have failed. (The status is ignored if its output was not read to the
        // end.)
        reader.close()?;
    }
    messages::log(&format!("Converted {} lines.", feats.done));
    if let Some(alignments) = alignments {
        alignments.finish_any()?;
    }
    feats.finish()
}

/// Removes the label from the values of a line.
fn take_label(values: &mut Vec<f32>, column: i32) -> Result<i32> {
    let count = values.len() as i64;
    let place = if column < 0 { count + i64::from(column) } else { column.into() };
    if !(0..count).contains(&place) {
        bail!("--label-column={column}: there are {count} columns");
    }
    label(values.remove(place as usize))
}
