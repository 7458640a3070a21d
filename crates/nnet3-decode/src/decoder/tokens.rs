//! Memory of the search for all frames: tokens and their links, in two arrays in the order of the frames. Pruned items
//! are removed when the arrays are packed.

use std::ops::Range;

/// No token.
pub(super) const NONE: u32 = u32::MAX;

/// A state that was reached after some frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub cost: f32,
    /// By how much the best path through it is known to be worse than the best one; infinite if no path through it is kept.
    pub extra: f32,
    /// Number of states that the frame reached earlier.
    pub place: u32,
    /// Its ways to tokens of the next frame.
    emitting: Span,
    /// Its links to tokens of its own frame.
    epsilons: Span,
}

/// A way from one token to another one, of the same frame (no transition-id) or of the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub to: u32,
    pub ilabel: i32,
    pub olabel: i32,
    pub graph: f32,
    /// The acoustic cost, with the offset of its frame.
    pub acoustic: f32,
}

/// Positions of links.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    first_token: u32,
    /// The first of its links: those within the frame come first, then those to the next one.
    first_link: u32,
    /// True if links may have become useless since the last pruning.
    prune: bool,
    /// See [`Tokens::count_before_pruning`]; 0 if the frame was in no pruning.
    count: u32,
}

/// Effects of a pruning on a token or frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pruned {
    /// The extra cost before and after, of a token.
    pub before: f32,
    pub after: f32,
    /// True if links were removed.
    pub links: bool,
}

/// The tokens of all frames. The newest frame is the one that the search is filling. Its tokens are numbered in the
/// order of its states, and are made later. Numbers of tokens are valid until [`prune`](Self::prune).
#[derive(Debug, Default)]
pub(super) struct Tokens {
    tokens: Vec<Token>,
    links: Vec<Link>,
    frames: Vec<Frame>,
    /// The token of the utterance's start.
    start: u32,
    // Kept for their memory.
    within_frame: Vec<u32>,
    moved: Vec<u32>,
    packed: Vec<Link>,
}

impl Span {
    const EMPTY: Span = Span { first: 0, end: 0 };

    #[inline]
    fn range(self) -> Range<usize> {
        self.first as usize..self.end as usize
    }
}

impl Token {
    /// True if a path through it is kept.
    pub fn is_kept(&self) -> bool {
        self.extra != f32::INFINITY
    }

    #[inline]
    fn new(place: usize, cost: f32) -> Token {
        Token { cost, extra: 0.0, place: place as u32, emitting: Span::EMPTY, epsilons: Span::EMPTY }
    }
}

