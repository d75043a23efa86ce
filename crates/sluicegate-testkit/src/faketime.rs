//! Another time of day for a server: libfaketime, loaded before the program. One that is missing fails the test.

use std::fs;
use std::path::{Path, PathBuf};

/// Its file, in a folder of its own under those of libraries.
const FILE: &str = "faketime/libfaketime.so.1";

/// Where systems keep libraries; those of one kind of machine are a folder further down.
const FOLDERS: [&str; 3] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// Where the library is. Fails with what to install if it is nowhere.
#[track_caller]
pub(crate) fn library() -> PathBuf {
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
