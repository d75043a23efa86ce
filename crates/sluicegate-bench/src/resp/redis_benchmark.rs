//! redis-benchmark: how it is called, and what its output says.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};

use crate::load::build::is_installed;
use crate::load::cores::{Cores, Side};
use crate::load::wrk::CONNECTIONS;

/// How many commands tell how fast a server is.
pub(super) const PROBE: u64 = 20_000;

/// Callers, by chance.
const CALLERS: &str = "1000";

/// What a server is asked.
pub(super) struct Asked<'a> {
    pub(super) address: SocketAddr,
    pub(super) command: &'a [&'static str],
    /// Commands that are sent before the first answer is waited for.
    pub(super) depth: u32,
}

/// What one run says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Heard {
    pub(super) per_s: f64,
    pub(super) p99_ms: f64,
}

/// Fails, with what to install, if it is not there.
pub(super) fn ensure_installed() -> Result<()> {
    ensure!(
        is_installed("redis-benchmark", "--version"),
        "redis-benchmark is missing: `apt install redis-tools`"
    );
    Ok(())
}

/// One run of so many commands. An answer that is an error ends it.
pub(super) fn run(cores: Cores, asked: &Asked<'_>, count: u64) -> Result<Heard> {
    let mut command = cores.command(Side::Clients, "redis-benchmark");
    command.args(["-h", "127.0.0.1", "-p", &asked.address.port().to_string(), "--csv", "-r", CALLERS]);
    command.args(["-c", &CONNECTIONS.to_string(), "-n", &count.to_string(), "-P", &asked.depth.to_string()]);
    let output = command.args(asked.command).output().context("cannot run redis-benchmark")?;
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "redis-benchmark ended with {}: {said}{complained}", output.status);
    parse(&said).with_context(|| format!("redis-benchmark said\n{said}{complained}"))
}

/// Names in the first line, figures in the last, each in quotes.
fn parse(text: &str) -> Result<Heard> {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('"').split("\",\"").map(str::to_owned).collect()
    };
    let names = text.lines().find(|line| line.starts_with("\"test\"")).context("no names of figures")?;
    let figures = text.lines().rfind(|line| line.starts_with('"')).context("no figures")?;
    let (names, figures) = (cells(names), cells(figures));
    ensure!(names.len() == figures.len(), "more names than figures");
    let figure = |name: &str| -> Result<f64> {
        let index = names.iter().position(|known| known == name);
        let text = index.and_then(|index| figures.get(index)).with_context(|| format!("no {name}"))?;
        text.parse().with_context(|| format!("{name} is {text}"))
    };
    let heard = Heard { per_s: figure("rps")?, p99_ms: figure("p99_latency_ms")? };
    ensure!(heard.per_s > 0.0, "nothing was answered");
    Ok(heard)
}

#[cfg(test)]
mod tests {
    use super::parse;

    const SAID: &str = concat!(
        r#""test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms""#,
        "\n",
        r#""CL.THROTTLE caller:__rand_int__ 9 1 60","91743.12","0.289","0.072","0.279","0.343","0.535""#,
        "\n"
    );

    #[test]
    fn rate_and_percentile_are_read() {
        let heard = parse(SAID).unwrap();
        assert!((heard.per_s - 91_743.12).abs() < 1e-9 && (heard.p99_ms - 0.535).abs() < 1e-9);
    }

    #[test]
    fn output_that_says_nothing_is_an_error() {
        assert!(parse("").is_err());
        assert!(parse(&SAID.replace("91743.12", "fast")).is_err());
        assert!(parse(&SAID.replace("91743.12", "0.00")).is_err());
        assert!(parse(&SAID.replace("\"rps\",", "")).is_err());
    }
}
