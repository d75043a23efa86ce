//! Making a batch smaller that the store cannot take at once.

use std::sync::Arc;

use super::CallError;
use super::active::Item;

/// Leaves in `items` what is to be asked first, and returns the rest, in order. Nothing: it cannot be made smaller.
pub(super) fn split(items: &mut Vec<Item>, why: &CallError) -> Vec<Item> {
    match (why, items.first().map(|first| Arc::clone(&first.owed.plan))) {
        // The policy was edited meanwhile: some come under the old limits, some under the new.
        (CallError::Mixed, Some(plan)) => {
            let (same, others) =
                std::mem::take(items).into_iter().partition(|item| Arc::ptr_eq(&item.owed.plan, &plan));
            *items = same;
            if others.is_empty() { items.split_off(1) } else { others }
        }
        (CallError::TooLarge, Some(_)) if items.len() > 1 => items.split_off(items.len() / 2),
        _ => Vec::new(),
    }
}
