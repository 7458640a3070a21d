//! `nnet3-am-copy`: copies an acoustic model and edits it on the way.

use anyhow::Result;
use nnet3::models::AmCopy;

pub fn run(options: AmCopy) -> Result<u8> {
    options.run()
}
