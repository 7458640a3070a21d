//! Dependencies of a descriptor.

use super::{Descriptor, Forward, Sum, Variable};
use nnet3_base::index::{Cindex, Index, NodeId};

impl Forward {
    /// The one input that `index` maps to.
    pub fn input(&self, mut index: Index) -> Cindex {
        let mut forward = self;
        loop {
            forward = match forward {
                Forward::Node { node, .. } => return Cindex::new(*node, index),
                Forward::Offset { child, t, x } => {
                    index.t = index.t.wrapping_add(*t);
                    index.x = index.x.wrapping_add(*x);
                    child
                }
                Forward::Switch(children) => &children[index.t.rem_euclid(children.len() as i32) as usize],
                Forward::Round { child, modulus } => {
                    index.t = index.t.wrapping_sub(index.t.rem_euclid(*modulus));
                    child
                }
                Forward::ReplaceIndex { child, variable: Variable::T, value } => {
                    index.t = *value;
                    child
                }
                Forward::ReplaceIndex { child, variable: Variable::X, value } => {
                    index.x = *value;
                    child
                }
            };
        }
    }

    /// The node that is read; `None` if a switch may choose between several.
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Forward::Node { node, .. } => Some(*node),
            Forward::Offset { child, .. }
            | Forward::Round { child, .. }
            | Forward::ReplaceIndex { child, .. } => child.node(),
            Forward::Switch(_) => None,
        }
    }

    /// The common scale of all inputs; `None` if a switch may choose between several.
    pub fn scale(&self) -> Option<f32> {
        match self {
            Forward::Node { scale, .. } => Some(*scale),
            Forward::Offset { child, .. }
            | Forward::Round { child, .. }
            | Forward::ReplaceIndex { child, .. } => child.scale(),
            Forward::Switch(_) => None,
        }
    }

    fn inputs(&self, index: Index, out: &mut Vec<Cindex>) {
        out.push(self.input(index));
    }

    fn dim(&self, node_dim: &dyn Fn(NodeId) -> usize) -> Result<usize, (usize, usize)> {
        match self {
            Forward::Node { node, .. } => Ok(node_dim(*node)),
            Forward::Offset { child, .. }
            | Forward::Round { child, .. }
            | Forward::ReplaceIndex { child, .. } => child.dim(node_dim),
            Forward::Switch(children) => {
                let dim = children[0].dim(node_dim)?;
                children[1..].iter().try_fold(dim, |dim, child| same(dim, child.dim(node_dim)?))
            }
        }
    }

    fn modulus(&self) -> i64 {
        match self {
            Forward::Node { .. } | Forward::ReplaceIndex { .. } => 1,
            Forward::Offset { child, .. } => child.modulus(),
            Forward::Round { modulus, .. } => *modulus as i64,
            Forward::Switch(children) => {
                children.iter().map(Forward::modulus).fold(children.len() as i64, lcm)
            }
        }
    }

    fn scale_for(&self, wanted: NodeId) -> Result<Option<f32>, f32> {
        match self {
            Forward::Node { node, scale } => Ok((*node == wanted).then_some(*scale)),
            Forward::Offset { child, .. }
            | Forward::Round { child, .. }
            | Forward::ReplaceIndex { child, .. } => child.scale_for(wanted),
            Forward::Switch(children) => {
                children.iter().try_fold(None, |found, child| agree(found, child.scale_for(wanted)?))
            }
        }
    }
}

/// The common dimension; the error is both.
fn same(a: usize, b: usize) -> Result<usize, (usize, usize)> {
    if a == b { Ok(a) } else { Err((a, b)) }
}

/// The common value; the error is a value that contradicts.
fn agree(a: Option<f32>, b: Option<f32>) -> Result<Option<f32>, f32> {
    match (a, b) {
        (Some(x), Some(y)) if x != y => Err(y),
        (None, b) => Ok(b),
        (a, _) => Ok(a),
    }
}

pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Least common multiple, saturating.
pub fn lcm(a: i64, b: i64) -> i64 {
    (a / gcd(a, b)).saturating_mul(b)
}

