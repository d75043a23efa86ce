//! The scripts, each one round trip and one atomic step.

use std::sync::LazyLock;

/// One script.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: &'static str,
    /// Under which the server knows it once it has seen the text.
    hash: LazyLock<String, fn() -> String>,
}

impl Script {
    pub(super) fn hash(&self) -> &str {
        &self.hash
    }
}

/// A script in a file. One that looks somebody up or writes asks first whether it is the right store; one that writes
/// comes with what enters and tells its change.
macro_rules! script {
    ($file:literal) => {
        script!(@ concat!(include_str!("scripts/names.lua"), include_str!(concat!("scripts/", $file))))
    };
    (find $file:literal) => {
        script!(@ concat!(
            include_str!("scripts/names.lua"),
            include_str!("scripts/store.lua"),
            include_str!(concat!("scripts/", $file))
        ))
    };
    (write $file:literal) => {
        script!(@ concat!(
            include_str!("scripts/names.lua"),
            include_str!("scripts/store.lua"),
            include_str!("scripts/entry.lua"),
            include_str!(concat!("scripts/", $file))
        ))
    };
    (@ $text:expr) => {{
        const TEXT: &str = $text;
        Script { text: TEXT, hash: LazyLock::new(|| crate::redis::driver::Script::new(TEXT).get_hash().to_owned()) }
    }};
}

pub(super) static CLAIM: Script = script!("claim.lua");
pub(super) static FORMAT: Script = script!("format.lua");
pub(super) static COUNT: Script = script!("count.lua");
pub(super) static FIND_ACCOUNT: Script = script!(find "find_account.lua");
pub(super) static FIND_KEY: Script = script!(find "find_key.lua");
pub(super) static LIST_ACCOUNTS: Script = script!("list_accounts.lua");
pub(super) static LIST_KEYS: Script = script!("list_keys.lua");
pub(super) static CHANGE_ACCOUNT: Script = script!(write "change_account.lua");
pub(super) static CHANGE_KEY: Script = script!(write "change_key.lua");
pub(super) static CREATE_ACCOUNT: Script = script!(write "create_account.lua");
pub(super) static CREATE_KEY: Script = script!(write "create_key.lua");
pub(super) static USED: Script = script!("used.lua");
pub(super) static CREATE_TOKEN: Script = script!(write "create_token.lua");
pub(super) static REVOKE_TOKEN: Script = script!(write "revoke_token.lua");
pub(super) static LIST_TOKENS: Script = script!("list_tokens.lua");
pub(super) static NOTE: Script = script!(write "note.lua");
