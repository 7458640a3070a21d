//! Tokens and links: what the search remembers of all frames. Both are numbers in two arrays; what is pruned is used again.

/// No token, or no link.
pub(super) const NONE: u32 = u32::MAX;

/// A state that was reached after some frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub cost: f32,
    /// By how much the best path through it is known to be worse than the best one; infinite if it is to be removed.
    pub extra: f32,
    /// The first of its links.
    pub links: u32,
    /// The next token of the frame.
    pub next: u32,
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
    /// The next link of the token.
    pub next: u32,
}

#[derive(Debug, Default)]
pub(super) struct Tokens {
    tokens: Vec<Token>,
    links: Vec<Link>,
    free_tokens: Vec<u32>,
    free_links: Vec<u32>,
}

impl Tokens {
    /// Forgets all, and keeps the memory.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.links.clear();
        self.free_tokens.clear();
        self.free_links.clear();
    }

    #[inline]
    pub fn get(&self, token: u32) -> &Token {
        &self.tokens[token as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, token: u32) -> &mut Token {
        &mut self.tokens[token as usize]
    }

    #[inline]
    pub fn link(&self, link: u32) -> &Link {
        &self.links[link as usize]
    }

    /// A token at the head of the list whose first token is `head`.
    #[inline]
    pub fn add(&mut self, cost: f32, head: u32) -> u32 {
        let token = Token { cost, extra: 0.0, links: NONE, next: head };
        put(&mut self.tokens, &mut self.free_tokens, token)
    }

    /// A link at the head of the links of `token`. Its `next` is set here.
    #[inline]
    pub(crate) fn add_link(&mut self, token: u32, link: Link) {
        let next = self.get(token).links;
        let link = put(&mut self.links, &mut self.free_links, Link { next, ..link });
        self.get_mut(token).links = link;
    }

    /// Removes the links of a token.
    #[inline]
    pub(crate) fn remove_links(&mut self, token: u32) {
        let mut link = std::mem::replace(&mut self.get_mut(token).links, NONE);
        while link != NONE {
            self.free_links.push(link);
            link = self.link(link).next;
        }
    }

    /// Removes links that are on no path within `beam` of the best; gives the smallest extra cost that the others allow, at
    /// most `extra`, and whether some were removed.
    pub(crate) fn prune_links(&mut self, token: u32, beam: f32, mut extra: f32) -> (f32, bool) {
        let Token { cost, links, .. } = *self.get(token);
        let (mut at, mut before, mut removed) = (links, NONE, false);
        while at != NONE {
            let link = *self.link(at);
            let to = self.get(link.to);
            let by_link = to.extra + ((cost + link.acoustic + link.graph) - to.cost);
            // (What is not a number is removed too.)
            if by_link <= beam {
                // Rounding can make it negative.
                extra = extra.min(by_link.max(0.0));
                before = at;
            } else {
                match before {
                    NONE => self.get_mut(token).links = link.next,
                    before => self.links[before as usize].next = link.next,
                }
                self.free_links.push(at);
                removed = true;
            }
            at = link.next;
        }
        (extra, removed)
    }

    /// Removes the tokens of a list that are on no path that is kept; gives the new head.
    pub(crate) fn remove_useless(&mut self, head: u32) -> u32 {
        let (mut at, mut before, mut first) = (head, NONE, head);
        while at != NONE {
            let Token { extra, next, .. } = *self.get(at);
            if extra == f32::INFINITY {
                self.remove_links(at);
                self.free_tokens.push(at);
                match before {
                    NONE => first = next,
                    before => self.get_mut(before).next = next,
                }
            } else {
                before = at;
            }
            at = next;
        }
        first
    }

    /// The tokens of a list.
    pub fn list(&self, head: u32) -> impl Iterator<Item = u32> {
        let there = |token: u32| Some(token).filter(|&token| token != NONE);
        std::iter::successors(there(head), move |&token| there(self.get(token).next))
    }

    /// The links of a token.
    pub fn links(&self, token: u32) -> impl Iterator<Item = &Link> {
        let there = |link: u32| Some(link).filter(|&link| link != NONE).map(|link| self.link(link));
        std::iter::successors(there(self.get(token).links), move |link| there(link.next))
    }
}

#[inline]
fn put<T>(all: &mut Vec<T>, free: &mut Vec<u32>, value: T) -> u32 {
    match free.pop() {
        Some(at) => {
            all[at as usize] = value;
            at
        }
        None => {
            all.push(value);
            (all.len() - 1) as u32
        }
    }
}
