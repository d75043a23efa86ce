//! Tests of the shape.
