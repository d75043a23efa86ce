//! What the dashboard is made of, as it lies in `assets/`. No build step makes it.

use std::sync::LazyLock;

/// One file.
pub(super) struct Asset {
    name: &'static str,
    text: &'static str,
    tag: LazyLock<String>,
}

impl Asset {
    /// Its text.
    pub(super) const fn text(&self) -> &'static str {
        self.text
    }

    /// What changes when the text does.
    pub(super) fn tag(&self) -> String {
        self.tag.clone()
    }

    /// Its media type, which its name tells.
    pub(super) fn kind(&self) -> &'static str {
        match self.name.rsplit_once('.') {
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        }
    }
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        [$({
            const TEXT: &str = include_str!(concat!("assets/", $name));
            Asset { name: $name, text: TEXT, tag: LazyLock::new(|| tag(TEXT)) }
        }),*]
    };
}

/// The page itself: every path shows the same one, and its script looks at the path.
static PAGE: Asset = {
    const TEXT: &str = include_str!("assets/index.html");
    Asset { name: "index.html", text: TEXT, tag: LazyLock::new(|| tag(TEXT)) }
};

static FILES: [Asset; 33] = assets![
    "style.css",
    "icon.svg",
    "theme.js",
    "app.js",
    "router.js",
    "shell.js",
    "api.js",
    "stream.js",
    "dom.js",
    "format.js",
    "reasons.js",
    "parts.js",
    "table.js",
    "dialog.js",
    "toast.js",
    "refresh.js",
    "forecast.js",
    "diff.js",
    "charts/scale.js",
    "charts/area.js",
    "charts/columns.js",
    "charts/meter.js",
    "pages/sign-in.js",
    "pages/overview.js",
    "pages/accounts.js",
    "pages/account.js",
    "pages/account-keys.js",
    "pages/account-tier.js",
    "pages/tiers.js",
    "pages/abuse.js",
    "pages/ledger.js",
    "pages/live.js",
    "pages/explain.js",
];

/// The page.
pub(super) fn page() -> &'static Asset {
    &PAGE
}

/// The file of this name.
pub(super) fn find(name: &str) -> Option<&'static Asset> {
    FILES.iter().find(|asset| asset.name == name)
}

fn tag(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("\"{}\"", hash.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a person waits for on a slow line.
    const BYTES_MAX: usize = 150_000;

    #[test]
    fn all_of_it_is_small() {
        let bytes: usize = FILES.iter().chain([&PAGE]).map(|asset| asset.text.len()).sum();
        assert!(bytes < BYTES_MAX, "{bytes}");
    }

    #[test]
    fn every_script_says_its_job_first_and_takes_no_data_for_markup() {
        for script in FILES.iter().filter(|asset| asset.name.ends_with(".js")) {
            assert!(script.text.starts_with("// "), "{}", script.name);
            for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!script.text.contains(forbidden), "{}: {forbidden}", script.name);
            }
        }
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere_and_nothing_is_inline() {
        for asset in FILES.iter().chain([&PAGE]) {
            let text = asset.text.replace("http://www.w3.org/", "").replace("http://127.0.0.1", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{}", asset.name);
        }
        assert!(
            !PAGE.text.contains(" style=") && !PAGE.text.contains(" on"),
            "the page has something inline"
        );
        assert_eq!(PAGE.text.matches("<script").count(), PAGE.text.matches("<script src=").count() + 1);
        assert!(PAGE.text.contains("<script type=\"module\" src="));
    }

    #[test]
    fn every_import_is_there() {
        for script in FILES.iter().filter(|asset| asset.name.ends_with(".js")) {
            for import in script.text.split(" from \"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let name = import.strip_prefix("/assets/");
                assert!(name.is_some_and(|name| find(name).is_some()), "{}: {import}", script.name);
            }
        }
    }
}
