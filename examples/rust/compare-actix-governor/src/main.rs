//! actix-governor: two rates for each account. The application looks the key up.

use actix_governor::{Governor, GovernorConfigBuilder, KeyExtractor, SimpleKeyExtractionError};
use actix_web::dev::ServiceRequest;
use actix_web::http::{StatusCode, header::HeaderValue};
use actix_web::{App, HttpMessage as _, HttpServer, web};
use std::time::Duration;

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[derive(Clone)]
struct Account(&'static str);

#[derive(Clone)]
struct ByAccount;

impl KeyExtractor for ByAccount {
    type Key = &'static str;
    type KeyExtractionError = SimpleKeyExtractionError<&'static str>;

    fn extract(&self, request: &ServiceRequest) -> Result<&'static str, Self::KeyExtractionError> {
        let account = match request.headers().get("X-API-Key").map(HeaderValue::as_bytes) {
            Some(b"secret-of-acme") => "acme",
            _ => {
                let unknown = SimpleKeyExtractionError::new("unknown key");
                return Err(unknown.set_status_code(StatusCode::UNAUTHORIZED));
            }
        };
        request.extensions_mut().insert(Account(account));
        Ok(account)
    }
}

async fn hello(account: web::ReqData<Account>) -> String {
    format!("hello {}\n", account.0)
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let mut builder = GovernorConfigBuilder::default().key_extractor(ByAccount);
    let rate = builder.requests_per_second(10).burst_size(20).use_headers().finish().expect("not zero");
    // No calendar: one request comes back every 51.84 s, so that a first month can have up to 100,000.
    let month = builder.period(MONTH / 50_000).burst_size(50_000).finish().expect("not zero");
    println!("key secret-of-acme");

    let server = HttpServer::new(move || {
        let hello = web::resource("/").route(web::get().to(hello)).wrap(Governor::new(&month));
        App::new().service(hello).wrap(Governor::new(&rate))
    });
    let server = server.bind("127.0.0.1:0")?;
    println!("listening on http://{}", server.addrs()[0]);
    server.run().await
}
