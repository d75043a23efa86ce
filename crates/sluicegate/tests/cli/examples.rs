//! Every example policy is valid.

use std::fs;
use std::path::Path;

use sluicegate_core::file::read;

use crate::golden;
use crate::run::run;

#[test]
fn every_example_loads_and_can_be_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let examples = golden::names(&folder, ".yaml");
    for wanted in ["full", "minimal", "regulatory-hub", "cistern", "trackersync", "saas-plans", "user-api"] {
        assert!(examples.contains(wanted), "{wanted}.yaml is missing");
    }
    for name in examples {
        let path = folder.join(format!("{name}.yaml"));
        let document = read(&fs::read(&path).unwrap()).unwrap();
        assert!(document.policy.tiers.smallest().is_some(), "{name}");

        let path = path.to_str().unwrap();
        let checked = run(&["config", "check", path]);
        assert_eq!((checked.status, checked.stderr.as_str()), (0, ""), "{checked:?}");
        assert!(checked.stdout.contains(&format!("{name}.yaml is valid: ")), "{checked:?}");
        let explained = run(&["config", "explain", path]);
        assert_eq!((explained.status, explained.stderr.as_str()), (0, ""), "{explained:?}");
    }
}
