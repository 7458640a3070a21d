//! Recurrent steps. A network such as an LSTM layer multiplies, step by step, what it gets from below together with what
//! the step before has left. What comes from below is often known for all steps before the first: its share of the
//! products can be worked out at once, and parameters need not come from memory again for every step.

use super::events::{Events, What};
use super::zeroing::Part;
use crate::computation::{Command, Computation, MatrixId, SubmatrixId};
use crate::index::ComponentId;
use crate::nnet::Nnet;
use std::ops::Range;

/// Fewer steps, or fewer columns that are known before the first, are not worth it.
const LEAST_STEPS: usize = 3;
const LEAST_COLUMNS: usize = 32;

/// Products of an affine component with rows of one matrix, written to rows of another one.
///
/// Before the first of them, `copies` are done; then all rows of the output are set, from the columns `known` of the
/// input. When their turn comes, the products add to their rows what the columns `rest` contribute, and the copies do
/// nothing.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub products: Vec<usize>,
    pub copies: Vec<usize>,
    pub input: Area,
    pub output: Area,
    /// Columns of the component's input. One of these ranges begins with 0, the other one follows.
    pub known: Range<usize>,
    pub rest: Range<usize>,
}

/// Part of a matrix.
#[derive(Clone, Debug)]
pub(super) struct Area {
    pub matrix: MatrixId,
    pub part: Part,
}

impl Area {
    fn of(computation: &Computation, s: SubmatrixId) -> Area {
        Area { matrix: computation.matrix_of(s), part: Part::of(computation, s) }
    }

    /// Whether both lie in the same columns of one matrix.
    fn is_beside(&self, other: &Area) -> bool {
        self.matrix == other.matrix && self.part.cols == other.part.cols
    }
}

/// Products of one component between the same columns of the same two matrices.
struct Group {
    component: ComponentId,
    input: Area,
    output: Area,
    /// Commands with their rows of input and output.
    steps: Vec<(usize, Range<usize>, Range<usize>)>,
}

/// All of them. `is_free` tells commands that are to be done just as they say.
pub(super) fn steps(
    nnet: &Nnet,
    computation: &Computation,
    events: &Events,
    is_free: impl Fn(usize) -> bool,
) -> Vec<Steps> {
    let mut groups: Vec<Group> = Vec::new();
    for (c, command) in computation.commands.iter().enumerate() {
        let Command::Propagate { component, input: Some(input), output, .. } = *command else { continue };
        if !is_free(c) || nnet.component(component).as_affine().is_none() {
            continue;
        }
        let (input, output) = (Area::of(computation, input), Area::of(computation, output));
        let step = (c, input.part.rows.clone(), output.part.rows.clone());
        let same = |g: &&mut Group| {
            g.component == component && g.input.is_beside(&input) && g.output.is_beside(&output)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.steps.push(step),
            None => groups.push(Group { component, input, output, steps: vec![step] }),
        }
    }
    groups.retain(|group| group.steps.len() >= LEAST_STEPS && group.input.matrix != group.output.matrix);
    groups.into_iter().filter_map(|group| group.steps(computation, events, &is_free)).collect()
}

impl Group {
    fn steps(
        self,
        computation: &Computation,
        events: &Events,
        is_free: &impl Fn(usize) -> bool,
    ) -> Option<Steps> {
        let products: Vec<usize> = self.steps.iter().map(|step| step.0).collect();
        let (input, output) = self.whole()?;
        let width = input.part.cols.len();
        self.nobody_else_uses(&output, computation, events)?;
        let (copies, late) = self.writes_between(&input, computation, events, is_free)?;
        let (known, rest) = match late.start >= width - late.end {
            true => (0..late.start, late.start..width),
            false => (late.end..width, 0..late.end),
        };
        let columns = |c: usize| relative(&Part::of(computation, dest(computation, c)), &input.part);
        let copies = copies.into_iter().filter(|&c| within(&columns(c), &known)).collect();
        (known.len() >= LEAST_COLUMNS).then_some(Steps { products, copies, input, output, known, rest })
    }

    /// All rows of input and output, if they follow each other without gaps, in both alike.
    fn whole(&self) -> Option<(Area, Area)> {
        let mut rows: Vec<_> = self.steps.iter().map(|(_, input, output)| (input, output)).collect();
        rows.sort_unstable_by_key(|(input, _)| input.start);
        let follow = |a: &Range<usize>, b: &Range<usize>| a.end == b.start;
        let adjacent = rows.windows(2).all(|w| follow(w[0].0, w[1].0) && follow(w[0].1, w[1].1));
        let ((first, first_out), (last, last_out)) = (rows.first()?, rows.last()?);
        let area = |area: &Area, rows| Area {
            matrix: area.matrix,
            part: Part { rows, cols: area.part.cols.clone() },
        };
        adjacent.then(|| {
            (area(&self.input, first.start..last.end), area(&self.output, first_out.start..last_out.end))
        })
    }

