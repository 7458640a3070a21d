//! The number of idle processors of the machine.

/// Returns the number of idle processors; `None` if the system does not tell. Only Linux is asked.
pub(super) fn idle_processors() -> Option<usize> {
    #[cfg(target_os = "linux")]
    return linux::idle_processors();
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, read_to_string};
    use std::os::unix::fs::FileExt;
    use std::sync::OnceLock;

    pub fn idle_processors() -> Option<usize> {
        static PROCESSORS: OnceLock<Option<(File, usize)>> = OnceLock::new();
        let open = || {
            let online = processors(&read_to_string("/sys/devices/system/cpu/online").ok()?)?;
            Some((File::open("/proc/loadavg").ok()?, online))
        };
        let (load, online) = PROCESSORS.get_or_init(open).as_ref()?;
        let mut text = [0; 64];
        let length = load.read_at(&mut text, 0).ok()?;
        Some(online.saturating_sub(running(std::str::from_utf8(&text[..length]).ok()?)?))
    }

    /// The threads that run or could run, of `0.50 0.32 0.21 2/140 3120`.
    pub fn running(load: &str) -> Option<usize> {
        load.split(' ').nth(3)?.split('/').next()?.parse().ok()
    }

    /// Counts the processors of a list such as `0-3,8-11`.
    pub fn processors(ranges: &str) -> Option<usize> {
        let count = |range: &str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1)
        };
        ranges.trim().split(',').map(count).sum()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::linux::{processors, running};

    #[test]
    fn files_are_understood() {
        assert_eq!(running("0.50 0.32 0.21 2/140 3120\n"), Some(2));
        assert_eq!(running("0.50"), None);
        assert_eq!(processors("0-3,8-11\n"), Some(8));
        assert_eq!(processors("0\n"), Some(1));
        assert_eq!(processors("3-0\n"), None);
    }
}
