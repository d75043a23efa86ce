//! Traces as OpenTelemetry has them, where somebody collects them: a span for each request of the gateway, under the
//! caller's trace if it names one, and the context that the upstream goes on with.
//!
//! Spans are sent as JSON over HTTP, in batches, behind the requests. Where the collector is away or slow they are
//! dropped, counted, and said to be: no request waits for its trace.

mod context;
mod export;
mod service;
mod span;

pub use export::{Collecting, TraceSettings, Traces};
pub use service::{Traced, TracedFuture};
