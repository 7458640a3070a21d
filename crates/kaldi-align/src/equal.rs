//! Paths with equally long states, from which training begins.

use std::ops::Range;

use crate::network::Network;
use crate::phone_graph::NO_WORD;
use crate::random::Numbers;

/// Random paths that are tried before the shortest one is taken.
const TRIES: usize = 10;

/// Draws a path, and spreads frames equally over its states. `None` if all paths are too long.
pub fn equal_path(network: &Network, frames: usize, numbers: &mut Numbers) -> Option<Vec<i32>> {
    let drawn = (0..TRIES).find_map(|_| random_nodes(network, frames, numbers, |_| None));
    let nodes = drawn.or_else(|| shortest_nodes(network).filter(|nodes| nodes.len() <= frames))?;
    let mut ids = Vec::with_capacity(frames);
    spread(network, &nodes, frames, &mut ids).then_some(ids)
}

/// Draws a path whose silences are stretches of frames, and spreads the frames between them equally over the states between
/// them. A stretch inside becomes silence at the nearest boundary between words. `None` if that is not possible.
///
/// `words` is the number of words, and stretches are sorted.
pub fn paused_path(
    network: &Network,
    words: usize,
    stretches: &[Range<usize>],
    frames: usize,
    numbers: &mut Numbers,
) -> Option<Vec<i32>> {
    // The number of states up to the end of each word, on a path without pauses.
    let plain = random_nodes(network, frames, numbers, |_| Some(false))?;
    let mut states = vec![0; words + 1];
    for &node in &plain {
        let word = word_of(network, node);
        if word != NO_WORD {
            *states.get_mut(word as usize + 1)? += 1;
        }
    }
    (1..=words).for_each(|word| states[word] += states[word - 1]);
    let mut pauses: Vec<Option<Range<usize>>> = vec![None; words + 1];
    let spoken = frames - stretches.iter().map(Range::len).sum::<usize>();
    let mut before = 0;
    for stretch in stretches {
        let boundary = if stretch.start == 0 {
            0
        } else if stretch.end == frames {
            words
        } else {
            let spoken_before = stretch.start - before;
            let place = spoken_before as f64 / spoken.max(1) as f64 * states[words] as f64;
            let distance = |word: &usize| (states[*word] as f64 - place).abs();
            (1..words).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
        };
        before += stretch.len();
        let is_inside = stretch.start > 0 && stretch.end < frames;
        if is_inside && !(1..words).contains(&boundary) {
            continue;
        }
        let known = &mut pauses[boundary];
        if known.as_ref().is_none_or(|known| known.len() < stretch.len()) {
            *known = Some(stretch.clone());
        }
    }
    let nodes = random_nodes(network, frames, numbers, |boundary| {
        Some(pauses.get(boundary).is_some_and(|pause| pause.is_some()))
    })?;
    let (mut ids, mut begin, mut boundary) = (Vec::with_capacity(frames), 0, 0);
    let is_pause = |node: &u32| word_of(network, *node) == NO_WORD;
    for part in nodes.chunk_by(|a, b| is_pause(a) == is_pause(b)) {
        let end = match is_pause(&part[0]) {
            true => pauses.get(boundary)?.as_ref().filter(|pause| pause.start == begin)?.end,
            false => {
                let last = word_of(network, part[part.len() - 1]) as usize;
                boundary = last + 1;
                let next = pauses.get(boundary..)?.iter().flatten().next();
                next.map_or(frames, |pause| pause.start)
            }
        };
        if end < begin || !spread(network, part, end - begin, &mut ids) {
            return None;
        }
        begin = end;
    }
    (begin == frames).then_some(ids)
}

/// The place in the transcript of a node's word.
fn word_of(network: &Network, node: u32) -> u32 {
    network.instances[network.nodes[node as usize].instance as usize].word
}

/// Spreads frames equally over states. False if there are too few frames, or too many and no state can have several.
fn spread(network: &Network, nodes: &[u32], frames: usize, ids: &mut Vec<i32>) -> bool {
    let can_stay = nodes.iter().filter(|&&node| network.nodes[node as usize].loop_id != 0).count();
    let Some(missing) = frames.checked_sub(nodes.len()) else { return false };
    if can_stay == 0 && missing > 0 {
        return false;
    }
    let mut number = 0;
    for &node in nodes {
        let node = &network.nodes[node as usize];
        ids.push(node.first_id);
        if node.loop_id != 0 {
            let stays = missing / can_stay + usize::from(number < missing % can_stay);
            number += 1;
            ids.extend(std::iter::repeat_n(node.loop_id, stays));
        }
    }
    true
}

