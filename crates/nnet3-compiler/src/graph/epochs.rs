//! An order of the nodes in which each comes after those it reads; nodes of a recurrence share an epoch.

use crate::buckets::Buckets;
use nnet3_base::index::NodeId;
use nnet3_network::Nnet;

/// The epoch of every node, from 0. Nodes of equal epoch form one strongly connected component.
pub(crate) fn node_epochs(nnet: &Nnet) -> Vec<usize> {
    let mut epochs = Readers::of(nnet).strongly_connected();
    let last = epochs.iter().max().map_or(0, |&last| last);
    epochs.iter_mut().for_each(|epoch| *epoch = last - *epoch);
    epochs
}

/// True if the network has a recurrence.
pub(crate) fn is_recurrent(nnet: &Nnet) -> bool {
    !recurrent_nodes(nnet).is_empty()
}

/// The nodes that depend on themselves, maybe at other times, in ascending order.
pub fn recurrent_nodes(nnet: &Nnet) -> Vec<NodeId> {
    let epochs = node_epochs(nnet);
    let mut sizes = vec![0; epochs.len()];
    epochs.iter().for_each(|&epoch| sizes[epoch] += 1);
    let itself = |id: &NodeId| sizes[epochs[id.index()]] > 1 || nnet.node_dependencies(*id).contains(id);
    nnet.node_ids().filter(itself).collect()
}

/// The readers of each node, in ascending order. A node that reads it several times occurs as often.
struct Readers(Buckets<u32>);

impl Readers {
    fn of(nnet: &Nnet) -> Readers {
        let mut pairs = Vec::with_capacity(2 * nnet.num_nodes());
        for id in nnet.node_ids() {
            nnet.for_each_dependency(id, &mut |source| pairs.push((source.0, id.0)));
        }
        Readers(Buckets::new(nnet.num_nodes(), &pairs))
    }

    /// Returns the number of each node's strongly connected component, by Tarjan's algorithm without recursion. The
    /// numbers are in reverse topological order, and roots are tried in ascending order.
    fn strongly_connected(&self) -> Vec<usize> {
        const NEW: usize = usize::MAX;
        let n = self.0.count();
        let (mut order, mut low, mut component) = (vec![NEW; n], vec![0; n], vec![NEW; n]);
        let (mut stack, mut calls) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let (mut visited, mut components) = (0, 0);
        for root in 0..n {
            if order[root] == NEW {
                calls.push((root, 0));
            }
            while let Some(&mut (node, ref mut edge)) = calls.last_mut() {
                if order[node] == NEW {
                    (order[node], low[node]) = (visited, visited);
                    visited += 1;
                    stack.push(node);
                }
                if let Some(&to) = self.0.of(node).get(*edge) {
                    let to = to as usize;
                    *edge += 1;
                    if order[to] == NEW {
                        calls.push((to, 0));
                    } else if component[to] == NEW {
                        low[node] = low[node].min(order[to]);
                    }
                    continue;
                }
                calls.pop();
                if let Some(&mut (parent, _)) = calls.last_mut() {
                    low[parent] = low[parent].min(low[node]);
                }
                if low[node] == order[node] {
                    while let Some(member) = stack.pop() {
                        component[member] = components;
                        if member == node {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_in_reverse_topological_order() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3
        let graph = Readers(Buckets::new(4, &[(0, 1), (2, 1), (1, 2), (2, 3)]));
        assert_eq!(graph.strongly_connected(), [2, 1, 1, 0]);
    }

    #[test]
    fn siblings_in_order_of_roots() {
        let graph = Readers(Buckets::new(4, &[(3, 0), (0, 1), (0, 2)]));
        assert_eq!(graph.strongly_connected(), [2, 0, 1, 3]);
    }
}
