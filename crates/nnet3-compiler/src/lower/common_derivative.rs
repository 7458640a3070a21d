//! A pass for recurrent steps on the way back, the twin of [`super::common_share`]. Each step multiplies its derivative by all
//! parameters of an affine component. Some columns of the product go to the step before; the others are only added to the derivative
//! of the layer below, which waits for all steps. The steps compute the former only. The latter are one product after the last
//! step: the derivatives of all steps are together anyway, for the update of the parameters. Sums may be rounded in another
//! order.

use super::Lowering;
use super::common_share::{LEAST_COLUMNS, LEAST_STEPS};
use super::dataflow::{Effect, Event, Rect, Region, between, is_read_only_where, stays, touched};
use super::op::{InputDerivative, Op, PartBack};
use crate::computation::{Backprop, Command, SubmatrixId};
use nnet3_base::index::ComponentId;
use nnet3_component::Weights;
use nnet3_matrix::RowLists;
use std::ops::Range;
use std::sync::Arc;

/// A backprop of a step, and the addition of some columns of its result to the derivative of the layer below.
#[derive(Clone, Debug)]
struct Step {
    backprop: usize,
    zeroing: usize,
    /// Copies the derivative of the step to those of all steps. The position of the backprop if these are the same memory.
    gathering: usize,
    /// The rows of the step among those of all steps.
    derivs: Range<usize>,
    addition: usize,
    /// The rows that the addition adds to.
    sums: Range<usize>,
}

/// Steps of one component, which add the columns `common` of their result to the same columns of one matrix.
#[derive(Clone, Debug)]
struct Group {
    component: ComponentId,
    common: Range<usize>,
    /// The derivatives of all steps, with their columns.
    derivs: Region,
    /// The matrix that is added to, with its columns.
    sums: Region,
    steps: Vec<Step>,
}

/// A group that can be one product.
#[derive(Clone, Debug)]
struct Product {
    group: Group,
    /// For each row of the sums its row of the derivatives; `None` if they have the same order.
    rows: Option<Vec<Vec<i32>>>,
    /// True if the product is added to what is there.
    adds: bool,
    /// A zeroing of the sums that becomes needless.
    zeroing: Option<usize>,
}

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let updates = 0..lowering.ops.len();
    let groups: Vec<Group> = updates.flat_map(|update| groups_of(lowering, update)).collect();
    for group in groups {
        if let Some(product) = product(lowering, group) {
            replace(lowering, product);
        }
    }
}

fn replace(lowering: &mut Lowering<'_>, Product { group, rows, adds, zeroing }: Product) {
    let Group { component, common, derivs, sums, steps } = group;
    let last = steps.iter().map(|step| step.addition).max();
    for step in &steps {
        replace_step(lowering, step, component, &common);
        lowering.remove(step.addition);
    }
    zeroing.into_iter().for_each(|zeroing| lowering.remove(zeroing));
    let rows = rows.map(|rows| {
        lowering.row_lists.push(Arc::new(RowLists::new(&rows)));
        lowering.row_lists.len() - 1
    });
    let (out_deriv, in_deriv) = (lowering.part(&derivs), lowering.part(&sums));
    let product = InputDerivative { component, columns: common, out_deriv, in_deriv, rows, adds };
    last.into_iter().for_each(|last| lowering.replace(last, Op::InputDerivative(product.clone())));
}

/// Reduces a backprop to the columns that are not in common. Nothing is left if no command reads them.
fn replace_step(lowering: &mut Lowering<'_>, step: &Step, component: ComponentId, common: &Range<usize>) {
    let Some(PartBack { args, .. }) = lowering.backprop_at(step.backprop) else { return };
    let Some(in_deriv) = args.in_deriv else { return };
    let all = Region::of(lowering.computation, in_deriv);
    let width = all.rect.cols.len();
    let columns = if common.start == 0 { common.end..width } else { 0..common.start };
    let rest = all.columns(&columns);
    lowering.remove(step.zeroing);
    if is_read_only_where(lowering.computation, &lowering.events, &rest, step.backprop, |_| false) {
        lowering.remove(step.backprop);
        return;
    }
    let in_deriv = lowering.part(&rest);
    let out_deriv = args.out_deriv;
    let product = InputDerivative { component, columns, out_deriv, in_deriv, rows: None, adds: false };
    lowering.replace(step.backprop, Op::InputDerivative(product));
}

