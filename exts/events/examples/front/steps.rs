//! The steps of a client that all services have: what handlers of its colour do.

use super::connection::{Phase, Progress};
use super::server::{Client, Server, Service};
use super::table::Rest;
use fibre_events::Handler;
use std::sync::Arc;
use std::time::{Duration, Instant};

static READ_REQUEST: Handler = Handler::new("ReadRequest");
static WRITE_RESPONSE: Handler = Handler::new("WriteResponse");
static CLOSE: Handler = Handler::new("Close");

/// How long a connection reads on after its last answer.
const LINGER: Duration = Duration::from_secs(1);

/// A step of a client.
pub(crate) type Step<S> = fn(&Arc<Server<S>>, Client<S>);

impl<S: Service> Server<S> {
    /// Posts a step under the client's colour.
    pub(crate) fn post(
        self: &Arc<Self>,
        handler: &'static Handler,
        connection: Client<S>,
        step: Step<S>,
    ) {
        let server = Arc::clone(self);
        let colour = connection.colour();
        self.post_under(colour, handler.with(move || step(&server, connection)));
    }

    /// Goes on with a client, where it waited.
    pub(super) fn go_on(self: &Arc<Self>, connection: Client<S>) {
        match connection.phase {
            Phase::Reads => self.read_on(connection),
            Phase::Writes => self.post(&WRITE_RESPONSE, connection, Self::write_response),
            Phase::Lingers => self.close(connection),
        }
    }

    /// Closes a client's connection.
    pub(super) fn close(self: &Arc<Self>, connection: Client<S>) {
        self.post(&CLOSE, connection, Self::close_step);
    }

    /// Has more of a request read.
    pub(crate) fn read_on(self: &Arc<Self>, connection: Client<S>) {
        self.post(&READ_REQUEST, connection, Self::read_request);
    }

    /// Answers the next request of those that have arrived.
    fn post_next(self: &Arc<Self>, connection: Client<S>) {
        self.post(S::NEXT, connection, S::next);
    }

    /// Writes what is to be sent.
    pub(crate) fn write(self: &Arc<Self>, mut connection: Client<S>) {
        connection.phase = Phase::Writes;
        self.go_on(connection);
    }

    /// A request has its answer: has the next one answered if it has arrived, unless there is
    /// enough to be written.
    pub(crate) fn has_answered(self: &Arc<Self>, connection: Client<S>) {
        self.count_answer();
        let goes_on = !connection.input().is_empty() && !connection.closes;
        if goes_on && !connection.has_much_to_say() {
            self.post_next(connection);
        } else {
            self.write(connection);
        }
    }

    /// There is no whole request: has answers written first, or more read.
    pub(crate) fn lacks_input(self: &Arc<Self>, connection: Client<S>) {
        // There may be more of it, as a read takes only so much.
        if connection.is_midway() && !connection.has_something_to_say() {
            self.read_on(connection);
        } else {
            self.write(connection);
        }
    }

    /// Lets a client wait for its socket.
    pub(super) fn lay(self: &Arc<Self>, connection: Client<S>) {
        match self.table.lay(connection) {
            Rest::Lies => {}
            Rest::GoesOn(connection) => self.go_on(connection),
            Rest::Over(connection) => self.close(connection),
        }
    }

    fn read_request(self: &Arc<Self>, mut connection: Client<S>) {
        let was_between = connection.is_between_requests();
        match connection.read(S::ROOM) {
            Progress::Done => {
                if was_between {
                    connection.deadline = Instant::now() + self.limits.request;
                }
                self.post_next(connection);
            }
            Progress::Waits => self.lay(connection),
            Progress::Ended => {} // the client has left: its drop closes
        }
    }

    fn write_response(self: &Arc<Self>, mut connection: Client<S>) {
        let before = connection.unsent();
        match connection.write() {
            Progress::Done if connection.closes => self.close(connection),
            Progress::Done => self.next_request(connection),
            Progress::Waits => {
                // The first wait of an answer says how long all of it may take.
                if !connection.is_late {
                    connection.is_late = true;
                    connection.deadline = Instant::now() + self.limits.writing(before);
                }
                self.lay(connection);
            }
            Progress::Ended => {} // the client has left: its drop closes
        }
    }

    /// All that was asked for has been sent.
    fn next_request(self: &Arc<Self>, mut connection: Client<S>) {
        connection.phase = Phase::Reads;
        connection.is_late = false;
        let now = Instant::now();
        if connection.input().is_empty() {
            connection.deadline = now + self.limits.idle;
            match connection.has_more {
                true => self.read_on(connection),
                false => self.lay(connection),
            }
        } else {
            connection.deadline = now + self.limits.request;
            self.post_next(connection);
        }
    }

    /// Ends our side, reads on for a while, and closes by its drop.
    fn close_step(self: &Arc<Self>, mut connection: Client<S>) {
        if connection.phase != Phase::Lingers && connection.begin_to_linger(LINGER).is_err() {
            return;
        }
        if connection.linger() == Progress::Waits {
            self.lay(connection);
        }
    }
}
