//! Lists of the commands that access each variable or matrix, in order.

use crate::buckets::Buckets;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    ReadWrite,
}

impl AccessKind {
    pub fn writes(self) -> bool {
        self != AccessKind::Read
    }
    /// Returns the kind of a command that accesses a thing in both ways.
    pub fn with(self, other: AccessKind) -> AccessKind {
        if self == other { self } else { AccessKind::ReadWrite }
    }
}

/// One command's access to a variable or a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    command: u32,
    pub kind: AccessKind,
}

impl Access {
    pub fn command(&self) -> usize {
        self.command as usize
    }
}

/// The accesses to each of several things in the order of commands, at most one for a command.
pub(crate) type AccessLists = Buckets<Access>;

/// Collects accesses in the order of commands.
pub struct Recorder {
    recorded: Vec<(u32, Access)>,
    /// The position of each thing's latest access.
    latest: Vec<u32>,
}

impl Recorder {
    /// Makes a recorder for `things` things, which expects about `expected` accesses.
    pub fn new(things: usize, expected: usize) -> Recorder {
        Recorder { recorded: Vec::with_capacity(expected), latest: vec![u32::MAX; things] }
    }

    pub fn record(&mut self, thing: usize, command: usize, kind: AccessKind) {
        let command = command as u32;
        match self.recorded.get_mut(self.latest[thing] as usize) {
            Some((_, access)) if access.command == command => access.kind = access.kind.with(kind),
            _ => {
                self.latest[thing] = self.recorded.len() as u32;
                self.recorded.push((thing as u32, Access { command, kind }));
            }
        }
    }

    pub fn finish(self) -> AccessLists {
        Buckets::new(self.latest.len(), &self.recorded)
    }
}
