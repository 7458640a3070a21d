//! The stack of the first thread. It grows when it is used. If the address space is limited, as by `ulimit -v`, it may find no room
//! then, which no program survives. So it is used once before anything else takes the room.

use std::fs;
use std::hint::black_box;

/// Bytes of stack that are made sure of: as many as other threads have.
const WANTED: u64 = 2 << 20;

/// Room that must be left besides.
const BESIDES: u64 = 1 << 20;

/// A step of [`take`].
const STEP: u64 = 64 << 10;

/// Makes sure of the stack if the address space is limited. An error says that there is too little of it.
pub(super) fn reserve() -> Result<(), String> {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let Some(most) = limit(&limits, "Max address space") else { return Ok(()) };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let Some(used) = kilobytes(&status, "VmSize:") else { return Ok(()) };
    let wanted = limit(&limits, "Max stack size").map_or(WANTED, |stack| WANTED.min(stack / 2));
    let left = most.saturating_sub(used);
    if left < wanted + BESIDES {
        return Err(format!(
            "the limit on the address space (ulimit -v {}) leaves {} kB; expected at least {}",
            most >> 10,
            left >> 10,
            (wanted + BESIDES) >> 10
        ));
    }
    take(wanted / STEP);
    Ok(())
}

/// Uses so many steps of the stack.
#[inline(never)]
fn take(steps: u64) {
    let room = [0u8; STEP as usize];
    black_box(&room);
    if steps > 1 {
        take(steps - 1);
    }
    black_box(&room);
}

/// A soft limit in `/proc/self/limits`; `None` if there is none.
fn limit(limits: &str, name: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// The bytes of a line of `/proc/self/status`.
fn kilobytes(status: &str, name: &str) -> Option<u64> {
    let number: u64 =
        status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()?;
    Some(number << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_sizes() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max stack size            8388608              unlimited            bytes     \n\
                      Max address space         unlimited            unlimited            bytes     \n";
        assert_eq!(limit(limits, "Max stack size"), Some(8_388_608));
        assert_eq!(limit(limits, "Max address space"), None);
        assert_eq!(kilobytes("VmPeak:\t  10 kB\nVmSize:\t    4096 kB\n", "VmSize:"), Some(4096 << 10));
        reserve().unwrap();
        take(3);
    }
}
