//! How much processor time and memory a server took, from Linux's accounts.

use std::fs::{read_dir, read_to_string};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// Processor time of all processes of this group so far: a server may have more than one.
pub(crate) fn cpu_of_group(group: u32) -> Result<Duration> {
    let mut ticks = 0;
    for entry in read_dir("/proc").context("no /proc")?.flatten() {
        let is_process = entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        // A process may end while the list is read.
        if is_process && let Ok(stat) = read_to_string(entry.path().join("stat")) {
            ticks += ticks_if_of(&stat, group).unwrap_or(0);
        }
    }
    let per_s = rustix::param::clock_ticks_per_second().max(1);
    Ok(Duration::from_nanos(ticks * 1_000_000_000 / per_s))
}

fn ticks_if_of(stat: &str, group: u32) -> Option<u64> {
    // A program's name may hold spaces and parentheses: count from the last one, where field 3 begins.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let of: u32 = fields.get(2)?.parse().ok()?;
    let user: u64 = fields.get(11)?.parse().ok()?;
    let system: u64 = fields.get(12)?.parse().ok()?;
    (of == group).then_some(user + system)
}

/// Memory of a process that is in use now, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resident {
    /// All of it.
    pub(crate) all: u64,
    /// What is no page of a file, such as the program itself or mapped data that the system may drop.
    pub(crate) anonymous: u64,
}

impl Resident {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let status = read_to_string(format!("/proc/{pid}/status")).context("the process has ended")?;
        Self::parse(&status).context("no VmRSS and RssAnon in its status")
    }

    fn parse(status: &str) -> Option<Self> {
        let bytes = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kilobytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kilobytes * 1_024)
        };
        Some(Self { all: bytes("VmRSS:")?, anonymous: bytes("RssAnon:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::{Resident, ticks_if_of};

    const STAT: &str = "7 (a) b) R 1 42 7 0 -1 4194304 95 0 0 0 30 12 0 0 20 0 1 0 100 200 300";

    #[test]
    fn processor_time_counts_for_the_group_it_is_of() {
        assert_eq!(ticks_if_of(STAT, 42), Some(42));
        assert_eq!(ticks_if_of(STAT, 7), None);
        assert_eq!(ticks_if_of("7 (short) R 1", 1), None);
    }

    #[test]
    fn resident_memory_is_in_kilobytes() {
        let status = "Name:\tsluicegate\nVmRSS:\t   2048 kB\nRssAnon:\t   1024 kB\nRssFile:\t   1024 kB\n";
        assert_eq!(Resident::parse(status), Some(Resident { all: 2_097_152, anonymous: 1_048_576 }));
        assert_eq!(Resident::parse("Name:\tkthreadd\n"), None);
    }
}
