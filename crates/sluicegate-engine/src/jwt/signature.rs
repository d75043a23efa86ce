//! Signatures, verified by `aws-lc-rs`.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::key_set::PublicKey;

/// Whether this key has signed the message.
pub(super) fn verify(key: &PublicKey, message: &[u8], signature: &[u8]) -> bool {
    let verified = match key {
        PublicKey::Rsa { n, e } => {
            RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
        }
        PublicKey::P256(point) => {
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
        }
        PublicKey::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point).verify(message, signature),
    };
    verified.is_ok()
}
