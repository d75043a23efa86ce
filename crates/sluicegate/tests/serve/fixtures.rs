//! What older versions have left behind, in `tests/fixtures`. Each folder has the script that made it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sluicegate_testkit::redis::RedisServer;

/// A folder of fixtures.
pub(crate) struct Fixtures(pub(crate) &'static str);

impl Fixtures {
    fn path(&self, file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(self.0).join(file)
    }

    /// A folder with a data directory as it was left.
    pub(crate) fn unpacked(&self, file: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let status =
            Command::new("tar").arg("xzf").arg(self.path(file)).arg("-C").arg(folder.path()).status();
        assert!(status.unwrap().success());
        folder
    }

    /// The key of an account.
    pub(crate) fn key(&self, store: &str, account: &str) -> String {
        let keys = fs::read_to_string(self.path("keys.json")).unwrap();
        let keys: Value = serde_json::from_str(&keys).unwrap();
        keys[store][account].as_str().unwrap().to_owned()
    }

    /// Puts what the Redis of then held into a server.
    pub(crate) fn load_into(&self, server: &RedisServer) {
        let mut connection = TcpStream::connect(server.address()).unwrap();
        connection.write_all(&fs::read(self.path("redis.resp")).unwrap()).unwrap();
        connection.write_all(b"QUIT\r\n").unwrap();
        let mut answers = String::new();
        connection.read_to_string(&mut answers).unwrap();
        assert!(answers.lines().all(|line| !line.starts_with('-')), "{answers}");
    }
}
