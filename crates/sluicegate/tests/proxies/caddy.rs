//! Caddy, with what `forward_auth` is short for.

use sluicegate_testkit::proxies::ProxyProgram;

use crate::expectations::expectations;
use crate::recipe::{Limits, Recipe};

pub(crate) const CADDY: Recipe = Recipe {
    program: ProxyProgram::Caddy,
    files: &["caddy/Caddyfile"],
    adapt: |text, _| text,
    open: ("# reverse_proxy 127.0.0.1:", "reverse_proxy 127.0.0.1:"),
    limits: Limits::ToTheCaller,
    unreachable: &[503],
};

expectations!(CADDY);
