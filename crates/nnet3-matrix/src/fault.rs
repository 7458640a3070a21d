//! The failure of a device.
//!
//! The methods of [`Backend`](crate::Backend) give no errors. Instead a device keeps its first failure
//! ([`Storage::fault`](crate::backend::Storage::fault)) and does no more work afterwards: new memory has no valid
//! address, and numbers read are zeros. So a caller must ask for the failure after reading numbers of a device. The
//! executor of `nnet3-core` does so at the end of each run; other callers use [`check`].

use crate::memory::Device;

/// The first failure of a device, which is then unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceFault {
    #[error(
        "no memory left on the device for {} MiB: {} MiB of {} MiB are free (smaller minibatches or shorter chunks need less; \
         other programs may have the rest)", bytes.div_ceil(1 << 20), free >> 20, total >> 20
    )]
    Memory { bytes: u64, free: u64, total: u64 },
    #[error(
        "the device failed in {during}: {message} (if it happens again without other programs on the device, its driver or the \
         device itself is at fault; `use-gpu`=no does without it)"
    )]
    Failed { during: String, message: String },
}

/// Fails if the device has failed.
pub fn check(device: &Device) -> Result<(), DeviceFault> {
    device.fault().map_or(Ok(()), Err)
}
