//! Which commands access what, in order.

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
    /// Of a command that does both.
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

/// For each of several things its accesses, by command, one a command.
#[derive(Clone, Debug, Default)]
pub struct AccessLists {
    /// `starts[i] .. starts[i + 1]` are those of thing i.
    starts: Vec<u32>,
    accesses: Vec<Access>,
}

impl AccessLists {
    pub fn of(&self, i: usize) -> &[Access] {
        &self.accesses[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

/// Collects accesses in the order of commands.
pub struct Recorder {
    recorded: Vec<(u32, Access)>,
    /// For each thing the position of its latest access.
    latest: Vec<u32>,
}

impl Recorder {
    /// For `things` things and about `expected` accesses.
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
        let mut starts = vec![0; self.latest.len() + 2];
        self.recorded.iter().for_each(|&(thing, _)| starts[thing as usize + 2] += 1);
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        // `starts[i + 1]` is where the next access of thing i goes; in the end, where the next thing begins.
        let mut accesses = vec![Access { command: 0, kind: AccessKind::Read }; self.recorded.len()];
        for (thing, access) in self.recorded {
            let next = &mut starts[thing as usize + 1];
            accesses[*next as usize] = access;
            *next += 1;
        }
        AccessLists { starts, accesses }
    }
}
