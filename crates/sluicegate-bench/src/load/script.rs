//! The requests of a contestant, as a script for wrk: written out beforehand, so that sending one costs it little.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// One request, as bytes on the wire.
pub(crate) struct Wire(String);

impl Wire {
    /// A POST of a JSON text.
    pub(crate) fn post(host: SocketAddr, path: &str, body: &str) -> Self {
        let length = body.len();
        Self(format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// A GET with an API key.
    pub(crate) fn get(host: SocketAddr, path: &str, key: &str) -> Self {
        Self(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\r\n"))
    }
}

/// Writes a script that sends these requests in turn, over and over.
pub(crate) fn write(folder: &Path, name: &str, requests: &[Wire]) -> Result<PathBuf> {
    let path = folder.join(format!("{name}.lua"));
    std::fs::write(&path, lua(requests)).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn lua(requests: &[Wire]) -> String {
    let mut script = "local requests = {\n".to_owned();
    for Wire(text) in requests {
        let _ = writeln!(script, "  \"{}\",", quoted(text));
    }
    script.push_str("}\nlocal turn = 0\nfunction request()\n  turn = turn % #requests + 1\n");
    script.push_str("  return requests[turn]\nend\n");
    script
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\r', "\\r").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{Wire, lua};

    #[test]
    fn requests_are_quoted_and_sent_in_turn() {
        let wire = Wire::post("127.0.0.1:80".parse().unwrap(), "/v1/check", r#"{"key":"a\"b"}"#);
        let script = lua(&[wire]);
        let line =
            r#"  "POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Type: application/json\r\n"#;
        assert!(script.contains(line), "{script}");
        assert!(script.contains(r#"Content-Length: 14\r\n\r\n{\"key\":\"a\\\"b\"}","#), "{script}");
        assert!(script.ends_with("turn = turn % #requests + 1\n  return requests[turn]\nend\n"), "{script}");
    }
}
