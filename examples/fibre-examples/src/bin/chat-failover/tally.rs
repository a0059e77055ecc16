//! What came of all messages.

use std::collections::{HashMap, HashSet};

use crate::client::Heard;

/// Messages, and their copies to the members of their rooms.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Messages that were sent.
    sent: u64,
    /// Those sent once more.
    again: u64,
    /// Copies that should have come: each message to each client in its room.
    due: usize,
    /// Copies that came, each counted once.
    came: usize,
    /// Copies that did not.
    pub(crate) lost: usize,
    /// Copies that came once more.
    twice: usize,
    /// Messages that two clients heard in different orders, counted when each came first.
    pub(crate) out_of_order: usize,
    /// The longest time until a client was back, in milliseconds.
    away: u128,
}

impl Tally {
    /// Counts what clients in so many rooms have sent and heard.
    pub(crate) fn of(clients: &[Heard], rooms: usize) -> Self {
        let mut tally = Self::default();
        for room in 0..rooms {
            let here: Vec<usize> = (0..clients.len())
                .filter(|&client| clients[client].room == room)
                .collect();
            let said: u64 = here.iter().map(|&client| clients[client].sent).sum();
            tally.sent += said;
            tally.due += said as usize * here.len();
            let mut order: Option<HashMap<(usize, u64), usize>> = None;
            for heard in here.iter().map(|&client| &clients[client]) {
                tally.again += heard.again;
                let away = heard.away.iter().max().map_or(0, |away| away.as_millis());
                tally.away = tally.away.max(away);
                let first = firsts(&heard.all);
                tally.came += first.len();
                tally.twice += heard.all.len() - first.len();
                match &order {
                    Some(order) => tally.out_of_order += descents(order, &first),
                    None => {
                        let places = first.iter().enumerate();
                        order = Some(places.map(|(place, message)| (*message, place)).collect());
                    }
                }
            }
        }
        tally.lost = tally.due.saturating_sub(tally.came);
        tally
    }

    /// A line of a table.
    pub(crate) fn row(&self, by: &str) -> String {
        let Self {
            sent,
            again,
            due,
            came,
            lost,
            twice,
            out_of_order,
            away,
        } = self;
        format!(
            "| {by} | {sent} | {again} | {due} | {came} | {lost} | {twice} | {out_of_order} | {away} |"
        )
    }
}

/// The messages, each where it came for the first time.
fn firsts(all: &[(usize, u64)]) -> Vec<(usize, u64)> {
    let mut seen = HashSet::new();
    let is_new = |message: &&(usize, u64)| seen.insert(**message);
    all.iter().filter(is_new).copied().collect()
}

/// How often a list goes back in another order.
fn descents(order: &HashMap<(usize, u64), usize>, list: &[(usize, u64)]) -> usize {
    let places: Vec<usize> = list
        .iter()
        .filter_map(|it| order.get(it).copied())
        .collect();
    places.windows(2).filter(|pair| pair[0] > pair[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A client in a room that has sent so many messages.
    fn client(room: usize, sent: u64, all: &[(usize, u64)]) -> Heard {
        Heard {
            room,
            sent,
            all: all.to_vec(),
            away: vec![Duration::from_millis(room as u64)],
            ..Heard::default()
        }
    }

    #[test]
    fn each_fault_is_counted() {
        let whole = [(0, 0), (2, 0), (0, 1)];
        let cases: [(&[_], [usize; 4]); 5] = [
            (&whole, [7, 0, 0, 0]),
            (&whole[..2], [6, 1, 0, 0]),
            (&[(0, 0), (2, 0), (0, 1), (2, 0)], [7, 0, 1, 0]),
            (&[(2, 0), (0, 0), (0, 1)], [7, 0, 0, 1]),
            (&[(0, 1), (0, 1), (2, 0)], [6, 1, 1, 1]),
        ];
        for (heard, expected) in cases {
            let clients = [
                client(0, 2, &whole),
                client(1, 1, &[(1, 0)]),
                client(0, 1, heard),
            ];
            let tally = Tally::of(&clients, 2);
            assert_eq!((tally.sent, tally.due, tally.away), (4, 7, 1));
            let faults = [tally.came, tally.lost, tally.twice, tally.out_of_order];
            assert_eq!(faults, expected, "{heard:?}");
        }
    }
}
