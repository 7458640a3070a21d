//! A pass for recurrent steps that are only run forward. Each step has matrices of its own, into which some rows of one
//! matrix are copied beside the result of the step before. That one matrix is known before the first step. Its share of
//! the products is computed for some steps at a time, so that parameters are not rearranged again at every step. The
//! copies become needless. The two shares are rounded before they are added. (In training, steps share one matrix; see
//! [`super::common_share`].)

use super::Lowering;
use super::common_share::{LEAST_COLUMNS, LEAST_STEPS};
use super::dataflow::{Effect, Events, Rect, Region, between, copied_from, is_read_only_by, stays};
use super::op::{Op, Share};
use crate::computation::{Command, Computation, Propagate, SubmatrixId};
use nnet3_base::fast_hash::FastMap;
use nnet3_base::index::ComponentId;
use nnet3_network::Nnet;
use std::cmp::Reverse;
use std::ops::Range;

/// Number of rows computed together: enough for products at their full rate, few enough to stay in a cache.
const MOST_ROWS: usize = 512;

/// Products of one affine component.
#[derive(Clone, Debug)]
struct Precomputed {
    component: ComponentId,
    /// Commands, in order, and which rows of `source` they need.
    products: Vec<(usize, Range<usize>)>,
    /// The copies that became needless.
    copies: Vec<usize>,
    source: Region,
    /// Columns of the component's input. One of these ranges begins with 0, the other one follows.
    known: Range<usize>,
    rest: Range<usize>,
}

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let found =
        precomputed(lowering.nnet, lowering.computation, &lowering.events, |c| lowering.is_literal(c));
    for (share, found) in found.into_iter().enumerate() {
        let Precomputed { component, products, copies, source, known, rest } = found;
        let source = lowering.part(&source);
        lowering.insert(products[0].0, Op::Share(Share { share, component, columns: known, source }));
        for (i, (product, rows)) in products.iter().enumerate() {
            let Op::Propagate(propagate) = &lowering.ops[*product] else { continue };
            let (dest, last) = (propagate.args.output, i + 1 == products.len());
            lowering.insert(*product, Op::CopyShare { share, rows: rows.clone(), dest, last });
            lowering.add_rest(*product, &rest);
        }
        copies.iter().for_each(|&copy| lowering.remove(copy));
    }
}

/// A product, and the copy of its known columns.
struct Product {
    component: ComponentId,
    command: usize,
    copy: usize,
    source: Region,
    known: Range<usize>,
    rest: Range<usize>,
}

/// Finds all shares that can be computed early. `is_free` is false for commands that must run literally.
fn precomputed(
    nnet: &Nnet,
    computation: &Computation,
    events: &Events,
    is_free: impl Fn(usize) -> bool,
) -> Vec<Precomputed> {
    let (mut groups, mut numbers): (Vec<Vec<Product>>, _) = (Vec::new(), FastMap::default());
    for (c, command) in computation.commands.iter().enumerate() {
        let Command::Propagate(Propagate { component, input: Some(input), .. }) = *command else { continue };
        if !is_free(c) || nnet.component(component).as_affine().is_none() {
            continue;
        }
        for product in
            products(computation, events, component, input, c).filter(|product| is_free(product.copy))
        {
            let key =
                (component, product.source.matrix, product.source.rect.cols.clone(), product.known.clone());
            let number = *numbers.entry(key).or_insert(groups.len());
            match groups.get_mut(number) {
                Some(group) => group.push(product),
                None => groups.push(vec![product]),
            }
        }
    }
    // A product can be in two groups. The group with more known columns is used.
    groups.sort_by_key(|group| Reverse(group[0].known.len()));
    let mut taken = vec![false; computation.commands.len()];
    let mut found: Vec<Precomputed> = Vec::new();
    for group in groups.iter().filter(|group| group.len() >= LEAST_STEPS) {
        let mut rest = &group[..];
        while !rest.is_empty() {
            let (portion, others) = rest.split_at(portion(rest));
            rest = others;
            let is_free = portion.iter().all(|product| !taken[product.command]);
            if is_free && portion.len() >= LEAST_STEPS && source_stays(computation, events, portion) {
                portion.iter().for_each(|product| taken[product.command] = true);
                found.push(joined(portion));
            }
        }
    }
    found
}

/// Returns the ways to split a product into a known part and a rest. The known part is a copy to the first or to the
/// last columns of its input.
fn products<'a>(
    computation: &'a Computation,
    events: &'a Events,
    component: ComponentId,
    input: SubmatrixId,
    command: usize,
) -> impl Iterator<Item = Product> + 'a {
    let Region { matrix, rect } = Region::of(computation, input);
    let earlier = between(events, matrix, 0..command).iter().rev();
    let alive = earlier.take_while(|event| !matches!(event.effect, Effect::Allocates));
    alive.filter_map(move |event| {
        let Effect::Sets(dest) = event.effect else { return None };
        let block = Region::of(computation, dest);
        let (rows, cols) = (&block.rect.rows, &block.rect.cols);
        let at_an_end = (cols.start == rect.cols.start) != (cols.end == rect.cols.end);
        if *rows != rect.rows || !at_an_end || cols.len() < LEAST_COLUMNS {
            return None;
        }
        let (copy, source) = copied_from(computation, events, &block, command)?;
        let alone = copy == event.command() && is_read_only_by(computation, events, &block, copy, command);
        if !alone || source.matrix == matrix {
            return None;
        }
        let known = cols.start - rect.cols.start..cols.end - rect.cols.start;
        let rest = if known.start == 0 { known.end..rect.cols.len() } else { 0..known.start };
        Some(Product { component, command, copy, source, known, rest })
    })
}

