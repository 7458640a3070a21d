//! Decision trees as graphs in GraphViz's language (`tree/tree-renderer.cc`).

use crate::error::{Error, Result};
use crate::event_map::{Event, EventMap, PDF_CLASS};
use crate::tree::ContextDependency;
use std::fmt::Write;

/// Options for drawing a tree.
pub struct Drawing<'a> {
    /// The name of a phone, if it has one.
    pub phone_name: &'a dyn Fn(i32) -> Option<String>,
    /// An event with a red path through the tree.
    pub query: Option<&'a Event>,
    /// True to show the sets of phones of questions as tooltips, and not as labels.
    pub use_tooltips: bool,
}

impl ContextDependency {
    /// The tree as a graph. Fails if a phone of the tree has no name.
    pub fn draw(&self, drawing: &Drawing) -> Result<String> {
        let mut out = String::from("digraph EventMap {\n");
        let mut renderer = Renderer { tree: self, drawing, next_id: 0, out: &mut out };
        let id = renderer.new_id();
        renderer.draw(self.to_pdf(), id, drawing.query.is_some())?;
        out.push_str("}\n");
        Ok(out)
    }
}

struct Renderer<'a> {
    tree: &'a ContextDependency,
    drawing: &'a Drawing<'a>,
    next_id: usize,
    out: &'a mut String,
}

/// Colour and width, on the query's path and elsewhere.
fn style(on_the_way: bool) -> (&'static str, i32) {
    if on_the_way { ("red", 3) } else { ("black", 1) }
}

impl Renderer<'_> {
    fn new_id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id - 1
    }

    fn line(&mut self, text: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(text);
    }

    fn name(&self, phone: i32) -> Result<String> {
        let name = (self.drawing.phone_name)(phone);
        name.ok_or_else(|| Error::model(format!("phone {phone} of the tree has no name")))
    }

    /// Returns the question of a node.
    fn question(&self, key: i32) -> Result<String> {
        let (width, central) = (self.tree.context_width() as i32, self.tree.central_position() as i32);
        Ok(match key {
            PDF_CLASS => "PdfClass = ?".to_owned(),
            0 if width == 1 => "Phone = ?".to_owned(),
            0 if (width, central) == (3, 1) => "LContext = ?".to_owned(),
            2 if (width, central) == (3, 1) => "RContext = ?".to_owned(),
            key if key == central => "Center = ?".to_owned(),
            key if (0..width).contains(&key) => format!("Ctx Position {key} = ?"),
            key => {
                return Err(Error::model(format!(
                    "the tree has the key {key}, which is not a position of its context window"
                )));
            }
        })
    }

    fn draw_question(&mut self, key: i32, id: usize, on_the_way: bool) -> Result<()> {
        let (color, width) = style(on_the_way);
        let question = self.question(key)?;
        self.line(format_args!("{id}[label=\"{question}\", color={color}, penwidth={width}];\n"));
        Ok(())
    }

    fn asked(&self, key: i32) -> Option<i32> {
        self.drawing.query?.iter().find(|pair| pair.0 == key).map(|pair| pair.1)
    }

    fn draw(&mut self, part: &EventMap, id: usize, on_the_way: bool) -> Result<()> {
        match part {
            EventMap::Constant(answer) => {
                let (color, width) = style(on_the_way);
                self.line(format_args!(
                    "{id}[shape=doublecircle, label={answer},color={color}, penwidth={width}];\n"
                ));
            }
            EventMap::Table { key, children } => {
                self.draw_question(*key, id, on_the_way)?;
                let asked = self.asked(*key).filter(|_| on_the_way);
                for (value, child) in (0..).zip(children) {
                    if *key != PDF_CLASS && value == 0 && child.is_none() {
                        continue;
                    }
                    let label = if *key == PDF_CLASS { value.to_string() } else { self.name(value)? };
                    let child_id = self.new_id();
                    let (color, width) = style(asked == Some(value));
                    self.line(format_args!(
                        "\t{id} -> {child_id} [label={label}, color={color}, penwidth={width}];\n"
                    ));
                    if let Some(child) = child {
                        self.draw(child, child_id, asked == Some(value))?;
                    }
                }
            }
            EventMap::Split { key, yes_set, yes, no } => {
                let asked = self.asked(*key).filter(|_| on_the_way);
                let to_yes = asked.is_some_and(|value| yes_set.binary_search(&value).is_ok());
                self.draw_question(*key, id, on_the_way)?;
                let names = yes_set
                    .iter()
                    .map(|&value| if *key == PDF_CLASS { Ok(value.to_string()) } else { self.name(value) });
                let names = names.collect::<Result<Vec<String>>>()?.join(", ");
                let child_id = self.new_id();
                let (color, width) = style(to_yes);
                self.line(format_args!("\t{id} -> {child_id} ["));
                if self.drawing.use_tooltips {
                    self.line(format_args!(
                        "tooltip=\"{names}\", label=YES, penwidth={width}, color={color}];\n"
                    ));
                } else {
                    self.line(format_args!(
                        "label=\"{names}\", penwidth={width}, penwidth={width}, color={color}];\n"
                    ));
                }
                self.draw(yes, child_id, to_yes)?;
                let child_id = self.new_id();
                let to_no = on_the_way && !to_yes;
                let (color, width) = style(to_no);
                self.line(format_args!("\t{id} -> {child_id}[label=NO, color={color}, penwidth={width}];\n"));
                self.draw(no, child_id, to_no)?;
            }
        }
        Ok(())
    }
}