/// The groups of steps whose derivatives the update at this position reads.
fn groups_of(lowering: &Lowering<'_>, update: usize) -> Vec<Group> {
    let computation = lowering.computation;
    let Some(PartBack { args: all, .. }) = lowering.backprop_at(update) else { return Vec::new() };
    let component = all.component;
    let plain = matches!(lowering.nnet.component(component).as_affine(), Some((Weights::Plain(_), _)));
    if !plain || !all.update_model || all.in_deriv.is_some() {
        return Vec::new();
    }
    let derivs = Region::of(computation, all.out_deriv);
    let mut groups: Vec<Group> = Vec::new();
    for backprop in 0..update {
        let Some(PartBack { args, .. }) = lowering.backprop_at(backprop) else { continue };
        if args.component != component || args.update_model {
            continue;
        }
        for (step, common, sums) in steps(lowering, backprop, &args, &derivs) {
            let is_same = |group: &&mut Group| {
                group.common == common
                    && group.sums.matrix == sums.matrix
                    && group.sums.rect.cols == sums.rect.cols
            };
            match groups.iter_mut().find(is_same) {
                Some(group) => group.steps.push(step),
                None => {
                    let derivs = derivs.clone();
                    groups.push(Group { component, common, derivs, sums, steps: vec![step] });
                }
            }
        }
    }
    groups
}

/// A backprop as a step, once for each addition of some of its columns: the step, these columns, and where they are added to.
fn steps(
    lowering: &Lowering<'_>,
    backprop: usize,
    args: &Backprop,
    derivs: &Region,
) -> Vec<(Step, Range<usize>, Region)> {
    let (computation, events) = (lowering.computation, &lowering.events);
    let Some(result) = args.in_deriv.map(|in_deriv| Region::of(computation, in_deriv)) else {
        return Vec::new();
    };
    let Some(zeroing) = zeroed_before(lowering, &result, backprop).filter(|&(_, whole)| whole) else {
        return Vec::new();
    };
    let Some((gathering, rows)) = gathered(lowering, backprop, args.out_deriv, derivs) else {
        return Vec::new();
    };
    let width = result.rect.cols.len();
    let addition = |event: &Event| {
        let addition = event.command();
        let (Command::Copy { dest, src, alpha: 1.0 } | Command::Add { dest, src, alpha: 1.0 }) =
            lowering.command_at(addition)?
        else {
            return None;
        };
        if event.effect != Effect::Reads(src) {
            return None;
        }
        let (part, sums) = (Region::of(computation, src), Region::of(computation, dest));
        let inside = part.rect.rows == result.rect.rows && part.rect.common(&result.rect) == part.rect;
        if !inside || sums.matrix == part.matrix || sums.matrix == derivs.matrix {
            return None;
        }
        let first = result.rect.cols.start;
        let common = part.rect.cols.start - first..part.rect.cols.end - first;
        let at_an_end = (common.start == 0) != (common.end == width);
        let fits = at_an_end
            && common.len() >= LEAST_COLUMNS
            && is_read_only_where(computation, events, &part, backprop, |reader| reader == addition);
        let zeroing = zeroing.0;
        let step = Step {
            backprop,
            zeroing,
            gathering,
            derivs: rows.clone(),
            addition,
            sums: sums.rect.rows.clone(),
        };
        fits.then_some((step, common, sums))
    };
    between(events, result.matrix, backprop + 1..usize::MAX).iter().filter_map(addition).collect()
}

/// The literal zeroing of a region, if no command touches the region between that and this one; true if it is of no more elements.
fn zeroed_before(lowering: &Lowering<'_>, region: &Region, command: usize) -> Option<(usize, bool)> {
    let touches = |event: &&Event| {
        touched(event.effect)
            .is_none_or(|s| !Rect::of(lowering.computation, s).common(&region.rect).is_empty())
    };
    let last = between(&lowering.events, region.matrix, 0..command).iter().rev().find(touches)?.command();
    let Command::SetConst { dest, value: 0.0 } = lowering.command_at(last)? else { return None };
    let rect = Rect::of(lowering.computation, dest);
    (rect.common(&region.rect) == region.rect).then_some((last, rect == region.rect))
}

/// The rows of `all` that have the derivative of a step, as the backprop reads it, and the command that copies it there.
fn gathered(
    lowering: &Lowering<'_>,
    backprop: usize,
    deriv: SubmatrixId,
    all: &Region,
) -> Option<(usize, Range<usize>)> {
    let (computation, events) = (lowering.computation, &lowering.events);
    let own = Region::of(computation, deriv);
    if own.matrix == all.matrix {
        return (own.rect.cols == all.rect.cols).then_some((backprop, own.rect.rows));
    }
    let copy = |event: &Event| match computation.commands[event.command()] {
        Command::Copy { dest, src, alpha: 1.0 } => {
            let (dest, src) = (Region::of(computation, dest), Region::of(computation, src));
            let copies = src.matrix == own.matrix
                && src.rect == own.rect
                && dest.matrix == all.matrix
                && dest.rect.cols == all.rect.cols
                && stays(computation, events, &own, event.command()..backprop);
            copies.then_some((event.command(), dest.rect.rows))
        }
        _ => None,
    };
    between(events, all.matrix, 0..backprop).iter().rev().find_map(copy)
}

