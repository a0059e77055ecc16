//! How ureq connects.

use crate::limits::{deadline_of, told};
use crate::transport::FibreTransport;
use fibre_io::net::TcpStream;
use ureq::Error;
use ureq::unversioned::transport::{ConnectionDetails, Connector};

/// Connects streams of fibre's: the first link of a chain of ureq's connectors. It tries the
/// addresses of a name one after the other.
#[derive(Debug, Clone, Copy, Default)]
pub struct FibreConnector;

impl Connector for FibreConnector {
    type Out = FibreTransport;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _: Option<()>,
    ) -> Result<Option<FibreTransport>, Error> {
        let deadline = deadline_of(details.timeout)?;
        let mut last = Error::HostNotFound;
        for address in &details.addrs {
            let connected = match deadline {
                Some(deadline) => TcpStream::connect_until(address, deadline),
                None => TcpStream::connect(address),
            };
            match connected {
                Ok(stream) => {
                    stream.set_nodelay(details.config.no_delay())?;
                    let transport = FibreTransport::new(
                        stream,
                        details.config.input_buffer_size(),
                        details.config.output_buffer_size(),
                    );
                    (details.register_shutdown)(transport.shutdown_handle())?;
                    return Ok(Some(transport));
                }
                Err(error) => last = told(error, details.timeout, deadline),
            }
            if matches!(last, Error::Timeout(_)) {
                break;
            }
        }
        Err(last)
    }
}
