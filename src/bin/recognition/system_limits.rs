//! Limits of the system (`ulimit`) beside those of a server and of the process that decodes a recording.

use std::error::Error;

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};

/// Open files beside those of clients: logs, the model, timers.
const OTHER_FILES: usize = 64;
/// Connections beyond the limit, for probes.
const PROBES: usize = 33;
/// Open files of a recording: itself, and the pipes of its decoder.
const OF_RECORDING: usize = 5;

/// Limits of this process. `None`: there is no limit.
pub struct SystemLimits {
    /// Bytes of a file.
    pub file: Option<u64>,
    /// Bytes of data.
    pub data: Option<u64>,
    /// Seconds of processor time.
    pub time: Option<u64>,
}

impl SystemLimits {
    pub fn now() -> SystemLimits {
        SystemLimits {
            file: getrlimit(Resource::Fsize).current,
            data: getrlimit(Resource::Data).current,
            time: getrlimit(Resource::Cpu).current,
        }
    }
}

/// Allows as many open files as these connections and sessions need. Fails if the system does not.
pub fn allow_files(connections: usize, sessions: usize) -> Result<()> {
    let wanted = (connections + sessions * OF_RECORDING + PROBES + OTHER_FILES) as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|most| most >= wanted) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|most| most < wanted) {
        bail!(
            "--max-sessions={sessions}: the sessions and those that wait need {wanted} open files, and the system allows {} \
             (ulimit -n)",
            limit.maximum.unwrap_or(0)
        );
    }
    let higher = Rlimit { current: Some(wanted), maximum: limit.maximum };
    setrlimit(Resource::Nofile, higher).with_context(|| format!("a limit of {wanted} open files"))
}

/// Limits memory (in bytes) and processor time (in seconds) of this process and those that it starts. Lower limits of the
/// system stay. The process ends with the server that has started it.
pub fn limit_decoder(memory: u64, seconds: u64) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("the signal for the end of the server")?;
    for (resource, most) in [(Resource::Data, memory), (Resource::Cpu, seconds)] {
        let system = getrlimit(resource);
        let lower = |a: u64, b: Option<u64>| b.map_or(a, |b| a.min(b));
        let current = lower(most, system.current);
        // (At the larger one of two limits of time, a signal comes that names no reason.)
        let maximum = lower(most.saturating_add(1), system.maximum).max(current);
        let limit = Rlimit { current: Some(current), maximum: Some(maximum) };
        setrlimit(resource, limit).with_context(|| format!("a limit of {most} for {resource:?}"))?;
    }
    Ok(())
}

/// True if an error comes from the system, such as a full disk, and not from the contents of a recording.
pub fn is_of_the_system(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.raw_os_error().is_some()) {
            return true;
        }
        cause = error.source();
    }
    false
}
