//! One field of a component: its key in config lines, its token in files, its kind, default and meaning.

use crate::{Key, Kind};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::Result;
use nnet3_base::text::number;
use std::borrow::Cow;
use std::fmt::Display;

/// A kind of value that config lines and files hold.
pub trait Value: Copy + PartialEq + Display {
    const KIND: Kind;
    /// Stands for the value where there is none, such as in documentation.
    const SAMPLE: Self;
    /// The value of a token without a value.
    const SET: Self = Self::SAMPLE;

    /// Takes the value of `key`, if the line has it.
    fn take(line: &mut ConfigLine, key: &str) -> Result<Option<Self>>;
    /// Reads the value of `token`, which has been read.
    fn read(r: &mut KaldiReader, token: &str) -> Result<Self>;
    fn write(self, w: &mut KaldiWriter) -> Result<()>;
    /// Returns the value as documentation and info texts show it.
    fn text(self) -> String;
}

/// An integer greater than 0, below 2^31.
impl Value for usize {
    const KIND: Kind = Kind::Int;
    const SAMPLE: usize = 1;

    fn take(line: &mut ConfigLine, key: &str) -> Result<Option<usize>> {
        line.get_dim(key)
    }
    fn read(r: &mut KaldiReader, token: &str) -> Result<usize> {
        super::fields::dim(r, token)
    }
    fn write(self, w: &mut KaldiWriter) -> Result<()> {
        Ok(w.write_i32(self as i32)?)
    }
    fn text(self) -> String {
        self.to_string()
    }
}

impl Value for i32 {
    const KIND: Kind = Kind::Int;
    const SAMPLE: i32 = 1;

    fn take(line: &mut ConfigLine, key: &str) -> Result<Option<i32>> {
        line.get_i32(key)
    }
    fn read(r: &mut KaldiReader, _: &str) -> Result<i32> {
        Ok(r.read_i32()?)
    }
    fn write(self, w: &mut KaldiWriter) -> Result<()> {
        Ok(w.write_i32(self)?)
    }
    fn text(self) -> String {
        self.to_string()
    }
}

impl Value for f32 {
    const KIND: Kind = Kind::Float;
    const SAMPLE: f32 = 1.0;

    fn take(line: &mut ConfigLine, key: &str) -> Result<Option<f32>> {
        line.get_f32(key)
    }
    fn read(r: &mut KaldiReader, _: &str) -> Result<f32> {
        Ok(r.read_f32()?)
    }
    fn write(self, w: &mut KaldiWriter) -> Result<()> {
        Ok(w.write_f32(self)?)
    }
    fn text(self) -> String {
        number(self as f64)
    }
}

impl Value for bool {
    const KIND: Kind = Kind::Bool;
    const SAMPLE: bool = false;
    const SET: bool = true;

    fn take(line: &mut ConfigLine, key: &str) -> Result<Option<bool>> {
        line.get_bool(key)
    }
    fn read(r: &mut KaldiReader, _: &str) -> Result<bool> {
        Ok(r.read_bool()?)
    }
    fn write(self, w: &mut KaldiWriter) -> Result<()> {
        Ok(w.write_bool(self)?)
    }
    fn text(self) -> String {
        self.to_string()
    }
}

/// The values that a field may have.
#[derive(Clone, Copy)]
pub struct Range<T> {
    pub contains: fn(T) -> bool,
    /// Follows "KEY must " in errors of config lines.
    pub must: &'static str,
    /// Follows "TOKEN: expected " in errors of files.
    pub expected: &'static str,
}

/// Numbers from 0 to 1.
pub(crate) const FROM_0_TO_1: Range<f32> = Range {
    contains: |value| (0.0..=1.0).contains(&value),
    must: "be from 0 to 1",
    expected: "a number from 0 to 1",
};
/// Finite numbers greater than 0.
pub(crate) const ABOVE_0: Range<f32> = Range {
    contains: |value| value > 0.0 && value.is_finite(),
    must: "be greater than 0",
    expected: "a number greater than 0",
};
/// Finite numbers from 0 on.
pub(crate) const FROM_0: Range<f32> = Range {
    contains: |value| value >= 0.0 && value.is_finite(),
    must: "be at least 0",
    expected: "a number of at least 0",
};
/// Numbers from 0 on, infinity included.
pub(crate) const NOT_NEGATIVE: Range<f32> =
    Range { contains: |value| value >= 0.0, must: "not be negative", expected: "a number of at least 0" };
