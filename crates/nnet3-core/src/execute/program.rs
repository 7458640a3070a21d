//! A computation bound to a memory plan and to the operations of a device, with its index tables ready.

use nnet3_base::error::Result;
use nnet3_base::index::NodeId;
use nnet3_compiler::computation::{
    Computation, IndexesId, MatrixId, MultiIndexesId, PrecomputedId, RangesId, RowOf, Submatrix, SubmatrixId,
};
use nnet3_compiler::lower::{Lowered, Watch, lower, lower_picked};
use nnet3_compiler::plan::{Plan, plan};
use nnet3_component::PrecomputedIndexes;
use nnet3_matrix::{Backend, Device, Element, IndexTable, OffsetTable};
use nnet3_network::Nnet;
use std::sync::OnceLock;

/// The place of a sub-matrix in the arena.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub form: Element,
    /// In elements of this form, from the arena's start.
    pub offset: usize,
    pub rows: usize,
    pub cols: usize,
    /// Elements from one row to the next.
    pub stride: usize,
}

pub struct Program {
    computation: Computation,
    /// The computation before the pass `stack-in-place`, if that changed it.
    compiled: Option<Computation>,
    plan: Plan,
    indexes: Vec<IndexTable>,
    offsets: Vec<OffsetTable>,
    ranges: Vec<IndexTable>,
    lowered: Lowered,
    /// Made on first use.
    literal: OnceLock<Lowered>,
    /// The operations for an input picked from a table, if there are other ones, and its node. Made on first use.
    picked: OnceLock<(NodeId, Option<Lowered>)>,
    cached_elements: Option<usize>,
    between_layers: Element,
    sparse_takers: Vec<MatrixId>,
}

impl Program {
    /// Makes a program for the host: plans the memory, lowers the commands and makes the tables.
    pub fn new(nnet: &Nnet, computation: Computation) -> Result<Program> {
        Program::for_device(nnet, computation, &nnet3_matrix::cpu(), &mut Watch::default())
    }

    /// Makes a program for a device; reports each pass to `watch`.
    pub fn for_device(
        nnet: &Nnet,
        computation: Computation,
        device: &Device,
        watch: &mut Watch<'_>,
    ) -> Result<Program> {
        let plan = plan(nnet, &computation, device.between_layers())?;
        let indexes = computation.indexes.iter().map(|list| IndexTable::shared(list.clone())).collect();
        let flat = |list: &Vec<(i32, i32)>| IndexTable::new(list.iter().flat_map(|&(b, e)| [b, e]).collect());
        let ranges = computation.ranges.iter().map(flat).collect();
        let lowered = lower(nnet, &computation, &**device, watch)?;
        let sparse_takers = super::sparse::takers(nnet, &computation);
        let mut program = Program {
            computation,
            compiled: None,
            plan,
            indexes,
            offsets: Vec::new(),
            ranges,
            lowered,
            literal: OnceLock::new(),
            picked: OnceLock::new(),
            cached_elements: device.cached_elements(),
            between_layers: device.between_layers(),
            sparse_takers,
        };
        program.offsets =
            program.computation.multi_indexes.iter().map(|list| program.offsets_of(list)).collect();
        Ok(program)
    }

    fn offsets_of(&self, list: &[RowOf]) -> OffsetTable {
        // Often one item after another is of the same sub-matrix.
        let (mut last, mut start, mut step) = (None, 0, 0);
        let mut offset = |&(id, row): &(SubmatrixId, u32)| {
            if last.replace(id) != Some(id) {
                let place = self.place(&self.lowered, id);
                assert_eq!(place.form, Element::Float, "rows by their places are floats (`forms.rs`)");
                (start, step) = (place.offset, place.stride);
            }
            (start + row as usize * step) as i64
        };
        OffsetTable::new(list.iter().map(|item| item.as_ref().map_or(-1, &mut offset)).collect())
    }

    /// Remembers that this computation was compiled, and then changed to the one that runs.
    pub(super) fn compiled_as(self, compiled: Computation) -> Program {
        Program { compiled: Some(compiled), ..self }
    }

    /// The computation that runs.
    pub fn computation(&self) -> &Computation {
        &self.computation
    }
    /// The computation as it was compiled: that of the reference.
    pub fn compiled(&self) -> &Computation {
        self.compiled.as_ref().unwrap_or(&self.computation)
    }
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// The operations that run.
    pub fn lowered(&self) -> &Lowered {
        &self.lowered
    }
    /// The operations for an observer that wants literal commands.
    pub fn literal(&self) -> &Lowered {
        self.literal.get_or_init(|| Lowered::literal(&self.computation))
    }
    /// The operations for an input of this node that is picked from a table. `None` if there are no special ones, or if they
    /// have been made for another node.
    pub(super) fn picked(&self, nnet: &Nnet, device: &Device, node: NodeId) -> Result<Option<&Lowered>> {
        if self.picked.get().is_none() {
            let made = lower_picked(nnet, &self.computation, &**device, node, &mut Watch::default())?;
            // Another thread may have been faster.
            let _ = self.picked.set((node, made));
        }
        Ok(self.picked.get().filter(|(own, _)| *own == node).and_then(|(_, list)| list.as_ref()))
    }
    /// The operations that [`Program::picked`] has made.
    pub(super) fn made_picked(&self) -> Option<&Lowered> {
        self.picked.get().and_then(|(_, list)| list.as_ref())
    }
    /// The inputs that only products of affine components read.
    pub(super) fn sparse_takers(&self) -> &[MatrixId] {
        &self.sparse_takers
    }
    /// True if the operations were made for such a device.
    pub(super) fn is_for(&self, device: &dyn Backend) -> bool {
        self.cached_elements == device.cached_elements() && self.between_layers == device.between_layers()
    }

    /// The place of a sub-matrix that the operations of `list` name.
    pub(super) fn place(&self, list: &Lowered, id: SubmatrixId) -> Place {
        let &Submatrix { matrix, row_offset, rows, col_offset, cols } = list.submatrix(&self.computation, id);
        let stride = self.computation.matrix(matrix).cols;
        let form = self.plan.forms[matrix.index()];
        let start = self.plan.matrix_offsets[matrix.index()] * Element::Float.bytes() / form.bytes();
        Place { form, offset: start + row_offset * stride + col_offset, rows, cols, stride }
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
