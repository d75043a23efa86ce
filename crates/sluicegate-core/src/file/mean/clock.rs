//! What `clock` means.

use crate::file::sink::Sink;
use crate::file::typed::ClockBody;
use crate::policy::ClockSettings;
use crate::time::Nanos;

pub(super) fn clock(body: &ClockBody, sink: &mut Sink) -> Option<ClockSettings> {
    let Some(at) = body.hold.given() else { return Some(ClockSettings::default()) };
    let secs = u32::try_from(at.value.secs).ok().filter(|secs| *secs <= ClockSettings::HOLD_SECS_MAX);
    if secs.is_none() {
        let help = format!("the longest is {}d", ClockSettings::HOLD_SECS_MAX / 86_400);
        sink.report(at.place, "this duration is too long", help);
    }
    Some(ClockSettings { hold: Nanos::from_secs(secs?) })
}
