//! FSTs as graphs in the language of Graphviz's `dot`.

use kaldi_io::text::push_g;
use kaldi_io::{IoError, KaldiWriter, Result};

use crate::fst::{Fst, StateId};
use crate::store::Symbols;

/// The look of the graph.
#[derive(Debug, Clone)]
pub struct Look<'a> {
    /// One label an arc.
    pub acceptor: bool,
    /// Symbols of input and output labels; without them labels are numbers.
    pub labels: [Option<&'a Symbols>; 2],
    pub states: Option<&'a Symbols>,
    /// A symbol for numbers without one; without it such numbers are errors.
    pub missing: Option<&'a str>,
    /// Costs of 0 are shown too.
    pub zero_costs: bool,
    pub title: &'a str,
    pub portrait: bool,
    /// From the bottom to the top instead of from left to right.
    pub vertical: bool,
    pub font_size: i32,
    /// In inches.
    pub size: [f64; 2],
    /// The least distance between nodes of one rank, and between ranks, in inches.
    pub node_distance: f64,
    pub rank_distance: f64,
    /// Digits of numbers.
    pub precision: usize,
}

/// Writes the graph: the start first.
pub fn write(w: &mut KaldiWriter, fst: &Fst, look: &Look) -> Result<()> {
    if look.acceptor {
        fst.check_acceptor().map_err(|error| IoError::Value(error.to_string()))?;
    }
    let Some(start) = fst.start else { return Ok(()) };
    let mut text = String::from("digraph FST {\n");
    text += if look.vertical { "rankdir = BT;\n" } else { "rankdir = LR;\n" };
    let [width, height] = look.size.map(|inches| look.number(inches));
    text += &format!("size = \"{width},{height}\";\n");
    if !look.title.is_empty() {
        text += &format!("label = \"{}\";\n", look.title);
    }
    let orientation = if look.portrait { "Portrait" } else { "Landscape" };
    text += &format!("center = 1;\norientation = {orientation};\n");
    let [ranks, nodes] = [look.rank_distance, look.node_distance].map(|inches| look.number(inches));
    text += &format!("ranksep = \"{ranks}\";\nnodesep = \"{nodes}\";\n");
    let others = (0..fst.states.len() as StateId).filter(|&s| s != start);
    for s in std::iter::once(start).chain(others) {
        look.push_state(&mut text, fst, s)?;
        w.write_str(&text)?;
        text.clear();
    }
    w.write_str("}\n")
}

impl Look<'_> {
    fn number(&self, number: f64) -> String {
        let mut text = String::new();
        push_g(&mut text, number, self.precision);
        text
    }

    fn cost(&self, cost: f32) -> String {
        match cost {
            f32::INFINITY => "Infinity".to_owned(),
            cost => self.number(f64::from(cost)),
        }
    }

    fn name(&self, number: i64, symbols: Option<&Symbols>) -> Result<String> {
        let Some(symbols) = symbols else { return Ok(number.to_string()) };
        let name = symbols.name(number).or(self.missing);
        let name = name.ok_or_else(|| {
            IoError::Value(format!("{number} has no symbol in the symbol table {}", symbols.title))
        })?;
        Ok(name.replace('\\', "\\\\").replace('"', "\\\""))
    }

    fn push_state(&self, text: &mut String, fst: &Fst, s: StateId) -> Result<()> {
        let state = fst.state(s);
        let name = |s: StateId| self.name(i64::from(s), self.states);
        let (shape, style) = (
            if state.is_final() { "doublecircle" } else { "circle" },
            if fst.start == Some(s) { "bold" } else { "solid" },
        );
        let shows = |cost: f32| self.zero_costs || cost != 0.0;
        let mut label = name(s)?;
        if state.is_final() && shows(state.final_weight) {
            label += &format!("/{}", self.cost(state.final_weight));
        }
        let font = self.font_size;
        *text += &format!("{s} [label = \"{label}\", shape = {shape}, style = {style}, fontsize = {font}]\n");
        for arc in &state.arcs {
            let mut label = self.name(i64::from(arc.ilabel), self.labels[0])?;
            if !self.acceptor {
                label += &format!(":{}", self.name(i64::from(arc.olabel), self.labels[1])?);
            }
            if shows(arc.weight) {
                label += &format!("/{}", self.cost(arc.weight));
            }
            *text += &format!("\t{s} -> {} [label = \"{label}\", fontsize = {font}];\n", arc.next);
        }
        Ok(())
    }
}
