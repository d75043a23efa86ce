//! Alerts as signed webhooks, in the Standard Webhooks manner.

mod alert_body;
mod deliver;
mod message;
mod post;
mod sign;

pub use alert_body::AlertBody;
pub use deliver::Delivery;
pub use sign::{SigningSecret, UnusableSecret};
