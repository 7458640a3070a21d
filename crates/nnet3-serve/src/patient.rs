//! A connection that gives up a client which does not take what is sent to it.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail if the other side takes no byte for some time.
pub struct Patient<S> {
    stream: S,
    limit: Duration,
    /// The end of the patience, while a write waits.
    end: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    /// Wraps a stream. Its writes wait at most `limit`.
    pub fn new(stream: S, limit: Duration) -> Patient<S> {
        Patient { stream, limit, end: None }
    }

    /// Returns the outcome of a write, or an error if it has been waiting for too long.
    fn in_time<T>(&mut self, context: &mut Context<'_>, outcome: Poll<Result<T>>) -> Poll<Result<T>> {
        if outcome.is_ready() {
            self.end = None;
            return outcome;
        }
        let end = self.end.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        ready!(end.as_mut().poll(context));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read its replies")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
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