impl Sum {
    /// All inputs that may be read for `index`, depth first, repeats kept.
    pub fn dependencies(&self, index: Index, out: &mut Vec<Cindex>) {
        match self {
            Sum::Simple(forward) => forward.inputs(index, out),
            Sum::Sum(a, b) | Sum::Failover(a, b) => {
                a.dependencies(index, out);
                b.dependencies(index, out);
            }
            Sum::IfDefined(a) => a.dependencies(index, out),
            Sum::Const { .. } => {}
        }
    }

    /// True if an index is computable exactly if all its dependencies are, and then uses them all.
    pub fn needs_all(&self) -> bool {
        match self {
            Sum::Simple(_) | Sum::Const { .. } => true,
            Sum::Sum(a, b) => a.needs_all() && b.needs_all(),
            Sum::Failover(..) | Sum::IfDefined(_) => false,
        }
    }

    /// True if `index` is computable; if so, appends the inputs that are used.
    pub fn is_computable(
        &self,
        index: Index,
        available: &dyn Fn(Cindex) -> bool,
        used: Option<&mut Vec<Cindex>>,
    ) -> bool {
        match self {
            Sum::Simple(forward) => {
                let input = forward.input(index);
                let computable = available(input);
                if let (true, Some(used)) = (computable, used) {
                    used.push(input);
                }
                computable
            }
            Sum::Const { .. } => true,
            Sum::Sum(a, b) => match used {
                None => a.is_computable(index, available, None) && b.is_computable(index, available, None),
                Some(used) => {
                    let before = used.len();
                    let computable = a.is_computable(index, available, Some(&mut *used))
                        && b.is_computable(index, available, Some(&mut *used));
                    if !computable {
                        used.truncate(before);
                    }
                    computable
                }
            },
            Sum::Failover(a, b) => match used {
                None => a.is_computable(index, available, None) || b.is_computable(index, available, None),
                Some(used) => {
                    a.is_computable(index, available, Some(&mut *used))
                        || b.is_computable(index, available, Some(used))
                }
            },
            Sum::IfDefined(a) => {
                if let Some(used) = used {
                    a.is_computable(index, available, Some(used));
                }
                true
            }
        }
    }

    /// Columns; the error names two dimensions that differ.
    pub fn dim(&self, node_dim: &dyn Fn(NodeId) -> usize) -> Result<usize, (usize, usize)> {
        match self {
            Sum::Simple(forward) => forward.dim(node_dim),
            Sum::IfDefined(a) => a.dim(node_dim),
            Sum::Const { dim, .. } => Ok(*dim),
            Sum::Sum(a, b) | Sum::Failover(a, b) => same(a.dim(node_dim)?, b.dim(node_dim)?),
        }
    }

    fn modulus(&self) -> i64 {
        match self {
            Sum::Simple(forward) => forward.modulus(),
            Sum::IfDefined(a) => a.modulus(),
            Sum::Const { .. } => 1,
            Sum::Sum(a, b) | Sum::Failover(a, b) => lcm(a.modulus(), b.modulus()),
        }
    }

    /// The scale with which `node` occurs, `None` if it does not. The error is a contradicting scale.
    pub fn scale_for(&self, node: NodeId) -> Result<Option<f32>, f32> {
        match self {
            Sum::Simple(forward) => forward.scale_for(node),
            Sum::IfDefined(a) => a.scale_for(node),
            Sum::Const { .. } => Ok(None),
            Sum::Sum(a, b) | Sum::Failover(a, b) => agree(a.scale_for(node)?, b.scale_for(node)?),
        }
    }

    /// The constant that is added for any inputs. The error is a sentence.
    pub fn constant(&self) -> Result<f32, String> {
        match self {
            Sum::Simple(_) => Ok(0.0),
            Sum::Const { value, .. } => Ok(*value),
            Sum::Sum(a, b) => Ok(a.constant()? + b.constant()?),
            Sum::Failover(a, b) => {
                let (a, b) = (a.constant()?, b.constant()?);
                if a == b { Ok(a) } else { Err("Failover between different constants".to_string()) }
            }
            Sum::IfDefined(a) => match a.constant()? {
                0.0 => Ok(0.0),
                _ => Err("IfDefined of a constant".to_string()),
            },
        }
    }
}

