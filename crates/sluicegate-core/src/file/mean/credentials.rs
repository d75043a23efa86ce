//! What certificates and credentials of ports mean.

use crate::file::typed::{DecisionAuthWord, Field, MayWord, ServerBody, TlsBody};
use crate::policy::{DecisionAuth, May, Permissions, TlsFiles};

pub(super) fn tls_files(body: &Field<TlsBody>) -> Option<TlsFiles> {
    let tls = body.value()?;
    Some(TlsFiles {
        cert: tls.cert.value()?.0.clone().into(),
        key: tls.key.value()?.0.clone().into(),
        client_ca: tls.client_ca.value().map(|file| file.0.clone().into()),
    })
}

pub(super) fn decision_auth(body: &ServerBody) -> DecisionAuth {
    match body.decision_auth.value() {
        None => DecisionAuth::OffLoopback,
        Some(DecisionAuthWord::Token) => DecisionAuth::Required,
        Some(DecisionAuthWord::None) => DecisionAuth::None,
    }
}

pub(super) fn decision_may(body: &ServerBody) -> Permissions {
    let given = body.decision_may.value().into_iter().flat_map(|list| &list.0);
    given
        .map(|at| match at.value {
            MayWord::Vouch => May::Vouch,
            MayWord::Refund => May::Refund,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file;

    fn read(server: &str) -> crate::policy::ServerSettings {
        let text = format!("{{server: {{{server}}}, tiers: {{free: {{rate: 1}}}}}}");
        file::read(text.as_bytes()).unwrap().server
    }

    #[test]
    fn credentials_are_needed_off_loopback_unless_the_file_says_otherwise() {
        assert_eq!(read("").decision_auth, DecisionAuth::OffLoopback);
        assert_eq!(read("decision_auth: token").decision_auth, DecisionAuth::Required);
        assert_eq!(read("decision_auth: none").decision_auth, DecisionAuth::None);
        assert!(file::read(b"{server: {decision_auth: off}, tiers: {free: {rate: 1}}}").is_err());
        assert_eq!(read("").decision_may, Permissions::NONE);
        assert_eq!(read("decision_may: [refund, vouch]").decision_may, Permissions::ALL);
    }

    #[test]
    fn each_port_has_its_own_certificate() {
        let server = read("decision_tls: {cert: a, key: b, client_ca: c}, resp_tls: {cert: d, key: e}");
        let files = |cert: &str, key: &str, client_ca: Option<&str>| TlsFiles {
            cert: cert.into(),
            key: key.into(),
            client_ca: client_ca.map(Into::into),
        };
        assert_eq!(server.decision_tls, Some(files("a", "b", Some("c"))));
        assert_eq!(server.resp_tls, Some(files("d", "e", None)));
        assert_eq!((server.tls, server.admin_tls), (None, None));
    }
}
