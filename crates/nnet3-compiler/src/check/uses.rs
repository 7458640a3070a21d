//! Facts about each variable for the checker: its first and last use, and any change after it was only read.

use crate::analysis::{AccessKind, CommandAccesses, Variables};
use crate::computation::Computation;
use nnet3_network::Nnet;

/// The uses of one variable. All accesses by one command count as one use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    first: u32,
    last: u32,
    first_kind: AccessKind,
    last_kind: AccessKind,
    /// A use before the last only reads.
    was_read: bool,
    /// The first use that writes after one that only reads, the last use not counted.
    rewritten: Option<u32>,
}

impl Use {
    fn new(command: u32, kind: AccessKind) -> Use {
        Use {
            first: command,
            last: command,
            first_kind: kind,
            last_kind: kind,
            was_read: false,
            rewritten: None,
        }
    }

    fn add(&mut self, command: u32, kind: AccessKind) {
        if command == self.last {
            self.last_kind = self.last_kind.with(kind);
            if command == self.first {
                self.first_kind = self.last_kind;
            }
            return;
        }
        self.rewritten = self.rewritten.or(self.rewritten_at_last());
        self.was_read |= self.last_kind == AccessKind::Read;
        (self.last, self.last_kind) = (command, kind);
    }

    fn rewritten_at_last(&self) -> Option<u32> {
        (self.was_read && self.last_kind.writes()).then_some(self.last)
    }

    pub fn first(&self) -> usize {
        self.first as usize
    }
    pub fn last(&self) -> usize {
        self.last as usize
    }
    pub(crate) fn first_kind(&self) -> AccessKind {
        self.first_kind
    }

    /// The first command that changes the variable after one that only reads it.
    pub(crate) fn rewritten(&self) -> Option<usize> {
        self.rewritten.or(self.rewritten_at_last()).map(|c| c as usize)
    }
}

/// Finds the uses of each variable; an unused variable has `None`. Allocation, deallocation and swaps do not count as
/// uses; exchanges with the user do.
pub fn uses(nnet: &Nnet, computation: &Computation, variables: &Variables) -> Vec<Option<Use>> {
    let mut out: Vec<Option<Use>> = vec![None; variables.count()];
    CommandAccesses::new(nnet, computation).for_each(|c, s, kind| {
        variables.for_each(s, |v| match &mut out[v] {
            Some(of_v) => of_v.add(c as u32, kind),
            unused => *unused = Some(Use::new(c as u32, kind)),
        });
    });
    out
}