impl Tokens {
    /// Forgets all, and keeps the memory.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.links.clear();
        self.frames.clear();
        self.start = 0;
    }

    pub fn num_frames(&self) -> usize {
        self.frames.len()
    }

    /// Begins a frame, which is the newest from now on. Gives the number of its first token.
    pub fn add_frame(&mut self) -> u32 {
        let first_token = self.tokens.len() as u32;
        self.frames.push(Frame { first_token, first_link: 0, prune: true, count: 0 });
        first_token
    }

    /// The tokens of a frame, in the order in which their states were reached.
    pub fn of_frame(&self, frame: usize) -> Range<u32> {
        let end = self.frames.get(frame + 1).map_or(self.tokens.len() as u32, |next| next.first_token);
        self.frames[frame].first_token..end
    }

    /// The number of tokens of a frame before the last pruning that removed links of it. The reference counts them so
    /// when it looks for a frame with few tokens. 0 if the frame was in no pruning.
    pub fn count_before_pruning(&self, frame: usize) -> usize {
        self.frames[frame].count as usize
    }

    /// The tokens of the newest frame; none if there is no frame.
    pub fn of_newest(&self) -> Range<u32> {
        self.frames.last().map_or(0, |newest| newest.first_token)..self.tokens.len() as u32
    }

    #[inline]
    pub fn get(&self, token: u32) -> &Token {
        &self.tokens[token as usize]
    }

    /// The token of the utterance's start, if a path from it is kept.
    pub fn start(&self) -> Option<u32> {
        Some(self.start).filter(|&start| start != NONE)
    }

    /// Number of links.
    #[inline]
    pub fn num_links(&self) -> usize {
        self.links.len()
    }

    #[inline(always)]
    pub fn add_link(&mut self, link: Link) {
        self.links.push(link);
    }

    /// Records that the newest links, from a position on, belong to a token and lead to the next frame.
    #[inline]
    pub fn set_emitting(&mut self, token: u32, first: usize) {
        let span = Span { first: first as u32, end: self.links.len() as u32 };
        self.tokens[token as usize].emitting = span;
    }

    /// Marks that all links to the newest frame exist.
    pub fn begin_epsilons(&mut self) {
        let first_link = self.links.len() as u32;
        if let Some(newest) = self.frames.last_mut() {
            newest.first_link = first_link;
        }
    }

    /// Says that the newest links, from a position on, are those within the newest frame of its token at a place. Those
    /// that it had before are forgotten.
    #[inline]
    pub fn set_epsilons(&mut self, place: u32, first: usize) {
        let span = Span { first: first as u32, end: self.links.len() as u32 };
        let first_token = self.of_newest().start as usize;
        let token = first_token + place as usize;
        while self.tokens.len() <= token {
            self.tokens.push(Token::new(self.tokens.len() - first_token, 0.0));
        }
        self.tokens[token].epsilons = span;
    }

    /// Makes the missing tokens of the newest frame, and sets all costs.
    pub fn end_frame(&mut self, costs: impl Iterator<Item = f32>) {
        let first_token = self.of_newest().start as usize;
        for (place, cost) in costs.enumerate() {
            match self.tokens.get_mut(first_token + place) {
                Some(token) => token.cost = cost,
                None => self.tokens.push(Token::new(place, cost)),
            }
        }
    }

    /// The links of a token: to the next frame, then within its own, the newest first.
    pub fn links(&self, token: u32) -> impl Iterator<Item = &Link> {
        let Token { emitting, epsilons, .. } = *self.get(token);
        [emitting, epsilons].into_iter().flat_map(|span| self.links[span.range()].iter().rev())
    }

    /// Prunes all frames but the newest: removes links that are on no path within `beam` of the best, and tokens
    /// without paths. Extra costs may be wrong by `delta`.
    pub fn prune(&mut self, beam: f32, delta: f32) {
        let newest = self.frames.len() - 1;
        let mut lowest = newest;
        if self.frames[newest].count == 0 {
            self.frames[newest].count = self.of_newest().len() as u32;
        }
        while let Some(before) = lowest.checked_sub(1).filter(|&before| self.frames[before].prune) {
            lowest = before;
            let [changed, removed] = self.prune_frame(lowest, beam, delta);
            if changed && lowest > 0 {
                self.frames[lowest - 1].prune = true;
            }
            let count = self.of_frame(lowest).len() as u32;
            let frame = &mut self.frames[lowest];
            frame.prune = false;
            if removed || frame.count == 0 {
                frame.count = count;
            }
        }
        if lowest < newest {
            self.pack(lowest);
        }
    }

    /// Computes the extra costs of a frame, not the newest, from those of the next one, and removes its useless links.
    /// Returns true twice: if extra costs changed, and if links were removed.
    pub fn prune_frame(&mut self, frame: usize, beam: f32, delta: f32) -> [bool; 2] {
        // (The difference of two infinite ones is no change.)
        let is_change = |pruned: Pruned| (pruned.after - pruned.before).abs() > delta;
        let mut within_frame = std::mem::take(&mut self.within_frame);
        let (mut changed, mut removed) = (false, false);
        for token in self.of_frame(frame).rev() {
            let pruned = self.prune_token(token, beam, f32::INFINITY);
            changed |= is_change(pruned);
            removed |= pruned.links;
            let Span { first, end } = self.get(token).epsilons;
            if first < end {
                within_frame.push(token);
            }
        }
        // Only extra costs that depend on others of the frame can change again.
        let mut again = changed;
        while again {
            again = false;
            for &token in &within_frame {
                let pruned = self.prune_token(token, beam, f32::INFINITY);
                again |= is_change(pruned);
                removed |= pruned.links;
            }
        }
        within_frame.clear();
        self.within_frame = within_frame;
        [changed, removed]
    }

    /// Removes the links of a token that are on no path within `beam` of the best. Its new extra cost is the smallest
    /// over its remaining links, at most `most`.
    #[inline]
    pub fn prune_token(&mut self, token: u32, beam: f32, most: f32) -> Pruned {
        let Token { cost, extra: before, mut emitting, mut epsilons, .. } = *self.get(token);
        let (mut extra, mut removed) = (most, false);
        for span in [&mut emitting, &mut epsilons] {
            let links = &mut self.links[span.range()];
            let mut kept = 0;
            for at in 0..links.len() {
                let link = links[at];
                let to = &self.tokens[link.to as usize];
                let by_link = to.extra + ((cost + link.acoustic + link.graph) - to.cost);
                // (NaN fails this comparison and is removed.)
                let keep = by_link <= beam;
                // Rounding can make it negative.
                extra = if keep { extra.min(by_link.max(0.0)) } else { extra };
                links[kept] = link;
                kept += usize::from(keep);
            }
            removed |= kept < links.len();
            span.end = span.first + kept as u32;
        }
        let token = &mut self.tokens[token as usize];
        (token.extra, token.emitting, token.epsilons) = (extra, emitting, epsilons);
        Pruned { before, after: extra, links: removed }
    }

    /// Removes pruned items from the frames from `lowest` on.
    fn pack(&mut self, lowest: usize) {
        let Frame { first_token, first_link, .. } = self.frames[lowest];
        let first = first_token as usize;
        self.moved.clear();
        let mut end = first_token;
        for token in &self.tokens[first..] {
            self.moved.push(if token.is_kept() { end } else { NONE });
            end += u32::from(token.is_kept());
        }
        if lowest == 0 {
            self.start = self.moved.get(self.start as usize).copied().unwrap_or(NONE);
        }
        if let Some(before) = lowest.checked_sub(1) {
            for token in self.of_frame(before) {
                let span = self.tokens[token as usize].emitting;
                self.pack_links(span, first_token);
                self.links[span.range()][..self.packed.len()].copy_from_slice(&self.packed);
                self.tokens[token as usize].emitting.end = span.first + self.packed.len() as u32;
                self.packed.clear();
            }
        }
        let (mut end, mut end_of_links) = (first, first_link);
        for frame in lowest..self.frames.len() {
            let placed = Frame { first_token: end as u32, first_link: end_of_links, ..self.frames[frame] };
            for token in self.of_frame(frame) {
                let mut token = self.tokens[token as usize];
                if token.is_kept() {
                    for span in [&mut token.emitting, &mut token.epsilons] {
                        let first = end_of_links + self.packed.len() as u32;
                        self.pack_links(*span, first_token);
                        *span = Span { first, end: end_of_links + self.packed.len() as u32 };
                    }
                    self.tokens[end] = token;
                    end += 1;
                }
            }
            // (The links of later frames are behind this.)
            self.links[end_of_links as usize..][..self.packed.len()].copy_from_slice(&self.packed);
            end_of_links += self.packed.len() as u32;
            self.packed.clear();
            self.frames[frame] = placed;
        }
        self.tokens.truncate(end);
        self.links.truncate(end_of_links as usize);
    }

    /// Appends links to `packed`, to where their tokens were moved.
    fn pack_links(&mut self, span: Span, first_token: u32) {
        for &link in &self.links[span.range()] {
            let to = self.moved[(link.to - first_token) as usize];
            if to != NONE {
                self.packed.push(Link { to, ..link });
            }
        }
    }
}
