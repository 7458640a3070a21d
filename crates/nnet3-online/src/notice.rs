//! Events while a model is opened.

use std::fmt;
use std::time::Duration;

use nnet3_core::nnet::collapse::CollapseReport;

/// An event that a user may want to know of. The caller decides which of them it shows.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, Clone)]
pub enum Notice {
    /// A file or folder of the model that has no effect.
    Unused(String),
    /// Components of the network in this file with values that are not finite numbers.
    NotFinite { file: String, components: Vec<String> },
    /// Components that were merged, since that does not change outputs.
    Merged(CollapseReport),
    /// The network was compiled.
    Compiled(Duration),
}

impl Notice {
    /// True if the model may not be as its user thinks.
    pub fn is_warning(&self) -> bool {
        matches!(self, Notice::Unused(_) | Notice::NotFinite { .. })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Unused(path) => {
                write!(f, "{path} is not used: words are those of the graph's language model")
            }
            Notice::NotFinite { file, components } => match &components[..] {
                [name] => write!(f, "{file}: values of the component {name} are nan or infinite"),
                names => write!(
                    f,
                    "{file}: values of {} components, such as {}, are nan or infinite",
                    names.len(),
                    names.first().map_or("", String::as_str)
                ),
            },
            Notice::Merged(report) => report.fmt(f),
            Notice::Compiled(time) => {
                write!(f, "Spent {} seconds in looped compilation.", time.as_secs_f64())
            }
        }
    }
}
