//! Converts parsed expressions to the strict hierarchy.

use super::parse::Expr;
use super::{Descriptor, Forward, Sum};

/// Brings `expr` into normal form. The error is a sentence without a place.
pub fn normalize(expr: Expr) -> Result<Descriptor, String> {
    let count = terms(&expr)?;
    let parts = (0..count).map(|i| sum(reduce(term(&expr, i))?)).collect::<Result<_, _>>()?;
    Ok(Descriptor { parts })
}

fn children(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Append(c) | Expr::Sum(c) | Expr::Switch(c) | Expr::Failover(c) => c.iter().collect(),
        Expr::IfDefined(c)
        | Expr::Offset(c, ..)
        | Expr::Round(c, _)
        | Expr::ReplaceIndex(c, ..)
        | Expr::Scale(_, c) => {
            vec![c]
        }
        Expr::Node(_) | Expr::Const(..) => vec![],
    }
}

/// Counts the appended parts of an expression.
fn terms(expr: &Expr) -> Result<usize, String> {
    let counts = children(expr).into_iter().map(terms).collect::<Result<Vec<_>, _>>()?;
    match expr {
        Expr::Append(_) => Ok(counts.iter().sum()),
        _ => match counts.first() {
            None => Ok(1),
            Some(first) if counts.iter().all(|c| c == first) => Ok(*first),
            Some(_) => Err(format!("arguments with different numbers of appended parts: {counts:?}")),
        },
    }
}

/// The `i`-th part, free of Append.
fn term(expr: &Expr, i: usize) -> Expr {
    let one = |c: &Expr| Box::new(term(c, i));
    let all = |c: &[Expr]| c.iter().map(|e| term(e, i)).collect();
    match expr {
        Expr::Append(list) => {
            let mut i = i;
            for item in list {
                let count = terms(item).unwrap_or(1);
                if i < count {
                    return term(item, i);
                }
                i -= count;
            }
            unreachable!("the part number is below the number of parts")
        }
        Expr::Sum(c) => Expr::Sum(all(c)),
        Expr::Switch(c) => Expr::Switch(all(c)),
        Expr::Failover(c) => Expr::Failover(all(c)),
        Expr::IfDefined(c) => Expr::IfDefined(one(c)),
        Expr::Offset(c, t, x) => Expr::Offset(one(c), *t, *x),
        Expr::Round(c, m) => Expr::Round(one(c), *m),
        Expr::ReplaceIndex(c, variable, value) => Expr::ReplaceIndex(one(c), *variable, *value),
        Expr::Scale(s, c) => Expr::Scale(*s, one(c)),
        Expr::Node(_) | Expr::Const(..) => expr.clone(),
    }
}

/// Rewrites until a round makes no change.
fn reduce(mut expr: Expr) -> Result<Expr, String> {
    loop {
        let (next, changed) = rewrite(expr)?;
        expr = next;
        if !changed {
            return Ok(expr);
        }
    }
}

/// Makes one change, as far outside as possible.
fn rewrite(expr: Expr) -> Result<(Expr, bool), String> {
    let pushed = match expr {
        Expr::Offset(child, t, x) => match *child {
            Expr::Offset(inner, t2, x2) => {
                let add = |a: i32, b: i32| a.checked_add(b).ok_or("an offset is too large");
                return Ok((Expr::Offset(inner, add(t, t2)?, add(x, x2)?), true));
            }
            other if t == 0 && x == 0 => return Ok((other, true)),
            other => push_inside(other, &|e| Expr::Offset(Box::new(e), t, x)),
        },
        Expr::Round(child, m) => push_inside(*child, &|e| Expr::Round(Box::new(e), m)),
        Expr::ReplaceIndex(child, variable, value) => {
            push_inside(*child, &|e| Expr::ReplaceIndex(Box::new(e), variable, value))
        }
        Expr::Switch(mut list) => {
            let sum_like = matches!(list[0], Expr::Sum(_) | Expr::Failover(_) | Expr::IfDefined(_));
            if sum_like && list.len() > 1 {
                return Err(
                    "Sum, Failover or IfDefined inside a Switch: write the Switch inside them".to_string()
                );
            }
            if list.len() == 1 {
                push_inside(list.remove(0), &|e| Expr::Switch(vec![e]))
            } else {
                Err(Expr::Switch(list))
            }
        }
        Expr::Sum(mut list) => match list.len() {
            1 => Ok(list.remove(0)),
            2 => Err(Expr::Sum(list)),
            _ => {
                let rest = list.split_off(1);
                Ok(Expr::Sum(vec![list.remove(0), Expr::Sum(rest)]))
            }
        },
        Expr::Scale(scale, child) => match *child {
            Expr::Offset(c, t, x) => Ok(Expr::Offset(Box::new(Expr::Scale(scale, c)), t, x)),
            Expr::Round(c, m) => Ok(Expr::Round(Box::new(Expr::Scale(scale, c)), m)),
            Expr::ReplaceIndex(c, var, value) => {
                Ok(Expr::ReplaceIndex(Box::new(Expr::Scale(scale, c)), var, value))
            }
            Expr::Sum(list) => {
                Ok(Expr::Sum(list.into_iter().map(|e| Expr::Scale(scale, Box::new(e))).collect()))
            }
            Expr::Scale(inner, c) => Ok(Expr::Scale(scale * inner, c)),
            Expr::Node(_) => Err(Expr::Scale(scale, child)),
            _ => {
                return Err("Scale of Switch, Failover, IfDefined, Const or Append: write the Scale inside"
                    .to_string());
            }
        },
        other => Err(other),
    };
    match pushed {
        Ok(changed) => Ok((changed, true)),
        Err(unchanged) => rewrite_children(unchanged),
    }
}