/// A group as one product, if nobody notices.
fn product(lowering: &Lowering<'_>, group: Group) -> Option<Product> {
    let (computation, events) = (lowering.computation, &lowering.events);
    let Group { component, common, derivs, sums, mut steps } = group;
    let free = |step: &Step| {
        [step.backprop, step.zeroing, step.addition].iter().all(|&command| lowering.is_literal(command))
    };
    if steps.len() < LEAST_STEPS || !steps.iter().all(free) {
        return None;
    }
    let derivs = derivs.with_rows(joined(steps.iter().map(|step| step.derivs.clone()).collect())?);
    let sums = sums.with_rows(joined(steps.iter().map(|step| step.sums.clone()).collect())?);
    let additions = || steps.iter().map(|step| step.addition);
    let (first, last) = (additions().min()?, additions().max()?);
    let lasts = |step: &Step| {
        let own = derivs.with_rows(step.derivs.clone());
        stays(computation, events, &own, step.gathering + 1..last + 1)
    };
    let nobody_else = between(events, sums.matrix, first..last + 1).iter().all(|event| {
        additions().any(|addition| addition == event.command())
            || touched(event.effect).is_some_and(|s| Rect::of(computation, s).common(&sums.rect).is_empty())
    });
    if !steps.iter().all(lasts) || !nobody_else {
        return None;
    }
    let copies = additions()
        .filter(|&addition| matches!(computation.commands[addition], Command::Copy { .. }))
        .count();
    let zeroing = zeroed_before(lowering, &sums, first);
    let adds = zeroing.is_none() && copies == 0;
    if !adds && zeroing.is_none() && copies < steps.len() {
        return None;
    }
    steps.sort_by_key(|step| step.sums.start);
    let rows: Vec<i32> = steps
        .iter()
        .flat_map(|step| step.derivs.clone().map(|row| (row - derivs.rect.rows.start) as i32))
        .collect();
    let in_order = rows.iter().enumerate().all(|(i, &row)| i as i32 == row);
    let rows = (!in_order).then(|| rows.into_iter().map(|row| vec![row]).collect());
    let zeroing = zeroing.and_then(|(zeroing, whole)| whole.then_some(zeroing));
    Some(Product { group: Group { component, common, derivs, sums, steps }, rows, adds, zeroing })
}

/// One range of all, if they follow each other without gaps.
fn joined(mut ranges: Vec<Range<usize>>) -> Option<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let all = ranges.first()?.start..ranges.last()?.end;
    ranges.windows(2).all(|pair| pair[0].end == pair[1].start).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::super::tests::networks;
    use super::super::tests::training;
    use super::super::{Lowered, Watch, lower};
    use super::*;
    use crate::computation::Computation;
    use nnet3_network::Nnet;

    fn products(lowered: &Lowered) -> Vec<&InputDerivative> {
        let all = lowered.ops().iter();
        all.filter_map(|op| if let Op::InputDerivative(product) = op { Some(product) } else { None })
            .collect()
    }

    fn count(nnet: &Nnet, computation: &Computation) -> usize {
        let host = nnet3_matrix::cpu();
        products(&lower(nnet, computation, &*host, &mut Watch::default()).unwrap()).len()
    }

    /// Each of these commands, between the steps, would see or spoil what comes later now.
    #[test]
    fn nobody_notices() {
        let (nnet, computation) = training(&networks::common_derivative(), 3, 7);
        assert_eq!(count(&nnet, &computation), 7);
        let backprop = |(c, command): (usize, &Command)| match *command {
            Command::Backprop(args) if nnet.component_name(args.component) == "w" => Some((c, args)),
            _ => None,
        };
        let steps: Vec<(usize, Backprop)> =
            computation.commands.iter().enumerate().filter_map(backprop).collect();
        assert_eq!(steps.len(), 8);
        let result = computation.matrix_of(steps[2].1.in_deriv.unwrap());
        let addition = |command: &Command| match *command {
            Command::Add { dest, src, .. } | Command::Copy { dest, src, .. }
                if computation.matrix_of(src) == result && computation.submatrix(src).cols == 40 =>
            {
                Some((dest, src))
            }
            _ => None,
        };
        let (sums, common) = computation.commands[steps[2].0..].iter().find_map(addition).unwrap();
        let (own, all) = (steps[2].1.out_deriv, steps[7].1.out_deriv);
        let with = |command: &dyn Fn(&mut Computation) -> Command, at: usize| {
            let mut changed = computation.clone();
            let command = command(&mut changed);
            changed.commands.insert(at, command);
            count(&nnet, &changed)
        };
        let read = |src: SubmatrixId, at| {
            with(
                &move |c| {
                    let (rows, cols) = (c.submatrix(src).rows, c.submatrix(src).cols);
                    Command::Add { dest: c.new_matrix(rows, cols, false), src, alpha: 1.0 }
                },
                at,
            )
        };
        let set = |dest, at| with(&move |_| Command::SetConst { dest, value: 2.0 }, at);
        let after = |step: usize| steps[step].0 + 1;
        // The sums are read or set before they are complete, a result is read twice, the derivatives of all steps change.
        assert_eq!(
            [read(sums, after(4)), set(sums, after(4)), read(common, after(2)), set(all, after(4))],
            [0; 4]
        );
        // Derivatives may be read.
        assert_eq!([read(all, after(4)), read(own, after(2))], [7, 7]);
    }
}
