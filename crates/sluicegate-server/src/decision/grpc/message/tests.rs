//! The messages against the descriptors that reflection shows: the same fields, by name, under the same numbers.

use std::fmt::Debug;

use bytes::Bytes;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _, Value};

use super::authz::*;
use super::header::*;
use super::health::*;
use super::ratelimit::*;
use super::reflection::{Answer, Answered, Asked, Extension, Failure, Files, Question, Service, Services};

fn pool() -> DescriptorPool {
    DescriptorPool::decode(&include_bytes!("../../../../proto/descriptors.bin")[..]).unwrap()
}

/// What a message is called and looks like as text, and the value that it must be.
fn same<M: Message + Default + PartialEq + Debug>(name: &str, text: &str, value: &M) {
    let descriptor = pool().get_message_by_name(name).unwrap();
    let described = DynamicMessage::parse_text_format(descriptor.clone(), text).unwrap();
    assert_eq!(M::decode(&*described.encode_to_vec()).unwrap(), *value, "{name}");
    let back = DynamicMessage::decode(descriptor, &*value.encode_to_vec()).unwrap();
    assert_eq!(back, described, "{name}");
    complete(&described);
}

/// Every field that is described was named above: one that is not could have any number.
fn complete(message: &DynamicMessage) {
    for field in message.descriptor().fields() {
        let is_other_choice =
            field.containing_oneof().is_some_and(|choice| choice.fields().any(|one| message.has_field(&one)));
        assert!(message.has_field(&field) || is_other_choice, "{}", field.full_name());
        match &*message.get_field(&field) {
            Value::Message(inner) if message.has_field(&field) && !is_well_known(inner) => complete(inner),
            Value::List(list) => list.iter().filter_map(Value::as_message).for_each(complete),
            _ => {}
        }
    }
}

fn is_well_known(message: &DynamicMessage) -> bool {
    message.descriptor().full_name().starts_with("google.protobuf.")
}

