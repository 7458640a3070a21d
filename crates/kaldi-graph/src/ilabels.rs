//! The table of the phones that the input labels of a context FST stand for (`WriteILabelInfo` in
//! `fstext/context-fst.cc`).

use kaldi_fst::state_table::StateTable;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, Result};

/// For each label the phones of a window, or a disambiguation symbol as the single element -symbol. `[0]` is the
/// beginning before any phone. Label 0 is the empty window. With grammars an entry may be a pair of a negated
/// nonterminal symbol and a phone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IlabelInfo(pub Vec<Vec<i32>>);

impl IlabelInfo {
    /// The labels of disambiguation symbols and of the beginning.
    pub fn disambiguation_labels(&self) -> Vec<i32> {
        let labels = (0..).zip(&self.0).filter(|(_, window)| matches!(window[..], [symbol] if symbol <= 0));
        labels.map(|(label, _)| label).collect()
    }
}

impl KaldiObject for IlabelInfo {
    fn read(r: &mut KaldiReader) -> Result<IlabelInfo> {
        let count = r.read_i32()?;
        if count < 0 {
            return Err(r.error(format!("invalid number of labels: {count}")));
        }
        let mut windows = Vec::new();
        for _ in 0..count {
            windows.push(r.read_i32_vector()?);
        }
        Ok(IlabelInfo(windows))
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_i32(self.0.len() as i32)?;
        self.0.iter().try_for_each(|window| w.write_i32_vector(window))
    }
}

/// Numbers windows in the order of their requests. The empty window has the number 0.
#[derive(Debug, Clone)]
pub(crate) struct Labels {
    windows: StateTable<Vec<i32>>,
}

impl Labels {
    pub fn new() -> Labels {
        Labels { windows: StateTable::starting_with(Vec::new()) }
    }

    pub fn of(&mut self, window: Vec<i32>) -> i32 {
        self.windows.number(window) as i32
    }

    pub(crate) fn into_info(self) -> IlabelInfo {
        IlabelInfo(self.windows.into_keys())
    }

    pub fn info(&self) -> IlabelInfo {
        IlabelInfo(self.windows.keys().to_vec())
    }
}
