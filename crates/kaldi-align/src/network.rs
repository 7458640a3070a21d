//! The HMM states of a transcript: phones in context, with the pdfs and transitions of a model.
//!
//! A node is a state of an HMM together with the transition by which it is left, as in alignments whose self-loops come behind
//! that transition: its first frame has this transition's id, all others that of the self-loop.

use std::rc::Rc;

use kaldi_gmm::AmDiagGmm;
use kaldi_hmm::{ContextDependency, TransitionId, TransitionModel, TransitionState};
use rustc_hash::FxHashMap;

use crate::error::Reason;
use crate::phone_graph::{Next, PhoneGraph};

/// An acoustic model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub transitions: TransitionModel,
    pub tree: ContextDependency,
    pub gmms: AmDiagGmm,
}

impl Model {
    /// The HMMs, without the mixtures.
    pub fn hmms(&self) -> Hmms<'_> {
        Hmms { transitions: &self.transitions, tree: &self.tree }
    }
}

/// The HMMs of phones in context, of any acoustic model.
#[derive(Debug, Clone, Copy)]
pub struct Hmms<'m> {
    pub transitions: &'m TransitionModel,
    pub tree: &'m ContextDependency,
}

/// Weights of the logarithms of transition probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransitionScales {
    pub transition: f32,
    pub self_loop: f32,
}

/// A state of an HMM and the transition out of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    pub first_id: i32,
    pub first_pdf: i32,
    pub first_cost: f32,
    /// 0 if there is no self-loop.
    pub loop_id: i32,
    pub loop_pdf: i32,
    pub loop_cost: f32,
    /// The phone in context that it belongs to.
    pub instance: u32,
}

/// A phone in context at a place of the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    pub phone: i32,
    /// See [`PhoneArc::word`](crate::phone_graph::PhoneArc::word).
    pub word: u32,
}

/// The HMM states of a transcript.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Network {
    pub nodes: Vec<Node>,
    pub instances: Vec<Instance>,
    first_arc: Vec<u32>,
    arcs: Vec<(u32, f32)>,
    pub starts: Vec<(u32, f32)>,
    /// The cost of ending in each node; infinite if it is not the last state of a last phone.
    pub finals: Vec<f32>,
}

#[cfg(test)]
impl Network {
    /// So many states of one pdf each, without ways between them.
    pub(crate) fn parallel(count: u32) -> Network {
        let node = |n: u32| Node {
            first_id: n as i32 + 1,
            first_pdf: n as i32,
            first_cost: 0.0,
            loop_id: n as i32 + 1,
            loop_pdf: n as i32,
            loop_cost: 0.0,
            instance: 0,
        };
        Network {
            nodes: (0..count).map(node).collect(),
            first_arc: vec![0; count as usize + 1],
            starts: (0..count).map(|n| (n, 0.0)).collect(),
            finals: vec![0.0; count as usize],
            ..Network::default()
        }
    }
}

impl Network {
    /// The nodes after a node and the costs of going there, without those of the nodes themselves.
    pub fn arcs(&self, node: u32) -> &[(u32, f32)] {
        &self.arcs[self.first_arc[node as usize] as usize..self.first_arc[node as usize + 1] as usize]
    }

    /// The least number of frames of a path; `None` if there is no path.
    pub fn min_frames(&self) -> Option<usize> {
        let mut seen = vec![false; self.nodes.len()];
        let mut layer: Vec<u32> = self.starts.iter().map(|start| start.0).collect();
        layer.iter().for_each(|&node| seen[node as usize] = true);
        let mut frames = 1;
        while !layer.is_empty() {
            if layer.iter().any(|&node| self.finals[node as usize].is_finite()) {
                return Some(frames);
            }
            let mut next = Vec::new();
            for &node in &layer {
                for &(to, _) in self.arcs(node) {
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        next.push(to);
                    }
                }
            }
            layer = next;
            frames += 1;
        }
        None
    }
}

/// The HMM of a phone in context.
#[derive(Debug, Default)]
struct Template {
    nodes: Vec<Node>,
    arcs: Vec<Vec<(u32, f32)>>,
    entries: Vec<(u32, f32)>,
    /// The cost of leaving the phone after each node; infinite if that is not possible.
    exits: Vec<f32>,
}

/// Makes networks of one model. Remembers the HMMs of phones in context.
pub struct Builder<'m> {
    hmms: Hmms<'m>,
    scales: TransitionScales,
    templates: FxHashMap<Vec<i32>, Rc<Template>>,
}

/// A place in a phone graph: a state and the number of its arc.
type Place = (u32, u32);

/// A phone arc with the phones around it.
type Key = (Place, Vec<i32>, Vec<i32>);