fn text(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

#[test]
fn what_the_rate_limit_service_is_asked() {
    same(
        "envoy.service.ratelimit.v3.RateLimitRequest",
        "domain: 'a' hits_addend: 2 descriptors { \
           entries { key: 'k' value: 'v' } limit { requests_per_unit: 3 unit: WEEK } \
           hits_addend { value: 4 } is_negative_hits: true }",
        &RateLimitRequest {
            domain: text("a"),
            descriptors: vec![RateLimitDescriptor {
                entries: vec![Entry { key: text("k"), value: text("v") }],
                limit: Some(RateLimitOverride { requests_per_unit: 3, unit: Unit::Week.into() }),
                hits_addend: Some(4),
                is_negative_hits: true,
            }],
            hits_addend: 2,
        },
    );
}

#[test]
fn what_the_rate_limit_service_answers() {
    same(
        "envoy.service.ratelimit.v3.RateLimitResponse",
        "overall_code: OVER_LIMIT raw_body: 'b' statuses { code: OK \
           current_limit { name: 'n' requests_per_unit: 1 unit: YEAR } limit_remaining: 2 \
           duration_until_reset { seconds: 3 nanos: 4 } } \
         response_headers_to_add { key: 'k' value: 'v' raw_value: 'r' }",
        &RateLimitResponse {
            overall_code: Code::OverLimit.into(),
            statuses: vec![DescriptorStatus {
                code: Code::Ok.into(),
                current_limit: Some(RateLimit {
                    requests_per_unit: 1,
                    unit: Unit::Year.into(),
                    name: "n".to_owned(),
                }),
                limit_remaining: 2,
                duration_until_reset: Some(Duration { seconds: 3, nanos: 4 }),
            }],
            response_headers_to_add: vec![header()],
            raw_body: text("b"),
        },
    );
}

#[test]
fn every_unit_is_the_one_of_its_name() {
    for name in ["envoy.type.v3.RateLimitUnit", "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit"]
    {
        let described = pool().get_enum_by_name(name).unwrap();
        assert_eq!(described.values().len(), 8);
        for value in described.values() {
            let unit = Unit::try_from(value.number()).unwrap();
            assert_eq!(format!("{unit:?}").to_uppercase(), value.name());
        }
    }
}

fn header() -> HeaderValue {
    HeaderValue { key: text("k"), value: text("v"), raw_value: text("r") }
}

fn option() -> HeaderValueOption {
    let append_action = AppendAction::OverwriteIfExistsOrAdd.into();
    HeaderValueOption { header: Some(header()), append_action }
}

const OPTION: &str =
    "{ header { key: 'k' value: 'v' raw_value: 'r' } append_action: OVERWRITE_IF_EXISTS_OR_ADD }";

#[test]
fn what_external_authorization_is_asked() {
    let http = HttpRequest {
        method: text("GET"),
        headers: vec![HeaderValue { key: text("a"), value: text("b"), raw_value: Bytes::new() }],
        path: text("/"),
        header_map: Some(HeaderMap { headers: vec![header()] }),
    };
    let address = Address { socket_address: Some(SocketAddress { address: "192.0.2.1".to_owned() }) };
    let attributes = AttributeContext {
        source: Some(Peer { address: Some(address) }),
        request: Some(Request { http: Some(http) }),
    };
    let name = "envoy.service.auth.v3.CheckRequest";
    let descriptor = pool().get_message_by_name(name).unwrap();
    // A proxy sends the port too, which is read over here.
    let described = "attributes { source { address { socket_address { address: '192.0.2.1' port_value: 1 } } } \
           request { http { method: 'GET' path: '/' headers { key: 'a' value: 'b' } \
           header_map { headers { key: 'k' value: 'v' raw_value: 'r' } } } } }";
    let described = DynamicMessage::parse_text_format(descriptor, described).unwrap();
    let read = CheckRequest::decode(&*described.encode_to_vec()).unwrap();
    assert_eq!(read, CheckRequest { attributes: Some(attributes) });
    complete(&described);
}

#[test]
fn what_external_authorization_answers() {
    let status = |code| Some(RpcStatus { code, message: "m".to_owned() });
    same(
        "envoy.service.auth.v3.CheckResponse",
        &format!(
            "status {{ code: 7 message: 'm' }} denied_response {{ \
               status {{ code: PaymentRequired }} headers {OPTION} body: 'b' }}"
        ),
        &CheckResponse {
            status: status(7),
            http_response: Some(HttpResponse::Denied(DeniedHttpResponse {
                status: Some(HttpStatus { code: 402 }),
                headers: vec![option()],
                body: "b".to_owned(),
            })),
        },
    );
    same(
        "envoy.service.auth.v3.CheckResponse",
        &format!(
            "status {{ code: 1 message: 'm' }} ok_response {{ headers {OPTION} headers_to_remove: 'x' \
               response_headers_to_add {OPTION} }}"
        ),
        &CheckResponse {
            status: status(1),
            http_response: Some(HttpResponse::Ok(OkHttpResponse {
                headers: vec![option()],
                headers_to_remove: vec!["x".to_owned()],
                response_headers_to_add: vec![option()],
            })),
        },
    );
}

#[test]
fn every_status_that_is_denied_with_is_known() {
    let described = pool().get_enum_by_name("envoy.type.v3.StatusCode").unwrap();
    for error in sluicegate_engine::ErrorCode::all() {
        assert!(described.get_value(error.status().into()).is_some(), "{}", error.status());
    }
}

#[test]
fn health() {
    let request = HealthCheckRequest { service: "s".to_owned() };
    same("grpc.health.v1.HealthCheckRequest", "service: 's'", &request);
    for (name, status) in [
        ("SERVING", ServingStatus::Serving),
        ("NOT_SERVING", ServingStatus::NotServing),
        ("SERVICE_UNKNOWN", ServingStatus::ServiceUnknown),
    ] {
        let response = HealthCheckResponse { status: status.into() };
        same("grpc.health.v1.HealthCheckResponse", &format!("status: {name}"), &response);
    }
}

#[test]
fn reflection() {
    for version in ["v1", "v1alpha"] {
        let asked = format!("grpc.reflection.{version}.ServerReflectionRequest");
        for (field, question) in [
            ("file_by_filename: 'a'", Question::FileByName("a".to_owned())),
            ("file_containing_symbol: 'a'", Question::FileWithSymbol("a".to_owned())),
            (
                "file_containing_extension { containing_type: 'a' extension_number: 1 }",
                Question::FileWithExtension(Extension { containing_type: "a".to_owned(), number: 1 }),
            ),
            ("all_extension_numbers_of_type: 'a'", Question::ExtensionNumbers("a".to_owned())),
            ("list_services: 'a'", Question::Services("a".to_owned())),
        ] {
            let value = Asked { host: "h".to_owned(), question: Some(question) };
            same(&asked, &format!("host: 'h' {field}"), &value);
        }
        let answered = format!("grpc.reflection.{version}.ServerReflectionResponse");
        let question = Some(Question::Services("a".to_owned()));
        let original = Asked { host: "h".to_owned(), question };
        for (field, answer) in [
            (
                "file_descriptor_response { file_descriptor_proto: 'f' }",
                Answer::Files(Files { file: vec![text("f")] }),
            ),
            (
                "list_services_response { service { name: 'n' } }",
                Answer::Services(Services { service: vec![Service { name: "n".to_owned() }] }),
            ),
            (
                "error_response { error_code: 5 error_message: 'm' }",
                Answer::Error(Failure { code: 5, message: "m".to_owned() }),
            ),
        ] {
            let value = Answered {
                valid_host: "h".to_owned(),
                original_request: Some(original.clone()),
                answer: Some(answer),
            };
            let question = "original_request { host: 'h' list_services: 'a' }";
            same(&answered, &format!("valid_host: 'h' {question} {field}"), &value);
        }
    }
}
