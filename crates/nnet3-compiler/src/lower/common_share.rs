//! A pass for recurrent steps. A network such as an LSTM layer multiplies at each step the input from the layer below
//! together with the result of the step before. The input from below is often known for all steps before the first one
//! runs. Its share of the products is computed at once, so that parameters are not read from memory again at every
//! step. The two shares are rounded before they are added.

use super::Lowering;
use super::dataflow::{Effect, Event, Events, Rect, Region, between, touched};
use super::op::{Affine, Op};
use crate::computation::{Command, Computation, MatrixId, Propagate};
use nnet3_base::fast_hash::FastMap;
use nnet3_base::index::ComponentId;
use nnet3_network::Nnet;
use std::ops::Range;

/// Fewer steps, or fewer columns that are known before the first, are not worth it.
pub(super) const LEAST_STEPS: usize = 3;
pub(super) const LEAST_COLUMNS: usize = 32;

/// Products of an affine component with rows of one matrix, written to rows of another one.
///
/// Before the first of them, `copies` are done; then all rows of the output are set from the columns `known` of the
/// input. Later each product adds the contribution of the columns `rest` to its rows. The copies become no-ops.
#[derive(Clone, Debug)]
struct Steps {
    component: ComponentId,
    products: Vec<usize>,
    copies: Vec<usize>,
    input: Region,
    output: Region,
    /// Columns of the component's input. One of these ranges begins with 0, the other one follows.
    known: Range<usize>,
    rest: Range<usize>,
}

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let found = steps(lowering.nnet, lowering.computation, &lowering.events, |c| lowering.is_literal(c));
    for Steps { component, products, copies, input, output, known, rest } in found {
        for copy in copies {
            lowering.insert(products[0], lowering.ops[copy].clone());
            lowering.remove(copy);
        }
        let (input, output) = (lowering.part(&input.columns(&known)), lowering.part(&output));
        let share = Affine { component, columns: known, input, output, adds: false };
        lowering.insert(products[0], Op::Affine(share));
        products.iter().for_each(|&product| lowering.add_rest(product, &rest));
    }
}

/// One product: the command, its rows of input and output.
struct SharedProduct {
    command: usize,
    input: Range<usize>,
    output: Range<usize>,
}

/// Products of one component between the same columns of the same two matrices, in order.
struct Group {
    component: ComponentId,
    /// The input of the first step.
    input: Region,
    output: Region,
    steps: Vec<SharedProduct>,
}

/// Finds all groups of steps. `is_free` is false for commands that must run literally.
fn steps(
    nnet: &Nnet,
    computation: &Computation,
    events: &Events,
    is_free: impl Fn(usize) -> bool,
) -> Vec<Steps> {
    let (mut groups, mut numbers): (Vec<Group>, _) = (Vec::new(), FastMap::default());
    for (c, command) in computation.commands.iter().enumerate() {
        let Command::Propagate(Propagate { component, input: Some(input), output, .. }) = *command else {
            continue;
        };
        if !is_free(c) || nnet.component(component).as_affine().is_none() {
            continue;
        }
        let (input, output) = (Region::of(computation, input), Region::of(computation, output));
        let columns = [&input, &output].map(|area| (area.matrix, area.rect.cols.clone()));
        let number = *numbers.entry((component, columns)).or_insert(groups.len());
        let step =
            SharedProduct { command: c, input: input.rect.rows.clone(), output: output.rect.rows.clone() };
        match groups.get_mut(number) {
            Some(group) => group.steps.push(step),
            None => groups.push(Group { component, input, output, steps: vec![step] }),
        }
    }
    groups.retain(|group| group.steps.len() >= LEAST_STEPS && group.input.matrix != group.output.matrix);
    let search = Search { computation, events, is_free };
    groups.iter().filter_map(|group| search.steps(group)).collect()
}

/// Writes to the input between the first and the last product, in columns of the component's input.
struct Writes {
    /// Copies that could be done before, with their columns.
    copies: Vec<(usize, Range<usize>)>,
    /// The columns of all other writes, which cannot be done before.
    late: Range<usize>,
}

