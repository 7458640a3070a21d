//! Kaldi's options (`util/parse-options`) without a command line: their declaration, their values, and files of them.
//!
//! [`options!`](crate::options!) declares a struct of options once, with names, defaults and explanations. A library
//! reads it from a configuration file ([`read_file`]). A program flattens it into its own options (`kaldi_cli::Group`).
//!
//! - `mod.rs`: declarations.
//! - `kind.rs`: types of values, and the forms in which Kaldi writes them.
//! - `names.rs`: finds options by their names; suggests one in the place of a wrong name.
//! - `file.rs`: configuration files.

mod file;
mod kind;
mod names;

pub use file::{defaults, read_file, read_given};
pub use kind::{Kind, Value};
pub use names::{Known, Names, normal_name};

/// A fault of an option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The option is unknown or has another form. Programs show their synopsis.
    #[error("{0}")]
    Form(String),
    /// The value is wrong, or a file cannot be read.
    #[error("{0}")]
    Value(String),
}

/// A struct of options, which [`options!`](crate::options!) declares.
pub trait Options: Sized {
    /// Asks the source for the value of each option, in the order of the fields.
    fn from_source(source: &mut impl Source) -> Self;
}

/// Gives options their values, or looks at their declarations.
pub trait Source {
    /// Returns the value of an option.
    fn value<V: Value>(&mut self, option: &Declared<V>) -> V;
}

/// The declaration of an option.
#[derive(Debug, Clone, Copy)]
pub struct Declared<V: Value> {
    /// The name of the field.
    pub field: &'static str,
    /// The name of the option, if it is not that of the field.
    pub long: Option<&'static str>,
    pub default: V::Default,
    /// The lines of the explanation.
    pub lines: &'static [&'static str],
}

impl<V: Value> Declared<V> {
    /// Returns the name of the option.
    pub fn name(&self) -> String {
        self.long.map_or_else(|| self.field.replace('_', "-"), str::to_owned)
    }

    /// Returns the explanation as one line, without a period at its end.
    pub fn help(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.trim()).collect();
        let text = lines.join(" ");
        text.strip_suffix('.').filter(|text| !text.ends_with('.')).unwrap_or(&text).to_owned()
    }
}

/// Declares a struct of options.
///
/// Each field has an explanation, a type ([`Value`](crate::options::Value)) and a default. The option has the name of the
/// field with `-` for `_`, or the name in brackets. A field without a default is another struct of options.
///
/// ```
/// kaldi_io::options! {
///     /// Options of windows.
///     #[derive(Clone, Debug)]
///     pub struct WindowArgs {
///         /// Frame length in milliseconds
///         pub frame_length: f32 = 25.0,
///         /// Type of window
///         pub window_type("window.type"): String = "povey",
///     }
/// }
///
/// kaldi_io::options! {
///     /// Options of features.
///     pub struct FeatureArgs {
///         pub window: WindowArgs,
///         /// Number of bins
///         pub num_bins: i32 = 23,
///     }
/// }
///
/// let args: FeatureArgs = kaldi_io::options::read_given(&["--window.type=sine", "--num_bins=40"])?;
/// assert_eq!((args.window.window_type.as_str(), args.window.frame_length, args.num_bins), ("sine", 25.0, 40));
/// # Ok::<(), kaldi_io::options::Fault>(())
/// ```
#[macro_export]
macro_rules! options {
    (@field $source:ident $field:ident $type:ty, [$($line:literal)*] [] []) => {
        <$type as $crate::options::Options>::from_source(&mut *$source)
    };
    (@field $source:ident $field:ident $type:ty, [$($line:literal)*] [] [$default:expr]) => {
        $crate::options!(@option $source $field $type, [$($line)*] None, $default)
    };
    (@field $source:ident $field:ident $type:ty, [$($line:literal)*] [$long:expr] [$default:expr]) => {
        $crate::options!(@option $source $field $type, [$($line)*] Some($long), $default)
    };
    (@option $source:ident $field:ident $type:ty, [$($line:literal)*] $long:expr, $default:expr) => {
        $crate::options::Source::value(
            &mut *$source,
            &$crate::options::Declared::<$type> {
                field: stringify!($field),
                long: $long,
                default: $default,
                lines: &[$($line),*],
            },
        )
    };
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $line:literal])*
                $field_vis:vis $field:ident $(($long:expr))? : $type:ty $(= $default:expr)?
            ),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        $vis struct $name {
            $($(#[doc = $line])* $field_vis $field: $type),*
        }

        impl $crate::options::Options for $name {
            fn from_source(source: &mut impl $crate::options::Source) -> Self {
                Self {
                    $($field: $crate::options!(@field source $field $type, [$($line)*] [$($long)?] [$($default)?])),*
                }
            }
        }
    };
}
