//! Load over loopback: servers as child processes, wrk or h2load as the clients, rounds in turns.

pub(crate) mod build;
pub(crate) mod caller;
pub(crate) mod contest;
pub(crate) mod cores;
pub(crate) mod field;
pub(crate) mod figures;
pub(crate) mod h2load;
pub(crate) mod how;
pub(crate) mod options;
pub(crate) mod report;
pub(crate) mod script;
pub(crate) mod server;
pub(crate) mod sluicegate;
pub(crate) mod suite;
pub(crate) mod usage;
pub(crate) mod wrk;
