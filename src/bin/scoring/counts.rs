//! What the programs share that compare hypotheses with references.

use std::str::FromStr;

use anyhow::bail;

/// What becomes of references without a hypothesis.
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
