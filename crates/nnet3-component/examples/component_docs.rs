//! Writes `docs/reference/components.md`, the reference of all component types, to stdout:
//!
//! ```text
//! cargo run -p nnet3-component --example component_docs > docs/reference/components.md
//! ```

use nnet3_base::config::ConfigLine;
use nnet3_base::random::Random;
use nnet3_component::{ComponentType, Key, Kind, registry, updatable};

fn main() {
    print!("{}", page());
}

/// Command that rewrites the page; `tests/it/component_docs.rs` prints it if the page is out of date.
pub const COMMAND: &str =
    "cargo run -p nnet3-component --example component_docs > docs/reference/components.md";

const INTRODUCTION: &str = "\
For people who write network configs: after this page you know the types of components and their keys.
A component is the function of a `component-node`. One line of a network config makes one:

    component name=NAME type=TYPE key=value …

Values hold spaces if they are quoted or if a further `key=` follows. A key that the type does not take, a missing
required key and a value that does not fit are errors. A `file` is any name that Kaldi reads: a path, a command ending
in `|`, `path:offset`.

The properties of a type say what the compiler may do with it. `simple` components map row to row; the others look at
the indexes (n, t, x) of rows. They and the dimensions are those of the example, which is a complete line but for the
name.
";

/// The whole page.
pub fn page() -> String {
    let mut types: Vec<&'static ComponentType> = registry::types().collect();
    types.sort_by_key(|t| t.name);
    let mut out = format!("# Component types\n\n<!-- Generated: {COMMAND} -->\n\n{INTRODUCTION}");

    out += &format!("\n## All {} types\n\n| type | purpose |\n|---|---|\n", types.len());
    for t in &types {
        out += &format!("| [{0}](#{1}) | {2} |\n", t.name, t.name.to_lowercase(), cell(t.purpose));
    }
    out += "\n## Keys of all components with parameters\n\n";
    out += "Types marked *updatable* below take these keys besides their own.\n\n";
    out += &key_table(updatable::KEYS);
    types.iter().for_each(|t| out += &section(t));
    out
}

fn section(t: &'static ComponentType) -> String {
    let mut line = ConfigLine::parse("the example", t.example).expect("an example is a config line");
    let component = registry::from_config(t.name, &mut line, &Random::new(0))
        .unwrap_or_else(|e| panic!("the example of {} is not valid: {e}", t.name));
    let updatable = if t.updatable { " *Updatable.*" } else { "" };
    format!(
        "\n## {}\n\n{}{updatable}\n\n    component name=example type={} {}\n\n{}\n\
         Example: input dimension {}, output dimension {}; {}.\n",
        t.name,
        t.purpose,
        t.name,
        t.example,
        key_table(&t.keys()),
        component.input_dim(),
        component.output_dim(),
        match format!("{:?}", component.properties()) {
            none if none.is_empty() => "no properties".to_string(),
            properties => format!("properties {properties}"),
        }
    )
}

fn key_table(keys: &[Key]) -> String {
    let mut out = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
    for key in keys {
        let default = if key.default.is_empty() { "**required**" } else { &key.default };
        out +=
            &format!("| `{}` | {} | {} | {} |\n", key.name, kind(key.kind), cell(default), cell(key.meaning));
    }
    out
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "integer",
        Kind::Float => "number",
        Kind::Bool => "true or false",
        Kind::IntList => "integers such as 1,2",
        Kind::String => "text",
        Kind::File => "file",
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
