//! An order of the nodes in which each comes after those it reads; nodes of a recurrence share an epoch
//! (spec compiler §3.3).

use crate::index::NodeId;
use crate::nnet::Nnet;

/// The epoch of every node, from 0. Nodes of equal epoch form one strongly connected component.
pub fn node_epochs(nnet: &Nnet) -> Vec<usize> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nnet.num_nodes()];
    for id in nnet.node_ids() {
        for source in nnet.node_dependencies(id) {
            readers[source.index()].push(id.index());
        }
    }
    for list in &mut readers {
        list.sort_unstable();
        list.dedup();
    }
    let components = strongly_connected(&readers);
    let count = components.len();
    let mut epochs = vec![0; nnet.num_nodes()];
    for (emitted, component) in components.into_iter().enumerate() {
        for node in component {
            epochs[node] = count - 1 - emitted;
        }
    }
    epochs
}

/// Whether the network has a recurrence.
pub fn is_recurrent(nnet: &Nnet) -> bool {
    let epochs = node_epochs(nnet);
    let itself = |id: NodeId| nnet.node_dependencies(id).contains(&id);
    let mut sorted = epochs.clone();
    sorted.sort_unstable();
    sorted.windows(2).any(|w| w[0] == w[1]) || nnet.node_ids().any(itself)
}

/// Tarjan's algorithm without recursion: components in reverse topological order, roots tried in ascending order.
fn strongly_connected(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let n = edges.len();
    let (mut order, mut low, mut on_stack) = (vec![NEW; n], vec![0; n], vec![false; n]);
    let (mut stack, mut out, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..n {
        if order[root] != NEW {
            continue;
        }
        let mut calls = vec![(root, 0)];
        while let Some(&mut (node, ref mut edge)) = calls.last_mut() {
            if *edge == 0 {
                order[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&to) = edges[node].get(*edge) {
                *edge += 1;
                if order[to] == NEW {
                    calls.push((to, 0));
                } else if on_stack[to] {
                    low[node] = low[node].min(order[to]);
                }
                // An edge counter of 0 means "first visit"; keep it from being mistaken for one.
                continue;
            }
            calls.pop();
            if let Some(&mut (parent, _)) = calls.last_mut() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == order[node] {
                let start = stack.iter().rposition(|&s| s == node).unwrap_or(0);
                let component = stack.split_off(start);
                component.iter().for_each(|&c| on_stack[c] = false);
                out.push(component);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_in_reverse_topological_order() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3
        let found = strongly_connected(&[vec![1], vec![2], vec![1, 3], vec![]]);
        assert_eq!(found, vec![vec![3], vec![1, 2], vec![0]]);
    }

    #[test]
    fn siblings_in_order_of_roots() {
        let found = strongly_connected(&[vec![1, 2], vec![], vec![], vec![0]]);
        assert_eq!(found, vec![vec![1], vec![2], vec![0], vec![3]]);
    }
}
