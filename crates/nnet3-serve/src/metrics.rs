//! Figures of the server in the text form of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::sessions::Sessions;

/// Upper ends of the classes of a duration, in seconds.
const CLASSES: [f64; 9] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];

/// The kind of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Socket,
    Recording,
}

impl Kind {
    fn label(self) -> &'static str {
        match self {
            Kind::Socket => "socket",
            Kind::Recording => "recording",
        }
    }
}

/// A histogram of durations.
#[derive(Default)]
struct Durations {
    counts: [u64; CLASSES.len()],
    count: u64,
    sum: f64,
}

impl Durations {
    fn add(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        for (count, class) in self.counts.iter_mut().zip(CLASSES) {
            *count += u64::from(seconds <= class);
        }
        self.count += 1;
        self.sum += seconds;
    }
}

#[derive(Default)]
struct Figures {
    sessions: BTreeMap<&'static str, u64>,
    refused: BTreeMap<&'static str, u64>,
    ended: BTreeMap<&'static str, u64>,
    /// Seconds of sound, and seconds of threads that recognised it.
    sound: f64,
    recognition: f64,
    answers: Durations,
}

/// Counts since the server was started.
#[derive(Default)]
pub struct Metrics(Mutex<Figures>);

impl Metrics {
    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session was admitted.
    pub fn session(&self, kind: Kind) {
        *self.figures().sessions.entry(kind.label()).or_default() += 1;
    }

    /// A session, client or connection was refused.
    pub fn refused(&self, reason: &'static str) {
        *self.figures().refused.entry(reason).or_default() += 1;
    }

    /// The server ended a session for a reason: `idle`, `protocol`, …
    pub fn ended(&self, reason: &'static str) {
        *self.figures().ended.entry(reason).or_default() += 1;
    }

    /// Sound was recognised.
    pub fn recognized(&self, seconds: f64, took: Duration) {
        let mut figures = self.figures();
        figures.sound += seconds;
        figures.recognition += took.as_secs_f64();
    }

    /// A message was answered so long after its arrival.
    pub fn answered(&self, after: Duration) {
        self.figures().answers.add(after);
    }

    /// Returns all figures as text.
    pub fn text(&self, sessions: &Sessions, log_lines_left_out: u64) -> String {
        let figures = self.figures();
        let mut text = Text(String::new());
        text.single("sessions", "gauge", "Sessions that are recognised now.", sessions.running() as f64);
        text.single(
            "sessions_waiting",
            "gauge",
            "Sessions that wait for another to end.",
            sessions.waiting() as f64,
        );
        let stopping = f64::from(u8::from(sessions.is_stopping()));
        text.single("stopping", "gauge", "1 once the server has been told to stop.", stopping);
        text.labelled("sessions_total", "Sessions since the start.", "kind", &figures.sessions);
        text.labelled("refused_total", "Clients that were refused.", "reason", &figures.refused);
        text.labelled("ended_total", "Sessions that the server ended early.", "reason", &figures.ended);
        let left_out = log_lines_left_out as f64;
        text.single("log_lines_left_out_total", "counter", "Log lines that were left out.", left_out);
        text.single("sound_seconds_total", "counter", "Seconds of sound.", figures.sound);
        text.single(
            "recognition_seconds_total",
            "counter",
            "Seconds of threads that recognised sound; divided by seconds of sound the real-time factor.",
            figures.recognition,
        );
        text.histogram("answer_seconds", "Time from a message to its answer.", &figures.answers);
        text.0
    }
}

struct Text(String);

impl Text {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // (Writing to a string does not fail.)
        let _always = writeln!(self.0, "nnet3_serve_{line}");
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _always = writeln!(self.0, "# HELP nnet3_serve_{name} {help}\n# TYPE nnet3_serve_{name} {kind}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        self.line(format_args!("{name} {value}"));
    }

    fn labelled(&mut self, name: &str, help: &str, label: &str, values: &BTreeMap<&'static str, u64>) {
        self.head(name, "counter", help);
        for (value, count) in values {
            self.line(format_args!("{name}{{{label}=\"{value}\"}} {count}"));
        }
    }

    fn histogram(&mut self, name: &str, help: &str, durations: &Durations) {
        self.head(name, "histogram", help);
        for (class, count) in CLASSES.iter().zip(durations.counts) {
            self.line(format_args!("{name}_bucket{{le=\"{class}\"}} {count}"));
        }
        self.line(format_args!("{name}_bucket{{le=\"+Inf\"}} {}", durations.count));
        self.line(format_args!("{name}_sum {}", durations.sum));
        self.line(format_args!("{name}_count {}", durations.count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn text_for_prometheus() {
        let metrics = Metrics::default();
        metrics.session(Kind::Socket);
        metrics.session(Kind::Socket);
        metrics.session(Kind::Recording);
        metrics.refused("full");
        metrics.recognized(2.0, Duration::from_millis(250));
        metrics.answered(Duration::from_millis(20));
        metrics.answered(Duration::from_secs(9));
        let text = metrics.text(&Sessions::new(&Limits::default()), 4);
        for line in [
            "# TYPE nnet3_serve_sessions gauge\nnnet3_serve_sessions 0\n",
            "nnet3_serve_sessions_total{kind=\"recording\"} 1\n",
            "nnet3_serve_sessions_total{kind=\"socket\"} 2\n",
            "nnet3_serve_refused_total{reason=\"full\"} 1\n",
            "nnet3_serve_log_lines_left_out_total 4\n",
            "nnet3_serve_sound_seconds_total 2\n",
            "nnet3_serve_recognition_seconds_total 0.25\n",
            "nnet3_serve_answer_seconds_bucket{le=\"0.01\"} 0\nnnet3_serve_answer_seconds_bucket{le=\"0.025\"} 1\n",
            "nnet3_serve_answer_seconds_bucket{le=\"+Inf\"} 2\nnnet3_serve_answer_seconds_sum 9.02\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        // Every line is a comment, or a name and a number.
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, number) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("nnet3_serve_") && number.parse::<f64>().is_ok(), "{line}");
        }
    }
}
