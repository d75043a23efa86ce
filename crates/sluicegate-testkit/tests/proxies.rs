//! Proxies that the tests start: they listen when they are said to, and say why if they do not.

use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::port::Port;
use sluicegate_testkit::proxies::{Proxy, ProxyProgram};

/// An Envoy that answers by itself.
const ENVOY: &str = "
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: 8000}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: callers
          route_config:
            virtual_hosts:
            - {name: all, domains: ['*'], routes: [{match: {prefix: /}, direct_response: {status: 204}}]}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {'@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
";

fn envoy(text: &str) -> Proxy {
    let port = Port::reserve();
    let text = text.replace("8000", &port.number().to_string());
    let name = ProxyProgram::Envoy.configuration().to_owned();
    Proxy::start(ProxyProgram::Envoy, &[(name, text)], port)
}

#[test]
fn several_envoys_answer_at_the_same_time_as_soon_as_they_are_started() {
    for proxy in [envoy(ENVOY), envoy(ENVOY)] {
        assert_eq!(Caller::new(proxy.address()).send(&Asked::get("/")).unwrap().status, 204);
    }
}

#[test]
#[should_panic(expected = "envoy ended at once")]
fn one_that_does_not_start_fails_with_its_log() {
    envoy("static_resources: {listeners: 7}");
}
