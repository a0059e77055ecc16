//! A service of a function that blocks.

use super::body::{BodyError, RequestBody};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response, StatusCode, header};
use std::future::Future;
use std::sync::Arc;

/// A service of a function that may block its fibre. It is called with the whole body of each
/// request. A body that is too large is answered by 413, and one that takes too long by 408.
///
/// The fibre is the connection's with HTTP/1, which serves one request at a time, and the stream's
/// with HTTP/2.
///
/// ```
/// use fibre_hyper::handler;
/// use hyper::body::Bytes;
/// use hyper::{Request, Response};
///
/// let service = handler(|request: Request<Bytes>| {
///     fibre::sleep(std::time::Duration::from_millis(1)); // a query, say
///     Response::new(format!("{} bytes for {}", request.body().len(), request.uri()))
/// });
/// # drop(service);
/// ```
pub fn handler<F, T>(
    f: F,
) -> impl Service<
    Request<RequestBody>,
    Response = Response<Full<Bytes>>,
    Error = BodyError,
    Future = impl Future<Output = Result<Response<Full<Bytes>>, BodyError>> + Send + 'static,
> + Clone
+ Send
+ Sync
+ 'static
where
    F: Fn(Request<Bytes>) -> Response<T> + Send + Sync + 'static,
    T: Into<Bytes>,
{
    let f = Arc::new(f);
    service_fn(move |request: Request<RequestBody>| {
        let f = Arc::clone(&f);
        async move {
            let (head, body) = request.into_parts();
            match whole(body).await {
                Ok(body) => {
                    Ok(f(Request::from_parts(head, body)).map(|body| Full::new(body.into())))
                }
                Err(BodyError::TooLarge) => Ok(refusal(StatusCode::PAYLOAD_TOO_LARGE)),
                Err(BodyError::TimedOut) => Ok(refusal(StatusCode::REQUEST_TIMEOUT)),
                Err(error) => Err(error),
            }
        }
    })
}

/// All of a body.
async fn whole(body: RequestBody) -> Result<Bytes, BodyError> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    Ok(body.collect().await?.to_bytes())
}

/// An answer to a request that is not handled. The rest of its body is not read, so the connection
/// ends with it.
fn refusal(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = status;
    let close = header::HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}
