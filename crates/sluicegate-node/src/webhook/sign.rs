//! Signatures in the Standard Webhooks manner: HMAC-SHA256 over the id, the second and the body.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac_sha256::HMAC;

/// With padding when it is written; with or without when it is read, since people copy secrets by hand.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What begins a secret.
const SECRET_PREFIX: &str = "whsec_";
/// What begins a signature.
const SIGNATURE_PREFIX: &str = "v1,";
/// How long a secret is, in bytes.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secrets that messages are signed with: one, or while it is replaced the new one and the old one. They print as
/// stars.
#[derive(Clone)]
pub struct SigningSecret(Vec<Vec<u8>>);

/// Why a text is no secret. It says nothing of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnusableSecret;

impl fmt::Display for UnusableSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the secret of the webhook is not `whsec_` and 24 to 64 bytes in base64")
    }
}

impl std::error::Error for UnusableSecret {}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(***)")
    }
}

impl SigningSecret {
    /// Reads secrets: several are divided by blanks.
    pub fn parse(text: &str) -> Result<Self, UnusableSecret> {
        let key = |text: &str| {
            let bytes = BASE64.decode(text.strip_prefix(SECRET_PREFIX)?).ok()?;
            BYTES.contains(&bytes.len()).then_some(bytes)
        };
        let keys: Option<Vec<Vec<u8>>> = text.split_whitespace().map(key).collect();
        keys.filter(|keys| !keys.is_empty()).map(Self).ok_or(UnusableSecret)
    }

    /// The text of the secret that these bytes are.
    pub fn text_of(bytes: &[u8; 32]) -> String {
        format!("{SECRET_PREFIX}{}", BASE64.encode(bytes))
    }

    /// The signatures of a message, divided by blanks: one for each secret.
    pub(super) fn sign(&self, id: &str, second: u32, body: &[u8]) -> String {
        let mut signed = format!("{id}.{second}.").into_bytes();
        signed.extend_from_slice(body);
        let one = |key: &Vec<u8>| format!("{SIGNATURE_PREFIX}{}", BASE64.encode(HMAC::mac(&signed, key)));
        self.0.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard() {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature =
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn two_secrets_sign_twice() {
        let (one, other) = (SigningSecret::text_of(&[1; 32]), SigningSecret::text_of(&[2; 32]));
        let sign = |text: &str| SigningSecret::parse(text).unwrap().sign("a", 1, b"{}");
        assert_eq!(sign(&format!("{one}\n{other}\n")), format!("{} {}", sign(&one), sign(&other)));
    }

    #[test]
    fn what_is_no_secret_is_refused_and_not_repeated() {
        let short = format!("whsec_{}", BASE64.encode([7; 23]));
        let long = format!("whsec_{}", BASE64.encode([7; 65]));
        for wrong in ["", "whsec_", "hunter2", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", &short, &long] {
            assert_eq!(SigningSecret::parse(wrong).unwrap_err(), UnusableSecret);
        }
        let fine = SigningSecret::parse(&SigningSecret::text_of(&[7; 32])).unwrap();
        assert_eq!(format!("{fine:?}"), "SigningSecret(***)");
    }
}
