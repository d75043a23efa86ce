//! Every broken policy says what it did when somebody last read it.

use std::fs;

use sluicegate_core::file::read;

use crate::golden;
use crate::run::run;

#[test]
fn every_broken_policy_is_explained_as_its_golden_says() {
    let folder = golden::tests().join("broken");
    let policies = golden::names(&folder, ".yaml");
    assert!(policies.len() >= 45, "only {} broken policies", policies.len());
    let mut wrong = Vec::new();
    for name in &policies {
        let path = format!("broken/{name}.yaml");
        let ended = run(&["config", "check", &path]);
        if (ended.status, ended.stdout.as_str()) != (78, "") {
            wrong.push(format!("{path} is not refused: {ended:?}"));
        }
        wrong.extend(golden::difference(&folder.join(format!("{name}.txt")), &ended.stderr));
    }
    let goldens = golden::names(&folder, ".txt");
    wrong.extend(
        goldens.difference(&policies).map(|name| format!("broken/{name}.txt has no policy beside it")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_problem_says_what_to_write_instead() {
    let folder = golden::tests().join("broken");
    for name in golden::names(&folder, ".yaml") {
        let problems = read(&fs::read(folder.join(format!("{name}.yaml"))).unwrap()).unwrap_err();
        let without_help = problems.iter().filter(|problem| problem.help.is_none());
        let left_out = without_help.filter(|problem| problem.message.contains("more problems")).count();
        let helped = problems.iter().filter(|problem| problem.help.is_some()).count();
        assert_eq!(helped + left_out, problems.len(), "{name}");
    }
}
