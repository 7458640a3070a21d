//! The text that describes a network.

use super::Nnet;

impl Nnet {
    /// Numbers, node lines with dimensions, then a line for each component.
    pub fn description(&self, detailed: bool) -> String {
        let mut out = format!("num-parameters: {}\nmodulus: {}\n", self.num_parameters(), self.modulus());
        for line in self.node_lines(true) {
            out += &line;
            out.push('\n');
        }
        for (component, name) in self.components().zip(self.component_names()) {
            out += &format!("component name={name} type={}\n", component.info(detailed));
        }
        out
    }
}
