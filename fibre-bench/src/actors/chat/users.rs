//! Users as the random numbers make them: friends, groups, and those that they have blocked.

use super::plan::Chat;

/// A generator of random numbers: SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The generator of this number.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number below a limit.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// One of several; `None` if there is none.
    pub(super) fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len().max(1)))
    }

    /// Up to `most` different numbers below `limit`, none of which is `but`, in rising order. How
    /// many is random, too.
    fn some(&mut self, most: usize, limit: usize, but: Option<usize>) -> Vec<usize> {
        let count = self.below(most + 1);
        let mut numbers: Vec<usize> = (0..count).map(|_| self.below(limit)).collect();
        numbers.retain(|&number| Some(number) != but);
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// What a session knows of its user.
#[derive(Debug, Clone)]
pub(super) struct User {
    pub(super) id: u32,
    pub(super) friends: Box<[u32]>,
    /// The groups that the user is a member of.
    pub(super) groups: Vec<usize>,
    /// The users whose messages the user does not want, in rising order.
    pub(super) blocked: Box<[u32]>,
    /// Where the user's random numbers begin.
    pub(super) random: Random,
}

impl User {
    /// The user of this number.
    pub(super) fn new(chat: &Chat, id: u32) -> Self {
        let own = id as usize;
        let mut random = Random::new(chat.seed ^ (u64::from(id) << 32));
        let ids = |numbers: Vec<usize>| numbers.into_iter().map(|number| number as u32).collect();
        Self {
            id,
            friends: ids(random.some(chat.friends, chat.users, Some(own))),
            groups: random.some(chat.memberships, chat.groups, None),
            blocked: ids(random.some(chat.blocked, chat.users, Some(own))),
            random,
        }
    }

    /// Whether the user does not want messages of another.
    pub(super) fn blocks(&self, other: u32) -> bool {
        self.blocked.binary_search(&other).is_ok()
    }
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
