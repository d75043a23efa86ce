//! Values that many share: made once for each text that stands for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// Values by text, as long as somebody has them.
#[derive(Debug)]
pub(crate) struct Pool<T>(Mutex<Entries<T>>);

#[derive(Debug)]
struct Entries<T> {
    by_text: BTreeMap<Box<str>, Weak<T>>,
    /// At how many entries those that nobody has any more are looked for.
    prune_at: usize,
}

const PRUNE_MIN: usize = 64;

impl<T> Pool<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Entries { by_text: BTreeMap::new(), prune_at: PRUNE_MIN }))
    }

    /// The value that stands under `text`; if there is none, the one that `make` makes.
    pub(crate) fn get<E>(&self, text: &str, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let mut entries = self.0.lock();
        if let Some(value) = entries.by_text.get(text).and_then(Weak::upgrade) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        if entries.by_text.len() >= entries.prune_at {
            entries.by_text.retain(|_, value| value.strong_count() > 0);
            entries.prune_at = PRUNE_MIN.max(2 * entries.by_text.len());
        }
        entries.by_text.insert(text.into(), Arc::downgrade(&value));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(pool: &Pool<usize>, at: usize) -> Arc<usize> {
        pool.get(&at.to_string(), || Ok::<_, ()>(at)).unwrap()
    }

    #[test]
    fn the_same_text_is_the_same_value() {
        let pool = Pool::new();
        let one = get(&pool, 1);
        assert!(Arc::ptr_eq(&one, &get(&pool, 1)));
        assert!(!Arc::ptr_eq(&one, &get(&pool, 2)));
        assert_eq!(pool.get("3", || Err("no")), Err("no"));
    }

    #[test]
    fn what_nobody_has_is_forgotten() {
        let pool = Pool::new();
        let kept: Vec<_> = (0..10).map(|at| get(&pool, at)).collect();
        for at in 0..10_000 {
            drop(get(&pool, at));
        }
        assert!(pool.0.lock().by_text.len() <= PRUNE_MIN);
        assert!(kept.iter().enumerate().all(|(at, value)| Arc::ptr_eq(value, &get(&pool, at))));
    }
}
