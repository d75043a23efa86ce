//! What reflection shows is made from the files in `proto`, and never by hand.

use std::fs;
use std::path::{Path, PathBuf};

use prost_reflect::prost::Message as _;

fn protos() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("proto")
}

fn files_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_under(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            found.push(path);
        }
    }
}

#[test]
fn the_descriptors_are_those_of_the_files() {
    let (mut files, kept) = (Vec::new(), protos().join("descriptors.bin"));
    files_under(&protos(), &mut files);
    files.sort();
    let mut compiler = protox::Compiler::new([protos()]).unwrap();
    compiler.include_imports(true).include_source_info(false).open_files(files).unwrap();
    let made = compiler.file_descriptor_set().encode_to_vec();
    if crate::golden::blessing() {
        fs::write(&kept, &made).unwrap();
        return;
    }
    let is_same = fs::read(&kept).unwrap() == made;
    assert!(is_same, "descriptors.bin is stale; make it anew with SLUICEGATE_BLESS=1");
}
