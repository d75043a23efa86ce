//! A decision may not come to cost more instructions than `instructions.txt` says.
//!
//! Times belong to a machine and an hour; instructions are the same in every run, so a few per cent more are
//! a change of ours. The figure is of the test profile as cargo builds it by default, for each kind of
//! processor; `--release` and `CARGO_INCREMENTAL=0` make another program of it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::env::consts::ARCH;
use std::fs;
use std::process::Command;

const FIGURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt");

/// Far enough apart that what both runs have in common cancels out, few enough for a second or two.
const DECISIONS: [u64; 2] = [20_000, 120_000];

const MORE_PERCENT: u64 = 3;
const LESS_PERCENT: u64 = 20;

const BLESS: &str =
    "SLUICEGATE_BLESS=1 cargo test -p sluicegate-bench --test instructions -- --test-threads 1";

#[test]
fn settling_rate_and_quota_takes_no_more_instructions_than_it_did() {
    expect_no_more(&Measured { suite: "instructions", figure: ARCH.to_owned() });
}

#[test]
fn a_whole_decision_takes_no_more_instructions_than_it_did() {
    expect_no_more(&Measured { suite: "engine-instructions", figure: format!("{ARCH}-engine") });
}

/// What is counted.
struct Measured {
    /// The suite of the benchmark that makes the decisions.
    suite: &'static str,
    /// The name of its figure in `instructions.txt`.
    figure: String,
}

fn expect_no_more(measured: &Measured) {
    let [few, many] = DECISIONS.map(|decisions| instructions(measured.suite, decisions));
    let counted = (many - few) / (DECISIONS[1] - DECISIONS[0]);
    if blessing() {
        return write_figure(&measured.figure, counted);
    }
    let allowed = figure(&measured.figure).unwrap_or_else(|| {
        panic!(
            "instructions.txt has no figure for {}; if {counted} per decision is right: {BLESS}",
            measured.figure
        )
    });
    assert!(
        counted * 100 <= allowed * (100 + MORE_PERCENT),
        "a decision takes {counted} instructions, more than {allowed} and {MORE_PERCENT} %: find what made it \
         longer, or if that is worth it: {BLESS}"
    );
    assert!(
        counted * 100 >= allowed * (100 - LESS_PERCENT),
        "a decision takes {counted} instructions, far fewer than the {allowed} of instructions.txt. Well done; \
         now guard it: {BLESS} (but not with --release or CARGO_INCREMENTAL=0: that is another program)"
    );
}

/// How many instructions the whole program takes to make this many decisions.
fn instructions(suite: &str, decisions: u64) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", env!("CARGO_BIN_EXE_sluicegate-bench")])
        .args([suite, "--decisions", &decisions.to_string()])
        .output()
        .unwrap_or_else(|error| {
            panic!("valgrind does not start ({error}): run scripts/test, or apt-get install valgrind")
        });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // Such as `==4242== Collected : 123456`.
    let collected = said.lines().filter_map(|line| line.split_once("Collected :")).next_back();
    let (_, count) = collected.unwrap_or_else(|| panic!("callgrind gave no count:\n{said}"));
    count.trim().parse().unwrap()
}

fn blessing() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the switch that accepts a new figure")]
    let bless = std::env::var_os("SLUICEGATE_BLESS");
    bless.is_some()
}

/// The figure of this name.
fn figure(name: &str) -> Option<u64> {
    fs::read_to_string(FIGURES).unwrap().lines().find_map(|line| figure_in(line, name))
}

fn write_figure(name: &str, counted: u64) {
    let text = fs::read_to_string(FIGURES).unwrap();
    let others = text.lines().filter(|line| figure_in(line, name).is_none());
    let lines = others.map(str::to_owned).chain([format!("{name} {counted}")]);
    fs::write(FIGURES, lines.map(|line| line + "\n").collect::<String>()).unwrap();
}

fn figure_in(line: &str, name: &str) -> Option<u64> {
    let (named, figure) = line.split_once(' ')?;
    (named == name).then(|| figure.trim().parse().ok())?
}
