//! The actor that spawns all others, lets the users write for a time, and counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fibre::channel::{Sender, unbounded};
use fibre_actors::{Actor, ActorRef, Actors, Context, Reply, Topic};

use super::super::{conduct, tell};
use super::group::Group;
use super::messages::{Event, Letter, Look, Post, Published, Received, Sent, Store};
use super::plan::{Chat, Outcome};
use super::session::{Latencies, Session, Surroundings};
use super::storage::{Cache, Database};
use super::users::User;
use crate::measure;

/// How long messages may be under way after the last one was sent.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many sessions it spawns before it is others' turn.
const AT_ONCE: u32 = 1000;
/// How long it waits before it counts again.
const PAUSE: Duration = Duration::from_millis(1);

impl Chat {
    /// Runs it among these actors. Blocks the fibre (of another cluster), or the thread.
    ///
    /// # Errors
    ///
    /// When an actor has failed, or messages have not come in time.
    pub fn run(&self, actors: &Actors) -> anyhow::Result<Outcome> {
        conduct(actors, Conductor::new(self)?, |reply| reply)?
    }
}

/// Spawns all others, and counts what they do.
struct Conductor {
    chat: Chat,
    /// The histograms to come.
    latencies: Option<Latencies>,
}

/// Everybody of the server.
struct Server {
    all: Arc<Surroundings>,
    caches: Vec<ActorRef<Look>>,
    sessions: Vec<ActorRef<Event>>,
}

impl Conductor {
    /// The conductor of a server.
    fn new(chat: &Chat) -> anyhow::Result<Self> {
        Ok(Self {
            chat: chat.clone(),
            latencies: Some(Latencies::new()?),
        })
    }

    /// Spawns everybody. Nobody writes yet.
    fn open(&mut self, context: &Context<'_, Self>) -> anyhow::Result<Server> {
        let chat = &self.chat;
        let topics: Vec<Topic<Letter>> = (0..chat.groups).map(|_| Topic::new()).collect();
        let group = |topic: &Topic<Letter>| context.spawn(Group::new(topic.clone()));
        let database = context.spawn_hub(Database::default());
        let cache = |_| context.spawn_hub(Cache::new(database.clone()));
        let caches: Vec<_> = (0..chat.caches.max(1)).map(cache).collect();
        let all = Arc::new(Surroundings {
            chat: chat.clone(),
            groups: topics.iter().map(group).collect(),
            database,
            latencies: self.latencies.take().context("it is run twice")?,
        });
        let session = |id| {
            if id % AT_ONCE == 0 {
                fibre::yield_now(); // the database is sent an entry for each
            }
            let user = User::new(chat, id);
            let groups = user.groups.clone();
            let cache = caches[id as usize % caches.len()].clone();
            let session = context.spawn(Session::new(user, Arc::clone(&all), cache));
            for group in groups {
                topics[group].subscribe_with(&session, Event::Deliver);
            }
            tell(&all.database, Store::Enter(id, session.clone()));
            session
        };
        let sessions = (0..chat.users as u32).map(session).collect();
        Ok(Server {
            all,
            caches,
            sessions,
        })
    }

    /// Runs the server.
    fn conduct(&mut self, context: &Context<'_, Self>) -> anyhow::Result<Outcome> {
        let server = self.open(context)?;
        let begin = Instant::now();
        for session in &server.sessions {
            tell(session, Event::Begin);
        }
        fibre::sleep(self.chat.time);
        let outcome = server.count(begin);
        server.close();
        outcome
    }
}

impl Actor for Conductor {
    type Message = Reply<anyhow::Result<Outcome>>;

    fn handle(&mut self, reply: Self::Message, context: &mut Context<'_, Self>) {
        let outcome = self.conduct(context);
        reply.send(outcome);
    }
}

impl Server {
    /// Makes the users fall silent, and counts until all messages have come.
    fn count(&self, begin: Instant) -> anyhow::Result<Outcome> {
        let mut sent = Sent::default();
        for one in asked(&self.sessions, Event::Silence) {
            sent.direct += one.direct;
            sent.to_groups += one.to_groups;
        }
        let groups = || published(&self.all.groups);
        let published = until(groups, |published| published.posts == sent.to_groups)?;
        let sessions = || received(&self.sessions);
        let copies = sent.direct + published.copies;
        let received = until(sessions, |received| {
            received.delivered + received.blocked == copies
        })?;
        let time = begin.elapsed();
        let messages = sent.direct + sent.to_groups;
        let database = [self.all.database.clone()];
        let logged = || asked(&database, Store::Count).sum();
        let cached = || asked(&self.caches, Look::Count).sum();
        Ok(Outcome {
            direct: sent.direct,
            to_groups: sent.to_groups,
            posts: published.posts,
            copies: published.copies,
            delivered: received.delivered,
            blocked: received.blocked,
            logged: until(logged, |&logged: &u64| logged == messages)?,
            cached: until(cached, |&cached: &u64| cached == messages)?,
            time,
            latency: self.all.latencies.total()?,
            resident: measure::resident(std::process::id())?,
        })
    }

    /// Stops everybody.
    fn close(&self) {
        self.sessions.iter().for_each(ActorRef::stop);
        self.all.groups.iter().for_each(ActorRef::stop);
        self.caches.iter().for_each(ActorRef::stop);
        self.all.database.stop();
    }
}

/// What the groups have published.
fn published(groups: &[ActorRef<Post>]) -> Published {
    let mut total = Published::default();
    for one in asked(groups, Post::Count) {
        total.posts += one.posts;
        total.copies += one.copies;
    }
    total
}

/// What has come to the sessions.
fn received(sessions: &[ActorRef<Event>]) -> Received {
    let mut total = Received::default();
    for one in asked(sessions, Event::Count) {
        total.delivered += one.delivered;
        total.blocked += one.blocked;
    }
    total
}

/// Asks all of these the same, and returns what they answer. Blocks the fibre.
fn asked<M: Send + 'static, T>(
    actors: &[ActorRef<M>],
    question: impl Fn(Sender<T>) -> M,
) -> impl Iterator<Item = T> {
    let (answers, all) = unbounded();
    for actor in actors {
        tell(actor, question(answers.clone()));
    }
    drop(answers);
    std::iter::from_fn(move || all.recv().ok())
}

/// Counts again and again until it is right. Blocks the fibre.
fn until<T>(count: impl Fn() -> T, is_right: impl Fn(&T) -> bool) -> anyhow::Result<T> {
    let begin = Instant::now();
    loop {
        let counted = count();
        if is_right(&counted) {
            return Ok(counted);
        }
        ensure!(begin.elapsed() < PATIENCE, "messages do not come");
        fibre::sleep(PAUSE);
    }
}
