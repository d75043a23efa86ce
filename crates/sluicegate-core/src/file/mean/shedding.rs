//! What `shedding` means.

use crate::file::sink::Sink;
use crate::file::typed::SheddingBody;
use crate::policy::Shedding;
use crate::time::Nanos;

const NANOS_PER_MILLI: u64 = 1_000_000;

pub(super) fn shedding(body: &SheddingBody, sink: &mut Sink) -> Option<Shedding> {
    let target = match body.target.given() {
        None => Some(Shedding::TARGET_DEFAULT),
        Some(at) => {
            let target = at.value.millis.checked_mul(NANOS_PER_MILLI).map(Nanos);
            let target = target.filter(|target| *target <= Shedding::TARGET_MAX);
            if target.is_none() {
                let help = format!("the longest is {}s", Shedding::TARGET_MAX.as_secs_ceil());
                sink.report(at.place, "this is too long to wait", help);
            }
            target
        }
    };
    let floor = match body.floor.given() {
        None => Some(Shedding::FLOOR_DEFAULT),
        Some(at) => {
            let floor = Some(at.value.0).filter(|floor| floor.get() <= Shedding::FLOOR_MAX);
            if floor.is_none() {
                let message = "this would leave less to the highest priority than to the lowest";
                sink.report(at.place, message, format!("write at most {}%", Shedding::FLOOR_MAX));
            }
            floor
        }
    };
    Some(Shedding { target: target?, floor: floor? })
}
