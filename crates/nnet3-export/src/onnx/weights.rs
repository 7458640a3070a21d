//! Constants in a separate file, to which several models refer.

use super::proto::{GraphProto, StringEntry};
use std::collections::HashMap;

/// Smaller constants stay in the model.
const SMALLEST: usize = 4096;

/// Places are multiples of this, so that runtimes can map them into memory.
const ALIGNMENT: usize = 4096;

/// `TensorProto.DataLocation`.
const EXTERNAL: i32 = 1;

/// The bytes of such a file, which has equal constants once.
#[derive(Default)]
pub struct Weights {
    bytes: Vec<u8>,
    known: HashMap<Vec<u8>, usize>,
}

impl Weights {
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Moves the graph's large constants here; the model will read them from the file `name` in its own folder.
    pub fn take(&mut self, graph: &mut GraphProto, name: &str) {
        for tensor in &mut graph.initializer {
            let Some(raw) = tensor.raw_data.take_if(|raw| raw.len() >= SMALLEST) else { continue };
            let length = raw.len();
            let offset = match self.known.get(&raw) {
                Some(&offset) => offset,
                None => self.add(raw),
            };
            tensor.data_location = Some(EXTERNAL);
            tensor.external_data = vec![
                StringEntry::new("location", name),
                StringEntry::new("offset", offset.to_string()),
                StringEntry::new("length", length.to_string()),
            ];
        }
    }

    fn add(&mut self, raw: Vec<u8>) -> usize {
        let offset = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(offset, 0);
        self.bytes.extend_from_slice(&raw);
        self.known.insert(raw, offset);
        offset
    }
}
