//! The table of steal orders.
//!
//! A row is a value of [`StealOrder`](crate::StealOrder), its name, and the function in the folder
//! `scheduler/steal` that steals in this order. The macro makes the enum, its names and the choice
//! of the function from the rows. So a new order is a file there, its `mod` line, and a row here.

/// Calls the macro `$with` with all orders, the default one first.
macro_rules! steal_orders {
    ($with:ident) => {
        $with! {
            enum StealOrder {
                /// The processor that has been busy for the longest time.
                #[default]
                LongestBusy = "longest-busy", longest_busy::steal;
                /// The next one by number, in a ring.
                Ring = "ring", variants::ring::steal;
                /// Any processor; see `FIBRE_SEED`.
                Random = "random", variants::random::steal;
                /// The nearest one: by shared caches, then by memory node. Where nothing is known
                /// about the machine, as [`Ring`](Self::Ring).
                Topology = "topology", variants::nearest::steal;
                /// Any one with work behind the same cache, then any one with work in the same
                /// memory node, then any one in nodes ever farther away. A thief backs off where
                /// too many look for work and a single processor has some. Processors that are not
                /// pinned count as one node. Source: thesis, section 5.3.2.
                Hierarchical = "hierarchical", variants::hierarchical::steal;
                /// None: fibres run where they are placed.
                Never = "never", variants::never::steal;
            }
        }
    };
}

pub(crate) use steal_orders;
