//! Asking before something is done that cannot be undone.

use std::io::{self, BufRead, IsTerminal as _};
use std::ops::ControlFlow;

use anyhow::Context as _;

use crate::cli::Sure;
use crate::exit::Exit;
use crate::output;

/// The answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Consent {
    /// Go on.
    Given,
    /// Do nothing.
    Refused,
}

/// Asks whoever sits at the terminal, unless they said beforehand that they are sure. Without consent, how to end.
pub(crate) fn ask(question: &str, sure: &Sure) -> anyhow::Result<ControlFlow<Exit>> {
    if sure.yes {
        return Ok(ControlFlow::Continue(()));
    }
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        output::complain(&format!("error: {question} Nobody can be asked here: say --yes\n"));
        return Ok(ControlFlow::Break(Exit::WrongUsage));
    }
    output::complain(&format!("{question} [y/N] "));
    Ok(match answer(stdin.lock())? {
        Consent::Given => ControlFlow::Continue(()),
        Consent::Refused => {
            output::complain("Nothing was changed.\n");
            ControlFlow::Break(Exit::Failed)
        }
    })
}

/// Only a plain yes is one.
fn answer(mut reader: impl BufRead) -> anyhow::Result<Consent> {
    let mut line = String::new();
    reader.read_line(&mut line).context("cannot read the answer")?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(Consent::Given),
        _ => Ok(Consent::Refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_consent() {
        for yes in ["y\n", "Y\n", " yes \n", "YES"] {
            assert_eq!(answer(yes.as_bytes()).unwrap(), Consent::Given, "{yes:?}");
        }
        for no in ["", "\n", "n\n", "no\n", "yess\n", "acme\n"] {
            assert_eq!(answer(no.as_bytes()).unwrap(), Consent::Refused, "{no:?}");
        }
    }
}
