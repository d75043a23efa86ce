//! The servers of the suite `resp`, each with the command it is sent.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::redis_benchmark::{self, Asked};
use super::{OURS, OURS_DEEP, REDIS, REDIS_DEEP, THROTTLECRAB, THROTTLECRAB_DEEP};
use crate::load::build;
use crate::load::contest::Loaded;
use crate::load::cores::{Cores, Side};
use crate::load::field::{Field, Running};
use crate::load::figures::Lap;
use crate::load::options::LoadOptions;
use crate::load::server::free_address;
use crate::load::sluicegate::Sluicegate;
use crate::load::usage;

const LOOK_EVERY: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(5);

/// Commands that are sent before the first answer is waited for.
const DEEP: u32 = 16;

/// A limit that refuses nobody, given with each command.
const LIMIT: [&str; 3] = ["999999999", "1000000000", "60"];

/// The key of each command: the load program puts one of its callers in the place of the last word.
const KEY: &str = "caller:__rand_int__";

/// One that is loaded.
pub(super) struct Contestant {
    name: &'static str,
    running: Running,
    command: Vec<&'static str>,
    depth: u32,
    /// How an answer begins that admits.
    admits: &'static [u8],
}

impl Loaded for Contestant {
    fn name(&self) -> &'static str {
        self.name
    }

    fn lap(&self, cores: Cores, seconds: u32) -> Result<Lap> {
        let asked = Asked { address: self.running.address, command: &self.command, depth: self.depth };
        let loading = || format!("loading {}", self.name);
        // It takes a number of commands, and not a time: a short run tells how many fill it.
        let probe = redis_benchmark::run(cores, &asked, redis_benchmark::PROBE).with_context(loading)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "so many commands, above zero"
        )]
        let count = (probe.per_s * f64::from(seconds)) as u64;
        let before = usage::cpu_of_group(self.running.group)?;
        let heard = redis_benchmark::run(cores, &asked, count.max(1)).with_context(loading)?;
        let used_s = usage::cpu_of_group(self.running.group)?.saturating_sub(before).as_secs_f64();
        let loaded_s = count as f64 / heard.per_s;
        Ok(Lap {
            per_s: heard.per_s,
            per_core_s: count as f64 / used_s.max(0.001),
            busy: used_s / loaded_s,
            p99_ms: heard.p99_ms,
        })
    }
}

impl Contestant {
    /// Asks once and wants to be admitted.
    pub(super) fn expect_admission(&self) -> Result<()> {
        let mut stream = TcpStream::connect(self.running.address).context("cannot connect")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut bytes = format!("*{}\r\n", self.command.len());
        for word in &self.command {
            let word = word.replace("__rand_int__", "000000000001");
            bytes.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        stream.write_all(bytes.as_bytes())?;
        let mut answer = [0; 256];
        let mut length = 0;
        while length < self.admits.len() {
            let read = stream.read(&mut answer[length..])?;
            ensure!(read > 0, "{} says nothing", self.name);
            length += read;
        }
        let said = String::from_utf8_lossy(&answer[..length]);
        ensure!(answer.starts_with(self.admits), "{} refuses: {said}", self.name);
        Ok(())
    }
}

/// Starts everyone who is wanted.
pub(super) fn start(field: &mut Field<'_>, options: &LoadOptions) -> Result<Vec<Contestant>> {
    let mut all = Vec::new();
    let sluicegate =
        Sluicegate { program: build::sluicegate(options)?, folder: field.folder.to_owned(), upstream: None };
    let (server, addresses) = sluicegate.start(field.cores, LOOK_EVERY)?;
    let running = field.keep(server, addresses.resp);
    let throttle = |name| [&[name, KEY][..], &LIMIT].concat();
    // redis-cell says 0 of what is admitted.
    enter(&mut all, [OURS, OURS_DEEP], running, &throttle("CL.THROTTLE"), b"*5\r\n:0\r\n");
    if options.wants(THROTTLECRAB) {
        let address = free_address()?;
        let mut program = Command::new(build::throttlecrab()?);
        program.args(["--redis", "--redis-host", "127.0.0.1", "--log-level", "warn"]);
        program.arg("--redis-port").arg(address.port().to_string());
        let running = field.start(THROTTLECRAB, &program, Side::Server, address)?;
        // It says 1.
        enter(&mut all, [THROTTLECRAB, THROTTLECRAB_DEEP], running, &throttle("THROTTLE"), b"*5\r\n:1\r\n");
    }
    if options.wants(REDIS) {
        let address = free_address()?;
        let mut program = Command::new("redis-server");
        program.args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
        program.args(["--save", "", "--appendonly", "no", "--dir"]).arg(field.folder);
        let running = field.start(REDIS, &program, Side::Server, address)?;
        enter(&mut all, [REDIS, REDIS_DEEP], running, &["INCR", KEY], b":");
    }
    Ok(all)
}

/// One by one, and in pipelines.
fn enter(
    all: &mut Vec<Contestant>,
    names: [&'static str; 2],
    running: Running,
    command: &[&'static str],
    admits: &'static [u8],
) {
    for (name, depth) in names.into_iter().zip([1, DEEP]) {
        all.push(Contestant { name, running, command: command.to_vec(), depth, admits });
    }
}