/// Draws one arc after the other. `None` if the path becomes longer than `most`. `pause` decides if there is silence before the
/// word of this place in the transcript, or behind the last one, as far as the network allows it; `None` leaves it to chance.
fn random_nodes(
    network: &Network,
    most: usize,
    numbers: &mut Numbers,
    pause: impl Fn(usize) -> Option<bool>,
) -> Option<Vec<u32>> {
    if network.starts.is_empty() {
        return None;
    }
    let is_pause = |node: u32| word_of(network, node) == NO_WORD;
    let exits = exits(network);
    // True if a node is as wanted, and so is what its phone leads to. (A phone may be there twice: before silence, and not.)
    let fits = |node: u32, boundary: Option<usize>| {
        let is_wanted = |boundary: usize, found: bool| pause(boundary).is_none_or(|wanted| found == wanted);
        if node == NONE || is_pause(node) {
            return boundary.is_none_or(|boundary| is_wanted(boundary, node != NONE));
        }
        let (to_pause, to_other) = exits[network.nodes[node as usize].instance as usize];
        let next = word_of(network, node) as usize + 1;
        boundary.is_none_or(|boundary| is_wanted(boundary, false))
            && (!to_pause && !to_other
                || to_pause && is_wanted(next, true)
                || to_other && is_wanted(next, false))
    };
    let mut draw = |options: &[u32], boundary: Option<usize>| {
        let fitting: Vec<u32> = options.iter().copied().filter(|&node| fits(node, boundary)).collect();
        let options = if fitting.is_empty() { options } else { &fitting };
        options[numbers.below(options.len())]
    };
    let starts: Vec<u32> = network.starts.iter().map(|start| start.0).collect();
    let mut nodes = vec![draw(&starts, Some(0))];
    let mut options = Vec::new();
    while let Some(&last) = nodes.last() {
        options.clear();
        options.extend(network.arcs(last).iter().map(|arc| arc.0));
        if network.finals[last as usize].is_finite() {
            options.push(NONE);
        }
        if options.is_empty() {
            return None;
        }
        let chosen = draw(&options, None);
        let word = word_of(network, last);
        let leaves_word = |node: u32| node == NONE || word_of(network, node) != word;
        let chosen = match word != NO_WORD && leaves_word(chosen) {
            true => {
                options.retain(|&node| leaves_word(node));
                draw(&options, Some(word as usize + 1))
            }
            false => chosen,
        };
        match chosen {
            NONE => return Some(nodes),
            _ if nodes.len() >= most => return None,
            next => nodes.push(next),
        }
    }
    None
}

/// For each phone in context: true if silence can follow its word right behind it, and true if something else or the end can.
fn exits(network: &Network) -> Vec<(bool, bool)> {
    let mut exits = vec![(false, false); network.instances.len()];
    for (number, node) in network.nodes.iter().enumerate() {
        let word = network.instances[node.instance as usize].word;
        let exit = &mut exits[node.instance as usize];
        exit.1 |= network.finals[number].is_finite();
        for &(to, _) in network.arcs(number as u32) {
            let next = word_of(network, to);
            exit.0 |= next != word && next == NO_WORD;
            exit.1 |= next != word && next != NO_WORD;
        }
    }
    exits
}

/// Stands for the end of a path.
const NONE: u32 = u32::MAX;

/// The path with the fewest nodes.
fn shortest_nodes(network: &Network) -> Option<Vec<u32>> {
    let mut before: Vec<Option<u32>> = vec![None; network.nodes.len()];
    let mut queue: std::collections::VecDeque<u32> = network.starts.iter().map(|start| start.0).collect();
    queue.iter().for_each(|&node| before[node as usize] = Some(NONE));
    while let Some(node) = queue.pop_front() {
        if network.finals[node as usize].is_finite() {
            let earlier = |&node: &u32| before[node as usize].filter(|&before| before != NONE);
            let mut nodes: Vec<u32> = std::iter::successors(Some(node), earlier).collect();
            nodes.reverse();
            return Some(nodes);
        }
        for &(next, _) in network.arcs(node) {
            if before[next as usize].is_none() {
                before[next as usize] = Some(node);
                queue.push_back(next);
            }
        }
    }
    None
}
