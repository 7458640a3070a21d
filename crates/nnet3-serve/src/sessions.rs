//! Admission of sessions: some run, some wait, others are refused.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::address::{Share, Shares};
use crate::limits::Limits;

/// The reason why a session is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the server is full: {running} sessions run and {waiting} wait; try again later")]
    Full { running: usize, waiting: usize },
    #[error("the server is full: no session has ended for {0} s; try again later")]
    Waited(u64),
    #[error("your address has {0} sessions, which is the limit; try again later")]
    Address(usize),
    #[error("the server is stopping; try another one")]
    Stopping,
}

impl Refusal {
    /// The value of the label `reason` in figures.
    pub fn label(self) -> &'static str {
        match self {
            Refusal::Full { .. } => "full",
            Refusal::Waited(_) => "waited",
            Refusal::Address(_) => "address",
            Refusal::Stopping => "stopping",
        }
    }
}

/// Counts of sessions.
pub struct Sessions {
    limits: Limits,
    slots: Arc<Semaphore>,
    waiting: AtomicUsize,
    of_address: Shares,
    running: watch::Sender<usize>,
    /// True once the server stops.
    stopping: watch::Sender<bool>,
}

/// The right to recognise, until it is dropped.
pub struct Ticket {
    sessions: Arc<Sessions>,
    _slot: OwnedSemaphorePermit,
    _share: Share,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.sessions.running.send_modify(|running| *running -= 1);
    }
}

/// A session that waits.
struct Waiting<'s>(&'s AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Sessions {
    pub fn new(limits: &Limits) -> Arc<Sessions> {
        Arc::new(Sessions {
            limits: limits.clone(),
            slots: Arc::new(Semaphore::new(limits.sessions)),
            waiting: AtomicUsize::new(0),
            of_address: Shares::default(),
            running: watch::Sender::new(0),
            stopping: watch::Sender::new(false),
        })
    }

    /// Sessions that run.
    pub fn running(&self) -> usize {
        *self.running.borrow()
    }

    /// Sessions that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The reason for which [`admit`](Self::admit) would refuse a session at once.
    pub fn refusal(&self) -> Option<Refusal> {
        if self.is_stopping() {
            return Some(Refusal::Stopping);
        }
        let (running, waiting) = (self.running(), self.waiting());
        let is_full = self.slots.available_permits() == 0 && waiting >= self.limits.waiting;
        is_full.then_some(Refusal::Full { running, waiting })
    }

    /// Counts a session of this address from now on, before it is admitted. Fails if it would be refused at once.
    pub fn arrive(&self, address: IpAddr) -> Result<Share, Refusal> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let most = self.limits.sessions_of_address;
        self.of_address.take(address, most).ok_or(Refusal::Address(most.unwrap_or(0)))
    }

    /// Waits until a session that has arrived may run. Sessions are admitted in their order.
    pub async fn admit(self: &Arc<Self>, share: Share) -> Result<Ticket, Refusal> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(&self.waiting);
        let slot = timeout(self.limits.wait, self.slots.clone().acquire_owned()).await;
        drop(waiting);
        let slot = slot.map_err(|_| Refusal::Waited(self.limits.wait.as_secs()))?;
        let slot = slot.map_err(|_| Refusal::Stopping)?;
        self.running.send_modify(|running| *running += 1);
        Ok(Ticket { sessions: self.clone(), _slot: slot, _share: share })
    }

    /// Admits no session any more, those that wait included.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
        self.slots.close();
    }

    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the server stops.
    pub async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // (The sender is in `self`, so it is there.)
        let _always = stopping.wait_for(|&stopping| stopping).await;
    }

    /// Waits until no session runs.
    pub async fn ended(&self) {
        let mut running = self.running.subscribe();
        let _always = running.wait_for(|&running| running == 0).await;
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    /// Arrives and is admitted.
    async fn admit(sessions: &Arc<Sessions>, address: IpAddr) -> Result<Ticket, Refusal> {
        sessions.admit(sessions.arrive(address)?).await
    }

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    fn sessions(running: usize, waiting: usize, of_address: Option<usize>) -> Arc<Sessions> {
        Sessions::new(&Limits {
            sessions: running,
            waiting,
            wait: Duration::from_millis(50),
            sessions_of_address: of_address,
            ..Limits::default()
        })
    }

    #[test]
    fn some_run_some_wait_others_are_refused() {
        run(async {
            let sessions = sessions(2, 1, None);
            let first = admit(&sessions, HERE).await.ok().unwrap();
            let _second = admit(&sessions, HERE).await.ok().unwrap();
            assert_eq!((sessions.running(), sessions.waiting()), (2, 0));
            // The third waits, the fourth is refused at once.
            let (third, fourth) = tokio::join!(admit(&sessions, HERE), async {
                tokio::task::yield_now().await;
                assert_eq!(sessions.waiting(), 1);
                admit(&sessions, HERE).await
            });
            assert_eq!(third.err(), Some(Refusal::Waited(0)));
            assert_eq!(fourth.err(), Some(Refusal::Full { running: 2, waiting: 1 }));
            // One that waits gets the place of one that ends.
            let (third, ()) = tokio::join!(admit(&sessions, HERE), async { drop(first) });
            assert!(third.is_ok());
            assert_eq!((sessions.running(), sessions.waiting()), (2, 0));
        });
    }

    #[test]
    fn an_address_has_its_share() {
        run(async {
            let sessions = sessions(9, 9, Some(1));
            let here = admit(&sessions, HERE).await.ok().unwrap();
            assert_eq!(admit(&sessions, HERE).await.err(), Some(Refusal::Address(1)));
            assert!(admit(&sessions, THERE).await.is_ok());
            drop(here);
            // One that only arrives, as a recording does, counts as well.
            let arriving = sessions.arrive(HERE).ok().unwrap();
            assert_eq!(admit(&sessions, HERE).await.err(), Some(Refusal::Address(1)));
            drop(arriving);
            assert!(admit(&sessions, HERE).await.is_ok());
        });
    }

    #[test]
    fn after_a_stop_the_running_ones_end() {
        run(async {
            let sessions = sessions(1, 5, None);
            let running = admit(&sessions, HERE).await.ok().unwrap();
            let (waiting, ()) = tokio::join!(admit(&sessions, HERE), async { sessions.stop() });
            assert_eq!(waiting.err(), Some(Refusal::Stopping));
            assert_eq!(admit(&sessions, HERE).await.err(), Some(Refusal::Stopping));
            sessions.stopped().await;
            assert!(timeout(Duration::from_millis(10), sessions.ended()).await.is_err());
            drop(running);
            sessions.ended().await;
        });
    }
}
