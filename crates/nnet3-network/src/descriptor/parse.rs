//! The descriptor language as users write it.
//!
//! ```text
//! desc ::= Append(desc, …) | Sum(desc, …) | Switch(desc, …) | Failover(desc, desc) | IfDefined(desc)
//!        | Offset(desc, INT [, INT]) | Round(desc, INT) | ReplaceIndex(desc, t|x, INT)
//!        | Scale(REAL, desc) | Const(REAL, INT) | NODE-NAME
//! ```

use super::Variable;
use kaldi_io::alike::did_you_mean;
use nnet3_base::config::is_valid_name;
use nnet3_base::index::NodeId;

/// A descriptor before normalisation.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Append(Vec<Expr>),
    Sum(Vec<Expr>),
    Switch(Vec<Expr>),
    Failover(Vec<Expr>),
    IfDefined(Box<Expr>),
    Offset(Box<Expr>, i32, i32),
    Round(Box<Expr>, i32),
    ReplaceIndex(Box<Expr>, Variable, i32),
    Scale(f32, Box<Expr>),
    Const(f32, usize),
    Node(NodeId),
}

/// Parses a whole text. `node_of` finds the nodes that may be read; the error is a sentence without a place.
pub fn parse(text: &str, node_of: &dyn Fn(&str) -> Option<NodeId>) -> Result<Expr, String> {
    let tokens = tokenize(text)?;
    let mut parser = Parser { tokens: &tokens, position: 0, depth: 0, more_terms: 0, node_of };
    let expr = parser.descriptor()?;
    match parser.tokens.get(parser.position) {
        None => Ok(expr),
        Some(extra) => Err(format!("unexpected '{extra}' after the end of the descriptor '{text}'")),
    }
}

fn tokenize(text: &str) -> Result<Vec<&str>, String> {
    let special = |c: char| matches!(c, '(' | ')' | ',');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t']);
    while let Some(first) = rest.chars().next() {
        let end = match special(first) {
            true => 1,
            false => rest.find(|c| special(c) || c == ' ' || c == '\t').unwrap_or(rest.len()),
        };
        let token = &rest[..end];
        if !special(first) && !is_valid_name(token) && token.parse::<f32>().is_err() {
            return Err(format!("'{token}' is neither a name nor a number, in the descriptor '{text}'"));
        }
        tokens.push(token);
        rest = rest[end..].trim_start_matches([' ', '\t']);
    }
    Ok(tokens)
}

/// No real descriptor is nested more deeply; the limit keeps hostile input off the stack's end. It holds for the normal
/// form too, in which a sum of many terms is nested.
const MAX_DEPTH: usize = 200;

const OPERATORS: [&str; 10] =
    ["Append", "Sum", "Switch", "Failover", "IfDefined", "Offset", "Round", "ReplaceIndex", "Scale", "Const"];

