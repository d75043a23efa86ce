//! The body of `identity`.

use super::{List, Span, Text, Verbatim, body};

body! {
    /// How callers are told apart.
    struct IdentityBody {
        /// Where an API key may stand, in order: `bearer` or `header:<name>`. Default: [bearer, "header:X-API-Key"].
        "api_key" => api_key: List<Text>,
        /// Where a service token stands: `header:<name>`. Default: "header:X-Service-Token".
        "service_token" => service_token: Text,
        /// The cookie of callers that passed a challenge.
        "session_cookie" => session_cookie: SessionCookieBody,
        /// The headers that tell callers behind one address apart. Default: [user-agent, accept-language,
        /// accept-encoding, sec-ch-ua, sec-ch-ua-platform].
        "fingerprint" => fingerprint: List<Text>,
        /// The tier of callers without a key. Default: none, they are answered with 401.
        "anonymous" => anonymous: Text,
        /// The challenge that earns a session cookie. Default: none.
        "challenge" => challenge: ChallengeBody,
    }
}

body! {
    /// The cookie of callers that passed a challenge.
    struct SessionCookieBody {
        /// Its name. Default: sg_session.
        "name" => name: Text,
        /// How long it is valid. Default: 30d.
        "max_age" => max_age: Span,
    }
}

body! {
    /// A challenge that speaks the Turnstile siteverify protocol.
    struct ChallengeBody {
        /// Where a caller's answer is verified.
        required "verify_url" => verify_url: Text,
        /// Where the secret is found: `env:NAME` or `file:/path`. Never the secret itself.
        required "secret" => secret: Verbatim,
    }
}
