//! The router inside an application: below a prefix, next to routes that are not its own.

mod browser;
mod host;
mod mount;
mod pages;
mod session;
