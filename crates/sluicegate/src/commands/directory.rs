//! `sluicegate directory`: the store of accounts and keys as a whole.

mod adopt;

use crate::cli::Directory;
use crate::exit::Exit;

pub(super) fn run(command: &Directory) -> anyhow::Result<Exit> {
    match command {
        Directory::Adopt(args) => adopt::run(args),
    }
}
