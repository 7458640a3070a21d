//! Recordings in forms (`multipart/form-data`), as `curl -F` and clients of OpenAI's interface send them.

use std::collections::HashMap;

use axum::extract::Multipart;
use axum::extract::multipart::Field;
use axum::http::StatusCode;

use crate::shared::Shared;
use crate::upload::{Failure, Kept, Source, keep};

/// The names of fields that hold the recording.
const FILES: [&str; 2] = ["file", "audio"];
/// Fields besides the recording, at most.
const MOST_FIELDS: usize = 100;
/// Bytes of such a field, at most.
const LONGEST: usize = 64 << 10;

/// The fields of a form besides the recording.
#[derive(Debug, Default)]
pub struct Fields {
    values: HashMap<String, Vec<String>>,
    /// The name of the recording's file, without folders.
    pub file_name: Option<String>,
}

impl Fields {
    /// The values of a field, with or without `[]` behind its name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let of =
            |name: &str| self.values.get(name).into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
        of(name).into_iter().chain(of(&format!("{name}[]")))
    }

    /// The names of all fields, without `[]` behind them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(|name| name.strip_suffix("[]").unwrap_or(name))
    }

    /// The last value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }
}

/// Reads a form to its end. The recording is kept in a file without a name.
pub async fn receive(shared: &Shared, mut form: Multipart) -> Result<(Kept, Fields), Failure> {
    let (mut fields, mut file, mut count) = (Fields::default(), None, 0);
    let end = tokio::time::Instant::now() + shared.limits.upload;
    while let Some(field) = next(shared, end, &mut form).await? {
        let name = field.name().unwrap_or_default().to_owned();
        if FILES.contains(&name.as_str()) {
            if file.is_some() {
                return Err(bad("expected one recording, found several"));
            }
            let own =
                field.file_name().map(|name| name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned());
            fields.file_name = own.filter(|name| !name.is_empty());
            file = Some(keep(shared, Source::Field(Box::new(field))).await?);
            continue;
        }
        count += 1;
        if count > MOST_FIELDS {
            return Err(bad(&format!("expected at most {MOST_FIELDS} fields beside the recording")));
        }
        let value = text(shared, end, &name, field).await?;
        fields.values.entry(name).or_default().push(value);
    }
    let file =
        file.ok_or_else(|| bad("expected a form with a field 'file', the recording (curl -F file=@FILE)"))?;
    Ok((file, fields))
}

fn bad(text: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, text)
}

/// The next field, which must come in time.
async fn next<'f>(
    shared: &Shared,
    end: tokio::time::Instant,
    form: &'f mut Multipart,
) -> Result<Option<Field<'f>>, Failure> {
    let waited = shared.in_time(end, form.next_field()).await?;
    waited.map_err(|error| bad(&error.body_text()))
}

/// The text of a field.
async fn text(
    shared: &Shared,
    end: tokio::time::Instant,
    name: &str,
    mut field: Field<'_>,
) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    loop {
        let chunk = shared.in_time(end, field.chunk()).await?.map_err(|error| bad(&error.body_text()))?;
        let Some(chunk) = chunk else { break };
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LONGEST {
            let name: String = name.chars().take(40).collect();
            return Err(bad(&format!("the field '{name}' has more than {LONGEST} bytes")));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
