//! What the programs that read tables of examples have in common.

use kaldi_io::log::{self, Site};
use nnet3_train::{EgsReader, Example, ExampleReader, NnetExample};

/// Says that a table of examples is empty, and gives the exit status for that. Outputs have not been touched. If the table
/// came from a command that failed, that is the error.
pub fn nothing<E: Example>(site: &Site, examples: EgsReader<E>) -> anyhow::Result<u8> {
    let message = format!("{}: expected at least one example, found none", examples.name());
    examples.close()?;
    log::error(site, &message);
    Ok(kaldi_io::cli::NOTHING_DONE)
}

/// All examples of a table; it is an error if there are none.
pub fn read_all(rspecifier: &str) -> anyhow::Result<Vec<NnetExample>> {
    let mut egs = ExampleReader::open(rspecifier)?;
    let mut all = Vec::new();
    while let Some((_, example)) = egs.next()? {
        all.push(example);
    }
    egs.close()?;
    if all.is_empty() {
        anyhow::bail!("{rspecifier}: expected at least one example, found none");
    }
    Ok(all)
}
