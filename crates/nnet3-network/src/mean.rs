//! Several networks that read the same features, as one network.

use super::descriptor::Descriptor;
use super::{Nnet, Node, Objective};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{ComponentId, NodeId};

/// An error is a sentence without a place.
type Sentence<T> = std::result::Result<T, String>;

impl Nnet {
    /// One network whose output `output` is the mean of the members' outputs of this name.
    ///
    /// The members have inputs of the same names and dimensions, which the new network has once. Nodes and components of member K are
    /// called `mK.NAME`. What the output does not need is left out. With outputs that are logarithms, the mean is that of the
    /// logarithms: a geometric mean of probabilities.
    ///
    /// # Errors
    /// There is no member; a member has no such output, or other inputs or another dimension of the output than the first one.
    pub fn mean_of_outputs(members: &[Nnet], output: &str) -> Result<Nnet> {
        let mut whole = Nnet::default();
        let mut sum: Option<(Descriptor, Objective)> = None;
        for (number, member) in (1..).zip(members) {
            let in_member = |e: String| Error::network(format!("network {number}: {e}"));
            let (mut descriptor, objective) =
                whole.take_in(member, output, &format!("m{number}.")).map_err(in_member)?;
            descriptor.scale(1.0 / members.len() as f32);
            sum = Some(match sum {
                None => (descriptor, objective),
                Some((before, objective)) => {
                    let parts = |(a, b)| {
                        in_member(format!(
                            "'{output}' has {b} appended parts, and in the networks before {a}"
                        ))
                    };
                    (before.plus(descriptor).map_err(parts)?, objective)
                }
            });
        }
        let (descriptor, objective) = sum.ok_or_else(|| Error::network("there is no network"))?;
        whole.nodes.push(Node::Output { descriptor, objective });
        whole.node_names.push(output.to_owned());
        whole.check()?;
        Ok(whole)
    }

    /// Adds the nodes and components of a member that its output needs, and all inputs that are not there yet. Returns the output's input, in
    /// the new numbers of nodes.
    fn take_in(&mut self, member: &Nnet, output: &str, prefix: &str) -> Sentence<(Descriptor, Objective)> {
        let part = member.for_output(output)?;
        let first = self.nodes.is_empty();
        let (nodes_before, components_before) = (self.nodes.len(), self.components.len());
        let mut ids = Vec::with_capacity(part.nodes.len());
        let mut added = 0;
        for (node, name) in part.nodes.iter().zip(&part.node_names) {
            ids.push(match node {
                Node::Input { dim } if !first => self.shared_input(name, *dim)?,
                // (No node reads it.)
                Node::Output { .. } => NodeId(0),
                _ => {
                    added += 1;
                    NodeId::from(nodes_before + added - 1)
                }
            });
        }
        self.components.extend(part.components);
        self.component_names.extend(part.component_names.iter().map(|name| format!("{prefix}{name}")));
        let mut found = None;
        for (mut node, name) in part.nodes.into_iter().zip(part.node_names) {
            if let Some(descriptor) = node.descriptor_mut() {
                descriptor.renumber(&|id| ids[id.index()]);
            }
            match node {
                Node::Output { descriptor, objective } => found = Some((descriptor, objective)),
                Node::Input { .. } if !first => {}
                Node::Input { .. } => self.push_node(name, node),
                Node::Component { component } => {
                    let component = ComponentId::from(components_before + component.index());
                    self.push_node(format!("{prefix}{name}"), Node::Component { component });
                }
                Node::DimRange { source, dim, offset } => {
                    let source = ids[source.index()];
                    self.push_node(format!("{prefix}{name}"), Node::DimRange { source, dim, offset });
                }
                Node::ComponentInput { .. } => self.push_node(format!("{prefix}{name}"), node),
            }
        }
        found.ok_or_else(|| format!("there is no output node '{output}'"))
    }

    fn push_node(&mut self, name: String, node: Node) {
        self.nodes.push(node);
        self.node_names.push(name);
    }

