//! What the directory and its database promise, over real files and real servers.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

/// Makes each of these promises a test, once for every store.
macro_rules! on_each_store {
    ($($promise:ident),+ $(,)?) => {
        mod embedded {
            $(
                #[tokio::test]
                async fn $promise() {
                    super::$promise(&crate::room::Room::embedded()).await;
                }
            )+
        }

        mod redis {
            $(
                #[tokio::test]
                async fn $promise() {
                    let room = crate::room::Room::redis(sluicegate_testkit::redis::Engine::Redis);
                    super::$promise(&room).await;
                }
            )+
        }

        mod valkey {
            $(
                #[tokio::test]
                async fn $promise() {
                    let room = crate::room::Room::redis(sluicegate_testkit::redis::Engine::Valkey);
                    super::$promise(&room).await;
                }
            )+
        }
    };
}

mod accounts;
mod adoption;
mod audit_chain;
mod crash;
mod database_checkpoint;
mod database_file;
mod full_disk;
mod groups;
mod keys;
mod lists;
mod model;
mod room;
mod rotation;
mod shared;
mod tokens;
mod values;
