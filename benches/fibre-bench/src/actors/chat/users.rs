//! Users as the random numbers make them: friends, groups, and those that they have blocked.

use fastrand::Rng;

use super::plan::Chat;

/// What a session knows of its user.
#[derive(Debug, Clone)]
pub(super) struct User {
    pub(super) id: u32,
    pub(super) friends: Box<[u32]>,
    /// The groups that the user is a member of.
    pub(super) groups: Vec<usize>,
    /// The users that the user wants no messages from, in rising order.
    pub(super) blocked: Box<[u32]>,
    /// Where the user's random numbers begin.
    pub(super) random: Rng,
}

impl User {
    /// The user of this number.
    pub(super) fn new(chat: &Chat, id: u32) -> Self {
        let own = id as usize;
        let mut random = Rng::with_seed(chat.seed ^ (u64::from(id) << 32));
        let ids = |numbers: Vec<usize>| numbers.into_iter().map(|number| number as u32).collect();
        Self {
            id,
            friends: ids(some(&mut random, chat.friends, chat.users, Some(own))),
            groups: some(&mut random, chat.memberships, chat.groups, None),
            blocked: ids(some(&mut random, chat.blocked, chat.users, Some(own))),
            random,
        }
    }

    /// Whether the user does not want messages of another.
    pub(super) fn blocks(&self, other: u32) -> bool {
        self.blocked.binary_search(&other).is_ok()
    }
}

/// Up to `most` different numbers below `limit`, without `but`, in rising order. How many is
/// random, too.
fn some(random: &mut Rng, most: usize, limit: usize, but: Option<usize>) -> Vec<usize> {
    let count = random.usize(..=most);
    let mut numbers: Vec<usize> = (0..count).map(|_| random.usize(..limit.max(1))).collect();
    numbers.retain(|&number| Some(number) != but);
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_uniform_within_their_bounds() {
        let chat = Chat::default();
        let users: Vec<User> = (0..2000).map(|id| User::new(&chat, id)).collect();
        let mean = |count: fn(&User) -> usize| {
            users.iter().map(count).sum::<usize>() as f64 / users.len() as f64
        };
        assert!((47.0..53.0).contains(&mean(|user| user.friends.len())));
        assert!((4.6..5.4).contains(&mean(|user| user.groups.len())));
        assert!((2.3..2.7).contains(&mean(|user| user.blocked.len())));
        assert!(users.iter().all(|user| !user.friends.contains(&user.id)));
    }
}
