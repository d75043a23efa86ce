//! `sluicegate completions`.

use crate::run::{ended, run};

#[test]
fn every_shell_is_told_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = run(&["completions", shell]);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{shell}");
        for word in ["serve", "set-tier", "rotate", "completions", "admin-url"] {
            assert!(ended.stdout.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn bash_understands_its_script_and_completes_a_command() {
    let script = run(&["completions", "bash"]).stdout;
    let mut bash = std::process::Command::new("bash");
    let ask = "COMP_WORDS=(sluicegate account se); COMP_CWORD=2; _sluicegate sluicegate se account; \
               echo \"${COMPREPLY[@]}\"";
    bash.args(["--norc", "-euc", &format!("{script}\n{ask}")]);
    let ended = ended(bash);
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "set-tier\n"), "{}", ended.stderr);
}
