# syntax=docker/dockerfile:1
#   docker build -t tollgate .
#   docker run -p 8080:8080 -v tollgate:/var/lib/tollgate tollgate

FROM rust:1.95.0-trixie AS build
WORKDIR /src
COPY . .
# What is compiled stays with the builder: the next build compiles only what changed.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist --package tollgate \
    && install -D target/dist/tollgate /out/tollgate

FROM debian:trixie-slim
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin tollgate \
    && install -d -o tollgate -g tollgate -m 0700 /var/lib/tollgate
# For upstreams with https://; the slim image believes nobody.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/tollgate /usr/local/bin/tollgate

# By number, so that a cluster can see that it is not root.
USER 10001:10001
WORKDIR /var/lib/tollgate
VOLUME /var/lib/tollgate

# Callers come from outside the container, so the gateway listens on every address. The decision and the admin API
# stay inside: whoever reaches the first can spend the quota of any key they know, and the second makes keys.
# To open them: TOLLGATE_DECISION=0.0.0.0:8081 and TOLLGATE_ADMIN=0.0.0.0:9090.
ENV TOLLGATE_DATA_DIR=/var/lib/tollgate \
    TOLLGATE_GATEWAY=0.0.0.0:8080
EXPOSE 8080 8081 9090

# Asks the admin API inside the container, and needs no token.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["tollgate", "ready"]

ENTRYPOINT ["tollgate"]
CMD ["serve"]
