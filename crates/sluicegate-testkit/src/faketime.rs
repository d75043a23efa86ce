//! Another time of day for a server: libfaketime, loaded before the program. One that is missing fails the test.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Its file, in a folder of its own under those of libraries.
const FILE: &str = "faketime/libfaketime.so.1";

/// Where systems keep libraries; those of one kind of machine are a folder further down.
const FOLDERS: [&str; 3] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// A wall clock that can be stepped while the servers that have it run. It lives in a file.
#[derive(Clone, Debug)]
pub struct WallClock {
    file: PathBuf,
}

impl WallClock {
    /// A wall clock in this folder, which says the time of the system.
    pub fn new(folder: &Path) -> Self {
        let clock = Self { file: folder.join("wall-clock") };
        clock.step_to(0);
        clock
    }

    /// A wall clock in this folder that reads this many seconds since 1970 now, and goes on from there.
    pub fn reading(folder: &Path, unix_s: i64) -> Self {
        let clock = Self { file: folder.join("wall-clock") };
        clock.set(unix_s);
        clock
    }

    /// Reads this many seconds since 1970 now, and goes on from there.
    pub fn set(&self, unix_s: i64) {
        #[expect(clippy::disallowed_methods, reason = "libfaketime counts from the time of the system")]
        let system = SystemTime::now().duration_since(UNIX_EPOCH).expect("the system's clock is set");
        self.write(unix_s - i64::try_from(system.as_secs()).expect("an instant of this age"));
    }

    /// Steps ahead by so many seconds, or back.
    pub fn step_by(&self, seconds: i64) {
        let offset_s = fs::read_to_string(&self.file).expect("it can be read");
        let offset_s: i64 = offset_s.trim().parse().expect("it holds seconds");
        self.write(offset_s + seconds);
    }

    /// Says the time of the system and so many seconds more.
    pub fn step_to(&self, ahead_s: u64) {
        self.write(i64::try_from(ahead_s).expect("a step within this age"));
    }

    fn write(&self, offset_s: i64) {
        // One atomic write: a reader sees all of it or nothing.
        let next = self.file.with_extension("next");
        fs::write(&next, format!("{offset_s:+}\n")).expect("it can be written");
        fs::rename(&next, &self.file).expect("it can be put in its place");
    }

    /// What a process is told so that this is its wall clock.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = common();
        variables.push(("FAKETIME_TIMESTAMP_FILE", self.file.clone().into()));
        variables.push(("FAKETIME_NO_CACHE", "1".into()));
        variables
    }
}

/// What a process is told whatever its time is.
pub(crate) fn common() -> Vec<(&'static str, OsString)> {
    vec![
        ("LD_PRELOAD", library().into()),
        ("TZ", "UTC0".into()),
        // How long something takes, and when files were written, is as it is.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ("NO_FAKE_STAT", "1".into()),
    ]
}

/// Where the library is. Fails with what to install if it is nowhere.
#[track_caller]
fn library() -> PathBuf {
    let found = FOLDERS.iter().find_map(|folder| find(Path::new(folder)));
    found.expect("there is no libfaketime: run scripts/test, or install the package libfaketime (apt)")
}

fn find(folder: &Path) -> Option<PathBuf> {
    let inner = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    [folder.to_owned()].into_iter().chain(inner).map(|folder| folder.join(FILE)).find(|path| path.is_file())
}

/// Removes what a process that was killed leaves behind. Of one that has none, nothing is there.
pub(crate) fn clear_up(pid: u32) {
    for name in [format!("faketime_shm_{pid}"), format!("sem.faketime_sem_{pid}")] {
        let _ = fs::remove_file(Path::new("/dev/shm").join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_in_a_folder_and_one_below() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find(folder.path()), None);
        for inner in ["one-kind-of-machine", ""] {
            let file = folder.path().join(inner).join(FILE);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            assert_eq!(find(folder.path()), Some(file));
        }
    }
}
