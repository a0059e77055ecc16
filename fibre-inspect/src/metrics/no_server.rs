//! What stands for the server of `FIBRE_METRICS` in a program without the feature `metrics`.

use fibre_core::internal::warn;
use std::net::SocketAddr;

/// Says that no metrics are served, and why.
pub(crate) fn serve(address: SocketAddr) {
    warn(format_args!(
        "no metrics are served at {address}, as FIBRE_METRICS asks: this program is built without \
         the feature `metrics`"
    ));
}
