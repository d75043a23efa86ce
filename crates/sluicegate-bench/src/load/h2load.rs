//! h2load: how it is called with calls of gRPC, and what its output says.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::cores::{Cores, Side};
use super::how::Heard;

/// Connections, and calls in flight on each.
pub(crate) const CONNECTIONS: u32 = 5;
pub(crate) const STREAMS: u32 = 10;

/// One call that is made again and again.
pub(crate) struct Calls {
    /// `/package.Service/Method`.
    pub(crate) method: &'static str,
    /// The message with its prefix, in a file.
    pub(crate) message: PathBuf,
}

impl Calls {
    /// Calls of a method with this message, which is written to a file of this name.
    pub(crate) fn new(folder: &Path, name: &str, method: &'static str, message: &[u8]) -> Result<Self> {
        let path = folder.join(format!("{name}.bin"));
        std::fs::write(&path, framed(message)).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { method, message: path })
    }
}

/// A message as gRPC sends it: not compressed, its length, the bytes.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0][..], &length.to_be_bytes(), message].concat()
}

/// Fails, with what to install, if h2load is not there.
pub(crate) fn ensure_installed() -> Result<()> {
    let found = Command::new("h2load").arg("--version").output();
    ensure!(found.is_ok(), "h2load is not installed: `apt install nghttp2-client`, or your system's package");
    Ok(())
}

/// One run.
pub(crate) fn run(cores: Cores, calls: &Calls, address: SocketAddr, seconds: u32) -> Result<Heard> {
    let log = calls.message.with_extension("log");
    let mut command = cores.command(Side::Clients, "h2load");
    command.args(["-t", "1", "-c", &CONNECTIONS.to_string(), "-m", &STREAMS.to_string()]);
    command.args(["-D", &seconds.to_string(), "-H", "content-type: application/grpc", "-H", "te: trailers"]);
    command.arg("-d").arg(&calls.message).arg(format!("--log-file={}", log.display()));
    command.arg(format!("http://{address}{}", calls.method));
    let output = command.output().context("cannot run h2load")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "h2load ended with {}: {text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let times = std::fs::read_to_string(&log).context("h2load has written no log")?;
    // Left over, it would be appended to.
    let _ = std::fs::remove_file(&log);
    parse(&text, &times).with_context(|| format!("{}: h2load said\n{text}", calls.method))
}

fn parse(text: &str, times: &str) -> Result<Heard> {
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
    let finished = line("finished in ").context("it does not say that it has finished")?;
    let per_s = finished.split(", ").find_map(|part| part.strip_suffix(" req/s"));
    let counts = line("requests: ").context("no number of requests")?;
    let count = |what: &str| {
        let found = counts.split(", ").find_map(|part| part.strip_suffix(what));
        found.and_then(|number| number.trim().parse::<u64>().ok()).with_context(|| format!("no {what}"))
    };
    let (done, failed) = (count(" done")?, count(" failed")? + count(" errored")? + count(" timeout")?);
    ensure!(done > 0, "nothing was answered");
    ensure!(failed == 0, "{failed} calls were not answered 2xx");
    let mut micros: Vec<u64> =
        times.lines().filter_map(|line| line.rsplit('\t').next()?.parse().ok()).collect();
    micros.sort_unstable();
    let p99 = micros.get(micros.len() * 99 / 100).context("no times in its log")?;
    Ok(Heard {
        requests_per_s: per_s.context("no requests per second")?.parse().context("not a rate")?,
        requests: done,
        p99: Duration::from_micros(*p99),
    })
}

#[cfg(test)]
mod tests {
    use super::{framed, parse};
    use std::time::Duration;

    const SAID: &str = "\
finished in 1.00s, 23664.50 req/s, 4.85MB/s
requests: 23664 total, 23714 started, 23664 done, 23664 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 23664 2xx, 0 3xx, 0 4xx, 0 5xx
";

    #[test]
    fn rate_count_and_percentile_are_read() {
        let times: String = (1..=200).map(|micros| format!("1794841749063465\t200\t{micros}\n")).collect();
        let heard = parse(SAID, &times).unwrap();
        assert!((heard.requests_per_s - 23_664.5).abs() < 1e-9);
        assert_eq!((heard.requests, heard.p99), (23_664, Duration::from_micros(199)));
    }

    #[test]
    fn calls_that_fail_are_an_error() {
        let said = SAID.replace("0 failed", "17 failed");
        assert_eq!(parse(&said, "1\t200\t5").unwrap_err().to_string(), "17 calls were not answered 2xx");
        assert!(parse(&SAID.replace("23664 done", "0 done"), "1\t200\t5").is_err());
        assert!(parse("no", "1\t200\t5").is_err() && parse(SAID, "").is_err());
    }

    #[test]
    fn a_message_is_sent_behind_its_length() {
        assert_eq!(framed(b"abc"), [0, 0, 0, 0, 3, b'a', b'b', b'c']);
    }
}
