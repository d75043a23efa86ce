//! Proxies of others, with limits per API key that refuse nobody.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

/// nginx, one worker, with `limit_req` and connections to the upstream that are kept.
pub(super) fn nginx(folder: &Path, address: SocketAddr, upstream: SocketAddr) -> Result<Command> {
    let text = format!(
        "daemon off; worker_processes 1; pid nginx.pid; error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  limit_req_zone $http_authorization zone=keys:64m rate=1000000r/s;
  upstream behind {{ server {upstream}; keepalive 100; keepalive_requests 1000000000; }}
  server {{
    listen {address};
    location / {{
      limit_req zone=keys burst=1000000 nodelay;
      proxy_pass http://behind;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
    }}
  }}
}}
"
    );
    std::fs::write(folder.join("nginx.conf"), text).context("cannot write nginx.conf")?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "stderr"]);
    Ok(command)
}

/// HAProxy, one thread, counting requests of each key in a stick table.
pub(super) fn haproxy(folder: &Path, address: SocketAddr, upstream: SocketAddr) -> Result<Command> {
    let text = format!(
        "global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
frontend callers
  bind {address}
  stick-table type string len 128 size 100k expire 1m store http_req_rate(1s)
  http-request track-sc0 req.hdr(authorization)
  http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt 1000000000 }}
  default_backend behind
backend behind
  server upstream {upstream}
"
    );
    let path = folder.join("haproxy.cfg");
    std::fs::write(&path, text).context("cannot write haproxy.cfg")?;
    let mut command = Command::new("haproxy");
    command.arg("-db").arg("-f").arg(path);
    Ok(command)
}
