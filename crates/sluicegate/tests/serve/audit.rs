//! `sluicegate audit verify` beside servers that run, and after them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sluicegate_testkit::server::ADMIN_TOKEN;

use crate::bed::{Bed, PROGRAM, spool};
use crate::nodes::Nodes;

const POLICY: &str = "tiers: {free: {rate: 100_000, burst: 100_000, quota: 1_000_000}}\n";

/// What the command says, and how it ends.
fn verify(bed: &Bed) -> (i32, Value) {
    let ended = Command::new(PROGRAM)
        .args(["audit", "verify", "--json", "--data-dir"])
        .arg(bed.data_dir())
        .env("SLUICEGATE_ADMIN_URL", format!("http://{}", bed.server.admin()))
        .env("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN)
        .output()
        .unwrap();
    let said = serde_json::from_slice(&ended.stdout);
    (ended.status.code().unwrap(), said.unwrap_or_else(|_| panic!("{ended:?}")))
}

/// Ends the server, which signs all that it has, and starts it again.
fn restart(bed: &mut Bed) {
    bed.server.terminate();
    bed.server.wait();
    bed.restart();
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn what_a_server_records_is_proven_beside_it_and_after_it() {
    let mut bed = Bed::start(POLICY);
    let key = bed.customer("acme", "free");
    for _ in 0..50 {
        assert_eq!(bed.check(&json!({"key": key})).json()["allowed"], true);
    }
    restart(&mut bed);
    bed.account("other", "free");
    let (status, said) = verify(&bed);
    assert_eq!((status, &said["records"], &said["audit"]["entries"]), (0, &json!(50), &json!(2)), "{said}");
    bed.server.terminate();
    bed.server.wait();
    let (status, said) = verify(&bed);
    assert_eq!(
        (status, &said["audit"]["entries"], &said["audit"]["newer"]),
        (0, &json!(3), &json!(0)),
        "{said}"
    );
    let segment = spool(&bed.data_dir()).join(format!("{:020}.seg", 0));
    flip(&segment, 128 * 21 + 90);
    let (status, said) = verify(&bed);
    assert_eq!((status, &said["record"]), (1, &json!(20)), "{said}");
    flip(&segment, 128 * 21 + 90);
    let shell = rusqlite::Connection::open(bed.data_dir().join("sluicegate.db")).unwrap();
    shell.execute("UPDATE audit SET who = 'nobody' WHERE seq = 2", []).unwrap();
    let (status, said) = verify(&bed);
    assert_eq!((status, &said["audit_entry"]), (1, &json!(2)), "{said}");
}

#[test]
fn a_change_in_a_shared_store_is_found_on_every_node() {
    let mut nodes = Nodes::start(POLICY, 2);
    nodes.nodes[0].account("acme", "free");
    nodes.nodes[1].account("other", "free");
    for node in &mut nodes.nodes {
        restart(node);
        let (status, said) = verify(node);
        assert_eq!((status, &said["audit"]["checked"]), (0, &json!(true)), "{said}");
        assert_eq!(said["audit"]["entries"], 2, "{said}");
    }
    // A stream cannot be edited in place: it is copied with one entry changed.
    let forge = "local all = redis.call('XRANGE', KEYS[1], '-', '+') redis.call('DEL', KEYS[1]) \
                 for _, entry in ipairs(all) do if entry[1] == '0-1' then entry[2][6] = 'nobody' end \
                 redis.call('XADD', KEYS[1], entry[1], unpack(entry[2])) end";
    nodes.redis.ask(&["EVAL", forge, "1", "sg1:{dir}:audit"]);
    for mut node in nodes.nodes {
        let (status, said) = verify(&node);
        assert_eq!((status, &said["audit_entry"]), (1, &json!(1)), "{said}");
        node.server.terminate();
        node.server.wait();
        let (status, said) = verify(&node);
        assert_eq!((status, &said["audit"]["checked"]), (0, &json!(false)), "{said}");
    }
}
