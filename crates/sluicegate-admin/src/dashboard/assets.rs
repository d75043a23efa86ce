//! What the dashboard is made of, as it lies in `assets/`. No build step makes it.

use std::sync::LazyLock;

use crate::mount::Mount;

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
    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    /// Its media type, which its name tells.
    pub(super) fn kind(&self) -> &'static str {
        match self.name.rsplit_once('.') {
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            _ => "image/svg+xml",
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

/// The page itself: every path shows the same one, and its script looks at the path. `{assets}`, `{prefix}` and
/// `{home}` depend on the mount point.
const PAGE: &str = include_str!("assets/index.html");

/// Its media type.
pub(super) const PAGE_KIND: &str = "text/html; charset=utf-8";

static FILES: [Asset; 34] = assets![
    "style.css",
    "icon.svg",
    "theme.js",
    "app.js",
    "router.js",
    "mount.js",
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

/// The page for a path below a mount point.
pub(super) fn page(mount: &Mount, path: &str) -> String {
    PAGE.replace("{assets}", &assets_url(mount, path))
        .replace("{prefix}", mount.prefix())
        .replace("{home}", mount.home())
}

/// Where the page finds its assets. At the root the URL is relative, so that a proxy may strip a prefix which this
/// server does not see. Below a prefix it is not: the application may have removed a trailing slash from the path.
fn assets_url(mount: &Mount, path: &str) -> String {
    if !mount.prefix().is_empty() {
        return mount.path("/assets/");
    }
    let depth = path.matches('/').count().saturating_sub(1);
    format!("./{}assets/", "../".repeat(depth))
}

/// The file of this name.
pub(super) fn find(name: &str) -> Option<&'static Asset> {
    FILES.iter().find(|asset| asset.name == name)
}

/// The entity tag of a text.
pub(super) fn tag(text: &str) -> String {
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
        let bytes: usize = FILES.iter().map(|asset| asset.text.len()).sum();
        assert!(bytes + PAGE.len() < BYTES_MAX, "{bytes}");
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
        let files = FILES.iter().map(|asset| (asset.name, asset.text));
        for (name, text) in files.chain([("index.html", PAGE)]) {
            let text = text.replace("http://www.w3.org/", "").replace("http://127.0.0.1", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{name}");
        }
        assert!(!PAGE.contains(" style=") && !PAGE.contains(" on"), "the page has something inline");
        assert_eq!(PAGE.matches("<script").count(), PAGE.matches("<script src=").count() + 1);
        assert!(PAGE.contains("<script type=\"module\" src="));
    }

    #[test]
    fn every_import_is_there() {
        for script in FILES.iter().filter(|asset| asset.name.ends_with(".js")) {
            for import in script.text.split(" from \"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let folder = script.name.rsplit_once('/').map_or("", |(folder, _)| folder);
                let name = match (import.strip_prefix("./"), import.strip_prefix("../")) {
                    (Some(name), _) if !folder.is_empty() => Some(format!("{folder}/{name}")),
                    (Some(name), _) => Some(name.to_owned()),
                    (_, Some(name)) if !folder.is_empty() => Some(name.to_owned()),
                    _ => None,
                };
                assert!(name.is_some_and(|name| find(&name).is_some()), "{}: {import}", script.name);
            }
        }
    }

    #[test]
    fn a_request_goes_to_a_path_below_the_mount_point() {
        for script in FILES.iter().filter(|asset| asset.name.ends_with(".js")) {
            for call in ["fetch(", "new EventSource(", "history.pushState(null, \"\", ", "location.href ="] {
                for target in script.text.split(call).skip(1) {
                    let is_mounted = ["mounted(", "url)"].iter().any(|start| target.starts_with(start));
                    assert!(is_mounted, "{}: {call}", script.name);
                }
            }
        }
    }
}
