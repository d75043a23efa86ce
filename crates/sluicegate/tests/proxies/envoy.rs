//! Envoy, with external authorization over gRPC.

use std::path::Path;

use sluicegate_testkit::http::Asked;
use sluicegate_testkit::proxies::ProxyProgram;

use crate::envoy_ratelimit::ENVOY_RATE_LIMIT;
use crate::expectations::expectations;
use crate::place::Place;
use crate::recipe::{Limits, Recipe};

pub(crate) const ENVOY: Recipe = Recipe {
    program: ProxyProgram::Envoy,
    files: &["envoy/ext-authz.yaml"],
    adapt: |text, _| text,
    open: ("failure_mode_allow: false", "failure_mode_allow: true"),
    limits: Limits::ToTheCaller,
    unreachable: &[503],
};

expectations!(ENVOY);

#[test]
fn nobody_has_its_own_address_removed() {
    let place = Place::start(&ENVOY, "tiers: {quick: {rate: 6/minute, burst: 3}}");
    let asked = Asked::get("/").key(&place.bed.customer("acme", "quick"));
    let answer = place.send(&asked.header("Connection", "close, x-forwarded-for"));
    assert_eq!((answer.status, place.api.asked()), (400, 0), "{answer:?}");
}

#[test]
fn the_page_leads_to_the_files_that_are_tested() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/envoy.md");
    let page = std::fs::read_to_string(page).unwrap();
    for recipe in [&ENVOY, &ENVOY_RATE_LIMIT] {
        for (file, (_, text)) in recipe.files.iter().zip(recipe.examples()) {
            assert!(page.contains(&format!("(../examples/{file})")), "the page does not lead to {file}");
            assert!(text.contains("FAILURE MODE"), "{file} does not say where it fails closed");
        }
        let (closed, _) = recipe.open;
        assert!(page.contains(closed.split(':').next().unwrap()), "{closed}");
    }
}
