//! What waits for several: wait groups, and barriers.

use super::barriers::Parties;
use super::course::{Row, row, run};
use super::subject::{Manner, Role, Subject, dwell};
use crate::support::Random;
use fibre::sync::WaitGroup;
use std::sync::atomic::{AtomicBool, Ordering};

/// Jobs that are added and done, and those who wait for all of them.
struct Jobs {
    group: WaitGroup,
    /// Whether one job is not done before the end, so that nobody goes on before.
    held: bool,
    ended: AtomicBool,
    turns: usize,
}

/// The role of those who do jobs.
const WORK: usize = 0;

impl Subject for Jobs {
    fn new(random: &mut Random, turns: usize) -> Self {
        let (group, held) = (WaitGroup::new(), random.one_in(2));
        group.add(usize::from(held));
        Self {
            group,
            held,
            ended: AtomicBool::new(false),
            turns,
        }
    }

    fn roles(&self) -> Vec<Role> {
        vec![
            Role::new("add and do", self.turns),
            Role::until_finish("wait", self.turns),
        ]
    }

    fn turn(&self, role: usize, manner: Manner, random: &mut Random) -> bool {
        if role == WORK {
            if random.one_in(2) {
                let _job = self.group.guard();
                dwell(random);
            } else {
                self.group.add(2);
                self.group.done();
                dwell(random);
                self.group.done();
            }
            return true;
        }
        let came = match manner {
            Manner::Forever => {
                self.group.wait();
                true
            }
            Manner::Try => self.group.try_wait(),
            Manner::Timeout(timeout) => self.group.wait_timeout(timeout),
            Manner::Within(limit) => self.group.wait_within(limit).is_ok(),
        };
        let too_early = came && self.held && !self.ended.load(Ordering::SeqCst);
        assert!(!too_early, "a job is left");
        came
    }

    fn finish(&self) {
        self.ended.store(true, Ordering::SeqCst);
        if self.held {
            self.group.done();
        }
    }

    fn check(&self) {
        assert_eq!(self.group.count(), 0);
    }
}

/// All kinds.
const ROWS: &[Row] = &[row::<Jobs>("wait group"), row::<Parties>("barrier")];

#[test]
fn groups() {
    run(ROWS);
}
