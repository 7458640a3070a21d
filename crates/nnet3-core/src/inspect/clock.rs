//! Time for measurements.

use std::time::Duration;

/// Processor time of this thread; the work of other programs does not count.
#[cfg(unix)]
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Time since the first call: this system has no clock for threads.
#[cfg(not(unix))]
pub fn thread_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// The test does not compare with wall time: a machine's clock of threads may advance in steps of several
    /// milliseconds.
    #[test]
    #[cfg(unix)]
    fn sleep_does_not_count_and_work_does() {
        let start = thread_time();
        std::thread::sleep(Duration::from_millis(100));
        assert!(thread_time() - start < Duration::from_millis(50));
        let (start, wall) = (thread_time(), Instant::now());
        let mut x = 1.0f64;
        while thread_time() - start < Duration::from_millis(20) {
            assert!(wall.elapsed() < Duration::from_secs(60), "a minute of work counted for less than 20 ms");
            x = std::hint::black_box(x * 1.5).sqrt();
        }
    }
}