impl Descriptor {
    /// All inputs that may be read for `index`, part by part.
    pub fn dependencies(&self, index: Index, out: &mut Vec<Cindex>) {
        self.parts.iter().for_each(|part| part.dependencies(index, out));
    }

    /// True if all parts are; `used` is left as it was if not.
    pub fn is_computable(
        &self,
        index: Index,
        available: &dyn Fn(Cindex) -> bool,
        mut used: Option<&mut Vec<Cindex>>,
    ) -> bool {
        let before = used.as_ref().map_or(0, |u| u.len());
        let computable =
            self.parts.iter().all(|part| part.is_computable(index, available, used.as_deref_mut()));
        if let (false, Some(used)) = (computable, used) {
            used.truncate(before);
        }
        computable
    }

    /// Total columns. The error names two dimensions that should be equal.
    pub fn dim(&self, node_dim: &dyn Fn(NodeId) -> usize) -> Result<usize, (usize, usize)> {
        self.parts.iter().map(|part| part.dim(node_dim)).sum()
    }

    /// The period in time of the dependencies: they repeat under time shifts by its multiples.
    pub fn modulus(&self) -> i64 {
        self.parts.iter().map(Sum::modulus).fold(1, lcm)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{normal::normalize, parse::parse};
    use super::*;

    fn descriptor(text: &str) -> Descriptor {
        let node = |name: &str| ["a", "b", "c"].iter().position(|n| *n == name).map(NodeId::from);
        normalize(parse(text, &node).unwrap()).unwrap()
    }

    fn at(node: u32, t: i32) -> Cindex {
        Cindex::new(NodeId(node), Index::new(0, t, 0))
    }

    #[test]
    fn outer_operators_act_first() {
        let mut out = Vec::new();
        descriptor("Offset(Round(a,3),1)").dependencies(Index::new(0, 2, 0), &mut out);
        descriptor("Round(Offset(a,1),3)").dependencies(Index::new(0, 2, 0), &mut out);
        descriptor("Switch(a, b)").dependencies(Index::new(0, -1, 0), &mut out);
        descriptor("Round(a, 3)").dependencies(Index::new(0, -1, 0), &mut out);
        assert_eq!(out, vec![at(0, 3), at(0, 1), at(1, -1), at(0, -3)]);
    }

    #[test]
    fn optional_terms() {
        let mut used = Vec::new();
        let only_a = |c: Cindex| c.node == NodeId(0);
        let d = descriptor("Append(a, IfDefined(Sum(a, b)), Failover(b, a))");
        assert!(d.is_computable(Index::default(), &only_a, Some(&mut used)));
        assert_eq!(used, vec![at(0, 0), at(0, 0)]);
        let d = descriptor("Append(a, b)");
        used.clear();
        assert!(!d.is_computable(Index::default(), &only_a, Some(&mut used)));
        assert!(used.is_empty());
    }

    #[test]
    fn scales_and_constants() {
        let d = descriptor("Sum(Scale(2, a), Offset(Scale(2, a), 1), Const(0.5, 4), b)");
        assert_eq!(d.parts[0].scale_for(NodeId(0)), Ok(Some(2.0)));
        assert_eq!(d.parts[0].scale_for(NodeId(1)), Ok(Some(1.0)));
        assert_eq!(d.parts[0].scale_for(NodeId(2)), Ok(None));
        assert_eq!(d.parts[0].constant(), Ok(0.5));
        assert!(descriptor("Sum(a, Scale(2, a))").parts[0].scale_for(NodeId(0)).is_err());
        assert!(descriptor("IfDefined(Const(1, 2))").parts[0].constant().is_err());
    }

    #[test]
    fn moduli() {
        assert_eq!(descriptor("Append(Round(a, 4), Switch(a, b, Offset(Round(c, 2), 1)))").modulus(), 12);
        assert_eq!(descriptor("ReplaceIndex(Round(a, 4), t, 0)").modulus(), 1);
    }
}
