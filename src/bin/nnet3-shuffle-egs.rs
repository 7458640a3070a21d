//! `nnet3-shuffle-egs`: examples in random order.

use std::process::ExitCode;

use anyhow::{Result, bail};
use kaldi_io::log::Site;
use kaldi_io::{TableWriter, kaldi_log};
use nnet3::examples;
use nnet3_train::shuffle::ShuffleBuffer;
use nnet3_train::{CRand, ExampleHolder, ExampleReader};

const SITE: Site = Site::main("nnet3-shuffle-egs.cc", 105);

/// Copy examples (typically single frames or small groups of frames) for neural network training, from the input to
/// output, but randomly shuffle the order.
///
/// This program will keep all of the examples in memory at once, unless you use the --buffer-size option.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-shuffle-egs --srand=1 ark:train.egs ark:shuffled.egs")]
struct Options {
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// If >0, size of a buffer we use to do limited-memory partial randomization. Otherwise, do full randomization.
    #[arg(long, default_value_t = 0)]
    buffer_size: i32,
    egs_in: String,
    egs_out: String,
}

fn run(options: Options) -> Result<u8> {
    let Ok(slots) = usize::try_from(options.buffer_size) else {
        bail!("--buffer-size={}: expected a number that is not negative", options.buffer_size);
    };
    let mut rand = CRand::new(options.srand);
    let mut egs = ExampleReader::open(&options.egs_in)?;
    if egs.at_end()? {
        return examples::nothing(&SITE, egs);
    }
    let mut writer = TableWriter::<ExampleHolder>::open(&options.egs_out)?;
    if slots == 0 {
        let mut all = Vec::new();
        while let Some(item) = egs.next()? {
            all.push(item);
        }
        rand.shuffle(&mut all);
        for (key, example) in &all {
            writer.write(key, example)?;
        }
    } else {
        let mut buffer = ShuffleBuffer::new(slots, rand);
        while let Some(item) = egs.next()? {
            if let Some((key, example)) = buffer.push(item) {
                writer.write(&key, &example)?;
            }
        }
        for (key, example) in buffer.finish() {
            writer.write(&key, &example)?;
        }
    }
    let count = egs.count();
    egs.close()?;
    writer.close()?;
    let how = if slots > 0 { " using a buffer (partial randomization)" } else { "" };
    kaldi_log!(SITE, "Shuffled order of {count} neural-network training examples{how}");
    Ok(0)
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
