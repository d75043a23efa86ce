//! The body of `identity`.

use super::{AmountPer, List, OneOrMore, Span, Text, Verbatim, Whole, body};

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
        /// How much of an address tells callers without a session apart.
        "address" => address: AddressBody,
        /// The tier of callers without a key. Default: none, they are answered with 401.
        "anonymous" => anonymous: Text,
        /// The challenge that earns a session cookie. Default: none.
        "challenge" => challenge: ChallengeBody,
        /// Signed tokens of an identity provider, where API keys may stand. Default: none are read.
        "jwt" => jwt: JwtBody,
    }
}

body! {
    /// How signed tokens (JWT) of an identity provider are read. RS256, ES256 and EdDSA are accepted.
    struct JwtBody {
        /// Where the provider's keys (a JWK Set) are found: an http:// or https:// URL, or `file:/path`. Fetched in the
        /// background, every 5 minutes and when a token names a key that is not known.
        required "jwks" => jwks: Text,
        /// What the claim `iss` has to be.
        required "issuer" => issuer: Text,
        /// What the claim `aud` has to hold: at least one of these.
        required "audience" => audience: OneOrMore<Text>,
        /// The claim that names the account, such as `sub` or `org_id`.
        required "account" => account: Text,
        /// The claim that names the tier of an account that the directory does not know. Default: none, such accounts
        /// are answered with 403.
        "tier" => tier: Text,
        /// The claim that lists the scopes: a text with blanks between them, or a list. Default: none, tokens have no
        /// scopes.
        "scopes" => scopes: Text,
        /// By how much the clocks of the provider and of this node may differ, at most 5m. Default: 60s.
        "leeway" => leeway: Span,
        /// For how long the last keys are used while they cannot be fetched, at most 7d. Default: 24h.
        "stale_max" => stale_max: Span,
    }
}

body! {
    /// The cookie of callers that passed a challenge.
    struct SessionCookieBody {
        /// Its name. Default: sg_session.
        "name" => name: Text,
        /// How long it is valid. Default: 30d.
        "max_age" => max_age: Span,
        /// How many are issued to one address, or one /64 of IPv6. Default: 20/hour.
        "per_address" => per_address: AmountPer,
    }
}

body! {
    /// How much of an address tells callers without a session apart. Pressure counts by /32 and /64 in any case.
    struct AddressBody {
        /// The leading bits of an IPv4 address, from 8 to 32. Default: 32.
        "v4" => v4: Whole,
        /// The leading bits of an IPv6 address, from 16 to 64. Default: 64.
        "v6" => v6: Whole,
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
