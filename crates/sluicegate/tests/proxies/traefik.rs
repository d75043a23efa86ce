//! Traefik, with ForwardAuth.

use sluicegate_testkit::proxies::ProxyProgram;

use crate::expectations::expectations;
use crate::recipe::{Limits, Recipe};

pub(crate) const TRAEFIK: Recipe = Recipe {
    program: ProxyProgram::Traefik,
    files: &["traefik/traefik.yaml", "traefik/dynamic.yaml"],
    adapt: |text, _| text,
    open: ("# middlewares: [pass_uncounted]", "middlewares: [pass_uncounted]"),
    limits: Limits::ToTheApi,
    unreachable: &[502, 504],
};

expectations!(TRAEFIK);
