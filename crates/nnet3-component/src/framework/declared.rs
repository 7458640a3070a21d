//! Components that declare their fields once: documentation, config lines, files and info texts come of it.

pub use crate::field::*;
use crate::field::{Limits, Presence, Shown};
pub use crate::fields::key;
use crate::parameters::{Initial, read_linear_and_bias, write_linear_and_bias};
pub use crate::registry::{ComponentType, Key, Kind};
use crate::updatable::UpdatableSettings;
use crate::{Component, read_matrix, write_matrix};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use nnet3_matrix::Matrix;

/// The form of a component outside of the computation. Types that declare their fields have it from them.
pub trait Stored {
    /// The exact name in files and configs, such as `TdnnComponent`.
    fn type_name(&self) -> &'static str;

    /// The text after `type=` of `nnet3-info`. `detailed` adds singular values (`--verbose=2`).
    fn info(&self, detailed: bool) -> String;

    /// Writes `<Type> … </Type>`.
    fn write(&self, w: &mut KaldiWriter) -> Result<()>;
}

/// A component that declares its fields.
pub trait Declared: Component + Sized {
    /// Name, purpose and example; the first of them if the type has several names.
    const TYPE: &'static ComponentType;

    /// Returns this component's own one of several names.
    fn component_type(&self) -> &'static ComponentType {
        Self::TYPE
    }

    /// Visits all fields, in the order of files, and makes a component of their values. Returns `None` unless
    /// [`Fields`] reads a config line or a file.
    fn fields(f: &mut Fields<'_, Self>) -> Result<Option<Self>>;
}

impl<C: Declared> Stored for C {
    fn type_name(&self) -> &'static str {
        self.component_type().name
    }

    fn info(&self, detailed: bool) -> String {
        let mut text = self.type_name().to_string();
        // Descriptions do not fail.
        let _ = C::fields(&mut Fields {
            component_type: self.component_type(),
            of: Some(self),
            job: Job::Describe { text: &mut text, detailed },
        });
        text
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        let component_type = self.component_type();
        w.write_token(&format!("<{}>", component_type.name))?;
        C::fields(&mut Fields { component_type, of: Some(self), job: Job::Write(w) })?;
        Ok(w.write_token(&format!("</{}>", component_type.name))?)
    }
}

impl ComponentType {
    /// A type without parameters that are learned.
    pub const fn of<C: Declared>(name: &'static str, purpose: &'static str, example: &'static str) -> Self {
        ComponentType {
            name,
            purpose,
            updatable: false,
            example,
            keys: keys::<C>,
            from_config: from_config::<C>,
            read: read::<C>,
        }
    }

    /// A type with parameters that are learned.
    pub const fn updatable<C: Declared>(
        name: &'static str,
        purpose: &'static str,
        example: &'static str,
    ) -> Self {
        ComponentType { updatable: true, ..ComponentType::of::<C>(name, purpose, example) }
    }
}

fn keys<C: Declared>(component_type: &'static ComponentType) -> Vec<Key> {
    let mut keys = Vec::new();
    // The values are samples, and may not fit each other. All fields have been visited by then.
    let _ = C::fields(&mut Fields { component_type, of: None, job: Job::Document(&mut keys) });
    keys
}

fn from_config<C: Declared>(
    component_type: &'static ComponentType,
    line: &mut ConfigLine,
    random: &Random,
) -> Result<Box<dyn Component>> {
    made(C::fields(&mut Fields { component_type, of: None, job: Job::Config(line, random) })?)
}

fn read<C: Declared>(
    component_type: &'static ComponentType,
    r: &mut KaldiReader,
) -> Result<Box<dyn Component>> {
    made(C::fields(&mut Fields { component_type, of: None, job: Job::Read { r, ended: false } })?)
}

fn made<C: Component>(component: Option<C>) -> Result<Box<dyn Component>> {
    Ok(Box::new(component.expect("a config line or file makes a component")))
}

