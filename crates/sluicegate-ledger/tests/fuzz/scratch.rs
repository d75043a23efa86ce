//! Folders for cases, in memory where the system has such a place: what is tried here is not whether a disk is slow.

use std::fs;
use std::path::Path;

pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            copy(&path, &to.join(path.file_name().unwrap()));
        } else {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}
