//! The listeners: the gateway, the decision API and the admin API.

pub mod decision;