impl<'m> Builder<'m> {
    pub fn new(hmms: Hmms<'m>, scales: TransitionScales) -> Builder<'m> {
        Builder { hmms, scales, templates: FxHashMap::default() }
    }

    /// Makes the network of a transcript.
    ///
    /// # Errors
    /// The model lacks a phone.
    pub fn network(&mut self, graph: &PhoneGraph) -> Result<Network, Reason> {
        let central = self.hmms.tree.central_position();
        let ahead = self.hmms.tree.context_width() - 1 - central;
        let mut expansion = Expansion::new(graph, ahead);
        let mut network = Network::default();
        // Links: for each instance its followers with costs, and the cost of ending.
        let mut links: Vec<(Vec<(u32, f32)>, f32)> = Vec::new();
        let mut templates: Vec<Rc<Template>> = Vec::new();
        let mut bases: Vec<u32> = Vec::new();
        let beginning = expansion.followers(0, &vec![0; central], None);
        let mut done = 0;
        while let Some((place, left, right)) = expansion.keys.get(done).cloned() {
            let arc = graph.arcs[place.0 as usize][place.1 as usize];
            let mut window = left.clone();
            window.push(arc.phone);
            window.extend_from_slice(&right);
            let template = self.template(&window, arc.phone)?;
            network.instances.push(Instance { phone: arc.phone, word: arc.word });
            bases.push(network.nodes.len() as u32);
            network.nodes.extend(template.nodes.iter().map(|node| Node { instance: done as u32, ..*node }));
            templates.push(template);
            let mut then = left;
            then.push(arc.phone);
            then.remove(0);
            let end = match right.first() {
                None | Some(0) => expansion.next(arc.next).end,
                Some(_) => f32::INFINITY,
            };
            links.push((expansion.followers(arc.next, &then, Some(&right)), end));
            done += 1;
        }
        let entries = |instance: u32, cost: f32| {
            let (template, base) = (&templates[instance as usize], bases[instance as usize]);
            template.entries.iter().map(move |&(node, entering)| (base + node, cost + entering))
        };
        network.starts = beginning.iter().flat_map(|&(instance, cost)| entries(instance, cost)).collect();
        network.first_arc.push(0);
        for (instance, template) in templates.iter().enumerate() {
            let (followers, end) = &links[instance];
            for node in 0..template.nodes.len() {
                let inside = template.arcs[node].iter().map(|&(to, cost)| (bases[instance] + to, cost));
                network.arcs.extend(inside);
                let leaving = template.exits[node];
                if leaving.is_finite() {
                    for &(follower, cost) in followers {
                        network.arcs.extend(entries(follower, leaving + cost));
                    }
                }
                network.finals.push(leaving + end);
                network.first_arc.push(network.arcs.len() as u32);
            }
        }
        Ok(network)
    }

    /// The HMM of the central phone of a window.
    fn template(&mut self, window: &[i32], phone: i32) -> Result<Rc<Template>, Reason> {
        if let Some(template) = self.templates.get(window) {
            return Ok(template.clone());
        }
        let template = Rc::new(self.make(window, phone).ok_or(Reason::UnknownPhone { phone })?);
        self.templates.insert(window.to_vec(), template.clone());
        Ok(template)
    }

    fn make(&self, window: &[i32], phone: i32) -> Option<Template> {
        let Hmms { transitions, tree } = self.hmms;
        let entry = transitions.topology().entry(phone)?;
        let mut template = Template::default();
        // For each state its nodes, one for each transition to another state, and where that leads.
        let mut of_state: Vec<Vec<u32>> = vec![Vec::new(); entry.len()];
        let mut leads_to = Vec::new();
        for (s, state) in entry.iter().enumerate() {
            let Some(class) = state.forward_pdf_class else { continue };
            let forward_pdf = tree.pdf(window, class)?;
            let self_loop_pdf = match state.self_loop_pdf_class {
                Some(class) => Some(tree.pdf(window, class)?),
                None => None,
            };
            let known = TransitionState { phone, hmm_state: s, forward_pdf, self_loop_pdf };
            let index = transitions.find_state(&known)?;
            let self_loop = transitions.self_loop_of(index);
            for id in transitions.ids_of_state(index).filter(|&id| !transitions.is_self_loop(id)) {
                of_state[s].push(template.nodes.len() as u32);
                leads_to.push(transitions.next_hmm_state(id));
                template.nodes.push(Node {
                    first_id: id.get() as i32,
                    first_pdf: forward_pdf,
                    first_cost: self.cost(id),
                    loop_id: self_loop.map_or(0, |id| id.get() as i32),
                    loop_pdf: self_loop_pdf.unwrap_or(-1),
                    loop_cost: self_loop
                        .map_or(f32::INFINITY, |id| -self.scales.self_loop * transitions.log_prob(id)),
                    instance: 0,
                });
            }
        }
        // The nodes, or the end of the phone, to which a state leads, maybe by way of non-emitting states.
        let reach = |state: usize| {
            let (mut nodes, mut exit, mut queue) = (Vec::new(), f32::INFINITY, vec![(state, 0.0f32)]);
            while let Some((s, cost)) = queue.pop() {
                if s + 1 == entry.len() {
                    exit = exit.min(cost);
                } else if entry[s].forward_pdf_class.is_some() {
                    nodes.extend(of_state[s].iter().map(|&node| (node, cost)));
                } else {
                    let on = |&(next, p): &(usize, f32)| (next, cost - self.scales.transition * p.ln());
                    queue.extend(entry[s].transitions.iter().filter(|next| next.0 > s).map(on));
                }
            }
            (nodes, exit)
        };
        template.entries = reach(0).0;
        for to in leads_to {
            let (nodes, exit) = reach(to);
            template.arcs.push(nodes);
            template.exits.push(exit);
        }
        Some(template)
    }

    /// The cost of a transition to another state: leaving is weighted as a self-loop, the way as a transition.
    fn cost(&self, id: TransitionId) -> f32 {
        let transitions = self.hmms.transitions;
        let leaving = transitions.leaving_log_prob(transitions.state_index(id));
        -(self.scales.self_loop * leaving + self.scales.transition * transitions.log_prob_when_leaving(id))
    }
}

/// Expands phone arcs by the phones around them.
struct Expansion<'g> {
    graph: &'g PhoneGraph,
    ahead: usize,
    next: FxHashMap<u32, Rc<Next>>,
    contexts: FxHashMap<(u32, usize), Rc<Vec<Vec<i32>>>>,
    numbers: FxHashMap<Key, u32>,
    keys: Vec<Key>,
}

