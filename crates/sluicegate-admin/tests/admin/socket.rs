//! The API over a socket.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::place::{Place, TOKEN, wait};

async fn exchange(listener: TcpListener, place: &Place, request: String) -> String {
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, place.router.clone()).into_future());
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[test]
fn an_account_is_made_over_a_socket() {
    let place = Place::new();
    let body = r#"{"id":"acme","name":"Acme","tier":"pro"}"#;
    let request = format!(
        "POST /admin/v1/accounts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = wait(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        exchange(listener, &place, request).await
    });
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    assert!(answer.contains("location: /admin/v1/accounts/acme\r\n"), "{answer}");
    assert_eq!(place.get("/admin/v1/accounts/acme").expect(200)["tier"], "pro");
}
