//! Writes `docs/reference/xconfig.md`, the reference of the xconfig language and all layer types, to stdout:
//!
//! ```text
//! cargo run -p nnet3-xconfig --example xconfig_docs > docs/reference/xconfig.md
//! ```

use nnet3_xconfig::layer::{Key, LayerType};
use nnet3_xconfig::{Config, expand, registry};

fn main() {
    print!("{}", page());
}

/// Command that rewrites the page; `tests/it/xconfig_docs.rs` prints it if the page is out of date.
pub const COMMAND: &str = "cargo run -p nnet3-xconfig --example xconfig_docs > docs/reference/xconfig.md";

const INTRODUCTION: &str = "\
For people who describe networks for training: after this page you can write an xconfig, and find a layer's keys.
An xconfig describes a network layer by layer:

    input dim=40 name=input
    relu-batchnorm-layer name=tdnn1 dim=512 input=Append(-2,-1,0,1,2)
    tdnnf-layer name=tdnnf2 dim=512 bottleneck-dim=96 time-stride=3     # the input is the layer before
    output-layer name=output dim=2000

`nnet3-xconfig-to-configs --xconfig-file=network.xconfig --config-dir=configs` expands it into the component and node
lines that `nnet3-init` reads (`configs/final.config`) and computes the context that the network needs
(`configs/vars`). Layer types, keys and the names of nodes are those of Kaldi's `steps/nnet3/xconfig_to_configs.py`.

## Lines

- A line is a layer type and `key=value` pairs; `#` begins a comment. A value extends to the next key and may hold blanks.
- Values with `=` in them, such as options of a component, stand between double quotes:
  `ng-affine-options=\"rank-in=20 rank-out=80\"`.
- Every layer has a `name`, which no layer before it has. A key that the layer type does not know is an error.

## Inputs

The key `input` is a descriptor over the layers before; its default is the layer just before.

| form | meaning |
|---|---|
| `name` | the output of a layer, or a node of the network given as `--existing-model` |
| `name.part` | an auxiliary output, where the layer type has one |
| `name@t` | the same at the time offset t |
| `-3` (an integer) | the layer before, at that time offset |
| `Append(d, d, …)` | side by side |
| `Sum(d, …)` | the sum; all of one dimension |
| `Scale(factor, d)` | times a number |
| `Const(value, dim)` | a constant |
| `Offset(d, t)`, `Offset(d, t, x)` | at other indexes |
| `Round(d, m)` | at the time rounded down to a multiple of m |
| `ReplaceIndex(d, t, value)` | at a fixed index t (or x), as for i-vectors |
| `Switch(d, …)` | the first, second, … by the time modulo their number |
| `Failover(d, d)`, `IfDefined(d)` | the second, or zeros, where the first cannot be computed |

## Files

| file | content |
|---|---|
| `final.config` | the network |
| `ref.config`, `ref.raw` | the same with random parameters in place of files |
| `init.config`, `init.raw` | if the network has a `fixed-affine-layer`: the input for its statistics |
| `vars` | `model_left_context` and `model_right_context` |
| `xconfig`, `xconfig.expanded.1`, `xconfig.expanded.2` | a copy; with all keys; with descriptors in normal form |
";

/// The whole page.
pub fn page() -> String {
    let types: Vec<&LayerType> = registry::types().collect();
    let mut out = format!("# The xconfig language\n\n<!-- Generated: {COMMAND} -->\n\n{INTRODUCTION}");
    out += &format!("\n## All {} layer types\n\n| type | purpose |\n|---|---|\n", types.len());
    for t in &types {
        out += &format!("| [{0}](#{0}) | {1} |\n", t.name, cell(t.purpose));
    }
    types.iter().for_each(|t| out += &section(t));
    out
}

fn section(t: &LayerType) -> String {
    // Types of a family often have the same keys: one table is enough.
    let table = key_table(t);
    let first = registry::types().find(|other| key_table(other) == table).unwrap_or(t);
    let keys = match first.name == t.name {
        true => table,
        false => format!("Keys: those of [{0}](#{0}).\n", first.name),
    };
    format!("\n## {}\n\n{}\n\n    {}\n\n{keys}\nExample: {}.\n", t.name, t.purpose, line(t), result(t))
}

fn line(t: &LayerType) -> String {
    format!("{} name=example {}", t.name, t.example).trim_end().to_owned()
}

/// The config lines of the example, after an input of dimension 40.
fn result(t: &LayerType) -> String {
    let mut text = line(t);
    if t.name != "input" {
        text = format!("input name=input dim=40\n{text}");
    }
    if !t.name.starts_with("output") {
        text += "\noutput name=output";
    }
    let network = expand("example", &text, Vec::new()).unwrap_or_else(|e| panic!("{e}"));
    let lines = network.config(Config::Final).unwrap_or_default();
    let count = |start: &str| match lines.iter().filter(|line| line.starts_with(start)).count() {
        1 => format!("1 {}", start.trim_end()),
        n => format!("{n} {}s", start.trim_end()),
    };
    match t.name.starts_with("output") {
        true => format!("after an input of dimension 40, {}", count("component ")),
        false => {
            let output = lines.last().and_then(|line| line.split("input=").nth(1)).unwrap_or_default();
            let output = output.strip_suffix(" objective=linear").unwrap_or(output);
            format!("after an input of dimension 40, {} and the output `{output}`", count("component "))
        }
    }
}

fn key_table(t: &LayerType) -> String {
    let mut out = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
    for key in t.all_keys() {
        out += &format!(
            "| `{}` | {} | {} | {} |\n",
            key.name,
            key.default.kind(),
            default(key),
            cell(key.meaning)
        );
    }
    out
}

fn default(key: &Key) -> String {
    match key.default.value().map(|value| value.to_string()) {
        None => "**required**".to_owned(),
        Some(text) if text == "[-1]" => "the layer before".to_owned(),
        Some(text) if text.trim().is_empty() => "nothing".to_owned(),
        Some(text) => format!("`{}`", text.trim()),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
