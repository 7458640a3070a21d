//! Code that the programs share which compare hypotheses with references.

use std::str::FromStr;

use anyhow::bail;
use kaldi_io::alike;
use nnet3_decode::edit_distance::align;

use nnet3::messages;

/// Treatment of references without a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// References without a hypothesis are errors.
    Strict,
    /// References without a hypothesis are left out.
    Present,
    /// All words of references without a hypothesis count as missing.
    All,
}

impl FromStr for Mode {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Mode, anyhow::Error> {
        Ok(match name {
            "strict" => Mode::Strict,
            "present" => Mode::Present,
            "all" => Mode::All,
            _ => bail!("--mode option invalid: expected \"present\"|\"all\"|\"strict\", got {name}"),
        })
    }
}

/// Counts words that were taken for others although they look alike: another Unicode form, or capitals.
#[derive(Debug, Default)]
pub struct Alike {
    count: usize,
    /// Key and words of the first case.
    first: Option<(String, String, String)>,
}

impl Alike {
    pub fn add(&mut self, key: &str, reference: &[String], hypothesis: &[String]) {
        for pair in align(reference, hypothesis) {
            let (Some(said), Some(found)) = pair else { continue };
            if said != found && alike::folded(said) == alike::folded(found) {
                self.count += 1;
                self.first.get_or_insert_with(|| (key.to_owned(), said.clone(), found.clone()));
            }
        }
    }

    /// Warns if there was such a word.
    pub fn warn(&self) {
        let Some((key, said, found)) = &self.first else { return };
        let (count, difference) = (self.count, alike::difference(said, found));
        messages::warn(&format!(
            "{count} substitutions are of words that look alike, such as '{said}' of {key}: {difference}"
        ));
    }
}
