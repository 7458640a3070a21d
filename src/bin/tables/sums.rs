//! `matrix-sum` and `vector-sum`, which have the same three forms.

use anyhow::{Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_feat::sum::Summand;
use kaldi_io::RandomReader;

use nnet3::messages;
use nnet3::tables::{self, Input};

/// The inputs and options of a sum.
pub struct Sum<'a> {
    /// Inputs, then the output.
    pub arguments: &'a [String],
    /// Of the first two inputs, if these are tables.
    pub scales: [f32; 2],
    pub average: bool,
    /// Says whether a result in a file is binary.
    pub binary: bool,
}

impl Sum<'_> {
    pub fn run<S: Summand>(&self) -> Result<u8> {
        let Some((output, inputs)) = self.arguments.split_last().filter(|(_, inputs)| !inputs.is_empty())
        else {
            bail!("expected at least one input and the output");
        };
        let scaled = self.scales != [1.0, 1.0];
        if tables::is_output(output) {
            if self.average && scaled {
                bail!("--average cannot be combined with scales");
            }
            return self.tables::<S>(inputs, output);
        }
        if scaled {
            bail!("scales are for tables, and the output {output} is a file");
        }
        match inputs {
            [table] if tables::is_input(table) => self.table_to_file::<S>(table, output),
            _ => match inputs.iter().find(|input| tables::is_input(input)) {
                Some(table) => bail!("{table} is a table, but {output} is a file and there are other inputs"),
                None => self.files::<S>(inputs, output),
            },
        }
    }

    /// Adds up for each key of the first table its objects in all tables.
    fn tables<S: Summand>(&self, inputs: &[String], to: &str) -> Result<u8> {
        let scale = |input: usize| match input {
            _ if self.average => 1.0 / inputs.len() as f32,
            0 | 1 => self.scales[input],
            _ => 1.0,
        };
        let (mut added, mut missing) = (0u64, 0u64);
        let mut others = Vec::new();
        for input in &inputs[1..] {
            others.push(RandomReader::<S::Holder>::open(input)?);
        }
        let output = tables::map::<S::Holder, S::Holder>(&inputs[0], to, |key, mut sum| {
            sum.scale(scale(0));
            added += 1;
            for (i, (reader, name)) in others.iter_mut().zip(&inputs[1..]).enumerate() {
                match reader.get(key)? {
                    Some(other) if other.same_dims(&sum) => {
                        sum.add(other, scale(i + 1));
                        added += 1;
                    }
                    Some(other) => messages::warn(&format!(
                        "Dimension mismatch for utterance {key}: {} in {name}, {} in {}",
                        other.dims(),
                        sum.dims(),
                        inputs[0]
                    )),
                    None => {
                        messages::warn(&format!("No {} found for utterance {key} in {name}", S::NAME));
                        missing += 1;
                    }
                }
            }
            Ok(Ok(sum))
        })?;
        for reader in others {
            reader.close()?;
        }
        let done = output.done;
        messages::log(&format!(
            "Processed {done} utterances: with a total of {added} {} across {} different systems",
            S::PLURAL,
            inputs.len()
        ));
        messages::log(&format!(
            "Produced output for {done} utterances; {missing} total missing {}",
            S::PLURAL
        ));
        let status = output.finish()?;
        Ok(if 2 * missing < done { status } else { NOTHING_DONE })
    }

    /// The sum of all objects of a table.
    fn table_to_file<S: Summand>(&self, from: &str, to: &str) -> Result<u8> {
        let mut sum = S::Double::default();
        let (mut done, mut failed) = (0u64, 0u64);
        Input::<S::Holder>::open(from)?.for_each(|key, value| {
            if value.is_empty() {
                messages::warn(&format!("{key}: empty {}", S::NAME));
                failed += 1;
            } else if !value.fits(&sum) {
                let (found, expected) = (value.dims(), S::double_dims(&sum));
                messages::warn(&format!("{key}: dimension mismatch: {found} vs. {expected}"));
                failed += 1;
            } else {
                value.add_to(&mut sum);
                done += 1;
            }
            Ok(())
        })?;
        if done == 0 {
            messages::error(&format!("{from}: there was no {} to be summed", S::NAME));
            return Ok(NOTHING_DONE);
        }
        let factor = if self.average { 1.0 / done as f64 } else { 1.0 };
        kaldi_io::write_object(to, self.binary, &S::from_double(&sum, factor))?;
        messages::log(&format!("Summed {done} {}, {failed} with errors; wrote sum to {to}", S::PLURAL));
        Ok(if failed < done { 0 } else { NOTHING_DONE })
    }

    /// The sum of objects in files; smaller ones are as if surrounded by zeros.
    fn files<S: Summand>(&self, inputs: &[String], to: &str) -> Result<u8> {
        let mut sum: S = kaldi_io::read_object(&inputs[0])?;
        for input in &inputs[1..] {
            sum.add_growing(&kaldi_io::read_object(input)?);
        }
        if self.average {
            sum.scale(1.0 / inputs.len() as f32);
        }
        kaldi_io::write_object(to, self.binary, &sum)?;
        messages::log(&format!("Summed {} {}; wrote sum to {to}", inputs.len(), S::PLURAL));
        Ok(0)
    }
}
