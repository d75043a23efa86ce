//! Which role each operation needs: the one table. A test compares it with the OpenAPI document.
//!
//! `metrics` reads `/metrics`, `read` reads everything but secrets, `keys` also manages keys, `operator` also manages
//! accounts, blocks, callers and usage, `owner` does everything.

use http::Method;
use sluicegate_store::token::Role;

use Role::{Keys, Metrics, Operator, Owner, Read};

/// Method, path, and the smallest role that the operation is open to.
const ROLES: &[(&str, &str, Role)] = &[
    ("GET", "/metrics", Metrics),
    ("GET", "/admin/v1/accounts", Read),
    ("POST", "/admin/v1/accounts", Operator),
    ("GET", "/admin/v1/accounts/{id}", Read),
    ("DELETE", "/admin/v1/accounts/{id}", Operator),
    ("PUT", "/admin/v1/accounts/{id}/tier", Operator),
    ("PUT", "/admin/v1/accounts/{id}/custom", Operator),
    ("GET", "/admin/v1/accounts/{id}/limits", Read),
    ("GET", "/admin/v1/accounts/{id}/keys", Read),
    ("POST", "/admin/v1/accounts/{id}/keys", Keys),
    ("GET", "/admin/v1/keys/{id}", Read),
    ("PATCH", "/admin/v1/keys/{id}", Keys),
    ("DELETE", "/admin/v1/keys/{id}", Keys),
    ("POST", "/admin/v1/keys/revoke", Keys),
    ("POST", "/admin/v1/keys/{id}/rotate", Keys),
    ("POST", "/admin/v1/directory/adopt", Owner),
    ("GET", "/admin/v1/tokens", Owner),
    ("POST", "/admin/v1/tokens", Owner),
    ("DELETE", "/admin/v1/tokens/{id}", Owner),
    ("GET", "/admin/v1/blocks", Read),
    ("POST", "/admin/v1/blocks", Operator),
    ("DELETE", "/admin/v1/blocks", Operator),
    ("DELETE", "/admin/v1/blocks/{id}", Operator),
    ("GET", "/admin/v1/clients/{id}", Read),
    ("DELETE", "/admin/v1/clients/{id}/reputation", Operator),
    ("GET", "/admin/v1/usage", Read),
    ("GET", "/admin/v1/usage/export", Read),
    ("POST", "/admin/v1/usage/reconcile", Operator),
    ("GET", "/admin/v1/ledger", Read),
    ("GET", "/admin/v1/pressure", Read),
    ("GET", "/admin/v1/overview", Read),
    ("GET", "/admin/v1/top", Read),
    ("GET", "/admin/v1/decisions", Read),
    ("GET", "/admin/v1/decisions/{id}", Read),
    ("GET", "/admin/v1/events", Read),
    ("GET", "/admin/v1/tiers", Read),
    ("GET", "/admin/v1/policy", Read),
    ("POST", "/admin/v1/policy/validate", Read),
    ("GET", "/admin/v1/alerts", Read),
    ("GET", "/admin/v1/webhook", Read),
    ("GET", "/admin/v1/audit", Read),
    ("GET", "/admin/v1/openapi.json", Read),
    ("POST", "/admin/v1/clock/confirm", Owner),
];

/// The smallest role that an operation is open to. One that is not in the table is the owner's.
pub(crate) fn needed(method: &Method, route: &str) -> Role {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let found = ROLES.iter().find(|(of, path, _)| *of == method.as_str() && *path == route);
    found.map_or(Owner, |(.., role)| *role)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::OPEN_PATHS;
    use super::*;

    #[test]
    fn every_operation_of_the_openapi_document_has_a_role_and_no_other_has() {
        let document = crate::openapi::document();
        let paths = document["paths"].as_object().unwrap();
        let closed = paths.iter().filter(|(path, _)| !OPEN_PATHS.contains(&path.as_str()));
        let described: BTreeSet<_> = closed
            .flat_map(|(path, item)| {
                item.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone()))
            })
            .collect();
        let listed: BTreeSet<_> =
            ROLES.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
        assert_eq!(listed, described);
        assert_eq!(listed.len(), ROLES.len(), "an operation stands twice");
    }

    #[test]
    fn roles_below_owner_change_nothing_that_is_about_tokens_or_the_store_itself() {
        for (method, path, role) in ROLES {
            match *method {
                "GET" => assert!(*role == Owner || Read.includes(*role), "{method} {path}"),
                _ if path.contains("/tokens") => assert_eq!(*role, Owner, "{method} {path}"),
                _ => assert!(!Read.includes(*role) || path.ends_with("/validate"), "{method} {path}"),
            }
        }
        assert_eq!(needed(&Method::PATCH, "/admin/v1/other"), Owner);
        assert_eq!(needed(&Method::HEAD, "/metrics"), Metrics);
    }
}
