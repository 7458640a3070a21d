//! Reading one object ahead in a thread (option `bg`).

use std::sync::mpsc::{Receiver, sync_channel};

use super::foreground::Foreground;
use crate::error::Result;
use crate::holder::Holder;
use crate::threads::{self, Thread};

type Entry<H> = (String, <H as Holder>::T);

pub(super) struct Background<H: Holder> {
    /// The channel stores no entry: the thread holds one object until it is taken.
    entries: Receiver<Result<Entry<H>>>,
    thread: Thread<Result<()>>,
}

impl<H: Holder> Background<H> {
    /// Returns the reader if there can be no thread.
    pub(super) fn start(reader: Box<Foreground<H>>) -> std::result::Result<Self, Box<Foreground<H>>> {
        let (sender, entries) = sync_channel(0);
        let thread = threads::start_or_return("reading ahead", reader, move |mut reader| {
            while let Some(entry) = reader.next().transpose() {
                if sender.send(entry).is_err() {
                    break;
                }
            }
            drop(sender);
            reader.close()
        });
        thread.map(|thread| Background { entries, thread })
    }

    pub(super) fn next(&mut self) -> Result<Option<Entry<H>>> {
        // The thread closes the channel at the end of the table.
        self.entries.recv().ok().transpose()
    }

    pub(super) fn close(self) -> Result<()> {
        drop(self.entries);
        self.thread.join()
    }
}