    /// After the first product and before the last.
    fn between(&self) -> Range<usize> {
        self.steps[0].0 + 1..self.steps[self.steps.len() - 1].0
    }

    /// Some, if from the first product on no row of the output is touched before its own product.
    fn nobody_else_uses(&self, output: &Area, computation: &Computation, events: &Events) -> Option<()> {
        for event in events.of(output.matrix.index()) {
            if !self.between().contains(&event.command()) {
                continue;
            }
            let touched = Part::of(computation, touched(event.what)?).common(&output.part);
            let too_early = |(c, _, rows): &(usize, Range<usize>, Range<usize>)| {
                event.command() < *c && overlap(rows, &touched.rows)
            };
            if !touched.is_empty() && self.steps.iter().any(too_early) {
                return None;
            }
        }
        Some(())
    }

    /// What is written to the input between the first and the last product: copies that could be done before, and the
    /// columns of all else.
    fn writes_between(
        &self,
        input: &Area,
        computation: &Computation,
        events: &Events,
        is_free: &impl Fn(usize) -> bool,
    ) -> Option<(Vec<usize>, Range<usize>)> {
        let mut copies = Vec::new();
        let mut late: Option<Range<usize>> = None;
        for event in events.of(input.matrix.index()) {
            if !self.between().contains(&event.command()) {
                continue;
            }
            let part = Part::of(computation, touched(event.what)?);
            if matches!(event.what, What::Reads(_)) || part.common(&input.part).is_empty() {
                continue;
            }
            if is_free(event.command()) && self.could_be_first(event.command(), &part, computation, events) {
                copies.push(event.command());
            } else {
                let columns = relative(&part, &input.part);
                late = Some(
                    late.map_or(columns.clone(), |l| l.start.min(columns.start)..l.end.max(columns.end)),
                );
            }
        }
        // Without a recurrence the steps would be one.
        let late = late?;
        let columns = |c: usize| relative(&Part::of(computation, dest(computation, c)), &input.part);
        let torn = copies.iter().any(|&c| overlap(&columns(c), &late) && !within(&columns(c), &late));
        (!torn).then_some((copies, late))
    }

    /// Whether command `c` is a copy to `part` of the input that could as well be done before the first product: what it
    /// copies is there by then, and nobody touches the part in between.
    fn could_be_first(&self, c: usize, part: &Part, computation: &Computation, events: &Events) -> bool {
        let (Command::Copy { src, .. } | Command::CopyRows { src, .. }) = computation.commands[c] else {
            return false;
        };
        let between = self.steps[0].0..c;
        let source = Area::of(computation, src);
        let is_there = |what: What| match what {
            What::Reads(_) => true,
            What::Sets(s) | What::Changes(s) => Part::of(computation, s).common(&source.part).is_empty(),
            What::Allocates | What::Deallocates | What::SwapsWith(_) => false,
        };
        let untouched = |what: What| match touched(what) {
            Some(s) => Part::of(computation, s).common(part).is_empty(),
            None => false,
        };
        let all = |matrix: MatrixId, fits: &dyn Fn(What) -> bool| {
            let events = events.of(matrix.index()).iter();
            events.filter(|event| between.contains(&event.command())).all(|event| fits(event.what))
        };
        source.matrix != self.input.matrix
            && all(source.matrix, &is_there)
            && all(self.input.matrix, &untouched)
    }
}

/// What is read or written, if the matrix stays where it is.
fn touched(what: What) -> Option<SubmatrixId> {
    match what {
        What::Reads(s) | What::Sets(s) | What::Changes(s) => Some(s),
        What::Allocates | What::Deallocates | What::SwapsWith(_) => None,
    }
}

/// Where a copy goes.
fn dest(computation: &Computation, c: usize) -> SubmatrixId {
    match computation.commands[c] {
        Command::Copy { dest, .. } | Command::CopyRows { dest, .. } => dest,
        _ => unreachable!("only copies are done before"),
    }
}

/// The common columns, counted from the first of `of`.
fn relative(part: &Part, of: &Part) -> Range<usize> {
    let cols = part.common(of).cols;
    cols.start - of.cols.start..cols.end - of.cols.start
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn within(a: &Range<usize>, b: &Range<usize>) -> bool {
    b.start <= a.start && a.end <= b.end
}
