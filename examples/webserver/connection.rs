//! The conversation with one client.
//!
//! It repeats three steps in plain blocking style: understand what has arrived,
//! append the answer to the output, and, when nothing more can be understood,
//! write the output and read again. A usual request so costs one read and one
//! write, and the answers to pipelined requests leave together.
//!
//! When the server stops, its cluster cancels all fibres. A connection that rests
//! so ends at once. What has begun to arrive is answered: everything from its
//! first bytes to the end of the answer is a stretch of `graceful`, which is
//! spared until the drain's limit. Its last answer says `Connection: close`.
//!
//! Time-outs: the socket's own, set once, bounds how long a connection rests
//! between requests and how long a write is stuck; it ends the connection
//! without a word. Only when part of a request has arrived is a deadline
//! computed, for all of the rest and not for each read, so that a client cannot
//! hold its fibre by sending a byte now and then; its end is answered with 408.
//! An answer that a client is slow to take has a deadline of the same kind, see
//! [`pace`](crate::pace).
//!
//! An answer that refuses a request closes the connection, since nothing is
//! known about where the next request would start. 404 and 405 refuse nothing
//! in this sense. A connection closed by the server lingers: what the client
//! still sends is read for a short while, because a socket closed with unread
//! bytes would reset the connection and could take the last answer with it.

use std::io::{self, Read};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use fibre::net::TcpStream;

use crate::buffer::Buffer;
use crate::clock::DateText;
use crate::files::{Content, Rest};
use crate::pace::Pace;
use crate::request::{self, Request, Resource};
use crate::response::{Answer, CONTINUE, Manner, Persistence, Status};
use crate::server::Server;

/// The room an output starts with and is cut back to.
const MODEST_OUTPUT: usize = 512;

/// The output is written when it has grown to this size.
const LARGE_OUTPUT: usize = 16 * 1024;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a closed connection lingers.
const LINGER_TIME: Duration = Duration::from_secs(1);

/// How many bytes are read from it meanwhile.
const LINGER_BYTES: u64 = 256 * 1024;

/// Serves one client until either side closes; returns how many answers it got.
pub(crate) fn serve(server: &Server, stream: TcpStream) -> u64 {
    let mut connection = Connection::new(server, stream);
    // A client that is gone or broken needs no answer and no report.
    let _: io::Result<()> = connection.converse();
    connection.served
}

/// One client and what is known about it.
struct Connection<'s> {
    /// What all connections share.
    server: &'s Server,
    /// The socket.
    stream: TcpStream,
    /// Bytes of requests that have arrived.
    input: Buffer,
    /// Bytes of answers that have not been written.
    output: Vec<u8>,
    /// The date as this connection spelled it last.
    date: DateText,
    /// When the rest of a request must be there; `None` while none is awaited.
    deadline: Option<Instant>,
    /// Another request may follow.
    open: bool,
    /// Answers given.
    served: u64,
}

/// Why a conversation broke off.
enum Ending {
    /// The client left, failed or rested too long: nothing is said.
    Quiet,
    /// The request is refused.
    Refused(Status),
}

impl From<io::Error> for Ending {
    fn from(_: io::Error) -> Self {
        Self::Quiet
    }
}

impl From<Status> for Ending {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

impl<'s> Connection<'s> {
    fn new(server: &'s Server, stream: TcpStream) -> Self {
        Self {
            server,
            stream,
            input: Buffer::new(),
            output: Vec::with_capacity(MODEST_OUTPUT),
            date: DateText::new(),
            deadline: None,
            open: true,
            served: 0,
        }
    }

    /// Answers requests until one asks to close, or the server stops.
    fn converse(&mut self) -> io::Result<()> {
        self.set_up()?;
        while self.open && self.input.fill(&self.stream)? > 0 {
            fibre::graceful(|| self.exchange())??;
        }
        Ok(())
    }

    /// Sets the options of the socket.
    fn set_up(&self) -> io::Result<()> {
        self.stream
            .set_write_timeout(Some(self.server.idle_timeout))?;
        self.stream.set_read_timeout(Some(self.server.idle_timeout))
    }

    /// Deals with what has arrived, up to the end of the answers; ends the connection if they are
    /// the last ones.
    fn exchange(&mut self) -> io::Result<()> {
        match self.answer_all() {
            Ok(()) if self.open => Ok(()),
            ending => {
                self.open = false;
                self.end(ending)
            }
        }
    }

    /// Answers all requests that have arrived, also in part, until one asks to close.
    fn answer_all(&mut self) -> Result<(), Ending> {
        while self.open {
            match request::parse(self.input.unused())? {
                Some(request) => self.answer(request)?,
                None => {
                    self.flush()?;
                    if self.input.is_empty() {
                        break;
                    }
                    self.await_rest(self.server.header_timeout)?;
                }
            }
        }
        Ok(())
    }

