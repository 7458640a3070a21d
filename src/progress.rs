//! A progress bar on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// Counts things of unknown number: tables say only at their end how long they are. Shows nothing unless standard
/// error is a terminal. Print other lines inside `suspend`.
pub fn counter(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let template = format!("{{spinner}} {{human_pos}} {what}, {{per_sec}}, {{elapsed}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
