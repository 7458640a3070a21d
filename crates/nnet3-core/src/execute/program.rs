//! A computation bound to a memory plan, with its index tables ready.

use super::shortcuts::Shortcuts;
use super::zeroing::Part;
use crate::component::PrecomputedIndexes;
use crate::computation::{
    Command, Computation, IndexesId, MatrixId, MultiIndexesId, PrecomputedId, RangesId, RowOf, SubmatrixId,
};
use crate::error::Result;
use crate::nnet::Nnet;
use crate::plan::{Plan, plan};
use nnet3_matrix::{IndexTable, OffsetTable};

pub struct Program {
    computation: Computation,
    plan: Plan,
    indexes: Vec<IndexTable>,
    offsets: Vec<OffsetTable>,
    ranges: Vec<IndexTable>,
    looped: bool,
    pub(super) shortcuts: Shortcuts,
}

impl Program {
    /// Plans the memory and makes the tables.
    pub fn new(nnet: &Nnet, computation: Computation) -> Result<Program> {
        let plan = plan(nnet, &computation)?;
        let indexes = computation.indexes.iter().map(|list| IndexTable::shared(list.clone())).collect();
        let flat = |list: &Vec<(i32, i32)>| IndexTable::new(list.iter().flat_map(|&(b, e)| [b, e]).collect());
        let ranges = computation.ranges.iter().map(flat).collect();
        let looped = matches!(computation.commands.last(), Some(Command::Goto { .. }));
        let shortcuts = Shortcuts::of(nnet, &computation);
        let mut program =
            Program { computation, plan, indexes, offsets: Vec::new(), ranges, looped, shortcuts };
        program.offsets =
            program.computation.multi_indexes.iter().map(|list| program.offsets_of(list)).collect();
        Ok(program)
    }

    fn offsets_of(&self, list: &[RowOf]) -> OffsetTable {
        // Often one item after another is of the same sub-matrix.
        let (mut last, mut start, mut step) = (None, 0, 0);
        let mut offset = |&(id, row): &(SubmatrixId, u32)| {
            if last.replace(id) != Some(id) {
                (start, _, _, step) = self.place(id);
            }
            (start + row as usize * step) as i64
        };
        OffsetTable::new(list.iter().map(|item| item.as_ref().map_or(-1, &mut offset)).collect())
    }

    pub fn computation(&self) -> &Computation {
        &self.computation
    }
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    pub(super) fn is_looped(&self) -> bool {
        self.looped
    }

    /// Offset in the arena, rows, columns and stride of a sub-matrix.
    pub fn place(&self, id: SubmatrixId) -> (usize, usize, usize, usize) {
        self.place_of(self.computation.matrix_of(id), &Part::of(&self.computation, id))
    }

    /// The same of a part of a matrix.
    pub(super) fn place_of(&self, matrix: MatrixId, part: &Part) -> (usize, usize, usize, usize) {
        let stride = self.computation.matrix(matrix).cols;
        let offset = self.plan.matrix_offsets[matrix.index()] + part.rows.start * stride + part.cols.start;
        (offset, part.rows.len(), part.cols.len(), stride)
    }

    pub(super) fn index_table(&self, id: IndexesId) -> &IndexTable {
        &self.indexes[id.index()]
    }
    pub(super) fn offset_table(&self, id: MultiIndexesId) -> &OffsetTable {
        &self.offsets[id.index()]
    }
    pub(super) fn range_table(&self, id: RangesId) -> &IndexTable {
        &self.ranges[id.index()]
    }
    pub(super) fn precomputed(&self, id: Option<PrecomputedId>) -> Option<&dyn PrecomputedIndexes> {
        id.and_then(|id| self.computation.precomputed[id.index()].data.as_deref())
    }
}
