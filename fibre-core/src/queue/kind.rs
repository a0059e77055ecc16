//! The choice among the queues, as a value.

use crate::choice::named_choice;

named_choice! {
    /// Which mechanism hands fibres from thread to thread.
    ///
    /// All kinds keep the same promises; they differ in what a push and a pop cost. The
    /// source is section 3.5 of the thesis, which compares them in figure 4.14.
    ///
    /// ```
    /// use fibre::QueueKind;
    ///
    /// let kind: QueueKind = "stub".parse()?;
    /// assert_eq!(kind, QueueKind::Stub);
    /// assert_eq!(QueueKind::default().to_string(), "nemesis");
    /// # Ok::<(), fibre::UnknownChoice>(())
    /// ```
    #[non_exhaustive]
    #[derive(Default)]
    pub enum QueueKind, "a queue" {
        /// Lock-free: the first push into an empty queue sets its head (Buntinas, Mercier,
        /// Gropp, "Design and evaluation of Nemesis", 2006).
        #[default]
        Nemesis = "nemesis",
        /// Lock-free: a stub node stays behind in an empty queue (Vyukov, "Intrusive MPSC
        /// node-based queue").
        Stub = "stub",
        /// A list under a lock. A push waits for the holder of the lock: it blocks the thread.
        Locked = "locked",
        /// A deque under a lock: new fibres may go to the head (see
        /// [`Placement::Head`](crate::Placement::Head)), where the owner takes them, and thieves
        /// take at the tail. A push waits for the holder of the lock: it blocks the thread.
        TwoEnded = "two-ended",
    }
}
