//! Traces for an OpenTelemetry collector: a span for each request, under the caller's trace if it names one, and the
//! context that the service goes on with.
//!
//! Spans are sent as JSON over HTTP, in batches, behind the requests. While the collector is unreachable or slow they
//! are dropped, counted and logged: no request waits for its trace.

mod context;
mod export;
mod layer;
mod service;
mod span;

#[doc(hidden)]
pub use export::{Collecting, TraceSettings, Traces};
pub use layer::{OtlpError, OtlpLayer, OtlpSettings};
pub use service::{Traced, TracedFuture};
