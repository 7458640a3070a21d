//! Files that are looked at where they lie, in the system's memory for files: nothing is copied, and programs that read the same
//! file share it.

use std::fs::File;
use std::ops::Deref;

use memmap2::{Mmap, MmapOptions};

/// The bytes of a file.
///
/// Whoever replaces a file by renaming another one, as all programs here do, leaves these bytes as they are. They must not be
/// overwritten in place: then they may change here too. If the file is made shorter, the system ends a program that looks at what
/// is gone (SIGBUS).
#[derive(Debug)]
pub struct MappedFile(Mmap);

impl MappedFile {
    /// `None` if this is no ordinary file, or the system does not map it.
    #[allow(unsafe_code)]
    pub(crate) fn new(file: &File) -> Option<MappedFile> {
        if !file.metadata().is_ok_and(|data| data.is_file()) {
            return None;
        }
        // SAFETY: the bytes are only read, as numbers of which each value is a valid one. That nobody overwrites the file is
        // what the documentation of this type asks of users; the system's own loader asks the same for libraries.
        let map = unsafe { MmapOptions::new().map_copy_read_only(file) };
        let map = map.ok()?;
        // (Where the system does not know how to fetch a file beforehand, it comes page by page.)
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::WillNeed);
        Some(MappedFile(map))
    }
}

/// Asks the processor for the cache line where a value begins, which is going to be read.
#[inline(always)]
#[allow(unsafe_code)]
pub fn expect<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: this reads nothing, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
