//! Memory-mapped files: no bytes are copied, and programs that read the same file share its memory.

use std::fs::File;
use std::ops::Deref;
use std::time::SystemTime;

use memmap2::{Mmap, MmapOptions};

/// The bytes of a file.
///
/// Replacing the file by renaming, as all programs here do, leaves these bytes unchanged. Overwriting the file in place
/// changes them. [`is_unchanged`](Self::is_unchanged) detects that, and readers must accept any bytes. If the file is
/// truncated, the system sends SIGBUS to a program that reads the missing part; it ends with an `ERROR` line.
#[derive(Debug)]
pub struct MappedFile {
    map: Mmap,
    file: File,
    /// Size and time of the file when it was mapped.
    seen: Seen,
}

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    changed: Option<SystemTime>,
}

impl Seen {
    fn of(file: &File) -> Option<Seen> {
        let data = file.metadata().ok().filter(|data| data.is_file())?;
        Some(Seen { bytes: data.len(), changed: data.modified().ok() })
    }
}

impl MappedFile {
    /// `None` if this is no ordinary file, or the system does not map it.
    #[allow(unsafe_code)]
    pub(crate) fn new(file: &File) -> Option<MappedFile> {
        let seen = Seen::of(file)?;
        // SAFETY: the bytes are only read, as numbers of types without invalid values. This type's documentation asks
        // users not to overwrite the file; the system's own loader asks the same for libraries.
        let map = unsafe { MmapOptions::new().map_copy_read_only(file) };
        let map = map.ok()?;
        // (On a system without read-ahead the file comes page by page.)
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::WillNeed);
        let mapped = MappedFile { map, file: file.try_clone().ok()?, seen };
        #[cfg(target_os = "linux")]
        bus_errors::explain();
        Some(mapped)
    }

    /// False if the file has been overwritten or made shorter since it was mapped.
    pub fn is_unchanged(&self) -> bool {
        Seen::of(&self.file).as_ref() == Some(&self.seen)
    }
}

/// The signal of a file that was made shorter while it was mapped. (Other systems send it for other reasons, too.)
#[cfg(target_os = "linux")]
mod bus_errors {
    use std::sync::Once;
    use std::sync::OnceLock;

    /// The line of the handler, which must not allocate.
    static LINE: OnceLock<Vec<u8>> = OnceLock::new();

    /// Installs the handler for memory errors: the program prints a line and exits with its status, and the signal does
    /// not kill it.
    #[allow(unsafe_code)]
    pub(super) fn explain() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let message = "a file that is read where it lies has been made shorter meanwhile (SIGBUS); replace files by \
                           renaming new ones, as in 'mv HCLG.fst.new HCLG.fst'";
            LINE.get_or_init(|| crate::host::host().error_line(message).into_bytes());
            let handler: extern "C" fn(libc::c_int) = end;
            // SAFETY: the handler calls only `write` and `_exit`, which may be called in a signal handler. It reads a
            // value that no longer changes.
            unsafe {
                libc::signal(libc::SIGBUS, handler as *const () as libc::sighandler_t);
            }
        });
    }

    #[allow(unsafe_code)]
    extern "C" fn end(_signal: libc::c_int) {
        if let Some(line) = LINE.get() {
            // SAFETY: the bytes live as long as the program. A failed write cannot be handled.
            let _ = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
        }
        // SAFETY: ends the process.
        unsafe { libc::_exit(libc::c_int::from(crate::host::FAILED)) }
    }
}

/// Prefetches the cache line at which a value begins.
#[inline(always)]
#[allow(unsafe_code)]
pub fn expect<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads no memory, for any pointer.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}
