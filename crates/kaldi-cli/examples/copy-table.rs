//! Copies a table of any type, between any of its forms: `copy-table TYPE RSPECIFIER WSPECIFIER`.
//!
//! For tests against other libraries, and for looking into archives (`copy-table posterior ark:post.ark ark,t:-`).

use std::process::ExitCode;

use kaldi_io::holder::*;
use kaldi_io::{CompressedMatrix, CompressionMethod, IoError, Result, SequentialReader, TableWriter};

/// Copy a table.
#[derive(clap::Parser)]
struct Options {
    /// Method (1 to 7) of the type 'compress'
    #[arg(long, default_value_t = 1)]
    compression_method: i32,
    /// matrix, double-matrix, compressed-matrix, general-matrix, vector, double-vector, posterior, gauss-posterior, int,
    /// int-vector, int8-vector, int-vector-vector, int-pair-vector, float-pair-vector, float, double, bool, token,
    /// token-vector; or compress: from full matrices to compressed ones
    table_type: String,
    rspecifier: String,
    wspecifier: String,
}

fn main() -> ExitCode {
    kaldi_cli::run(run)
}

fn run(options: Options) -> Result<u8> {
    let copy = match options.table_type.as_str() {
        "matrix" => copy::<MatrixHolder>,
        "double-matrix" => copy::<DoubleMatrixHolder>,
        "compressed-matrix" => copy::<CompressedMatrixHolder>,
        "general-matrix" => copy::<GeneralMatrixHolder>,
        "vector" => copy::<VectorHolder>,
        "double-vector" => copy::<DoubleVectorHolder>,
        "posterior" => copy::<PosteriorHolder>,
        "gauss-posterior" => copy::<GaussPostHolder>,
        "int" => copy::<I32Holder>,
        "int8-vector" => copy::<I8VectorHolder>,
        "float-pair-vector" => copy::<F32PairVectorHolder>,
        "int-vector" => copy::<I32VectorHolder>,
        "int-vector-vector" => copy::<I32VectorVectorHolder>,
        "int-pair-vector" => copy::<I32PairVectorHolder>,
        "float" => copy::<FloatHolder>,
        "double" => copy::<DoubleHolder>,
        "bool" => copy::<BoolHolder>,
        "token" => copy::<TokenHolder>,
        "token-vector" => copy::<TokenVectorHolder>,
        "compress" => compress,
        other => return Err(IoError::Value(format!("unknown type of table '{other}'; see --help"))),
    };
    copy(&options)?;
    Ok(0)
}

fn copy<H: Holder>(options: &Options) -> Result<()> {
    transform::<H, H>(options, Ok)
}

fn compress(options: &Options) -> Result<()> {
    let method = CompressionMethod::try_from(options.compression_method)?;
    transform::<MatrixHolder, CompressedMatrixHolder>(options, |m| CompressedMatrix::compress(&m, method))
}

fn transform<From: Holder, To: Holder>(
    options: &Options,
    change: impl Fn(From::T) -> Result<To::T>,
) -> Result<()> {
    let mut reader = SequentialReader::<From>::open(&options.rspecifier)?;
    let mut writer = TableWriter::<To>::open(&options.wspecifier)?;
    while let Some((key, value)) = reader.next()? {
        writer.write(&key, &change(value)?)?;
    }
    reader.close()?;
    writer.close()
}
