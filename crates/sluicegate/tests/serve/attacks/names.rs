//! Names that look like others, and files that others could read.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use sluicegate_testkit::http::Asked;

use super::THREE;
use crate::bed::Bed;

#[test]
fn attack_53_names_with_characters_that_are_not_seen_are_refused() {
    let bed = Bed::start(THREE);
    bed.account("acme", "pro");
    let invisible =
        ["\u{202e}", "\u{2066}", "\u{200f}", "\u{200b}", "\u{feff}", "\u{61c}", "\u{ad}", "\u{e0041}"];
    for character in invisible {
        let name = format!("Acme{character}moc.live");
        let account = bed.post("/admin/v1/accounts", &json!({"name": name, "tier": "pro"}));
        assert_eq!(account.status, 422, "{name:?}: {}", account.text());
        let key = bed.post("/admin/v1/accounts/acme/keys", &json!({"name": name}));
        assert_eq!(key.status, 422, "{name:?}: {}", key.text());
    }
    // What is written from right to left by itself is a name like any other.
    for name in ["שלום", "العربية", "東京", "Müller & Söhne"] {
        assert_eq!(bed.post("/admin/v1/accounts/acme/keys", &json!({"name": name})).status, 201, "{name}");
    }
}

/// Everything under this folder with its mode.
fn modes(folder: &Path, found: &mut Vec<(String, u32)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        found.push((entry.path().display().to_string(), mode));
        if entry.file_type().unwrap().is_dir() {
            modes(&entry.path(), found);
        }
    }
}

#[test]
fn attack_54_other_users_of_the_machine_read_nothing_in_the_data_directory() {
    let mut bed = Bed::start_apart(THREE);
    let key = bed.customer("acme", "pro");
    assert_eq!(bed.gateway(&Asked::get("/").key(&key)).status, 200);
    let check = |bed: &Bed| {
        let mut found = Vec::new();
        modes(&bed.data_dir(), &mut found);
        assert!(found.len() > 10, "{found:?}");
        let open: Vec<_> = found.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
        assert!(open.is_empty(), "{open:?}");
    };
    check(&bed);
    // What an earlier version left readable is not, from the next start on.
    let mut found = Vec::new();
    modes(&bed.data_dir(), &mut found);
    bed.server.kill();
    for (path, mode) in &found {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode | 0o055)).unwrap();
    }
    bed.restart();
    check(&bed);
}