/// Turns F(S(d1 … dk)) into S(F(d1) … F(dk)) for S = Sum, Failover, IfDefined; `Err` returns the unchanged F(child).
fn push_inside(child: Expr, f: &dyn Fn(Expr) -> Expr) -> Result<Expr, Expr> {
    match child {
        Expr::Sum(list) => Ok(Expr::Sum(list.into_iter().map(f).collect())),
        Expr::Failover(list) => Ok(Expr::Failover(list.into_iter().map(f).collect())),
        Expr::IfDefined(c) => Ok(Expr::IfDefined(Box::new(f(*c)))),
        other => Err(f(other)),
    }
}

fn rewrite_children(expr: Expr) -> Result<(Expr, bool), String> {
    let mut changed = false;
    let mut one = |e: Expr| -> Result<Expr, String> {
        let (e, c) = rewrite(e)?;
        changed |= c;
        Ok(e)
    };
    let mut all = |list: Vec<Expr>| list.into_iter().map(&mut one).collect::<Result<Vec<_>, _>>();
    let expr = match expr {
        Expr::Sum(c) => Expr::Sum(all(c)?),
        Expr::Switch(c) => Expr::Switch(all(c)?),
        Expr::Failover(c) => Expr::Failover(all(c)?),
        Expr::Append(c) => Expr::Append(all(c)?),
        Expr::IfDefined(c) => Expr::IfDefined(Box::new(one(*c)?)),
        Expr::Offset(c, t, x) => Expr::Offset(Box::new(one(*c)?), t, x),
        Expr::Round(c, m) => Expr::Round(Box::new(one(*c)?), m),
        Expr::ReplaceIndex(c, variable, value) => Expr::ReplaceIndex(Box::new(one(*c)?), variable, value),
        Expr::Scale(s, c) => Expr::Scale(s, Box::new(one(*c)?)),
        leaf @ (Expr::Node(_) | Expr::Const(..)) => leaf,
    };
    Ok((expr, changed))
}

fn sum(expr: Expr) -> Result<Sum, String> {
    let boxed = |e: Expr| sum(e).map(Box::new);
    let pair = |list: Vec<Expr>| -> Result<(Box<Sum>, Box<Sum>), String> {
        let [a, b] =
            <[Expr; 2]>::try_from(list).map_err(|l| format!("expected 2 terms, found {}", l.len()))?;
        Ok((boxed(a)?, boxed(b)?))
    };
    match expr {
        Expr::Sum(list) => pair(list).map(|(a, b)| Sum::Sum(a, b)),
        Expr::Failover(list) => pair(list).map(|(a, b)| Sum::Failover(a, b)),
        Expr::IfDefined(child) => Ok(Sum::IfDefined(boxed(*child)?)),
        Expr::Const(value, dim) => Ok(Sum::Const { value, dim }),
        other => Ok(Sum::Simple(forward(other)?)),
    }
}