    /// Reads more of a request; `within` counts from the first time.
    #[cold]
    fn await_rest(&mut self, within: Duration) -> Result<(), Ending> {
        if self.input.is_full() {
            return Err(request::too_large(self.input.unused()).into());
        }
        let left = self.time_left(within);
        if left.is_zero() {
            return Err(Status::RequestTimeout.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        match self.input.fill(&self.stream) {
            Ok(0) => Err(Ending::Quiet),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(Status::RequestTimeout.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The time until the deadline, which is set if it is not yet.
    fn time_left(&mut self, within: Duration) -> Duration {
        let now = Instant::now();
        let deadline = *self.deadline.get_or_insert_with(|| now + within);
        deadline.saturating_duration_since(now)
    }

    /// Takes one request and appends its answer.
    fn answer(&mut self, mut request: Request) -> Result<(), Ending> {
        self.input.consume(request.length);
        if !request.body.has_ended() {
            self.skip_body(&mut request)?;
        }
        if self.deadline.take().is_some() {
            self.stream
                .set_read_timeout(Some(self.server.idle_timeout))?;
        }
        if fibre::is_ending() {
            request.manner.persistence = Persistence::Close;
        }
        self.open = request.manner.persistence != Persistence::Close;
        self.served += 1;
        self.append(request.resource, request.manner)
    }

    /// Reads and forgets the body of a request.
    fn skip_body(&mut self, request: &mut Request) -> Result<(), Ending> {
        let body = &mut request.body;
        self.input.consume(body.skip(self.input.unused())?);
        if body.has_ended() {
            return Ok(());
        }
        if request.expects_continue {
            self.output.extend_from_slice(CONTINUE);
        }
        self.flush()?;
        self.deadline = None;
        while !body.has_ended() {
            self.await_rest(BODY_TIMEOUT)?;
            self.input.consume(body.skip(self.input.unused())?);
        }
        Ok(())
    }

    /// Appends the answer to a request that is all there.
    fn append(&mut self, resource: Resource, manner: Manner) -> Result<(), Ending> {
        match resource {
            Resource::Plaintext => self.begin_answer(manner).plaintext(),
            Resource::NotAllowed => self.begin_answer(manner).status(Status::MethodNotAllowed),
            Resource::Path(path) => match self.server.files.find(path) {
                Ok(content) => self.append_content(content, manner)?,
                Err(status) => self.begin_answer(manner).status(status),
            },
        }
        if self.output.len() >= LARGE_OUTPUT {
            self.flush()?;
        }
        Ok(())
    }

    /// Appends a file; one that was not read whole is written up to its end.
    fn append_content(&mut self, content: Content, manner: Manner) -> Result<(), Ending> {
        let Content {
            kind,
            length,
            start,
            rest,
        } = content;
        self.begin_answer(manner)
            .content(Status::Ok, kind, length, &start);
        match rest {
            Some(rest) if !manner.head_only => self.write_rest(rest, start),
            _ => Ok(()),
        }
    }

    /// Writes the output and the rest of a file, chunk by chunk.
    fn write_rest(&mut self, rest: Rest, mut chunk: Vec<u8>) -> Result<(), Ending> {
        self.flush()?;
        let mut pace = Pace::default();
        let mut rest = Some(rest);
        while let Some(part) = rest {
            (chunk, rest) = part.next(chunk)?;
            pace.write(&self.stream, &chunk, self.server.terms)?;
        }
        pace.finish(&self.stream);
        Ok(())
    }

    /// An empty answer at the end of the output.
    fn begin_answer(&mut self, manner: Manner) -> Answer<'_> {
        Answer {
            output: &mut self.output,
            date: self.date.read(&self.server.clock),
            manner,
        }
    }

    /// Writes the output, if there is any, and empties it.
    fn flush(&mut self) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        let mut pace = Pace::default();
        pace.write(&self.stream, &self.output, self.server.terms)?;
        pace.finish(&self.stream);
        if self.output.capacity() > LARGE_OUTPUT {
            self.output = Vec::with_capacity(MODEST_OUTPUT);
        }
        self.output.clear();
        Ok(())
    }

    /// Says the last words, if any are due, and closes.
    fn end(&mut self, ending: Result<(), Ending>) -> io::Result<()> {
        match ending {
            Err(Ending::Quiet) => return Ok(()),
            Err(Ending::Refused(status)) => {
                self.served += 1;
                self.begin_answer(Manner::LAST).status(status);
            }
            Ok(()) => {}
        }
        self.flush()?;
        linger(&self.stream)
    }
}

/// Ends our side of a connection and reads a little of what still comes.
fn linger(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let rest = || io::copy(&mut stream.take(LINGER_BYTES), &mut io::sink());
    match fibre::timeout(LINGER_TIME, rest) {
        Ok(read) => read.map(drop),
        Err(_) => Ok(()),
    }
}
