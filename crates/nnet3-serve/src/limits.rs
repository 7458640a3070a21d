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
    /// Sessions of one network address: running, waiting, and recordings that arrive. `None`: as many as of all.
    pub sessions_of_address: Option<usize>,
    /// Connections of one network address. `None`: as many as of all.
    pub connections_of_address: Option<usize>,
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
    /// Longest wait for the next sound of a recording's decoder.
    pub decoder: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            sessions: 100,
            waiting: 100,
            wait: Duration::from_secs(10),
            sessions_of_address: None,
            connections_of_address: None,
            seconds: 14400.0,
            idle: Duration::from_secs(30),
            message: 1 << 20,
            recording: 100 << 20,
            upload: Duration::from_secs(600),
            decoder: Duration::from_secs(60),
        }
    }
}

/// Connections beside those of sessions and of waiting ones: for the page, figures, and sockets before their first sound.
const OTHER_CONNECTIONS: usize = 100;
/// The largest number of sessions, running or waiting.
const MOST: usize = 100_000;
/// Bytes of the shortest and the longest message, and of the shortest recording.
const MESSAGES: std::ops::RangeInclusive<usize> = 1000..=1 << 30;

impl Limits {
    /// Connections at a time, whatever they are for.
    pub fn connections(&self) -> usize {
        self.sessions + self.waiting + OTHER_CONNECTIONS
    }

    /// Fails if a limit makes no sense. The error names it as the option of `nnet3-serve` does.
    pub fn check(&self) -> Result<()> {
        let wrong = |name: &str, found: &dyn std::fmt::Display, expected: String| {
            Err(Error::Limit(format!("`{name}`={found}: expected {expected}")))
        };
        if !(1..=MOST).contains(&self.sessions) {
            return wrong("max-sessions", &self.sessions, format!("from 1 to {MOST} sessions at a time"));
        }
        if self.waiting > MOST {
            return wrong("max-waiting", &self.waiting, format!("at most {MOST} waiting sessions"));
        }
        for (name, most) in [
            ("max-sessions-per-address", self.sessions_of_address),
            ("max-connections-per-address", self.connections_of_address),
        ] {
            if most == Some(0) {
                return wrong(name, &0, "at least 1 of an address".to_owned());
            }
        }
        if !(self.seconds > 0.0 && self.seconds <= 1e7) {
            let expected = "above 0 and at most 10000000 seconds of sound";
            return wrong("max-seconds", &self.seconds, expected.to_owned());
        }
        let (least, most) = (MESSAGES.start(), MESSAGES.end());
        if !MESSAGES.contains(&self.message) {
            let expected = format!("from {least} to {most} bytes of a message");
            return wrong("max-message", &self.message, expected);
        }
        if self.recording < *least {
            let expected = format!("at least {least} bytes of a recording");
            return wrong("max-recording", &self.recording, expected);
        }
        for (name, time) in
            [("max-idle", self.idle), ("max-upload", self.upload), ("max-decoder-wait", self.decoder)]
        {
            if time.is_zero() {
                return wrong(name, &0, "above 0 seconds".to_owned());
            }
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
            (
                Limits { sessions: 0, ..default.clone() },
                "`max-sessions`=0: expected from 1 to 100000 sessions at a time",
            ),
            (Limits { waiting: 200_000, ..default.clone() }, "at most 100000 waiting sessions"),
            (
                Limits { sessions_of_address: Some(0), ..default.clone() },
                "`max-sessions-per-address`=0: expected at least 1 of an address",
            ),
            (
                Limits { seconds: f64::NAN, ..default.clone() },
                "`max-seconds`=NaN: expected above 0 and at most 10000000 seconds",
            ),
            (
                Limits { message: 10, ..default.clone() },
                "`max-message`=10: expected from 1000 to 1073741824 bytes",
            ),
            (Limits { recording: 10, ..default.clone() }, "`max-recording`=10: expected at least 1000 bytes"),
            (Limits { idle: Duration::ZERO, ..default.clone() }, "`max-idle`=0: expected above 0 seconds"),
            (Limits { decoder: Duration::ZERO, ..default.clone() }, "`max-decoder-wait`=0: expected above 0"),
        ] {
            let error = limits.check().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
