//! `copy-int-vector`: copies lists of integers, such as alignments.

use anyhow::Result;
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3::{messages, tables};

/// Copy vectors of integers, or archives of vectors of integers (e.g. alignments).
///
/// Input and output are both tables or both files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: copy-int-vector --binary=false foo -\n  copy-int-vector ark:1.ali ark,t:-")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    #[arg(value_name = "(<vector-in-rspecifier>|<vector-in-rxfilename>)")]
    vector_in: String,
    #[arg(value_name = "(<vector-out-wspecifier>|<vector-out-wxfilename>)")]
    vector_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.vector_in, &options.vector_out);
    if tables::are_tables(from, to)? {
        let output = tables::map::<I32VectorHolder, I32VectorHolder>(from, to, |_, vector| Ok(Ok(vector)))?;
        messages::log(&format!("Copied {} vectors of int32.", output.done));
        return output.finish();
    }
    // A list has different forms in a separate file and in a table.
    let mut reader = KaldiReader::open(from)?;
    let vector = reader.read_i32_vector()?;
    reader.finish()?;
    let mut writer = KaldiWriter::create(to, options.mode.binary)?;
    writer.write_i32_vector(&vector)?;
    writer.finish()?;
    messages::log(&format!("Copied vector to {to}"));
    Ok(0)
}