/// Number of products, from the first on, that read adjacent rows, upwards or downwards, up to a limit.
fn portion(products: &[Product]) -> usize {
    let mut rows = products[0].source.rect.rows.clone();
    let joins = |product: &&Product| {
        let own = &product.source.rect.rows;
        let follows = own.start == rows.end || own.end == rows.start;
        rows = rows.start.min(own.start)..rows.end.max(own.end);
        follows && rows.len() <= MOST_ROWS
    };
    1 + products[1..].iter().take_while(joins).count()
}

/// True if the whole source is complete before the first product.
fn source_stays(computation: &Computation, events: &Events, products: &[Product]) -> bool {
    let (first, last) = (products[0].command, products[products.len() - 1].copy);
    products.iter().all(|product| stays(computation, events, &product.source, first..last + 1))
}

fn joined(products: &[Product]) -> Precomputed {
    let rows = || products.iter().map(|product| &product.source.rect.rows);
    let first = rows().map(|rows| rows.start).min().unwrap_or(0);
    let end = rows().map(|rows| rows.end).max().unwrap_or(0);
    let Product { component, source, known, rest, .. } = &products[0];
    Precomputed {
        component: *component,
        products: products
            .iter()
            .zip(rows())
            .map(|(p, rows)| (p.command, rows.start - first..rows.end - first))
            .collect(),
        copies: products.iter().map(|product| product.copy).collect(),
        source: Region {
            matrix: source.matrix,
            rect: Rect { rows: first..end, cols: source.rect.cols.clone() },
        },
        known: known.clone(),
        rest: rest.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::dataflow::events;
    use super::super::tests::recurrent_forward;
    use super::*;

    fn found(nnet: &Nnet, computation: &Computation) -> Vec<usize> {
        let all = precomputed(nnet, computation, &events(nnet, computation), |_| true);
        all.iter().map(|found| found.products.len()).collect()
    }

    /// Commands that would see or spoil the results of the changed order. The pass must then not apply to those steps.
    #[test]
    fn nobody_notices() {
        let (nnet, computation) = recurrent_forward("a, IfDefined(Offset(d, -1))");
        let base = precomputed(&nnet, &computation, &events(&nnet, &computation), |_| true);
        let [Precomputed { products, copies, .. }] = &base[..] else { panic!("{base:?}") };
        assert_eq!((products.len(), copies.len()), (7, 7));
        let Command::Copy { dest, src, .. } = computation.commands[copies[5]] else {
            panic!("{:?}", computation.commands[copies[5]])
        };
        let with = |at: usize, command: &dyn Fn(&mut Computation) -> Command| {
            let mut changed = computation.clone();
            let command = command(&mut changed);
            changed.commands.insert(at, command);
            found(&nnet, &changed)
        };
        let set = |dest| move |_: &mut Computation| Command::SetConst { dest, value: 2.0 };
        let read = |src: SubmatrixId| {
            move |c: &mut Computation| {
                let (rows, cols) = (c.submatrix(src).rows, c.submatrix(src).cols);
                Command::Add { dest: c.new_matrix(rows, cols, false), src, alpha: 1.0 }
            }
        };
        // A source that changes after the first product, and before.
        assert!(with(products[3].0, &set(src)).is_empty());
        assert_eq!(with(copies[0], &set(src)), [7]);
        // A copy that changes later, or that another command reads, does not count.
        let without_sixth: Vec<usize> = vec![5];
        assert_eq!(with(copies[5] + 1, &set(dest)), without_sixth);
        assert_eq!(with(copies[5] + 1, &read(dest)), without_sixth);
        assert_eq!(with(copies[5], &read(src)), [7]);
    }

    #[test]
    fn portions_are_of_neighbours() {
        let (nnet, computation) = recurrent_forward("a, IfDefined(Offset(d, -1))");
        let input = |c: &Command| match *c {
            Command::Propagate(Propagate { input: Some(input), .. }) => Some(input),
            _ => None,
        };
        let all = events(&nnet, &computation);
        let commands = computation.commands.iter().enumerate();
        let mut list: Vec<Product> = commands
            .filter_map(|(c, command)| Some((c, input(command)?)))
            .flat_map(|(c, input)| products(&computation, &all, ComponentId(0), input, c))
            .collect();
        assert_eq!((list.len(), portion(&list)), (7, 7));
        list.reverse();
        assert_eq!(portion(&list), 7);
        list.swap(4, 5);
        assert_eq!(portion(&list), 4);
    }
}
