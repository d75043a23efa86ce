//! The middleware that stands before a service and asks Tollgate.
