//! The body of `shedding`.

use super::{Delay, Percentage, body};

body! {
    /// While the upstream cannot keep up, the lowest priorities are refused first.
    struct SheddingBody {
        /// How long requests may wait for the upstream beyond what it takes unloaded. Default: 20ms.
        "target" => target: Delay,
        /// The share of what is served that each priority below the highest gets in any case. Default: 5%.
        "floor" => floor: Percentage,
    }
}
