//! Named tokens, in every store: created, verified, expired, revoked, over restarts and rotations of the secret.

use sluicegate_store::database::Database;
use sluicegate_store::directory::{Directory, What, WriteError};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::KeyHasher;
use sluicegate_store::token::{May, NewToken, Permissions, Role, TokenName};

use crate::room::{Folder, Room, account_of, at, make_account, make_key, time};

on_each_store! {
    a_token_is_known_at_once_and_after_reopening_until_it_expires,
    a_revoked_token_opens_nothing_and_its_name_may_be_given_again,
    no_text_of_a_token_is_written_down,
}

fn new(name: &str, role: Role) -> NewToken {
    NewToken { name: TokenName::new(name).unwrap(), role, may: Permissions::NONE, expires_at: None }
}

async fn a_token_is_known_at_once_and_after_reopening_until_it_expires(room: &Room) {
    let mut directory = room.open().await;
    let may = [May::Vouch].into_iter().collect();
    let new = NewToken { may, expires_at: Some(time(100)), ..new("envoy", Role::Decide) };
    let (record, text) = directory.create_token(new, &at(1)).await.unwrap();
    for _ in 0..2 {
        assert_eq!(directory.verify_token(text.expose().as_bytes(), time(2)), Some(record.clone()));
        assert_eq!(directory.list_tokens().await.unwrap(), std::slice::from_ref(&record));
        assert!(
            directory.is_token_live(record.id, time(99)) && !directory.is_token_live(record.id, time(100))
        );
        assert_eq!(directory.verify_token(text.expose().as_bytes(), time(100)), None);
        let mut wrong = text.expose().to_owned();
        wrong.replace_range(20..21, if wrong.as_bytes()[20] == b'x' { "y" } else { "x" });
        assert_eq!(directory.verify_token(wrong.as_bytes(), time(2)), None);
        drop(directory);
        directory = room.open().await;
    }
}

async fn a_revoked_token_opens_nothing_and_its_name_may_be_given_again(room: &Room) {
    let directory = room.open().await;
    let (record, text) = directory.create_token(new("anna", Role::Read), &at(1)).await.unwrap();
    let again = directory.create_token(new("anna", Role::Owner), &at(2)).await;
    assert_eq!(again.unwrap_err(), WriteError::TokenExists(TokenName::new("anna").unwrap()));
    assert_eq!(directory.revoke_token(record.id, &at(3)).await.unwrap(), record);
    assert_eq!(directory.verify_token(text.expose().as_bytes(), time(3)), None);
    let gone = directory.revoke_token(record.id, &at(4)).await;
    assert_eq!(gone.unwrap_err(), WriteError::NotFound(What::Token));
    directory.create_token(new("anna", Role::Keys), &at(5)).await.unwrap();
    let audit = directory.list_audit(Default::default()).await.unwrap().items;
    let actions: Vec<&str> = audit.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["token.create", "token.revoke", "token.create"]);
    drop(directory);
    let directory = room.open().await;
    assert_eq!(directory.verify_token(text.expose().as_bytes(), time(6)), None);
    assert_eq!(directory.list_tokens().await.unwrap().len(), 1);
}

async fn no_text_of_a_token_is_written_down(room: &Room) {
    let directory = room.open().await;
    let (_, text) = directory.create_token(new("anna", Role::Read), &at(1)).await.unwrap();
    let printed = format!("{directory:?} {text:?}");
    drop(directory);
    let secret = &text.expose()[17..];
    let bytes = room.bytes_on_disk();
    assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    assert!(!printed.contains(secret));
}

#[tokio::test]
async fn keys_and_tokens_of_an_earlier_secret_are_recognised_and_new_ones_have_the_new_one() {
    let folder = Folder::new();
    let open = |keys: KeyHasher| {
        Directory::open(Database::open(&folder.path()).unwrap(), HomeHasher::new([1; 16]), keys).unwrap()
    };
    let directory = open(KeyHasher::new(&[2; 32]));
    make_account(&directory, "acme").await;
    let (_, old_key) = make_key(&directory, "acme").await;
    let (_, old_token) = directory.create_token(new("old", Role::Read), &at(1)).await.unwrap();
    drop(directory);
    let directory = open(KeyHasher::new(&[3; 32]).with_previous([[9; 32], [2; 32]]));
    assert_eq!(account_of(&directory, old_key.expose(), 1).await.as_deref(), Some("acme"));
    assert!(directory.verify_token(old_token.expose().as_bytes(), time(1)).is_some());
    let (_, new_key) = make_key(&directory, "acme").await;
    let (_, new_token) = directory.create_token(new("new", Role::Read), &at(1)).await.unwrap();
    drop(directory);
    let directory = open(KeyHasher::new(&[3; 32]));
    assert_eq!(account_of(&directory, new_key.expose(), 1).await.as_deref(), Some("acme"));
    assert_eq!(account_of(&directory, old_key.expose(), 1).await, None);
    assert!(directory.verify_token(new_token.expose().as_bytes(), time(1)).is_some());
    assert!(directory.verify_token(old_token.expose().as_bytes(), time(1)).is_none());
}
