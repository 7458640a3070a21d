//! Descriptors: expressions that build a node's input from other nodes' outputs.
//!
//! [`parse`] parses a user's text into a [`parse::Expr`]. [`normal`] converts that to the strict hierarchy of this
//! file: Append outside, then sums, then index transformations, then scaled nodes. [`eval`] finds the inputs that an
//! index depends on.

pub mod eval;
pub mod normal;
pub mod parse;

use nnet3_base::index::NodeId;
use nnet3_base::text::number;

/// The input of a node: one part, or several appended column-wise.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    pub parts: Vec<Sum>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Sum {
    Simple(Forward),
    Sum(Box<Sum>, Box<Sum>),
    /// The first child if it is computable, else the second.
    Failover(Box<Sum>, Box<Sum>),
    /// The child if it is computable as a whole, else zero.
    IfDefined(Box<Sum>),
    Const {
        value: f32,
        dim: usize,
    },
}

/// A transformation of the index, down to one node's output.
#[derive(Clone, Debug, PartialEq)]
pub enum Forward {
    Node {
        node: NodeId,
        scale: f32,
    },
    /// Adds to t and x.
    Offset {
        child: Box<Forward>,
        t: i32,
        x: i32,
    },
    /// One of k children: number t mod k.
    Switch(Vec<Forward>),
    /// Rounds t down to a multiple.
    Round {
        child: Box<Forward>,
        modulus: i32,
    },
    ReplaceIndex {
        child: Box<Forward>,
        variable: Variable,
        value: i32,
    },
}

/// The coordinate that [`Forward::ReplaceIndex`] sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    T,
    X,
}

impl Descriptor {
    /// The normalised text; numbers with 6 digits, as in model files.
    pub fn print(&self, names: &[String]) -> String {
        let parts: Vec<String> = self.parts.iter().map(|p| p.print(names)).collect();
        if parts.len() == 1 {
            parts.into_iter().next().unwrap_or_default()
        } else {
            format!("Append({})", parts.join(", "))
        }
    }

    /// Calls `f` for every node that is read, in order, repeats included.
    pub(crate) fn for_each_node(&self, f: &mut impl FnMut(NodeId)) {
        self.parts.iter().for_each(|part| part.for_each_node(f));
    }

    /// Calls `f` for every term, in order.
    pub fn for_each_forward<'a>(&'a self, f: &mut impl FnMut(&'a Forward)) {
        self.parts.iter().for_each(|part| part.for_each_forward(f));
    }

    /// Changes the node numbers.
    pub(crate) fn renumber(&mut self, new_id: &impl Fn(NodeId) -> NodeId) {
        self.parts.iter_mut().for_each(|part| part.renumber(new_id));
    }

    /// Multiplies the value by a factor.
    pub(crate) fn scale(&mut self, factor: f32) {
        self.parts.iter_mut().for_each(|part| part.scale(factor));
    }

    /// Adds the value of another descriptor, part by part. Both have equally many appended parts; the error is their numbers.
    pub(crate) fn plus(self, other: Descriptor) -> Result<Descriptor, (usize, usize)> {
        if self.parts.len() != other.parts.len() {
            return Err((self.parts.len(), other.parts.len()));
        }
        let parts = self.parts.into_iter().zip(other.parts);
        Ok(Descriptor { parts: parts.map(|(a, b)| Sum::Sum(Box::new(a), Box::new(b))).collect() })
    }
}

impl Sum {
    fn print(&self, names: &[String]) -> String {
        match self {
            Sum::Simple(forward) => forward.print(names),
            Sum::Sum(a, b) => format!("Sum({}, {})", a.print(names), b.print(names)),
            Sum::Failover(a, b) => format!("Failover({}, {})", a.print(names), b.print(names)),
            Sum::IfDefined(a) => format!("IfDefined({})", a.print(names)),
            Sum::Const { value, dim } => format!("Const({}, {dim})", number(*value as f64)),
        }
    }

    pub fn for_each_node(&self, f: &mut impl FnMut(NodeId)) {
        self.for_each_forward(&mut |forward| forward.for_each_node(f));
    }

    /// Calls `f` for every term, in order.
    pub fn for_each_forward<'a>(&'a self, f: &mut impl FnMut(&'a Forward)) {
        match self {
            Sum::Simple(forward) => f(forward),
            Sum::Sum(a, b) | Sum::Failover(a, b) => {
                a.for_each_forward(f);
                b.for_each_forward(f);
            }
            Sum::IfDefined(a) => a.for_each_forward(f),
            Sum::Const { .. } => {}
        }
    }

    fn renumber(&mut self, new_id: &impl Fn(NodeId) -> NodeId) {
        match self {
            Sum::Simple(forward) => forward.renumber(new_id),
            Sum::Sum(a, b) | Sum::Failover(a, b) => {
                a.renumber(new_id);
                b.renumber(new_id);
            }
            Sum::IfDefined(a) => a.renumber(new_id),
            Sum::Const { .. } => {}
        }
    }

    fn scale(&mut self, factor: f32) {
        match self {
            Sum::Simple(forward) => forward.scale_by(factor),
            Sum::Sum(a, b) | Sum::Failover(a, b) => {
                a.scale(factor);
                b.scale(factor);
            }
            Sum::IfDefined(a) => a.scale(factor),
            Sum::Const { value, .. } => *value *= factor,
        }
    }
}

impl Forward {
    /// Calls `f` for every node that may be read, in order, repeats included.
    pub fn for_each_node(&self, f: &mut impl FnMut(NodeId)) {
        match self {
            Forward::Node { node, .. } => f(*node),
            Forward::Offset { child, .. }
            | Forward::Round { child, .. }
            | Forward::ReplaceIndex { child, .. } => child.for_each_node(f),
            Forward::Switch(children) => children.iter().for_each(|c| c.for_each_node(f)),
        }
    }

    fn print(&self, names: &[String]) -> String {
        match self {
            Forward::Node { node, scale } if *scale == 1.0 => names[node.index()].clone(),
            Forward::Node { node, scale } => {
                format!("Scale({}, {})", number(*scale as f64), names[node.index()])
            }
            Forward::Offset { child, t, x: 0 } => format!("Offset({}, {t})", child.print(names)),
            Forward::Offset { child, t, x } => format!("Offset({}, {t}, {x})", child.print(names)),
            Forward::Switch(children) => {
                let items: Vec<String> = children.iter().map(|c| c.print(names)).collect();
                format!("Switch({})", items.join(", "))
            }
            Forward::Round { child, modulus } => format!("Round({}, {modulus})", child.print(names)),
            Forward::ReplaceIndex { child, variable, value } => {
                let variable = if *variable == Variable::T { "t" } else { "x" };
                format!("ReplaceIndex({}, {variable}, {value})", child.print(names))
            }
        }
    }

    fn renumber(&mut self, new_id: &impl Fn(NodeId) -> NodeId) {
        match self {
            Forward::Node { node, .. } => *node = new_id(*node),
            Forward::Offset { child, .. }
            | Forward::Round { child, .. }
            | Forward::ReplaceIndex { child, .. } => child.renumber(new_id),
            Forward::Switch(children) => children.iter_mut().for_each(|c| c.renumber(new_id)),
        }
    }

    fn scale_by(&mut self, factor: f32) {
        match self {
            Forward::Node { scale, .. } => *scale *= factor,
            Forward::Offset { child, .. }
            | Forward::Round { child, .. }
            | Forward::ReplaceIndex { child, .. } => child.scale_by(factor),
            Forward::Switch(children) => children.iter_mut().for_each(|c| c.scale_by(factor)),
        }
    }
}
