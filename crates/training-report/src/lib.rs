//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Shows the logs of a training as one page: `nnet3-report`.
//!
//! `logs` reads the folder that `scripts/train.sh` or Kaldi's drivers fill (`log/train.I.J.log`,
//! `log/compute_prob_{train,valid}.I.log`, `log/progress.I.log`). `epochs` reads the events of `nnet3-fit`, `chart`
//! draws, and `page` composes the page. Markup is written with `maud`, which escapes every text.

mod chart;
mod epochs;
mod logs;
mod page;
mod style;

pub use epochs::LOWEST;
pub use logs::{ReadError, Training};
pub use page::page;