impl<'g> Expansion<'g> {
    fn new(graph: &'g PhoneGraph, ahead: usize) -> Expansion<'g> {
        let (next, contexts) = (FxHashMap::default(), FxHashMap::default());
        Expansion { graph, ahead, next, contexts, numbers: FxHashMap::default(), keys: Vec::new() }
    }

    fn next(&mut self, state: u32) -> Rc<Next> {
        self.next.entry(state).or_insert_with(|| Rc::new(self.graph.next(state))).clone()
    }

    fn phone(&self, place: Place) -> (i32, u32) {
        let arc = self.graph.arcs[place.0 as usize][place.1 as usize];
        (arc.phone, arc.next)
    }

    /// All sequences of `length` phones after a state; 0 stands for positions behind the end.
    fn contexts(&mut self, state: u32, length: usize) -> Rc<Vec<Vec<i32>>> {
        if let Some(known) = self.contexts.get(&(state, length)) {
            return known.clone();
        }
        let mut all = Vec::new();
        if length == 0 {
            all.push(Vec::new());
        } else {
            let next = self.next(state);
            for &(from, number, _) in &next.arcs {
                let (phone, to) = self.phone((from, number));
                for rest in self.contexts(to, length - 1).iter() {
                    let context: Vec<i32> = [phone].into_iter().chain(rest.iter().copied()).collect();
                    if !all.contains(&context) {
                        all.push(context);
                    }
                }
            }
            if next.end.is_finite() {
                all.push(vec![0; length]);
            }
        }
        let all = Rc::new(all);
        self.contexts.insert((state, length), all.clone());
        all
    }

    /// The phones in context that can come after a state, with the costs of going there. `left` are the phones before them, and
    /// `expected` the phones that must follow; `None` at the beginning.
    fn followers(&mut self, state: u32, left: &[i32], expected: Option<&[i32]>) -> Vec<(u32, f32)> {
        let mut followers = Vec::new();
        for &(from, number, cost) in &self.next(state).arcs {
            let (phone, to) = self.phone((from, number));
            if expected.and_then(|expected| expected.first()).is_some_and(|&first| first != phone) {
                continue;
            }
            for right in self.contexts(to, self.ahead).iter() {
                let fits = expected
                    .is_none_or(|expected| expected.is_empty() || right[..self.ahead - 1] == expected[1..]);
                if !fits {
                    continue;
                }
                let key = ((from, number), left.to_vec(), right.clone());
                let number = *self.numbers.entry(key).or_insert_with_key(|key| {
                    self.keys.push(key.clone());
                    (self.keys.len() - 1) as u32
                });
                followers.push((number, cost));
            }
        }
        followers
    }
}