struct Search<'a, F> {
    computation: &'a Computation,
    events: &'a Events,
    is_free: F,
}

impl<F: Fn(usize) -> bool> Search<'_, F> {
    fn steps(&self, group: &Group) -> Option<Steps> {
        let (input, output) = group.whole()?;
        if !self.rows_wait_for_their_products(group, &output) {
            return None;
        }
        let Writes { copies, late } = self.writes(group, &input)?;
        let width = input.rect.cols.len();
        let (known, rest) = match late.start >= width - late.end {
            true => (0..late.start, late.start..width),
            false => (late.end..width, 0..late.end),
        };
        let is_known = |(_, columns): &(usize, Range<usize>)| within(columns, &known);
        let copies = copies.into_iter().filter(is_known).map(|(c, _)| c).collect();
        let products = group.steps.iter().map(|step| step.command).collect();
        let component = group.component;
        (known.len() >= LEAST_COLUMNS).then_some(Steps {
            component,
            products,
            copies,
            input,
            output,
            known,
            rest,
        })
    }

    /// True if, after the first product, each row of the output stays untouched until its own product.
    fn rows_wait_for_their_products(&self, group: &Group, output: &Region) -> bool {
        let first_row = output.rect.rows.start;
        let mut products = vec![0; output.rect.rows.len()];
        for step in &group.steps {
            products[step.output.start - first_row..step.output.end - first_row].fill(step.command);
        }
        between(self.events, output.matrix, group.between()).iter().all(|event| {
            touched(event.effect).is_some_and(|s| {
                let rect = Rect::of(self.computation, s).common(&output.rect);
                rect.cols.is_empty()
                    || rect.rows.into_iter().all(|i| products[i - first_row] <= event.command())
            })
        })
    }

    /// The writes; `None` if the matrix moves, or if the steps do not depend on each other.
    fn writes(&self, group: &Group, input: &Region) -> Option<Writes> {
        let (first_row, first_col) = (input.rect.rows.start, input.rect.cols.start);
        let first = group.steps[0].command;
        let Writes { mut copies, mut late } = Writes { copies: Vec::new(), late: 0..0 };
        // By row, columns that have been read or written; perhaps more.
        let mut used = vec![0..0; input.rect.rows.len()];
        let mut changes = FastMap::default();
        for event in between(self.events, input.matrix, first..group.between().end) {
            let whole = Rect::of(self.computation, touched(event.effect)?);
            let rect = whole.common(&input.rect);
            if rect.is_empty() {
                continue;
            }
            let columns = rect.cols.start - first_col..rect.cols.end - first_col;
            let used = &mut used[rect.rows.start - first_row..rect.rows.end - first_row];
            if !matches!(event.effect, Effect::Reads(_)) {
                let could_be_first = (self.is_free)(event.command())
                    && whole == rect
                    && used.iter().all(|used| !overlap(used, &columns))
                    && self.copies_what_is_there(event.command(), input.matrix, first, &mut changes);
                match could_be_first {
                    true => copies.push((event.command(), columns.clone())),
                    false => late = hull(&late, &columns),
                }
            }
            used.iter_mut().for_each(|used| *used = hull(used, &columns));
        }
        let torn = |(_, columns): &(usize, Range<usize>)| overlap(columns, &late) && !within(columns, &late);
        // Without a recurrence the steps would be one.
        (!late.is_empty() && !copies.iter().any(torn)).then_some(Writes { copies, late })
    }

    /// True if command `c` copies from another matrix values that exist before command `first`. `changes` caches the
    /// changes of sources from `first` on, without reads.
    fn copies_what_is_there(
        &self,
        c: usize,
        to: MatrixId,
        first: usize,
        changes: &mut FastMap<MatrixId, Vec<Event>>,
    ) -> bool {
        let (Command::Copy { src, .. } | Command::CopyRows { src, .. }) = self.computation.commands[c] else {
            return false;
        };
        let source = Region::of(self.computation, src);
        let changes = changes.entry(source.matrix).or_insert_with(|| {
            let all = between(self.events, source.matrix, first..self.computation.commands.len());
            all.iter().filter(|event| !matches!(event.effect, Effect::Reads(_))).copied().collect()
        });
        let before = changes.partition_point(|event| event.command() < c);
        let elsewhere = |event: &Event| {
            touched(event.effect)
                .is_some_and(|s| Rect::of(self.computation, s).common(&source.rect).is_empty())
        };
        // The source of a copy is most often the latest change.
        source.matrix != to && changes[..before].iter().rev().all(elsewhere)
    }
}

