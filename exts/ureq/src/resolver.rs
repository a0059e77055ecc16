//! How ureq looks names up.

use crate::limits::{deadline_of, told};
use fibre_io::net::{ToSocketAddrs, lookup_host_until};
use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Looks names up as the rest of the runtime does: on a thread for calls that block, while the
/// fibre waits.
#[derive(Debug, Clone, Copy, Default)]
pub struct FibreResolver;

impl Resolver for FibreResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(Error::BadUri(uri.to_string()));
        };
        let Some(name) = DefaultResolver::host_and_port(scheme, authority) else {
            return Err(Error::BadUri(uri.to_string()));
        };
        let deadline = deadline_of(timeout)?;
        let found: Vec<_> = match deadline {
            Some(deadline) => lookup_host_until(&name, deadline).map(Iterator::collect),
            None => name.to_socket_addrs().map(Iterator::collect),
        }
        .map_err(|error| told(error, timeout, deadline))?;
        let family = config.ip_family();
        let wanted = family.keep_wanted(found.into_iter());
        let mut addresses = self.empty();
        for address in wanted {
            if addresses.try_push(address).is_err() {
                break;
            }
        }
        if addresses.is_empty() {
            return Err(Error::HostNotFound);
        }
        Ok(addresses)
    }
}
