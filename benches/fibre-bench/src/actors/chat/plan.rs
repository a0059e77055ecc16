//! What a chat server is like, and what comes out.

use std::time::Duration;

use anyhow::ensure;
use hdrhistogram::Histogram;

/// The server and its load.
#[derive(Debug, Clone)]
pub struct Chat {
    /// How many users there are.
    pub users: usize,
    /// How many groups there are.
    pub groups: usize,
    /// How many friends a user has, at most.
    pub friends: usize,
    /// How many groups a user is a member of, at most.
    pub memberships: usize,
    /// How many users a user has blocked, at most.
    pub blocked: usize,
    /// How many of a hundred messages go to groups.
    pub to_groups: u64,
    /// How many bytes a message has, at most.
    pub length: usize,
    /// How much time is between two messages of a user.
    pub period: Duration,
    /// How long users write.
    pub time: Duration,
    /// How many local caches there are.
    pub caches: usize,
    /// Where the random numbers begin.
    pub seed: u64,
}

impl Default for Chat {
    fn default() -> Self {
        Self {
            users: 10_000,
            groups: 100,
            friends: 100,
            memberships: 10,
            blocked: 5,
            to_groups: 5,
            length: 1024,
            period: Duration::from_secs(1),
            time: Duration::from_secs(10),
            caches: 2,
            seed: 1,
        }
    }
}

/// What has been counted.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Messages to single users.
    pub direct: u64,
    /// Messages to groups.
    pub to_groups: u64,
    /// Messages that groups have published.
    pub posts: u64,
    /// Copies of these, one for each member.
    pub copies: u64,
    /// Messages that have come to a user.
    pub delivered: u64,
    /// Messages that have come to a user who has blocked the sender.
    pub blocked: u64,
    /// Messages in the log of the database.
    pub logged: u64,
    /// Messages in the logs of caches.
    pub cached: u64,
    /// The time from the first message to the last delivery.
    pub time: Duration,
    /// How long delivered messages were on their way, in nanoseconds: from the moment they were
    /// made until they were ready for the user.
    pub latency: Histogram<u64>,
    /// Bytes of the process that were resident when all messages had come.
    pub resident: u64,
}

impl Outcome {
    /// Messages that users have sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.direct + self.to_groups
    }

    /// Deliveries a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.delivered as f64 / self.time.as_secs_f64()
    }
}

impl Chat {
    /// The same in a size for tests.
    #[must_use]
    pub fn small() -> Self {
        Self {
            users: 60,
            groups: 3,
            friends: 10,
            period: Duration::from_millis(20),
            time: Duration::from_millis(200),
            to_groups: 20,
            ..Self::default()
        }
    }

    /// Checks that every message is accounted for.
    ///
    /// # Errors
    ///
    /// What differs.
    pub fn check(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let Outcome {
            direct,
            to_groups,
            posts,
            copies,
            delivered,
            blocked,
            logged,
            cached,
            ..
        } = *outcome;
        ensure!(posts == to_groups, "{posts} of {to_groups} were published");
        let sent = direct + copies;
        ensure!(
            sent == delivered + blocked,
            "{delivered} delivered and {blocked} blocked of {sent}"
        );
        let messages = outcome.sent();
        ensure!(
            logged == messages && cached == messages,
            "{logged} and {cached} of {messages} were logged"
        );
        ensure!(outcome.latency.len() == delivered, "latencies are missing");
        ensure!(delivered > 0, "nothing was sent");
        Ok(())
    }
}
