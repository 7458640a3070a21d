//! The text that `nnet3-info` prints.

use super::Nnet;

impl Nnet {
    /// Context (if the network is simple), numbers, node lines with dimensions, then a line for each component.
    pub fn info(&self, detailed: bool) -> String {
        let mut out = String::new();
        if self.is_simple()
            && let Ok((left, right)) = self.context()
        {
            out += &format!("left-context: {left}\nright-context: {right}\n");
        }
        out += &format!("num-parameters: {}\nmodulus: {}\n", self.num_parameters(), self.modulus());
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