/// Integers from 0 on.
pub(crate) const COUNT: Range<i32> =
    Range { contains: |value| value >= 0, must: "not be negative", expected: "0 or more" };

/// The form of a field in files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// Token and value.
    Always,
    /// Token and value; older files lack them.
    MayMiss,
    /// Token and value, unless the value is the default.
    IfSet,
    /// The token alone, if the value is true.
    Flag,
    /// The value alone; it follows that of another field with the same token.
    Follows,
}

/// The form of a field in info texts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Always,
    /// Only if the value is not the default.
    IfSet,
    Never,
}

/// The values that a range limits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Limits {
    Both,
    /// Those of config lines.
    Keys,
    /// Those of files.
    Files,
}

/// A field with values of the kind `T`.
#[derive(Clone, Copy)]
pub struct Field<T: 'static> {
    /// Empty if config lines have no such key.
    pub key: &'static str,
    /// Empty if files have no such token.
    pub token: &'static str,
    pub meaning: &'static str,
    pub(super) default: Option<T>,
    default_text: &'static str,
    pub(super) range: Option<Range<T>>,
    pub(super) limits: Limits,
    pub(super) presence: Presence,
    pub(super) shown: Shown,
}

/// A field without a default. Its key is required, unless a default is described or given.
pub const fn field<T: Value>(key: &'static str, token: &'static str, meaning: &'static str) -> Field<T> {
    Field {
        key,
        token,
        meaning,
        default: None,
        default_text: "",
        range: None,
        limits: Limits::Both,
        presence: Presence::Always,
        shown: Shown::Always,
    }
}

impl<T: Value> Field<T> {
    /// Gives the default.
    pub const fn or(mut self, default: T) -> Self {
        self.default = Some(default);
        self
    }

    /// Describes a default that depends on other fields.
    pub const fn or_by(mut self, text: &'static str) -> Self {
        self.default_text = text;
        self
    }

    /// Limits the values of config lines and files.
    pub const fn range(mut self, range: Range<T>) -> Self {
        self.range = Some(range);
        self.limits = Limits::Both;
        self
    }

    /// Limits the values of config lines only.
    pub const fn range_of_key(mut self, range: Range<T>) -> Self {
        self.range = Some(range);
        self.limits = Limits::Keys;
        self
    }

    /// Limits the values of files only.
    pub const fn range_in_files(mut self, range: Range<T>) -> Self {
        self.range = Some(range);
        self.limits = Limits::Files;
        self
    }

    /// Says that older files lack the field. They have the default.
    pub const fn may_miss(mut self) -> Self {
        self.presence = Presence::MayMiss;
        self
    }

    /// Says that files have the field only if its value is not the default.
    pub const fn written_if_set(mut self) -> Self {
        self.presence = Presence::IfSet;
        self.shown = Shown::IfSet;
        self
    }

    /// Says that files have the token alone if the value is true.
    pub const fn flag(mut self) -> Self {
        self.presence = Presence::Flag;
        self.shown = Shown::IfSet;
        self
    }

    /// Says that the value follows that of another field, which has the same token.
    pub const fn follows(mut self) -> Self {
        self.presence = Presence::Follows;
        self
    }

    /// Shows the field in info texts only if its value is not the default.
    pub const fn shown_if_set(mut self) -> Self {
        self.shown = Shown::IfSet;
        self
    }

    /// Leaves the field out of info texts.
    pub const fn hidden(mut self) -> Self {
        self.shown = Shown::Never;
        self
    }

    /// Gives the field another meaning in the documentation.
    pub const fn meaning(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    /// Gives the field another token.
    pub const fn with_token(mut self, token: &'static str) -> Self {
        self.token = token;
        self
    }

    /// Returns the key for the documentation.
    pub(super) fn documented(&self) -> Key {
        let default = match self.default {
            Some(default) if self.default_text.is_empty() => Cow::Owned(default.text()),
            _ => Cow::Borrowed(self.default_text),
        };
        Key { name: self.key, kind: T::KIND, default, meaning: self.meaning }
    }
}