/// The work that a visit does with the fields.
enum Job<'a> {
    /// Lists the keys of config lines.
    Document(&'a mut Vec<Key>),
    /// Takes the values from a config line.
    Config(&'a mut ConfigLine, &'a Random),
    /// Reads the values from a file; the opening token has been read.
    Read { r: &'a mut KaldiReader, ended: bool },
    /// Writes the values between the opening and the closing token.
    Write(&'a mut KaldiWriter),
    /// Appends the values to an info text.
    Describe { text: &'a mut String, detailed: bool },
}

/// One visit of all fields of a `C`. Each method does the same for a field in all visits: it documents, takes, reads,
/// writes or describes it.
pub struct Fields<'a, C> {
    component_type: &'static ComponentType,
    /// The component that is written or described.
    of: Option<&'a C>,
    job: Job<'a>,
}

impl<'a, C: Component> Fields<'a, C> {
    /// True if the type has this name.
    pub fn is(&self, component_type: &ComponentType) -> bool {
        self.component_type.name == component_type.name
    }

    pub fn type_name(&self) -> &'static str {
        self.component_type.name
    }

    // ---- values ------------------------------------------------------------------------------------------------

    /// Visits a field; `of` gives its value in a component.
    pub fn get<T: Value>(&mut self, field: &Field<T>, of: impl FnOnce(&C) -> T) -> Result<T> {
        visit(&mut self.job, field, field.default, self.of.map(of))
    }

    /// As [`Fields::get`], with a default that depends on other fields.
    pub fn get_or<T: Value>(&mut self, field: &Field<T>, default: T, of: impl FnOnce(&C) -> T) -> Result<T> {
        visit(&mut self.job, field, Some(default), self.of.map(of))
    }

    /// Visits a key that files do not have. Returns the default, or a sample, unless a config line has the key.
    pub fn key<T: Value>(&mut self, field: &Field<T>) -> Result<T> {
        self.take(field, field.default)
    }

    /// As [`Fields::key`], with a default that depends on other fields.
    pub fn key_or<T: Value>(&mut self, field: &Field<T>, default: T) -> Result<T> {
        self.take(field, Some(default))
    }

    fn take<T: Value>(&mut self, field: &Field<T>, default: Option<T>) -> Result<T> {
        match &self.job {
            Job::Document(_) | Job::Config(..) => visit(&mut self.job, field, default, None),
            _ => Ok(default.unwrap_or(T::SAMPLE)),
        }
    }

    /// Visits a field in files and info texts only: one whose key has its place before. Returns `value` in other
    /// visits, and if the file lacks the field.
    pub fn stored<T: Value>(&mut self, field: &Field<T>, value: T, of: impl FnOnce(&C) -> T) -> Result<T> {
        match &self.job {
            Job::Document(_) | Job::Config(..) => Ok(value),
            _ => visit(&mut self.job, field, Some(field.default.unwrap_or(value)), self.of.map(of)),
        }
    }

    /// Visits a key that files do not have and that config lines need not have.
    pub fn optional<T: Value>(&mut self, field: &Field<T>) -> Result<Option<T>> {
        match &mut self.job {
            Job::Document(keys) => {
                keys.push(field.documented());
                Ok(None)
            }
            Job::Config(line, _) => T::take(line, field.key),
            _ => Ok(None),
        }
    }

    /// True if the config line has this key.
    pub fn has(&self, key: &str) -> bool {
        matches!(&self.job, Job::Config(line, _) if line.has(key))
    }

    /// Returns the value of an optional key. Fails if a config line lacks it.
    pub fn required<T: Value>(&self, field: &Field<T>, value: Option<T>) -> Result<T> {
        self.check(value.is_some() || !matches!(self.job, Job::Config(..)), || {
            format!("'{}' is missing", field.key)
        })?;
        Ok(value.unwrap_or(T::SAMPLE))
    }

    /// Takes a text, such as the name of a file, if the config line has it.
    pub fn text(&mut self, key: &Key) -> Option<String> {
        self.document(key);
        match &mut self.job {
            Job::Config(line, _) => line.get_string(key.name),
            _ => None,
        }
    }

    /// Documents a field whose key the type takes by itself.
    pub fn document_field<T: Value>(&mut self, field: &Field<T>) {
        if let Job::Document(keys) = &mut self.job {
            keys.push(field.documented());
        }
    }

    /// Documents a key that the type takes by itself.
    pub fn document(&mut self, key: &Key) {
        if let Job::Document(keys) = &mut self.job {
            keys.push(key.clone());
        }
    }

    /// Visits a list of integers. Returns `None` if the config line lacks it, and unless it reads.
    pub fn ints(
        &mut self,
        key: &Key,
        token: &str,
        of: impl FnOnce(&C) -> &[i32],
    ) -> Result<Option<Vec<i32>>> {
        self.document(key);
        match (&mut self.job, self.of) {
            (Job::Config(line, _), _) => return line.get_i32_list(key.name),
            (Job::Read { r, .. }, _) => {
                r.expect_token(token)?;
                return Ok(Some(r.read_i32_vector()?));
            }
            (Job::Write(w), Some(c)) => {
                w.write_token(token)?;
                w.write_i32_vector(of(c))?;
            }
            _ => {}
        }
        Ok(None)
    }

    // ---- parameters --------------------------------------------------------------------------------------------

    /// Visits rates and limits. The opening token has been read or written.
    pub fn settings(&mut self, of: impl FnOnce(&C) -> &UpdatableSettings) -> Result<UpdatableSettings> {
        match (&mut self.job, self.of) {
            (Job::Config(line, _), _) => return UpdatableSettings::from_config(line),
            (Job::Read { r, .. }, _) => return UpdatableSettings::read(r),
            (Job::Write(w), Some(c)) => of(c).write(w)?,
            (Job::Describe { text, .. }, Some(c)) => **text = of(c).info(c),
            _ => {}
        }
        Ok(UpdatableSettings::default())
    }

    /// Visits a matrix in a file. Returns an empty one unless it reads.
    pub fn matrix(&mut self, token: &str, of: impl FnOnce(&C) -> &Matrix) -> Result<Matrix> {
        match (&mut self.job, self.of) {
            (Job::Read { r, .. }, _) => {
                r.expect_token(token)?;
                return read_matrix(r);
            }
            (Job::Write(w), Some(c)) => {
                w.write_token(token)?;
                write_matrix(w, of(c))?;
            }
            _ => {}
        }
        Ok(Matrix::empty())
    }

    /// Visits a vector in a file, which must not be empty. Returns an empty one unless it reads.
    pub fn row(&mut self, token: &str, of: impl FnOnce(&C) -> &Matrix) -> Result<Matrix> {
        let row = self.vector(token, of)?;
        let is_missing = matches!(self.job, Job::Read { .. }) && row.is_empty();
        self.check(!is_missing, || format!("{token} must not be empty"))?;
        Ok(row)
    }

    /// As [`Fields::row`], for a vector that may be empty.
    pub fn vector(&mut self, token: &str, of: impl FnOnce(&C) -> &Matrix) -> Result<Matrix> {
        match (&mut self.job, self.of) {
            (Job::Read { r, .. }, _) => return super::fields::read_row(r, token),
            (Job::Write(w), Some(c)) => super::fields::write_row(w, token, of(c))?,
            _ => {}
        }
        Ok(Matrix::empty())
    }

    /// Visits `<LinearParams>` and `<BiasParams>`. Returns empty ones unless it reads.
    pub fn linear_and_bias(&mut self, of: impl FnOnce(&C) -> (&Matrix, &Matrix)) -> Result<(Matrix, Matrix)> {
        match (&mut self.job, self.of) {
            (Job::Read { r, .. }, _) => return read_linear_and_bias(r),
            (Job::Write(w), Some(c)) => {
                let (linear, bias) = of(c);
                write_linear_and_bias(w, linear, bias)?;
            }
            _ => {}
        }
        Ok((Matrix::empty(), Matrix::empty()))
    }

    /// As [`Fields::linear_and_bias`]; draws them if the values come from a config line.
    pub(crate) fn initial_or_stored(
        &mut self,
        initial: Initial,
        of: impl FnOnce(&C) -> (&Matrix, &Matrix),
    ) -> Result<(Matrix, Matrix)> {
        match self.config() {
            Some((line, random)) => initial.draw(line, random),
            None => self.linear_and_bias(of),
        }
    }

    // ---- hooks -------------------------------------------------------------------------------------------------

    /// The config line and the random numbers, if the values come from one.
    pub fn config(&mut self) -> Option<(&mut ConfigLine, &'a Random)> {
        match &mut self.job {
            Job::Config(line, random) => Some((line, random)),
            _ => None,
        }
    }

    /// True if the values come from a config line.
    pub fn is_config(&self) -> bool {
        matches!(self.job, Job::Config(..))
    }

    /// The reader, if the values come from a file.
    pub fn reader(&mut self) -> Option<&mut KaldiReader> {
        match &mut self.job {
            Job::Read { r, .. } => Some(r),
            _ => None,
        }
    }

    /// The writer, and the component that goes there.
    pub fn writer(&mut self) -> Option<(&mut KaldiWriter, &'a C)> {
        match (&mut self.job, self.of) {
            (Job::Write(w), Some(c)) => Some((w, c)),
            _ => None,
        }
    }

    /// The component that is written or described.
    pub fn component(&self) -> Option<&'a C> {
        self.of
    }

    /// Reads or writes a token without a value.
    pub fn token(&mut self, token: &str) -> Result<()> {
        match &mut self.job {
            Job::Read { r, .. } => Ok(r.expect_token(token)?),
            Job::Write(w) => Ok(w.write_token(token)?),
            _ => Ok(()),
        }
    }

    /// Appends to the info text; `describe` gets the component and `detailed` of [`Stored::info`].
    pub fn note(&mut self, describe: impl FnOnce(&C, bool) -> String) {
        if let (Job::Describe { text, detailed }, Some(c)) = (&mut self.job, self.of) {
            **text += &describe(c, *detailed);
        }
    }

    /// Appends the dimensions to the info text.
    pub fn note_dims(&mut self) {
        self.note(|c, _| format!(", input-dim={}, output-dim={}", c.input_dim(), c.output_dim()));
    }

    /// Reads `token` and a value of an older form, if it is there.
    pub fn skip<T: Value>(&mut self, token: &str) -> Result<Option<T>> {
        let Some(r) = self.reader() else { return Ok(None) };
        if r.accept_token(token)? { Ok(Some(T::read(r, token)?)) } else { Ok(None) }
    }

    /// Accepts another token at the end of the component than `</Type>`.
    pub fn may_end_with(&mut self, token: &str) -> Result<()> {
        if let Job::Read { r, ended } = &mut self.job {
            *ended = r.accept_token(token)?;
        }
        Ok(())
    }

    /// An error at the place of the values.
    pub fn error(&self, message: impl Into<String>) -> Error {
        match &self.job {
            Job::Config(line, _) => line.error(message),
            Job::Read { r, .. } => r.error(message).into(),
            _ => Error::network(message),
        }
    }

    /// Fails unless `good`, if the values come from a config line or a file.
    pub fn check(&self, good: bool, message: impl FnOnce() -> String) -> Result<()> {
        match self.has_source() && !good {
            true => Err(self.error(message())),
            false => Ok(()),
        }
    }

    /// Fails unless `part` divides `whole`.
    pub fn check_divides(
        &self,
        (whole_field, whole): (&Field<usize>, usize),
        (part_field, part): (&Field<usize>, usize),
    ) -> Result<()> {
        self.check(whole.is_multiple_of(part), || match &self.job {
            Job::Read { .. } => {
                format!("{} {part} does not divide {} {whole}", part_field.token, whole_field.token)
            }
            _ => format!("{}={part} does not divide {}={whole}", part_field.key, whole_field.key),
        })
    }

    /// Fails if the values that were read have a defect.
    pub fn refuse(&self, defect: impl FnOnce() -> Option<String>) -> Result<()> {
        match self.has_source().then(defect).flatten() {
            Some(defect) => Err(self.error(defect)),
            None => Ok(()),
        }
    }

    fn has_source(&self) -> bool {
        matches!(self.job, Job::Config(..) | Job::Read { .. })
    }

    /// Ends the visit: reads the closing token, and returns the component if the values have a source.
    pub fn done(&mut self, component: C) -> Result<Option<C>> {
        self.build(|| Ok(component))
    }

    /// As [`Fields::done`]; calls `make` only if the values have a source. Its error is a sentence.
    pub fn build(&mut self, make: impl FnOnce() -> std::result::Result<C, String>) -> Result<Option<C>> {
        if let Job::Read { r, ended: false } = &mut self.job {
            r.expect_token(&format!("</{}>", self.component_type.name))?;
        }
        match self.has_source() {
            true => make().map(Some).map_err(|defect| self.error(defect)),
            false => Ok(None),
        }
    }
}

