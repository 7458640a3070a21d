//! Reading one object ahead in a thread (option `bg`).

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use super::foreground::Foreground;
use crate::error::{IoError, Result};
use crate::holder::Holder;

type Entry<H> = (String, <H as Holder>::T);

pub(super) struct Background<H: Holder> {
    /// Nothing is stored in the channel: the thread holds one object until it is taken.
    entries: Receiver<Result<Entry<H>>>,
    thread: JoinHandle<Result<()>>,
}

impl<H: Holder> Background<H> {
    pub(super) fn start(mut reader: Box<Foreground<H>>) -> Self {
        let (sender, entries) = sync_channel(0);
        let thread = std::thread::spawn(move || {
            while let Some(entry) = reader.next().transpose() {
                if sender.send(entry).is_err() {
                    break;
                }
            }
            drop(sender);
            reader.close()
        });
        Background { entries, thread }
    }

    pub(super) fn next(&mut self) -> Result<Option<Entry<H>>> {
        // The thread closes the channel at the end of the table.
        self.entries.recv().ok().transpose()
    }

    pub(super) fn close(self) -> Result<()> {
        drop(self.entries);
        self.thread.join().unwrap_or_else(|_| Err(IoError::Value("the reading thread panicked".to_owned())))
    }
}
