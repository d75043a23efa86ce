//! An identity provider of tests: keys of all three algorithms, tokens that they sign, and tokens that attackers make.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{self, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
};
use aws_lc_rs::{digest, hmac};
use serde_json::{Value, json};

/// A key of an identity provider.
pub struct Signer {
    /// Its name.
    pub id: String,
    kind: Kind,
}

enum Kind {
    Rs256(Box<rsa::KeyPair>),
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Signer {
    /// A key for RS256.
    pub fn rs256(id: &str) -> Self {
        let key = rsa::KeyPair::generate(KeySize::Rsa2048).expect("a key of RSA");
        Self { id: id.to_owned(), kind: Kind::Rs256(Box::new(key)) }
    }

    /// A key for ES256.
    pub fn es256(id: &str) -> Self {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).expect("a key of P-256");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref()).expect("the key that was made");
        Self { id: id.to_owned(), kind: Kind::Es256(key) }
    }

    /// A key for `EdDSA`, which follows from its name.
    pub fn eddsa(id: &str) -> Self {
        let seed = digest::digest(&digest::SHA256, id.as_bytes());
        let key = Ed25519KeyPair::from_seed_unchecked(seed.as_ref()).expect("a seed of 32 bytes");
        Self { id: id.to_owned(), kind: Kind::EdDsa(key) }
    }

    /// The algorithm, as headers name it.
    pub fn algorithm(&self) -> &'static str {
        match self.kind {
            Kind::Rs256(_) => "RS256",
            Kind::Es256(_) => "ES256",
            Kind::EdDsa(_) => "EdDSA",
        }
    }

    /// The bytes of the public key.
    pub fn public(&self) -> Vec<u8> {
        match &self.kind {
            Kind::Rs256(key) => key.public_key().as_ref().to_vec(),
            Kind::Es256(key) => key.public_key().as_ref().to_vec(),
            Kind::EdDsa(key) => key.public_key().as_ref().to_vec(),
        }
    }

    /// Its entry in a set of keys.
    pub fn jwk(&self) -> Value {
        let public = self.public();
        match self.kind {
            Kind::Rs256(_) => {
                // PKCS #1: a sequence of the modulus, 256 bytes behind a zero, and of 65537.
                let modulus = &public[9..265];
                json!({"kty": "RSA", "kid": self.id, "use": "sig", "alg": "RS256", "n": text(modulus), "e": "AQAB"})
            }
            Kind::Es256(_) => {
                let (x, y) = (text(&public[1..33]), text(&public[33..]));
                json!({"kty": "EC", "kid": self.id, "use": "sig", "crv": "P-256", "x": x, "y": y})
            }
            Kind::EdDsa(_) => json!({"kty": "OKP", "kid": self.id, "crv": "Ed25519", "x": text(&public)}),
        }
    }

    /// A token with these claims.
    pub fn token(&self, claims: &Value) -> String {
        self.token_with(&json!({"alg": self.algorithm(), "typ": "JWT", "kid": self.id}), claims)
    }

    /// A token with this header, signed with the key whatever the header says.
    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        let signed = signed_text(header, claims);
        let signature = self.sign(signed.as_bytes());
        format!("{signed}.{}", text(&signature))
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.kind {
            Kind::Rs256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).expect("a signature");
                signature
            }
            Kind::Es256(key) => key.sign(&random, message).expect("a signature").as_ref().to_vec(),
            Kind::EdDsa(key) => key.sign(message).as_ref().to_vec(),
        }
    }
}

/// A token that says `none` signed it.
pub fn unsigned(claims: &Value) -> String {
    format!("{}.", signed_text(&json!({"alg": "none", "typ": "JWT"}), claims))
}

/// A token with a secret that is a public key: what a verifier accepts that lets the token choose the algorithm.
pub fn hs256(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let signed = signed_text(header, claims);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", text(tag.as_ref()))
}

/// A set of the keys of these signers.
pub fn jwks(signers: &[&Signer]) -> String {
    json!({"keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>()}).to_string()
}

fn signed_text(header: &Value, claims: &Value) -> String {
    format!("{}.{}", text(header.to_string().as_bytes()), text(claims.to_string().as_bytes()))
}

/// base64url without padding.
fn text(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(word >> (18 - 6 * place) & 63) as usize]));
        }
    }
    text
}
