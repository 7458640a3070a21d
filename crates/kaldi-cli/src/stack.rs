//! The stack of the first thread, which the system limits and which grows during use. If it may not become large enough,
//! as by `ulimit -s 64`, the program runs on a thread of its own. If the address space is limited, as by `ulimit -v`,
//! the stack may find no room later, and the program dies by a signal. So the program touches the stack once before it
//! uses memory for other purposes.

use std::fs;
use std::hint::black_box;
use std::process::ExitCode;

/// Bytes of stack that are reserved: the size of other threads' stacks.
const WANTED: u64 = 2 << 20;

/// Room that must be left besides.
const BESIDES: u64 = 1 << 20;

/// A step of [`take`].
const STEP: u64 = 64 << 10;

/// Bytes of stack of the thread that takes the place of the first one: the usual limit.
const USUAL: usize = 8 << 20;

/// Runs the `main` of a program, on a thread with the usual stack if the first thread may not have enough (`ulimit -s`).
pub fn with_enough_stack(main: fn() -> ExitCode) -> ExitCode {
    let Some(limit) = stack_limit().filter(|&limit| limit < WANTED) else { return main() };
    match kaldi_io::threads::start_with_stack("the program", USUAL, main) {
        Ok(thread) => thread.join(),
        Err(error) => {
            let called = std::env::args_os().next().unwrap_or_default();
            crate::log::init(&crate::program_name(&called));
            let message = format!(
                "the limit on the stack (ulimit -s {}) is too small, and {}",
                limit >> 10,
                error.chain()
            );
            crate::log::error(&crate::log::Site::PROGRAM, &message);
            ExitCode::from(crate::FAILED)
        }
    }
}

/// The limit on the stack of the first thread in bytes. `None` without one.
#[cfg(target_os = "linux")]
fn stack_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Stack).current
}

#[cfg(not(target_os = "linux"))]
fn stack_limit() -> Option<u64> {
    None
}

/// Reserves the stack if the address space is limited. The error says that the stack is too small.
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

/// Touches `steps` steps of the stack.
#[inline(never)]
fn take(steps: u64) {
    let room = [0u8; STEP as usize];
    black_box(&room);
    if steps > 1 {
        take(steps - 1);
    }
    black_box(&room);
}

/// Returns a soft limit in `/proc/self/limits`, or `None` if it is unlimited or absent.
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
