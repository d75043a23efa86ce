//! `GET /admin/v1/openapi.json`: the API, described from its code.
//!
//! What every call has in common stands here once: the token, the problems that any call may answer, and the shape of
//! problems.

mod ordered;

use std::sync::LazyLock;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use self::ordered::Ordered;
use super::auth::OPEN_PATHS;
use super::mount::Mount;
use super::problem::{ProblemDocument, ProblemEntry};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sluicegate admin API",
        description = "Accounts, keys, the policy, and how the process is doing.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(ProblemDocument, ProblemEntry)),
    tags(
        (name = "accounts", description = "Who pays, and under which tier"),
        (name = "keys", description = "The credentials of accounts"),
        (name = "tokens", description = "The credentials of people and programs"),
        (name = "abuse", description = "Callers that misbehave"),
        (name = "decisions", description = "What was decided, as it is decided, and why"),
        (name = "usage", description = "What was used, from the ledger"),
        (name = "policy", description = "Tiers and routes"),
        (name = "alerts", description = "What people should hear of"),
        (name = "audit", description = "Who changed what"),
        (name = "process", description = "How the process is doing"),
        (name = "session", description = "Signing in to the dashboard"),
    )
)]
pub(super) struct Description;

/// The document of a router at the root.
static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

/// The same as it is sent.
static TEXT: LazyLock<Bytes> = LazyLock::new(|| text(&DOCUMENT));

/// Show this description
#[utoipa::path(
    get,
    path = "/admin/v1/openapi.json",
    tag = "process",
    operation_id = "showOpenapi",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = Object))
)]
pub(crate) async fn show(mount: Mount) -> ([(http::HeaderName, &'static str); 1], Bytes) {
    let text = if mount.prefix().is_empty() { TEXT.clone() } else { text(&mounted(&mount)) };
    ([(CONTENT_TYPE, "application/json")], text)
}

/// The document of a router below a prefix: paths are relative to it.
fn mounted(mount: &Mount) -> Value {
    let mut document = DOCUMENT.clone();
    document["servers"] = json!([{"url": mount.prefix()}]);
    document
}

fn text(document: &Value) -> Bytes {
    Bytes::from(serde_json::to_string(&Ordered::document(document)).unwrap_or_default())
}

/// The description of the API: an OpenAPI 3.1 document.
pub(super) fn document() -> Value {
    let (_, api) = super::contents().split_for_parts();
    let mut document = serde_json::to_value(api).unwrap_or_default();
    let about = "The owner's token or a named one";
    document["components"]["securitySchemes"] =
        json!({"token": {"type": "http", "scheme": "bearer", "description": about}});
    document["components"]["schemas"]["TierBody"] = tier_body();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths {
        let open = OPEN_PATHS.contains(&path.as_str());
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            if !open {
                close(operation);
            }
            describe_problems(operation);
        }
    }
    refer_to_entries(&mut document["components"]["schemas"]);
    document["paths"]["/admin/v1/accounts/{id}/custom"]["put"]["requestBody"]["content"]["application/json"]
        ["schema"] = json!({"$ref": "#/components/schemas/TierBody"});
    document
}

/// What a call has that needs the token.
fn close(operation: &mut Value) {
    operation["security"] = json!([{"token": []}]);
    let mut common = vec![
        ("400", "A header or the query is wrong, or the body cannot be read"),
        ("401", "The token is missing or wrong"),
        ("403", "The role of the token is too small"),
        ("429", "Too many wrong tokens were sent from this address"),
        ("500", "Something went wrong here"),
        ("503", "This cannot be done now, for instance because the disk is full"),
    ];
    if operation.get("requestBody").is_some() {
        common.push(("413", "The body has more than a mebibyte"));
        common.push(("415", "The body has the wrong type"));
    }
    for (status, description) in common {
        if operation["responses"].get(status).is_none() {
            operation["responses"][status] = json!({"description": description});
        }
    }
}

/// Every answer that is not a success is a problem.
fn describe_problems(operation: &mut Value) {
    let responses = operation["responses"].as_object_mut().into_iter().flatten();
    for (status, response) in responses.filter(|(status, _)| status.starts_with(['4', '5'])) {
        let problem = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
        response["content"] = json!({"application/problem+json": problem});
        let header = |description: &str| json!({"description": description, "schema": {"type": "string"}});
        match status.as_str() {
            "401" => response["headers"] = json!({"WWW-Authenticate": header("Bearer")}),
            "429" | "503" => response["headers"] = json!({"Retry-After": header("Seconds to wait")}),
            _ => {}
        }
    }
}

/// Lists repeat the schemas of their entries: let them refer to these instead.
fn refer_to_entries(schemas: &mut Value) {
    for (name, schema) in schemas.as_object_mut().into_iter().flatten() {
        if let Some(entry) = name.strip_prefix("List_") {
            let entry = format!("#/components/schemas/{entry}");
            schema["properties"]["items"]["items"] = json!({"$ref": entry});
        }
    }
}

/// The schema of a tier, as the one of policy files has it.
fn tier_body() -> Value {
    let mut schema = sluicegate_core::file::schema();
    let mut tier = schema["properties"]["tiers"]["additionalProperties"].take();
    // Negotiated tiers have limits.
    if let Some(properties) = tier["properties"].as_object_mut() {
        properties.remove("bypass");
    }
    let example = json!({"rate": 500, "burst": 1_000, "quota": 50_000_000, "concurrency": 100});
    tier.as_object_mut().unwrap_or(&mut Map::new()).insert("examples".to_owned(), json!([example]));
    tier
}
