//! A connection that gives up a client which does not take what is sent to it, and reads nothing of it meanwhile.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail if the other side takes no byte for some time. While a write waits, so does reading: the
/// answers that wait are those to what was read before. (A client that pings and reads no answer fills no memory.)
pub struct Patient<S> {
    stream: S,
    limit: Duration,
    /// The end of the patience, while a write waits.
    end: Option<Pin<Box<Sleep>>>,
    /// A reader that waits for the end of a write.
    reader: Option<Waker>,
}

impl<S> Patient<S> {
    /// Wraps a stream. Its writes wait at most `limit`.
    pub fn new(stream: S, limit: Duration) -> Patient<S> {
        Patient { stream, limit, end: None, reader: None }
    }

    /// Returns the outcome of a write, or an error if it has been waiting for too long.
    fn in_time<T>(&mut self, context: &mut Context<'_>, outcome: Poll<Result<T>>) -> Poll<Result<T>> {
        if outcome.is_ready() {
            self.end = None;
            if let Some(reader) = self.reader.take() {
                reader.wake();
            }
            return outcome;
        }
        let end = self.end.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        ready!(end.as_mut().poll(context));
        self.end = None;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read its replies")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        if self.end.is_some() {
            self.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.in_time(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.in_time(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::rc::Rc;
    use std::task::Wake;

    use super::*;

    /// A client that sends for ever, and takes what is sent to it only if it likes.
    struct Client {
        takes: Rc<Cell<bool>>,
    }

    impl AsyncRead for Client {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<Result<()>> {
            buffer.put_slice(b"x");
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Client {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
            if self.takes.get() { Poll::Ready(Ok(bytes.len())) } else { Poll::Pending }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Woken(std::sync::atomic::AtomicBool);

    impl Wake for Woken {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    #[test]
    fn while_answers_wait_nothing_is_read() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let takes = Rc::new(Cell::new(false));
            let mut patient = Patient::new(Client { takes: takes.clone() }, Duration::from_millis(20));
            let woken = std::sync::Arc::new(Woken::default());
            let waker = Waker::from(woken.clone());
            let mut context = Context::from_waker(&waker);
            let write = |patient: &mut Patient<_>| {
                Pin::new(patient).poll_write(&mut Context::from_waker(Waker::noop()), b"answer")
            };
            let mut read = |patient: &mut Patient<_>| {
                Pin::new(patient).poll_read(&mut context, &mut ReadBuf::new(&mut [0; 4])).is_ready()
            };
            assert!(read(&mut patient));
            assert!(write(&mut patient).is_pending() && !read(&mut patient));
            // Once the client takes the answer, the reader is told.
            takes.set(true);
            assert!(write(&mut patient).is_ready());
            assert!(woken.0.load(std::sync::atomic::Ordering::Relaxed) && read(&mut patient));
            // One that takes nothing is given up.
            takes.set(false);
            let given_up = poll_fn(|context| Pin::new(&mut patient).poll_write(context, b"answer")).await;
            assert_eq!(given_up.unwrap_err().kind(), ErrorKind::TimedOut);
        });
    }
}
