//! Bodies pass through as they come, and wait where nobody takes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bed::{body, gateway, get, raw_upstream, read_head, rest};

/// More than all buffers between two ends on one machine hold, much less than the whole.
const STALLED_MAX: usize = 48 * 1024 * 1024;
const WHOLE: usize = 1024 * 1024 * 1024;
static PART: [u8; 64 * 1024] = [b'x'; 64 * 1024];

/// Writes a gigabyte as fast as it is taken, and counts what was.
async fn pour(mut stream: TcpStream, count: Arc<AtomicUsize>) {
    while count.load(Relaxed) < WHOLE {
        if stream.write_all(&PART).await.is_err() {
            return;
        }
        count.fetch_add(PART.len(), Relaxed);
    }
}

/// What the count is once it stands still.
async fn stalled(count: &AtomicUsize) -> usize {
    loop {
        let before = count.load(Relaxed);
        tokio::time::sleep(Duration::from_millis(300)).await;
        if count.load(Relaxed) == before {
            return before;
        }
    }
}

#[tokio::test]
async fn an_answer_waits_for_its_caller() {
    let count = Arc::new(AtomicUsize::new(0));
    let poured = Arc::clone(&count);
    let upstream = raw_upstream(move |_, mut stream| {
        let poured = Arc::clone(&poured);
        async move {
            read_head(&mut stream).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {WHOLE}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            pour(stream, poured).await;
        }
    })
    .await;
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    caller.write_all(get("/").as_bytes()).await.unwrap();
    read_head(&mut caller).await;
    let first = stalled(&count).await;
    assert!(first > 0 && first < STALLED_MAX, "{first}");
    let mut part = vec![0; 1024 * 1024];
    for _ in 0..64 {
        caller.read_exact(&mut part).await.unwrap();
    }
    let second = stalled(&count).await;
    assert!(second > first && second < 64 * part.len() + STALLED_MAX, "{second}");
}

#[tokio::test]
async fn a_request_waits_for_its_upstream() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let address = {
        let mut setup = crate::bed::Setup::to(crate::bed::at(upstream, ""));
        setup.guard.body_max = u64::MAX;
        setup.forward.body_max = u64::MAX;
        setup.start().address
    };
    let mut caller = TcpStream::connect(address).await.unwrap();
    let head = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {WHOLE}\r\n\r\n");
    caller.write_all(head.as_bytes()).await.unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    tokio::spawn(pour(caller, Arc::clone(&count)));
    let first = stalled(&count).await;
    assert!(first > 0 && first < STALLED_MAX, "{first}");
}

#[tokio::test]
async fn a_part_reaches_the_caller_before_the_next_one_is_sent() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n").await.unwrap();
        // The caller says over another way that it has the first part.
        let mut proceed = TcpStream::connect(PROCEED.get().unwrap()).await.unwrap();
        proceed.read_u8().await.unwrap();
        stream.write_all(b"1\r\nb\r\n0\r\n\r\n").await.unwrap();
    })
    .await;
    let proceed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    PROCEED.set(proceed.local_addr().unwrap()).unwrap();
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    caller.write_all(get("/").as_bytes()).await.unwrap();
    read_head(&mut caller).await;
    let mut first = [0; 6];
    caller.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"1\r\na\r\n");
    let (mut upstream, _) = proceed.accept().await.unwrap();
    upstream.write_u8(1).await.unwrap();
    assert_eq!(rest(&mut caller).await, "1\r\nb\r\n0\r\n\r\n");
}

static PROCEED: std::sync::OnceLock<std::net::SocketAddr> = std::sync::OnceLock::new();

#[tokio::test]
async fn an_answer_before_the_end_of_the_request_passes() {
    let upstream = raw_upstream(|_, mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nearly").await.unwrap();
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all).await;
    })
    .await;
    let mut caller = TcpStream::connect(gateway(upstream).address).await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\nconnection: close\r\n\r\nabc";
    caller.write_all(head.as_bytes()).await.unwrap();
    let head = read_head(&mut caller).await;
    let mut early = [0; 5];
    caller.read_exact(&mut early).await.unwrap();
    assert_eq!(body(&format!("{head}{}", String::from_utf8_lossy(&early))), "early");
}
