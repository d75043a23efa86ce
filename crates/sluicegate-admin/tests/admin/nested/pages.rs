//! The pages below a prefix, and everything that they load.

use super::host::{Browser, PREFIXES, mounted_at};
use crate::place::{Place, wait};

const PAGES: [&str; 9] =
    ["", "/accounts", "/accounts/acme", "/tiers", "/abuse", "/ledger", "/live", "/explain", "/explain/dec_1"];

/// The path that a reference on a page leads to.
fn resolve(page: &str, reference: &str) -> String {
    if reference.starts_with('/') {
        return reference.to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in reference.split('/') {
        match part {
            "." => {}
            ".." => assert!(parts.pop().is_some(), "{reference} leaves {page}"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The texts between a mark and the next quote.
fn quoted<'t>(text: &'t str, mark: &'static str) -> impl Iterator<Item = &'t str> {
    text.split(mark).skip(1).map(|rest| rest.split('"').next().unwrap())
}

#[test]
fn every_page_finds_its_scripts_its_style_and_its_icon() {
    for prefix in PREFIXES {
        let place = Place::new();
        let browser = Browser::new(mounted_at(prefix, &place));
        wait(async {
            for page in PAGES {
                let path = if prefix.is_empty() && page.is_empty() {
                    "/".to_owned()
                } else {
                    format!("{prefix}{page}")
                };
                let answer = browser.get(&path).await;
                assert_eq!(
                    (answer.status, answer.header("content-type")),
                    (200, "text/html; charset=utf-8"),
                    "{path}"
                );
                assert!(answer.header("content-security-policy").contains("script-src 'self'"));
                let home = if prefix.is_empty() { "/" } else { "" };
                assert!(answer.text.contains(&format!("data-home=\"{home}\"")), "{path}");
                assert!(!answer.text.contains('{'), "{path}: {}", answer.text);
                let links = quoted(&answer.text, "href=\"").chain(quoted(&answer.text, "src=\""));
                let links: Vec<&str> = links.filter(|link| !link.starts_with('#')).collect();
                assert_eq!(links.len(), 4, "{links:?}");
                for link in links {
                    let link = resolve(&path, link);
                    assert!(link.starts_with(&format!("{prefix}/assets/")), "{link}");
                    assert_eq!(browser.get(&link).await.status, 200, "{path} loads {link}");
                }
                let again =
                    browser.send("GET", &path, None, &[("if-none-match", answer.header("etag"))]).await;
                assert_eq!(again.status, 304, "{path}");
            }
        });
    }
}

#[test]
fn every_script_finds_what_it_imports() {
    for prefix in PREFIXES {
        let place = Place::new();
        let browser = Browser::new(mounted_at(prefix, &place));
        wait(async {
            let mut scripts = vec![format!("{prefix}/assets/app.js")];
            let mut read = 0;
            while let Some(script) = scripts.get(read).cloned() {
                let answer = browser.get(&script).await;
                assert_eq!(
                    (answer.status, answer.header("content-type")),
                    (200, "text/javascript; charset=utf-8"),
                    "{script}"
                );
                for import in quoted(&answer.text, " from \"") {
                    let import = resolve(&script, import);
                    if !scripts.contains(&import) {
                        scripts.push(import);
                    }
                }
                read += 1;
            }
            assert_eq!(scripts.len(), 31, "{scripts:?}");
        });
    }
}
