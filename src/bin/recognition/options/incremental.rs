//! Options about when lattices are determinized.

use anyhow::{Result, bail};
use clap::Args;

// Options of the incremental decoder. Here lattices are determinized when an utterance has ended.
#[derive(Args, Clone, Debug)]
pub struct IncrementalArgs {
    /// Most frames that may pass before a part of the lattice is determinized. No effect: it is determinized at the end.
    #[arg(long, default_value_t = 60)]
    determinize_max_delay: i32,
    /// Fewest frames that are determinized together. No effect: the lattice is determinized at the end.
    #[arg(long, default_value_t = 20)]
    determinize_min_chunk_size: i32,
    /// Most active states on the last frame of a part that is determinized. No effect: the lattice is determinized at the end.
    #[arg(long, default_value_t = 200)]
    determinize_max_active: i32,
}

impl IncrementalArgs {
    /// Refuses values that the reference refuses.
    pub fn check(&self) -> Result<()> {
        let (delay, size) = (self.determinize_max_delay, self.determinize_min_chunk_size);
        if size <= 0 || delay <= size || self.determinize_max_active <= 0 {
            bail!(
                "expected 0 < --determinize-min-chunk-size < --determinize-max-delay and 0 < --determinize-max-active, found \
                 {size}, {delay} and {}",
                self.determinize_max_active
            );
        }
        Ok(())
    }
}