/// Does the job for one field; `own` is its value in the component that is written or described.
fn visit<T: Value>(job: &mut Job<'_>, field: &Field<T>, default: Option<T>, own: Option<T>) -> Result<T> {
    let value = own.or(default).unwrap_or(T::SAMPLE);
    match job {
        Job::Document(keys) if !field.key.is_empty() => keys.push(field.documented()),
        Job::Config(line, _) if !field.key.is_empty() => {
            let given = T::take(line, field.key)?.or(default);
            let value = given.ok_or_else(|| line.error(format!("'{}' is missing", field.key)))?;
            return match field.range {
                Some(range) if field.limits != Limits::Files && !(range.contains)(value) => {
                    Err(line.error(format!("{} must {}, found {}", field.key, range.must, value)))
                }
                _ => Ok(value),
            };
        }
        Job::Read { r, .. } if !field.token.is_empty() => return read_field(r, field, value),
        Job::Write(w) if !field.token.is_empty() => match field.presence {
            Presence::IfSet if Some(value) == default => {}
            Presence::Flag if value == T::SAMPLE => {}
            Presence::Flag => w.write_token(field.token)?,
            Presence::Follows => value.write(w)?,
            _ => {
                w.write_token(field.token)?;
                value.write(w)?;
            }
        },
        Job::Describe { text, .. } if own.is_some() && !field.key.is_empty() => match field.shown {
            Shown::Never => {}
            Shown::IfSet if Some(value) == default => {}
            _ => **text += &format!(", {}={}", field.key, value.text()),
        },
        _ => {}
    }
    Ok(value)
}

fn read_field<T: Value>(r: &mut KaldiReader, field: &Field<T>, default: T) -> Result<T> {
    match field.presence {
        Presence::Always => r.expect_token(field.token)?,
        Presence::Follows => {}
        Presence::Flag if r.accept_token(field.token)? => return Ok(T::SET),
        _ if !r.accept_token(field.token)? => return Ok(default),
        _ => {}
    }
    let value = T::read(r, field.token)?;
    match field.range {
        Some(range) if field.limits != Limits::Keys && !(range.contains)(value) => {
            Err(r.error(format!("{}: expected {}, found {}", field.token, range.expected, value)).into())
        }
        _ => Ok(value),
    }
}
