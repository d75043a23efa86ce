//! Reflection, as tools ask it: which services, which file, and what that file needs.

use std::collections::BTreeSet;

use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};

use super::client::{Client, RATE_LIMIT, framed, method, unframed};
use crate::place::{Place, wait};

const V1: &str = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const V1_ALPHA: &str = "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
const PLANS: &str = "tiers: {free: {rate: 1}}";

async fn files(client: &Client, question: &str) -> Vec<Vec<u8>> {
    let asked = DynamicMessage::parse_text_format(method(V1).input(), question).unwrap();
    let ended = client.send(V1, framed(&asked.encode_to_vec())).await;
    let answer = unframed(&ended.body).pop().unwrap();
    let answer = DynamicMessage::decode(method(V1).output(), &*answer).unwrap();
    let response = answer.get_field_by_name("file_descriptor_response").unwrap();
    let files = response.as_message().unwrap().get_field_by_name("file_descriptor_proto").unwrap();
    files.as_list().unwrap().iter().map(|file| file.as_bytes().unwrap().to_vec()).collect()
}

#[test]
fn all_services_are_listed_in_either_version() {
    let place = Place::new(PLANS);
    wait(async {
        let mut client = Client::of(&place).await;
        for version in [V1, V1_ALPHA] {
            client.call(version, "host: 'h' list_services: '*'").await.has(&[
                "envoy.service.ratelimit.v3.RateLimitService",
                "envoy.service.auth.v3.Authorization",
                "grpc.health.v1.Health",
                "grpc.reflection.v1.ServerReflection",
                "grpc.reflection.v1alpha.ServerReflection",
                "valid_host: \"h\"",
            ]);
        }
    });
}

#[test]
fn a_tool_finds_everything_that_it_needs_to_call_a_service() {
    let place = Place::new(PLANS);
    wait(async {
        let client = Client::of(&place).await;
        let (service, _) = RATE_LIMIT.split_once('/').unwrap();
        let mut wanted = files(&client, &format!("file_containing_symbol: '{service}'")).await;
        let (mut pool, mut known) = (DescriptorPool::new(), BTreeSet::new());
        let mut order = Vec::new();
        while let Some(file) = wanted.pop() {
            let file = prost_types(&file);
            if known.insert(file.name().to_owned()) {
                for needed in file.dependency.clone() {
                    wanted.extend(files(&client, &format!("file_by_filename: '{needed}'")).await);
                }
                order.push(file);
            }
        }
        pool.add_file_descriptor_protos(order).unwrap();
        assert!(pool.get_service_by_name(service).is_some());
    });
}

fn prost_types(bytes: &[u8]) -> prost_reflect::prost_types::FileDescriptorProto {
    prost_reflect::prost_types::FileDescriptorProto::decode(bytes).unwrap()
}

#[test]
fn names_of_every_kind_are_found_and_others_are_not() {
    let place = Place::new(PLANS);
    wait(async {
        let mut client = Client::of(&place).await;
        for symbol in [
            "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit",
            "envoy.service.ratelimit.v3.RateLimitRequest",
            "envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit",
            "envoy.type.v3.StatusCode",
            "google.protobuf.UInt64Value",
        ] {
            let found = client.call(V1, &format!("file_containing_symbol: '{symbol}'")).await;
            found.has(&["file_descriptor_response"]);
        }
        for question in [
            "file_containing_symbol: 'envoy.service.ratelimit.v3.RateLimit'",
            "file_by_filename: 'other.proto'",
            "file_containing_extension { containing_type: 'a' extension_number: 1 }",
            "all_extension_numbers_of_type: 'a'",
        ] {
            client.call(V1, question).await.has(&["error_response", "error_code: 5"]);
        }
        client.call(V1, "").await.has(&["error_code: 3"]);
    });
}

#[test]
fn several_questions_are_answered_on_one_stream() {
    let place = Place::new(PLANS);
    wait(async {
        let client = Client::of(&place).await;
        let list = DynamicMessage::parse_text_format(method(V1).input(), "list_services: '*'").unwrap();
        let ended = client.send(V1, framed(&list.encode_to_vec()).repeat(20)).await;
        assert_eq!((ended.grpc_status, unframed(&ended.body).len()), (Some(0), 20));
        let broken = [framed(&list.encode_to_vec()), vec![0, 0, 0, 0, 9, 1]].concat();
        let ended = client.send(V1, broken).await;
        assert_eq!((ended.grpc_status, unframed(&ended.body).len()), (Some(3), 1));
    });
}
