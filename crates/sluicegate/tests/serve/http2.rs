//! The HTTP/2 side of the gateway against RFC 9113, as h2spec does it: a client that breaks one rule at a time.

use std::collections::BTreeMap;
use std::path::Path;

use sluicegate_testkit::http::Asked;
use sluicegate_testkit::python;

use crate::bed::Bed;

const POLICY: &str = "identity: {anonymous: free}\ntiers: {free: {rate: 100_000, burst: 100_000}}\n";

/// What the server may do in each case. Pseudo headers in trailers are dropped by the library, and reach no upstream.
const EXPECTED: [(&str, &[&str]); 47] = [
    ("settings are acknowledged", &["ACK 0"]),
    ("a ping is answered", &["PONG 3132333435363738"]),
    ("an unknown frame is ignored", &["HEADERS 1"]),
    ("an unknown setting is ignored", &["HEADERS 1"]),
    ("data on stream 0", PROTOCOL),
    ("headers on stream 0", PROTOCOL),
    ("headers on an even stream", PROTOCOL),
    ("a stream with a smaller number", &["GOAWAY PROTOCOL_ERROR", "GOAWAY STREAM_CLOSED"]),
    ("data on an idle stream", PROTOCOL),
    ("a reset of an idle stream", PROTOCOL),
    ("a window update of an idle stream", PROTOCOL),
    ("a window update of nothing", PROTOCOL),
    ("a window beyond its maximum", &["GOAWAY FLOW_CONTROL_ERROR"]),
    ("a window update of a wrong length", WRONG_LENGTH),
    ("a frame that is too large", FRAME_SIZE),
    ("a ping of a wrong length", WRONG_LENGTH),
    ("a ping on a stream", PROTOCOL),
    ("settings on a stream", PROTOCOL),
    ("settings of a wrong length", WRONG_LENGTH),
    ("an acknowledgement with settings", WRONG_LENGTH),
    ("push neither on nor off", PROTOCOL),
    ("a first window beyond its maximum", &["GOAWAY FLOW_CONTROL_ERROR", "GOAWAY PROTOCOL_ERROR"]),
    ("a largest frame below its minimum", PROTOCOL),
    ("a promise by a client", PROTOCOL),
    ("a continuation of nothing", PROTOCOL),
    ("another frame before the continuation", PROTOCOL),
    ("an index that is not in the table", &["GOAWAY COMPRESSION_ERROR", "GOAWAY PROTOCOL_ERROR"]),
    ("padding longer than its frame", PROTOCOL),
    ("a name in capitals", MALFORMED),
    ("a header of one connection", MALFORMED),
    ("te that is not trailers", MALFORMED),
    ("no path", MALFORMED),
    ("an empty path", MALFORMED),
    ("no method", MALFORMED),
    ("two methods", MALFORMED),
    ("an unknown pseudo header", MALFORMED),
    ("the pseudo header of an answer", MALFORMED),
    ("a pseudo header behind others", MALFORMED),
    ("more body than its length", MALFORMED),
    ("less body than its length", MALFORMED),
    ("trailers that do not end the stream", MALFORMED),
    ("trailers with a pseudo header", &["HEADERS 1", "RST 1 PROTOCOL_ERROR"]),
    ("more streams than allowed", &["RST REFUSED_STREAM"]),
    ("a request", &["200 with a body"]),
    ("a request with a body", &["200 with a body"]),
    ("an answer through a small window", &["200 with a body"]),
    ("a request with trailers", &["200 with a body"]),
];

const PROTOCOL: &[&str] = &["GOAWAY PROTOCOL_ERROR"];
const FRAME_SIZE: &[&str] = &["GOAWAY FRAME_SIZE_ERROR"];
/// RFC 9113 wants FRAME_SIZE_ERROR; the library says PROTOCOL_ERROR. The connection ends in either case.
const WRONG_LENGTH: &[&str] = &["GOAWAY FRAME_SIZE_ERROR", "GOAWAY PROTOCOL_ERROR"];
/// RFC 9113, 8.1.1: an error of the stream, or of the connection.
const MALFORMED: &[&str] = &["RST 1 PROTOCOL_ERROR", "GOAWAY PROTOCOL_ERROR"];

#[test]
fn a_client_that_breaks_a_rule_of_http2_is_told_so_and_harms_nobody() {
    let bed = Bed::start(POLICY);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/http2/conform.py");
    let told = python::run(&script, &[bed.server.gateway().to_string()]);
    let told: BTreeMap<String, String> = serde_json::from_value(told).unwrap();
    assert_eq!(told.len(), EXPECTED.len());
    let wrong: Vec<String> = EXPECTED
        .iter()
        .filter(|(case, allowed)| !allowed.contains(&told[*case].as_str()))
        .map(|(case, allowed)| format!("{case}: {} instead of {allowed:?}", told[*case]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(bed.gateway(&Asked::get("/")).status, 200);
}
