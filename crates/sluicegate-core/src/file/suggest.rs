//! The known word that a misspelt one was probably meant to be.

/// Longer words are not compared: no known word is that long, and the comparison takes time quadratic in the length.
const COMPARED_LENGTH_MAX: usize = 80;

/// How far apart words may be to be taken for each other: a third of the letters, so that short words need to be close.
fn distance_max(length: usize) -> usize {
    (length / 3).clamp(1, 4)
}

/// The closest of the known words, if one is close enough.
pub fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > COMPARED_LENGTH_MAX {
        return None;
    }
    let folded = word.to_lowercase().replace('-', "_");
    known
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(folded.len()) <= distance_max(candidate.len()))
        .map(|candidate| {
            let other = candidate.to_lowercase().replace('-', "_");
            (strsim::osa_distance(&folded, &other), candidate)
        })
        .filter(|(distance, candidate)| *distance <= distance_max(candidate.chars().count()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let known = ["rate", "burst", "burst_multiplier", "quota", "quota_window"];
        assert_eq!(closest("rtae", known), Some("rate"));
        assert_eq!(closest("Rate", known), Some("rate"));
        assert_eq!(closest("burst-multiplyer", known), Some("burst_multiplier"));
        assert_eq!(closest("qouta_windw", known), Some("quota_window"));
        assert_eq!(closest("speed", known), None);
        assert_eq!(closest(&"x".repeat(100_000), known), None);
    }
}