    /// The input of members before, which a member reads, too.
    fn shared_input(&self, name: &str, dim: usize) -> Sentence<NodeId> {
        match self.find_input(name) {
            Some(id) if self.node_dim(id) == dim => Ok(id),
            Some(id) => Err(format!(
                "the input '{name}' has dimension {dim}, and in the networks before {}",
                self.node_dim(id)
            )),
            None => Err(format!("the networks before have no input '{name}'")),
        }
    }

    /// A copy with all inputs and what this output needs.
    fn for_output(&self, output: &str) -> Sentence<Nnet> {
        let kept = self.find_output(output).ok_or_else(|| format!("there is no output node '{output}'"))?;
        let others: Vec<NodeId> = self.output_nodes().filter(|&id| id != kept).collect();
        let mut part = self.clone();
        part.remove_nodes(&others).map_err(|e| e.to_string())?;
        part.remove_orphan_nodes(false).map_err(|e| e.to_string())?;
        part.remove_orphan_components();
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_base::config::parse_config;
    use nnet3_base::random::Random;

    fn network(config: &str, seed: i32) -> Nnet {
        let mut nnet = Nnet::default();
        nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(seed)).unwrap();
        nnet
    }

    const SMALL: &str = "
        component name=a type=AffineComponent input-dim=6 output-dim=4
        component name=b type=AffineComponent input-dim=2 output-dim=3
        component name=x type=AffineComponent input-dim=4 output-dim=5
        input-node name=input dim=3
        component-node name=a component=a input=Append(input, Offset(input, 1))
        dim-range-node name=half input-node=a dim-offset=1 dim=2
        component-node name=b component=b input=half
        output-node name=output input=Scale(3.0, Sum(b, Offset(b, -1)))
        component-node name=x component=x input=a
        output-node name=output-xent input=x";

    #[test]
    fn members_have_their_nodes_share_the_inputs_and_other_outputs_go() {
        let whole = Nnet::mean_of_outputs(&[network(SMALL, 1), network(SMALL, 2)], "output").unwrap();
        assert_eq!(
            whole.node_lines(false),
            [
                "input-node name=input dim=3",
                "component-node name=m1.a component=m1.a input=Append(input, Offset(input, 1))",
                "dim-range-node name=m1.half input-node=m1.a dim-offset=1 dim=2",
                "component-node name=m1.b component=m1.b input=m1.half",
                "component-node name=m2.a component=m2.a input=Append(input, Offset(input, 1))",
                "dim-range-node name=m2.half input-node=m2.a dim-offset=1 dim=2",
                "component-node name=m2.b component=m2.b input=m2.half",
                "output-node name=output input=Sum(Sum(Scale(1.5, m1.b), Offset(Scale(1.5, m1.b), -1)), \
                 Sum(Scale(1.5, m2.b), Offset(Scale(1.5, m2.b), -1))) objective=linear",
            ]
        );
        assert_eq!(whole.component_names(), ["m1.a", "m1.b", "m2.a", "m2.b"]);
    }

    #[test]
    fn members_that_do_not_fit_are_refused() {
        let error = |config: &str, output: &str| {
            let members = [network(SMALL, 1), network(config, 2)];
            Nnet::mean_of_outputs(&members, output).map(|_| ()).unwrap_err().to_string()
        };
        let wide = "
            component name=a type=AffineComponent input-dim=4 output-dim=3
            input-node name=input dim=4
            component-node name=a component=a input=input
            output-node name=output input=a";
        assert_eq!(
            error(wide, "output"),
            "network 2: the input 'input' has dimension 4, and in the networks before 3"
        );
        let other = &wide.replace("=input dim=4", "=ivector dim=4").replace("input=input", "input=ivector");
        assert_eq!(error(other, "output"), "network 2: the networks before have no input 'ivector'");
        assert_eq!(error(wide, "output-xent"), "network 2: there is no output node 'output-xent'");
        let narrow = &SMALL.replace("input-dim=2 output-dim=3", "input-dim=2 output-dim=2");
        assert!(error(narrow, "output").contains("output"), "{}", error(narrow, "output"));
        assert!(Nnet::mean_of_outputs(&[], "output").is_err());
    }
}