impl Group {
    /// Returns all rows of input and output, if they follow each other without gaps, in both alike.
    fn whole(&self) -> Option<(Region, Region)> {
        let mut rows: Vec<_> = self.steps.iter().map(|step| (&step.input, &step.output)).collect();
        rows.sort_unstable_by_key(|(input, _)| input.start);
        let follow = |a: &Range<usize>, b: &Range<usize>| a.end == b.start;
        let adjacent = rows.windows(2).all(|w| follow(w[0].0, w[1].0) && follow(w[0].1, w[1].1));
        let ((first, first_out), (last, last_out)) = (rows.first()?, rows.last()?);
        adjacent.then(|| {
            (
                self.input.with_rows(first.start..last.end),
                self.output.with_rows(first_out.start..last_out.end),
            )
        })
    }

    /// The commands after the first product and before the last.
    fn between(&self) -> Range<usize> {
        self.steps[0].command + 1..self.steps[self.steps.len() - 1].command
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn within(a: &Range<usize>, b: &Range<usize>) -> bool {
    b.start <= a.start && a.end <= b.end
}

/// The smallest range that contains both; the first may be empty.
fn hull(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    if a.is_empty() { b.clone() } else { a.start.min(b.start)..a.end.max(b.end) }
}

#[cfg(test)]
mod tests {
    use super::super::dataflow::events;
    use super::super::tests::recurrent;
    use super::*;
    use crate::computation::SubmatrixId;

    fn found(nnet: &Nnet, computation: &Computation) -> Vec<Steps> {
        steps(nnet, computation, &events(nnet, computation), |_| true)
    }

    /// Each of these commands, placed between the fourth of seven products and the one before it, would see or spoil
    /// early results. The pass must then not apply to those steps.
    #[test]
    fn nobody_notices() {
        let (nnet, computation) = recurrent("a, IfDefined(Offset(d, -1))");
        let base = found(&nnet, &computation);
        let [Steps { products, copies, .. }] = &base[..] else { panic!("{base:?}") };
        assert_eq!((products.len(), copies.len()), (7, 6));
        let Command::Copy { dest: known, src: source, .. } = computation.commands[copies[4]] else {
            panic!("{:?}", computation.commands[copies[4]])
        };
        let output = |step: usize| match computation.commands[products[step]] {
            Command::Propagate(Propagate { output, .. }) => output,
            ref other => panic!("{other:?}"),
        };
        assert!(copies[4] > products[4] && copies[4] < products[5]);
        let with = |insert: &dyn Fn(&mut Computation) -> Command| {
            let mut changed = computation.clone();
            let command = insert(&mut changed);
            changed.commands.insert(products[3], command);
            found(&nnet, &changed).len()
        };
        let set = |dest| with(&move |_| Command::SetConst { dest, value: 2.0 });
        let read = |src: SubmatrixId| {
            with(&move |c| {
                let (rows, cols) = (c.submatrix(src).rows, c.submatrix(src).cols);
                Command::Add { dest: c.new_matrix(rows, cols, false), src, alpha: 1.0 }
            })
        };
        for later in [known, source, output(5)] {
            assert_eq!(set(later), 0, "{later:?}");
        }
        assert_eq!([read(known), read(output(5))], [0, 0]);
        // Rows with finished products, and matrices that are only read, may be accessed.
        assert_eq!([set(output(1)), read(output(1)), read(source)], [1, 1, 1]);
        let moved = |matrix| with(&move |_| Command::Deallocate { matrix });
        assert_eq!([moved(source), moved(output(5))], [0, 0]);
    }
}
