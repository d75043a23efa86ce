//! HAProxy, with a script in Lua.

use sluicegate_testkit::proxies::ProxyProgram;

use crate::expectations::expectations;
use crate::recipe::{Limits, Recipe};

pub(crate) const HAPROXY: Recipe = Recipe {
    program: ProxyProgram::Haproxy,
    files: &["haproxy/haproxy.cfg", "haproxy/sluicegate.lua"],
    // The name of a socket is one for the whole machine.
    adapt: |text, number| {
        text.replace("abns@sluicegate-questions", &format!("abns@sluicegate-questions-{number}"))
    },
    open: ("    http-request return status 503", "    # http-request return status 503"),
    limits: Limits::ToTheCaller,
    unreachable: &[503],
};

expectations!(HAPROXY);
