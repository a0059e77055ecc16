//! The actor of a group.

use fibre_actors::{Actor, Context, Topic};

use super::messages::{Letter, Post, Published};

/// A group of users.
pub(super) struct Group {
    members: Topic<Letter>,
    published: Published,
}

impl Group {
    /// A group of those that read a topic.
    pub(super) fn new(members: Topic<Letter>) -> Self {
        Self {
            members,
            published: Published::default(),
        }
    }
}

impl Actor for Group {
    type Message = Post;

    fn handle(&mut self, post: Post, _: &mut Context<'_, Self>) {
        match post {
            Post::Letter(letter) => {
                let copies = self.members.publish(letter);
                self.published.posts += 1;
                self.published.copies += copies as u64;
            }
            Post::Count(answers) => {
                answers.send(self.published).ok();
            }
        }
    }
}
