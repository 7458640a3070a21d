//! Limits of clients.

use std::time::Duration;

use crate::error::{Error, Result};

/// The share of the server that clients may have.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Sessions that are recognised at a time: sockets that have sent sound, and recordings.
    pub sessions: usize,
    /// Sessions that may wait for another one to end. More are refused.
    pub waiting: usize,
    /// Longest wait of a session. After it the session is refused.
    pub wait: Duration,
    /// Sessions of one network address, running or waiting. `None`: as many as of all.
    pub sessions_of_address: Option<usize>,
    /// Seconds of sound of a session. Memory grows with the sound of a sentence.
    pub seconds: f64,
    /// Longest pause of a client that has to send something.
    pub idle: Duration,
    /// Bytes of a message.
    pub message: usize,
    /// Bytes of a recording.
    pub recording: usize,
    /// Longest sending of a recording.
    pub upload: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            sessions: 100,
            waiting: 100,
            wait: Duration::from_secs(10),
            sessions_of_address: None,
            seconds: 14400.0,
            idle: Duration::from_secs(30),
            message: 1 << 20,
            recording: 100 << 20,
            upload: Duration::from_secs(600),
        }
    }
}

/// Connections beside those of sessions and of waiting ones: for the page, figures, and sockets before their first sound.
const OTHER_CONNECTIONS: usize = 100;
/// The largest number of sessions, running or waiting.
const MOST: usize = 100_000;
/// Bytes of the shortest message that a client needs to send.
const SHORTEST_MESSAGE: usize = 1000;

impl Limits {
    /// Connections at a time, whatever they are for.
    pub fn connections(&self) -> usize {
        self.sessions + self.waiting + OTHER_CONNECTIONS
    }

    /// Fails if a limit makes no sense.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::Limit(text));
        if !(1..=MOST).contains(&self.sessions) {
            return wrong(format!("expected from 1 to {MOST} sessions at a time, found {}", self.sessions));
        }
        if self.waiting > MOST {
            return wrong(format!("expected at most {MOST} waiting sessions, found {}", self.waiting));
        }
        if self.sessions_of_address == Some(0) {
            return wrong("expected at least 1 session of an address".to_owned());
        }
        if !(self.seconds > 0.0 && self.seconds <= 1e7) {
            return wrong(format!(
                "expected above 0 and at most 10000000 seconds of sound, found {}",
                self.seconds
            ));
        }
        if self.message < SHORTEST_MESSAGE || self.recording < SHORTEST_MESSAGE {
            let found = self.message.min(self.recording);
            return wrong(format!("expected at least {SHORTEST_MESSAGE} bytes of a message, found {found}"));
        }
        if self.idle.is_zero() || self.upload.is_zero() {
            return wrong("expected above 0 seconds that a client may pause or send".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_serve_nobody_are_errors() {
        let default = Limits::default();
        default.check().unwrap();
        assert_eq!(default.connections(), 300);
        for (limits, text) in [
            (Limits { sessions: 0, ..default.clone() }, "from 1 to 100000 sessions at a time, found 0"),
            (Limits { waiting: 200_000, ..default.clone() }, "at most 100000 waiting sessions"),
            (Limits { sessions_of_address: Some(0), ..default.clone() }, "1 session of an address"),
            (Limits { seconds: f64::NAN, ..default.clone() }, "seconds of sound, found NaN"),
            (Limits { message: 10, ..default.clone() }, "1000 bytes of a message, found 10"),
            (Limits { idle: Duration::ZERO, ..default.clone() }, "seconds that a client may pause"),
        ] {
            let error = limits.check().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
