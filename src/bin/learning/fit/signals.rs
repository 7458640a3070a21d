//! SIGINT and SIGTERM end a training in good order. The second signal ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

pub struct Signals {
    received: Vec<(i32, Arc<AtomicBool>)>,
}

impl Signals {
    /// Notes signals from now on.
    pub fn watch() -> Result<Signals> {
        let mut received = Vec::new();
        for signal in [SIGINT, SIGTERM] {
            let set = Arc::new(AtomicBool::new(false));
            // The first signal sets the flag. The flag lets the next one have its default effect.
            flag::register_conditional_default(signal, set.clone())
                .and_then(|_| flag::register(signal, set.clone()))
                .context("cannot watch signals")?;
            received.push((signal, set));
        }
        Ok(Signals { received })
    }

    /// The number of a signal that has come.
    pub fn received(&self) -> Option<i32> {
        let came = self.received.iter().find(|(_, set)| set.load(Ordering::Relaxed));
        came.map(|(signal, _)| *signal)
    }
}
