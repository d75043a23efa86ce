//! Which proxy, where its program is found, and how it is told to stay in the foreground. One that is missing fails the
//! test: it is never skipped.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProxyProgram {
    /// nginx.
    Nginx,
    /// Caddy.
    Caddy,
    /// Traefik.
    Traefik,
    /// HAProxy.
    Haproxy,
    /// Envoy.
    Envoy,
}

impl ProxyProgram {
    /// What its program is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Caddy => "caddy",
            Self::Traefik => "traefik",
            Self::Haproxy => "haproxy",
            Self::Envoy => "envoy",
        }
    }

    /// The file in its folder that it is started with.
    pub const fn configuration(self) -> &'static str {
        match self {
            Self::Nginx => "nginx.conf",
            Self::Caddy => "Caddyfile",
            Self::Traefik => "traefik.yaml",
            Self::Haproxy => "haproxy.cfg",
            Self::Envoy => "envoy.yaml",
        }
    }

    /// One process, in the foreground, with nothing outside of its folder. So it ends when it is killed.
    pub(super) const fn args(self) -> &'static [&'static str] {
        match self {
            Self::Nginx => {
                &["-p", ".", "-e", "stderr", "-c", "nginx.conf", "-g", "daemon off; master_process off;"]
            }
            Self::Caddy => &["run", "--config", "Caddyfile", "--adapter", "caddyfile"],
            Self::Traefik => &["--configfile=traefik.yaml"],
            Self::Haproxy => &["-db", "-f", "haproxy.cfg"],
            // Two that could be started hot would have to agree on memory that they share.
            Self::Envoy => {
                &["-c", "envoy.yaml", "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
            }
        }
    }

    /// The variable that names the program, for machines where it is not in the path.
    const fn variable(self) -> &'static str {
        match self {
            Self::Nginx => "SLUICEGATE_NGINX",
            Self::Caddy => "SLUICEGATE_CADDY",
            Self::Traefik => "SLUICEGATE_TRAEFIK",
            Self::Haproxy => "SLUICEGATE_HAPROXY",
            Self::Envoy => "SLUICEGATE_ENVOY",
        }
    }

    /// Its program. Fails with what to do if there is none.
    #[track_caller]
    #[expect(clippy::panic, reason = "a missing proxy fails the run")]
    pub(super) fn path(self) -> PathBuf {
        self.find(variable(self.variable()).as_deref().map(Path::new), &folders())
            .unwrap_or_else(|missing| panic!("{missing}"))
    }

    fn find(self, named: Option<&Path>, folders: &[PathBuf]) -> Result<PathBuf, String> {
        let (name, variable) = (self.name(), self.variable());
        if let Some(named) = named {
            let wrong = || format!("{variable} names {}, which is no file", named.display());
            return named.is_file().then(|| named.to_owned()).ok_or_else(wrong);
        }
        let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
        found.ok_or_else(|| {
            format!(
                "there is no {name}: run scripts/proxies, which gets it, or install it and name the program in \
                 {variable}"
            )
        })
    }
}

/// The path, where administrators have programs, and where `scripts/proxies` puts them.
fn folders() -> Vec<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")));
    let installed = cache.map(|cache| cache.join("sluicegate/proxies"));
    env::split_paths(&path).chain(["/usr/sbin".into()]).chain(installed).collect()
}

#[expect(clippy::disallowed_methods, reason = "where programs lie is told by the environment of the tests")]
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_proxy_is_named_with_what_to_do() {
        let message = ProxyProgram::Envoy.find(None, &[PathBuf::from("nowhere")]).unwrap_err();
        assert!(message.contains("no envoy") && message.contains("scripts/proxies"), "{message}");
        assert!(message.contains("SLUICEGATE_ENVOY"), "{message}");
    }

    #[test]
    fn a_variable_that_names_nothing_is_not_passed_over() {
        let message = ProxyProgram::Caddy.find(Some(Path::new("gone")), &folders()).unwrap_err();
        assert_eq!(message, "SLUICEGATE_CADDY names gone, which is no file");
    }
}
