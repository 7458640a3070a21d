//! Types of options' values, and the forms in which they are written.

use std::fmt::Display;

use super::Fault;
use crate::text::{parse_integer, parse_real};

/// Type of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    Double,
    String,
}

impl Kind {
    /// The name in the help.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Uint => "uint",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::String => "string",
        }
    }

    /// Returns the value of the option `name` as [`Value::parse`] takes it: a number in Rust's form, `true` for a switch
    /// without a value.
    ///
    /// # Errors
    /// The text is no value of this kind.
    pub fn canonical(self, name: &str, value: Option<&str>) -> Result<String, Fault> {
        let text = value.unwrap_or_default();
        let refused = |message: String| Err(Fault::Value(message));
        match self {
            Kind::Bool => match text.to_ascii_lowercase().as_str() {
                "" if value.is_some() => refused(format!("Invalid option --{name}=")),
                "" | "true" | "t" | "1" => Ok("true".to_owned()),
                "false" | "f" | "0" => Ok("false".to_owned()),
                _ => Err(Fault::Form(format!(
                    "Invalid format for boolean argument [expected true or false]: {text} (option --{name})"
                ))),
            },
            Kind::Int | Kind::Uint => match parse_integer::<i128>(text) {
                Some(number) => Ok(number.to_string()),
                None => refused(format!("Invalid integer option \"{text}\" (option --{name})")),
            },
            Kind::Float | Kind::Double => match parse_real(text) {
                Some(number)
                    if self == Kind::Float && number.is_finite() && (number as f32).is_infinite() =>
                {
                    refused(format!("Option --{name}={text} is out of range"))
                }
                Some(number) if number.is_nan() => refused(format!("Option --{name}={text} is not a number")),
                Some(number) if number.is_infinite() => Ok(number.to_string()),
                Some(_) => Ok(text.to_owned()),
                None => refused(format!("Invalid floating-point option \"{text}\" (option --{name})")),
            },
            Kind::String => match value {
                Some(text) => Ok(text.to_owned()),
                None => refused(format!("Invalid option --{name} (option format is --{name}=VALUE).")),
            },
        }
    }
}

/// A type of options' values.
pub trait Value: Clone + Send + Sync + 'static {
    /// The form of defaults in declarations.
    type Default: Copy + Display;

    const KIND: Kind;

    /// Returns the value of a default.
    fn of_default(default: Self::Default) -> Self;

    /// Parses a value in the form of [`Kind::canonical`].
    ///
    /// # Errors
    /// The number is out of range. The text names the range.
    fn parse(text: &str) -> Result<Self, String>;
}

macro_rules! value {
    ($type:ty, $kind:ident, $parse:expr) => {
        impl Value for $type {
            type Default = $type;

            const KIND: Kind = Kind::$kind;

            fn of_default(default: $type) -> $type {
                default
            }

            fn parse(text: &str) -> Result<$type, String> {
                $parse(text)
            }
        }
    };
}

value!(bool, Bool, plain);
value!(i32, Int, |text| ranged(text, i64::from(i32::MIN), i64::from(i32::MAX)));
value!(u32, Uint, |text| ranged(text, 0, i64::from(u32::MAX)));
value!(usize, Uint, plain);
value!(f32, Float, plain);
value!(f64, Double, plain);

impl Value for String {
    type Default = &'static str;

    const KIND: Kind = Kind::String;

    fn of_default(default: &'static str) -> String {
        default.to_owned()
    }

    fn parse(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
}

fn plain<T: std::str::FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn ranged<T: TryFrom<i64>>(text: &str, least: i64, most: i64) -> Result<T, String> {
    let number: i64 = plain(text)?;
    T::try_from(number).map_err(|_| format!("{number} is not in {least}..={most}"))
}