fn forward(expr: Expr) -> Result<Forward, String> {
    let boxed = |e: Expr| forward(e).map(Box::new);
    match expr {
        Expr::Node(node) => Ok(Forward::Node { node, scale: 1.0 }),
        Expr::Scale(scale, child) => match *child {
            Expr::Node(node) => Ok(Forward::Node { node, scale }),
            _ => Err("Scale of something other than a node".to_string()),
        },
        Expr::Offset(child, t, x) => Ok(Forward::Offset { child: boxed(*child)?, t, x }),
        Expr::Round(child, modulus) => Ok(Forward::Round { child: boxed(*child)?, modulus }),
        Expr::ReplaceIndex(child, variable, value) => {
            Ok(Forward::ReplaceIndex { child: boxed(*child)?, variable, value })
        }
        Expr::Switch(list) => Ok(Forward::Switch(list.into_iter().map(forward).collect::<Result<_, _>>()?)),
        Expr::Const(..) => Err("Const inside Offset, Round, ReplaceIndex or Switch".to_string()),
        Expr::Sum(_) | Expr::Failover(_) | Expr::IfDefined(_) | Expr::Append(_) => {
            Err("Sum, Failover or IfDefined inside Offset, Round, ReplaceIndex or Switch".to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::parse::parse;
    use nnet3_base::index::NodeId;

    fn names() -> Vec<String> {
        ["a", "b", "c", "d", "input"].map(String::from).to_vec()
    }

    fn normal(text: &str) -> Result<String, String> {
        let names = names();
        let expr = parse(text, &|name| names.iter().position(|n| n == name).map(NodeId::from))?;
        Ok(normalize(expr)?.print(&names))
    }

    #[test]
    fn normal_forms() {
        let cases = [
            ("a", "a"),
            ("Append(a)", "a"),
            ("Sum(Append(a,b),Append(c,d))", "Append(Sum(a, c), Sum(b, d))"),
            ("Scale(2,Append(a,b))", "Append(Scale(2, a), Scale(2, b))"),
            ("Offset(Offset(a, -1), 1)", "a"),
            ("Offset(Offset(a, -1, 2), 3)", "Offset(a, 2, 2)"),
            ("Offset(Const(1,4),0)", "Const(1, 4)"),
            ("Offset(Sum(a, b), 1)", "Sum(Offset(a, 1), Offset(b, 1))"),
            ("Round(IfDefined(a), 3)", "IfDefined(Round(a, 3))"),
            ("Sum(a, b, c, d)", "Sum(a, Sum(b, Sum(c, d)))"),
            ("Sum(a)", "a"),
            ("Scale(0.5, Offset(Scale(3, a), 2))", "Offset(Scale(1.5, a), 2)"),
            ("Offset(Scale(2, a), 1)", "Offset(Scale(2, a), 1)"),
            ("Scale(1.0, a)", "a"),
            ("Switch(Sum(a, b))", "Sum(Switch(a), Switch(b))"),
            ("Failover(Offset(a, -1), b)", "Failover(Offset(a, -1), b)"),
            ("ReplaceIndex(input, t, 0)", "ReplaceIndex(input, t, 0)"),
            ("IfDefined(Offset(a,+2))", "IfDefined(Offset(a, 2))"),
            (
                "Sum(a, Offset(a, 1), Scale(0.5, b), Offset(Scale(2.0, c), -1))",
                "Sum(a, Sum(Offset(a, 1), Sum(Scale(0.5, b), Offset(Scale(2, c), -1))))",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(normal(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refused_forms() {
        for text in [
            "",
            "nothere",
            "Append(a",
            "Append(a))",
            "Offset(a)",
            "Offset(a, 2.0)",
            "Offset(a, b)",
            "Failover(a)",
            "Round(a, 0)",
            "ReplaceIndex(a, n, 0)",
            "Scale(a, 2)",
            "Const(1, 0)",
            "Switch(Sum(a, b), c)",
            "Scale(2, Switch(a, b))",
            "Offset(Const(1,4),1)",
            "Switch(a, Sum(b, c))",
            "Sum(Append(a, b), c)",
            "a b",
            "sum(a, b)",
            "Append()",
            "- 1",
            "Offset(Offset(a, 2147483647), 1)",
        ] {
            assert!(normal(text).is_err(), "{text} gave {:?}", normal(text));
        }
        assert!(normal(&("Offset(".repeat(5000) + "a")).is_err());
    }
}
