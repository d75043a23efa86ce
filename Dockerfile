# syntax=docker/dockerfile:1
#   docker build -t sluicegate .
#   docker run -p 8080:8080 -v sluicegate:/var/lib/sluicegate sluicegate

FROM rust:1.95.0-trixie AS build
WORKDIR /src
COPY . .
# What is compiled stays with the builder: the next build compiles only what changed.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist --package sluicegate \
    && install -D target/dist/sluicegate /out/sluicegate

FROM debian:trixie-slim
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin sluicegate \
    && install -d -o sluicegate -g sluicegate -m 0700 /var/lib/sluicegate
# For upstreams with https://; the slim image believes nobody.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/sluicegate /usr/local/bin/sluicegate

# By number, so that a cluster can see that it is not root.
USER 10001:10001
WORKDIR /var/lib/sluicegate
VOLUME /var/lib/sluicegate

# Callers come from outside the container, so the gateway listens on every address. The decision and the admin API
# stay inside: whoever reaches the first can spend the quota of any key they know, and the second makes keys.
# To open them: SLUICEGATE_DECISION=0.0.0.0:8081 and SLUICEGATE_ADMIN=0.0.0.0:9090.
ENV SLUICEGATE_DATA_DIR=/var/lib/sluicegate \
    SLUICEGATE_GATEWAY=0.0.0.0:8080
EXPOSE 8080 8081 9090

# Asks the admin API inside the container, and needs no token.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["sluicegate", "ready"]

ENTRYPOINT ["sluicegate"]
CMD ["serve"]
