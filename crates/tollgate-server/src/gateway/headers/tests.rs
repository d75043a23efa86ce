//! Tests of the headers.
