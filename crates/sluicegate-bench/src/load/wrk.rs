//! wrk: how it is called, and what its output says.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::cores::{Cores, Side};
use super::how::Heard;

/// Connections that are kept alive.
pub(crate) const CONNECTIONS: u32 = 50;

/// Fails, with what to install, if wrk is not there.
pub(crate) fn ensure_installed() -> Result<()> {
    // It says its version and ends with a status of its own.
    let found = Command::new("wrk").arg("--version").output();
    ensure!(found.is_ok(), "wrk is not installed: `apt install wrk`, or the package of that name elsewhere");
    Ok(())
}

/// One run. Anything but answers of 2xx is an error: a refusal costs less than an admission.
pub(crate) fn run(cores: Cores, script: &Path, url: &str, seconds: u32) -> Result<Heard> {
    let mut command = cores.command(Side::Clients, "wrk");
    command.args(["-t", "1", "-c", &CONNECTIONS.to_string(), "--latency"]);
    command.args(["-d", &format!("{seconds}s"), "-s"]).arg(script).arg(url);
    let output = command.output().context("cannot run wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "wrk ended with {}: {text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    parse(&text).with_context(|| format!("{url}: wrk said\n{text}"))
}

fn parse(text: &str) -> Result<Heard> {
    let line = |start: &str| text.lines().map(str::trim).find_map(|line| line.strip_prefix(start));
    if let Some(count) = line("Non-2xx or 3xx responses:") {
        bail!("{} requests were not answered 2xx", count.trim());
    }
    if let Some(errors) = line("Socket errors:") {
        bail!("socket errors: {}", errors.trim());
    }
    let rate = line("Requests/sec:").context("no requests per second")?;
    let p99 = line("99%").context("no 99th percentile")?;
    let counted = text.lines().find_map(|line| line.trim().split_once(" requests in "));
    let (requests, _) = counted.context("no number of requests")?;
    let heard = Heard {
        requests_per_s: rate.trim().parse().context("not a rate")?,
        requests: requests.parse().context("not a number of requests")?,
        p99: duration(p99.trim()).context("not a time")?,
    };
    ensure!(heard.requests > 0, "nothing was answered");
    Ok(heard)
}

/// As wrk writes times: `950.00us`, `1.05ms`, `2.00s`, `1.50m`.
fn duration(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let in_unit: f64 = number.parse().ok().filter(|number| *number >= 0.0)?;
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(in_unit * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::{duration, parse};
    use std::time::Duration;

    const SAID: &str = "\
Running 3s test @ http://127.0.0.1:8081/
  1 threads and 50 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.05ms  120.00us   9.11ms   93.18%
    Req/Sec    47.61k     2.10k   49.90k    88.00%
  Latency Distribution
     50%    1.00ms
     75%    1.08ms
     90%    1.17ms
     99%    1.51ms
  142153 requests in 3.00s, 95.44MB read
Requests/sec:  47381.72
Transfer/sec:     31.81MB
";

    #[test]
    fn rate_count_and_percentile_are_read() {
        let heard = parse(SAID).unwrap();
        assert!((heard.requests_per_s - 47_381.72).abs() < 1e-9);
        assert_eq!((heard.requests, heard.p99), (142_153, Duration::from_micros(1_510)));
    }

    #[test]
    fn answers_other_than_2xx_are_an_error() {
        let said = SAID.replace("Requests/sec", "  Non-2xx or 3xx responses: 17\nRequests/sec");
        assert_eq!(parse(&said).unwrap_err().to_string(), "17 requests were not answered 2xx");
    }

    #[test]
    fn broken_connections_are_an_error() {
        let errors = "  Socket errors: connect 0, read 3, write 0, timeout 1\nRequests/sec";
        let error = parse(&SAID.replace("Requests/sec", errors)).unwrap_err().to_string();
        assert_eq!(error, "socket errors: connect 0, read 3, write 0, timeout 1");
    }

    #[test]
    fn output_that_says_nothing_is_an_error() {
        assert!(parse("unable to connect to 127.0.0.1:1 Connection refused").is_err());
        assert!(parse(&SAID.replace("142153 requests", "0 requests")).is_err());
        assert!(parse(&SAID.replace("47381.72", "fast")).is_err());
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("950.00us"), Some(Duration::from_micros(950)));
        assert_eq!(duration("1.50m"), Some(Duration::from_secs(90)));
        assert_eq!(duration("2.00s"), Some(Duration::from_secs(2)));
        assert_eq!(duration("2.00"), None);
        assert_eq!(duration("-1.00s"), None);
        assert_eq!(duration("1.00d"), None);
    }
}
