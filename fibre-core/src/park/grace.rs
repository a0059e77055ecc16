//! Cancellation with grace: stretches that may go on until a limit.
//!
//! [`CancelToken::cancel_within`] cancels the fibres that are outside of a stretch at once, and
//! those within one at its end, or when the limit comes. `fibre/cancel_group.rs` has the protocol.
//! A stretch that has begun before its token is cancelled is spared, and a later one does not
//! begin: the two agree under the lock of the token's group.
//!
//! [`Cluster::stop_within`](crate::Cluster::stop_within) does the same to all fibres of a cluster.
//! For that the fibre in a stretch is marked, in its link: the processor that cancels its fibres,
//! between two of them, passes by those with the mark. Where fibres move, any processor does so
//! under the lock of the cluster's fibre list, and a stretch begins and ends under it. So either
//! the canceller sees the mark, or the fibre sees that it has been cancelled; at the end, either
//! the canceller sees no mark, or the fibre sees the order, and cancels itself. Fibres of a scope
//! inherit the mark.

use crate::fibre::cancel_group::{CancelGroup, Part, Stretching};
use crate::fibre::{ControlBlock, FibreRef};
use crate::park::cancel::{CancelToken, notices};
use crate::park::yield_now;
use crate::processor::{Processor, running, with_running};
use crate::wait::cancelled::Cancelled;
use std::sync::Arc;
use std::time::Instant;

/// Calls `f` as a stretch of work that is spared until a limit: a request that is being answered,
/// say. A [`cancel_within`](CancelToken::cancel_within) of the calling fibre's token spares it, and
/// the [`stop_within`](crate::Cluster::stop_within) of the fibre's cluster. When the limit comes,
/// the fibre is cancelled as ever, also within `f`. When `f` has returned, a fibre that was spared
/// is cancelled. Blocks what `f` blocks.
///
/// A stretch begins, or the fibre has been cancelled before: then `f` is dropped, and so nothing is
/// half done. A stretch within a stretch is a part of it. Other cancellation
/// ([`cancel`](CancelToken::cancel), [`JoinHandle::cancel`](crate::JoinHandle::cancel)) spares
/// nobody. Fibres of a scope that begins in a stretch, or of a group without a token that is named,
/// are spared with it. Those that are spawned otherwise have no token of their own accord, and are
/// cancelled at once when the cluster stops. In a [`shield`](crate::shield()), and on a plain
/// thread, just calls `f`.
///
/// ```
/// use fibre::{Builder, CancelToken, channel::bounded};
/// use std::time::Duration;
///
/// let service = CancelToken::new();
/// let (requests, from_client) = bounded::<u32>(1);
/// let (begun, has_begun) = bounded(1);
/// let server = Builder::new().cancel_token(&service).spawn(move || {
///     let mut served = 0;
///     while let Ok(request) = from_client.recv_within(fibre::Limit::Cancellation) {
///         let answered = fibre::graceful(|| {
///             begun.send(()).unwrap();
///             // Waits in a call that notices cancellation, and is spared.
///             fibre::sleep_within(Duration::from_millis(request.into()))
///         });
///         served += u32::from(answered == Ok(Ok(())));
///     }
///     served
/// })?;
/// requests.send(5).unwrap();
/// has_begun.recv().unwrap();
/// service.cancel_within(Duration::from_secs(60))?; // once it is answering
/// assert_eq!(server.join().unwrap(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// [`Cancelled`], if the fibre has been cancelled before. `f` has not been called.
///
/// # Panics
///
/// With the panic of `f`.
pub fn graceful<T>(f: impl FnOnce() -> T) -> Result<T, Cancelled> {
    // A loop that ignores its errors blocks nobody.
    let stretch = Stretch::begin().inspect_err(|_| yield_now())?;
    let result = f();
    drop(stretch);
    Ok(result)
}

/// Whether the token of the calling fibre, or all fibres of its cluster, have been cancelled, also
/// if the fibre is in a stretch that is [spared](graceful), or in a shield: what it has begun
/// should come to its end. [`grace_limit`] has how long that may take.
///
/// ```
/// let token = fibre::CancelToken::new();
/// token.cancel();
/// let fibre = fibre::Builder::new().cancel_token(&token).spawn(fibre::is_ending)?;
/// assert!(fibre.join().unwrap());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn is_ending() -> bool {
    let is_cancelled = |fibre: &ControlBlock| {
        let group = fibre.attributes.group();
        fibre.state.is_cancelled() || group.is_some_and(|group| group.is_ending())
    };
    with_running(is_cancelled) == Some(true) || cluster_is_ending()
}

