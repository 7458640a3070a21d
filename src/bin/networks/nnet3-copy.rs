//! `nnet3-copy`: copies a network and edits it on the way.

use anyhow::Result;
use nnet3::models::Copy;

pub fn run(options: Copy) -> Result<u8> {
    options.run()
}
