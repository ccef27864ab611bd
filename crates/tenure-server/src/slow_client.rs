//! Slow clients: a connection whose client takes nothing of what it is sent for too long is given up. The heads of what it
//! sends are looked at.

use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::heads::Heads;

/// The longest head of a request, in bytes, and what is read ahead of a connection.
pub(crate) const MAX_HEAD: usize = 64 << 10;

/// The stream of a connection to a client.
pub(crate) struct ClientStream {
    stream: Arc<TcpStream>,
    patience: Duration,
    /// Runs while something waits to be taken.
    waits: Option<Pin<Box<Sleep>>>,
    heads: Heads,
}

impl ClientStream {
    /// Makes a stream whose client may take nothing for as long as `patience`.
    pub(crate) fn new(stream: Arc<TcpStream>, patience: Duration) -> ClientStream {
        ClientStream {
            stream,
            patience,
            waits: None,
            heads: Heads::new(MAX_HEAD),
        }
    }

    /// Returns the result of a write of which the runtime says `said`; `write` does it past the runtime.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        said: Poll<io::Result<usize>>,
        write: impl FnOnce(&socket2::Socket) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        if said.is_ready() {
            self.waits = None;
            return said;
        }
        let patience = self.patience;
        let start = || Box::pin(tokio::time::sleep(patience));
        ready!(self.waits.get_or_insert_with(start).as_mut().poll(context));
        self.waits = None;
        // The system tells of room once a third is free, which a slow client may not have come to yet.
        let written = write(&SockRef::from(&*self.stream));
        Poll::Ready(written.map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
            _ => error,
        }))
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.stream.poll_read_ready(context))?;
            let room = into.initialize_unfilled();
            match self.stream.try_read(room) {
                Ok(read) => {
                    self.heads.pass(&mut room[..read]);
                    into.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// Asks the runtime to write.
fn said(
    stream: &TcpStream,
    context: &mut Context<'_>,
    write: impl Fn(&TcpStream) -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_write_ready(context))?;
        match write(stream) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            written => return Poll::Ready(written),
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let said = said(&self.stream, context, |stream| stream.try_write(data));
        self.written(context, said, |socket| socket.send(data))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let said = said(&self.stream, context, |stream| {
            stream.try_write_vectored(data)
        });
        self.written(context, said, |socket| socket.send_vectored(data))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A socket keeps nothing back.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.stream).shutdown(Shutdown::Write))
    }
}
