//! The two tasks of a node: one tells the others, one listens to them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::redis::driver::Msg;

use super::layout::CHANNEL;
use super::record::{News, SharedBlock};
use super::{BlockNews, Shared, list, put};
use crate::redis::channel::{PAUSE_MAX, PAUSE_MIN, jittered, listen, subscribe};

/// How many blocks are told at once.
const SENT_MAX: usize = 100;

/// Tells other nodes what is in the outbox, for ever. A store that is away is told when it is back.
pub(super) async fn tell(shared: Arc<Shared>) {
    let mut pause = PAUSE_MIN;
    loop {
        let some = shared.outbox.some(SENT_MAX).await;
        let blocks: Vec<&SharedBlock> = some.iter().map(|(block, _)| block).collect();
        if put(&shared.link, &blocks).await.is_ok() {
            shared.outbox.sent(&some);
            pause = PAUSE_MIN;
        } else {
            tokio::time::sleep(jittered(pause)).await;
            pause = PAUSE_MAX.min(2 * pause);
        }
    }
}

/// Hears what other nodes tell, for ever. Whenever something may have been missed, all blocks are read.
pub(super) async fn watch(shared: Arc<Shared>, mut hear: impl FnMut(BlockNews)) {
    let mut pause = PAUSE_MIN;
    loop {
        // Before they are read, so that nothing is missed in between.
        if let Some(news) = subscribe(&shared.link, &[CHANNEL]).await
            && let Some(all) = read_all(&shared).await
        {
            hear(all);
            pause = PAUSE_MIN;
            shared.listening.store(true, Ordering::Release);
            listen(news, |message| hear_message(message, &mut hear)).await;
            shared.listening.store(false, Ordering::Release);
        }
        tokio::time::sleep(jittered(pause)).await;
        pause = PAUSE_MAX.min(2 * pause);
    }
}

async fn read_all(shared: &Shared) -> Option<BlockNews> {
    // Who waits before the others are read, and who does afterwards: a block is told at any moment.
    let mut pending = shared.outbox.callers();
    let blocks = list(&shared.link).await.ok()?;
    pending.extend(shared.outbox.callers());
    Some(BlockNews::All { blocks, pending })
}

/// What a version of the program wrote that this one does not know is passed over: its blocks could not be read either.
fn hear_message(message: &Msg, hear: &mut impl FnMut(BlockNews)) {
    let text = str::from_utf8(message.get_payload_bytes()).unwrap_or_default();
    for news in text.lines().filter_map(News::parse) {
        hear(match news {
            News::Blocked(block) => BlockNews::Blocked(block),
            News::Lifted(caller) => BlockNews::Lifted(caller),
        });
    }
}
