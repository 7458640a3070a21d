//! `nnet3-get-egs-simple`: examples of whole matrices.

use anyhow::{Result, bail};
use kaldi_io::RandomReader;
use kaldi_io::holder::GeneralMatrixHolder;
use kaldi_io::text::is_token;
use nnet3::{messages, tables};
use nnet3_train::example::check_finite;
use nnet3_train::{ExampleHolder, NnetExample, NnetIo};

/// Get examples of data for neural network training. This is like nnet3-get-egs, but does not split up its inputs into
/// pieces, and allows any inputs and outputs. E.g. this is usable for image recognition tasks.
///
/// Each input or output is given as name=rspecifier; the rows of its matrix are for t = 0, 1, 2 and so on. The keys are
/// the keys of the first table.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.:\n\
    nnet3-get-egs-simple input=scp:images.scp \\\n  \
    output='ark,o:ali-to-post ark:labels.txt ark:- | post-to-smat --dim=10 ark:- ark:- |' ark:egs.ark\n\
    See also: nnet3-get-egs, nnet3-egs-augment-image")]
pub struct Options {
    /// An input or output, as name=rspecifier
    #[arg(value_name = "<name1>=<rspecifier1> <name2>=<rspecifier2> ...", required = true)]
    name_and_table: Vec<String>,
    egs_out: String,
}

/// Name and rspecifier.
fn split(argument: &str) -> Result<(&str, &str)> {
    match argument.split_once('=') {
        Some((name, table)) if is_token(name) && tables::is_input(table) => Ok((name, table)),
        _ => bail!("'{argument}': expected name=rspecifier, such as input=scp:feats.scp"),
    }
}

pub fn run(options: Options) -> Result<u8> {
    let arguments = options.name_and_table.iter().map(|a| split(a)).collect::<Result<Vec<_>>>()?;
    for (i, (name, _)) in arguments.iter().enumerate() {
        if arguments[..i].iter().any(|(other, _)| other == name) {
            bail!("'{name}' has two tables, expected one");
        }
    }
    let (first_name, first_table) = arguments[0];
    let first = tables::Input::<GeneralMatrixHolder>::open(first_table)?;
    let mut others = Vec::new();
    for (name, table) in &arguments[1..] {
        others.push((*name, *table, RandomReader::<GeneralMatrixHolder>::open(table)?));
    }
    let permissive = arguments.iter().any(|(_, table)| tables::is_permissive(table));
    let mut output = tables::Output::<ExampleHolder>::open(&options.egs_out)?;
    first.for_each(|key, features| {
        let mut example = NnetExample { ios: vec![NnetIo::new(first_name, features, 0, 1)] };
        for (name, table, reader) in &mut others {
            match reader.get(key)? {
                Some(features) => example.ios.push(NnetIo::new(name, features.clone(), 0, 1)),
                None => {
                    output.skip(key, format!("no '{name}' in {table}"));
                    return Ok(());
                }
            }
        }
        if let Some(empty) = example.ios.iter().find(|io| io.features.rows() == 0) {
            output.skip(key, format!("'{}' has no rows", empty.name));
            return Ok(());
        }
        if let Err(e) = check_finite(&example.ios) {
            if !permissive {
                bail!("{e}; with the option p, as in scp,p:…, such matrices are left out");
            }
            output.skip(key, e);
            return Ok(());
        }
        output.write(key, &example)
    })?;
    for (_, _, reader) in others {
        reader.close()?;
    }
    messages::log(&format!("Wrote {} examples, errors on {}", output.done, output.failed));
    output.finish()
}