/// Until when a [stretch](graceful) of the calling fibre is spared, once that is limited: by a
/// [`cancel_within`](CancelToken::cancel_within) of its token, or by its cluster's
/// [`stop_within`](crate::Cluster::stop_within). The earliest moment counts.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let token = fibre::CancelToken::new();
/// token.cancel_within(Duration::from_secs(30))?;
/// let fibre = fibre::Builder::new().cancel_token(&token).spawn(fibre::grace_limit)?;
/// assert!(fibre.join().unwrap() > Some(Instant::now()));
/// assert_eq!(fibre::grace_limit(), None); // a plain thread
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn grace_limit() -> Option<Instant> {
    let of_group = with_running(|fibre| fibre.attributes.group()?.limit()).flatten();
    let of_cluster = Processor::here(|here| {
        let _fibre = here.running()?;
        here.domain().control.limit()
    });
    of_group.into_iter().chain(of_cluster.flatten()).min()
}

/// Whether the caller is a fibre of a cluster that has cancelled its fibres.
fn cluster_is_ending() -> bool {
    let is_ending =
        |here: &Processor| here.running().is_some() && here.domain().control.must_cancel();
    Processor::here(is_ending) == Some(true)
}

/// While it lives, its fibre is in a stretch.
struct Stretch {
    /// The group of the fibre, if it is in one and this is no part of a stretch there.
    group: Option<Arc<CancelGroup<ControlBlock>>>,
    /// Whether it has marked the fibre for its cluster: it is no part of a stretch there.
    marked: bool,
    /// The fibre.
    fibre: FibreRef,
}

impl Stretch {
    /// Begins one. `None`: nothing is to end.
    fn begin() -> Result<Option<Self>, Cancelled> {
        let Some(fibre) = running() else {
            return Ok(None);
        };
        // SAFETY: the calling fibre.
        let block = unsafe { fibre.as_ref() };
        if notices(block) {
            return Err(Cancelled);
        }
        let refused = || match block.shields.get() {
            0 => Err(Cancelled),
            _ => Ok(None),
        };
        let mut stretch = Self {
            group: None,
            marked: false,
            fibre,
        };
        match mark(block) {
            Stretching::Begun => stretch.marked = true,
            Stretching::Within => {}
            Stretching::Refused => return refused(),
        }
        if let Some(group) = block.attributes.group() {
            match group.begin_stretch(fibre) {
                Stretching::Begun => stretch.group = Some(Arc::clone(group)),
                Stretching::Within => {}
                // Its canceller may be about to say so.
                Stretching::Refused => return refused(),
            }
        }
        Ok(Some(stretch))
    }
}

impl Drop for Stretch {
    fn drop(&mut self) {
        // SAFETY: the calling fibre, which runs.
        let block = unsafe { self.fibre.as_ref() };
        if self.marked {
            change_mark(|| block.link().set_spared(false));
        }
        let is_spared = match &self.group {
            Some(group) => group.end_stretch(self.fibre),
            None => false,
        };
        if is_spared || (self.marked && cluster_is_ending()) {
            // SAFETY: the calling fibre, which runs.
            unsafe { ControlBlock::cancel(self.fibre) };
        }
        if is_spared && let Some(group) = &self.group {
            group.note_stretch_end();
        }
    }
}

/// Marks the calling fibre as one in a stretch, for its cluster.
fn mark(block: &ControlBlock) -> Stretching {
    if block.link().is_spared() {
        return Stretching::Within;
    }
    change_mark(|| match block.state.is_cancelled() {
        true => Stretching::Refused,
        false => {
            block.link().set_spared(true);
            Stretching::Begun
        }
    })
}

/// Calls `change` while no processor cancels the calling fibre by an order of its cluster.
fn change_mark<R>(change: impl FnOnce() -> R) -> R {
    let mut change = Some(change);
    let mut now = || change.take().map(|change| change());
    let changed = Processor::here(|here| match &here.domain().fibre_lists.shared {
        None => now(),
        Some(shared) => {
            let _list = shared.lock();
            now()
        }
    });
    match changed.flatten() {
        Some(changed) => changed,
        None => unreachable!("a fibre runs on a processor"),
    }
}

/// A child of the calling fibre's token, if it has one; in a [stretch](graceful) of the fibre, one
/// that is spared with it.
#[must_use]
pub fn child_of_caller() -> Option<CancelToken> {
    let fibre = running()?;
    // SAFETY: the calling fibre.
    let group = unsafe { fibre.as_ref() }.attributes.group()?;
    let part = match group.is_in_stretch(fibre) {
        true => Part::Stretched,
        false => Part::Usual,
    };
    let child = CancelGroup::new_part(Some(Arc::clone(group)), part);
    Some(CancelToken::of_group(child))
}

impl CancelToken {
    /// Until when a [`cancel_within`](Self::cancel_within) of this token, or of one that it is a
    /// child of, spares stretches: the earliest moment, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<Instant> {
        self.as_group().limit()
    }
}
