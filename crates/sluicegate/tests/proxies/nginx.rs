//! nginx, with `auth_request`.

use sluicegate_testkit::proxies::ProxyProgram;

use crate::expectations::expectations;
use crate::recipe::{Limits, Recipe};

pub(crate) const NGINX: Recipe = Recipe {
    program: ProxyProgram::Nginx,
    files: &["nginx/nginx.conf"],
    adapt: |text, _| {
        // Packages have folders for these that only some users may write to.
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let paths = folders.map(|name| format!("    {name}_temp_path {name};\n")).concat();
        text.replace("http {\n", &format!("http {{\n{paths}"))
    },
    open: ("# error_page 502 504 = @pass_uncounted;", "error_page 502 504 = @pass_uncounted;"),
    limits: Limits::ToTheCaller,
    unreachable: &[503],
};

expectations!(NGINX);
