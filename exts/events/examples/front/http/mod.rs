//! Requests of HTTP/1.1 for services that speak it: [`Site`].
//!
//! Files: `parse` (from bytes to a request), `page` (answers and statuses).

pub(crate) mod page;
pub(crate) mod parse;

use super::server::{Client, Server, Service};
use fibre_events::Handler;
use page::{Manner, Refusals, Status};
use parse::Request;
use std::sync::Arc;

static PARSE_REQUEST: Handler = Handler::new("ParseRequest");

/// The most bytes that a request's head may have, and that are read ahead.
const HEAD: usize = 16 * 1024;

/// A service that answers requests of HTTP.
pub(crate) trait Site: Sized + Send + Sync + 'static {
    /// What it refuses requests with.
    fn refusals(&self) -> &Refusals;

    /// Answers the connection's request: an event of the client's colour.
    fn answer(server: &Arc<Server<Self>>, connection: Client<Self>);
}

impl<S: Site> Service for S {
    /// The request that is being answered.
    type Talk = Option<Request>;

    const ROOM: usize = 4 * 1024;
    const NEXT: &'static Handler = &PARSE_REQUEST;

    fn next(server: &Arc<Server<Self>>, mut connection: Client<Self>) {
        match parse::parse(connection.input()) {
            Ok(Some(request)) => {
                connection.use_up(request.length);
                connection.talk = Some(request);
                S::answer(server, connection);
            }
            Ok(None) if connection.input().len() >= HEAD && !connection.has_something_to_say() => {
                refuse(server, connection, Status::FieldsTooLarge);
            }
            Ok(None) => server.lacks_input(connection),
            Err(status) => refuse(server, connection, status),
        }
    }

    fn late(server: &Arc<Server<Self>>, connection: Client<Self>) {
        refuse(server, connection, Status::RequestTimeout);
    }
}

/// Tells a client why its request is its last.
fn refuse<S: Site>(server: &Arc<Server<S>>, mut connection: Client<S>, status: Status) {
    let page = server.service.refusals().of(status);
    page.say_to(&mut connection, Manner::LAST);
    server.write(connection);
}