struct Parser<'a> {
    tokens: &'a [&'a str],
    position: usize,
    depth: usize,
    /// Number of terms of sums beyond the second.
    more_terms: usize,
    node_of: &'a dyn Fn(&str) -> Option<NodeId>,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Result<&'a str, String> {
        let token = self.tokens.get(self.position).ok_or("the descriptor ends too early")?;
        self.position += 1;
        Ok(token)
    }

    fn expect(&mut self, wanted: &str, after: &str) -> Result<(), String> {
        match self.next() {
            Ok(found) if found == wanted => Ok(()),
            Ok(found) => Err(format!("expected '{wanted}' {after}, found '{found}'")),
            Err(_) => Err(format!("expected '{wanted}' {after}, found the end of the descriptor")),
        }
    }

    fn integer(&mut self, what: &str) -> Result<i32, String> {
        let token = self.next()?;
        token.parse().map_err(|_| format!("expected an integer as {what}, found '{token}'"))
    }

    fn real(&mut self, what: &str) -> Result<f32, String> {
        let token = self.next()?;
        let value: f32 =
            token.parse().map_err(|_| format!("expected a number as {what}, found '{token}'"))?;
        if value.is_finite() { Ok(value) } else { Err(format!("{what} must be finite, found '{token}'")) }
    }

    /// The arguments of an operator after its opening parenthesis, and the closing one.
    fn list(&mut self, operator: &str) -> Result<Vec<Expr>, String> {
        let mut items = vec![self.descriptor()?];
        loop {
            match self.next() {
                Ok(",") => {
                    self.more_terms += usize::from(operator == "Sum" && items.len() >= 2);
                    items.push(self.descriptor()?);
                }
                Ok(")") => return Ok(items),
                Ok(found) => return Err(format!("expected ',' or ')' in {operator}(…), found '{found}'")),
                Err(_) => return Err(format!("{operator}(… is not closed")),
            }
        }
    }

    fn descriptor(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth + self.more_terms > MAX_DEPTH {
            return Err(format!(
                "the descriptor is nested more than {MAX_DEPTH} deep (each term of a Sum after the second counts)"
            ));
        }
        let expr = self.one()?;
        self.depth -= 1;
        Ok(expr)
    }

    fn one(&mut self) -> Result<Expr, String> {
        let token = self.next()?;
        if !OPERATORS.contains(&token) {
            return match (self.node_of)(token) {
                Some(node) => Ok(Expr::Node(node)),
                None if self.tokens.get(self.position) == Some(&"(") => {
                    Err(format!("there is no operator '{token}'{}", did_you_mean(token, OPERATORS)))
                }
                None if is_valid_name(token) => Err(format!("there is no node '{token}' that can be read")),
                None => Err(format!("expected a descriptor, found '{token}'")),
            };
        }
        self.expect("(", &format!("after {token}"))?;
        let child = |parser: &mut Self| parser.descriptor().map(Box::new);
        let comma = |parser: &mut Self| parser.expect(",", &format!("between the arguments of {token}"));
        let close = |parser: &mut Self, expr: Expr| {
            parser.expect(")", &format!("after the arguments of {token}")).map(|()| expr)
        };
        match token {
            "Append" => Ok(Expr::Append(self.list(token)?)),
            "Sum" => Ok(Expr::Sum(self.list(token)?)),
            "Switch" => Ok(Expr::Switch(self.list(token)?)),
            "Failover" => {
                let children = self.list(token)?;
                match children.len() {
                    2 => Ok(Expr::Failover(children)),
                    n => Err(format!("Failover takes 2 arguments, found {n}")),
                }
            }
            "IfDefined" => {
                let expr = Expr::IfDefined(child(self)?);
                close(self, expr)
            }
            "Offset" => {
                let child = child(self)?;
                comma(self)?;
                let t = self.integer("the t offset of Offset")?;
                let mut x = 0;
                if self.tokens.get(self.position) == Some(&",") {
                    self.position += 1;
                    x = self.integer("the x offset of Offset")?;
                }
                close(self, Expr::Offset(child, t, x))
            }
            "Round" => {
                let child = child(self)?;
                comma(self)?;
                let modulus = self.integer("the modulus of Round")?;
                if modulus < 1 {
                    return Err(format!("the modulus of Round must be at least 1, found {modulus}"));
                }
                close(self, Expr::Round(child, modulus))
            }
            "ReplaceIndex" => {
                let child = child(self)?;
                comma(self)?;
                let variable = match self.next()? {
                    "t" => Variable::T,
                    "x" => Variable::X,
                    other => return Err(format!("ReplaceIndex sets t or x, found '{other}'")),
                };
                comma(self)?;
                let value = self.integer("the value of ReplaceIndex")?;
                close(self, Expr::ReplaceIndex(child, variable, value))
            }
            "Scale" => {
                let scale = self.real("the factor of Scale")?;
                comma(self)?;
                let child = child(self)?;
                close(self, Expr::Scale(scale, child))
            }
            _ => {
                let value = self.real("the value of Const")?;
                comma(self)?;
                let dim = self.integer("the dimension of Const")?;
                match usize::try_from(dim) {
                    Ok(dim) if dim > 0 => close(self, Expr::Const(value, dim)),
                    _ => Err(format!("the dimension of Const must be greater than 0, found {dim}")),
                }
            }
        }
    }
}
