# The program alone, for a subject that runs in another container or is mounted. Build it for a released archive, or:
#   cargo build --profile dist --target x86_64-unknown-linux-musl
#   docker build --build-arg PROGRAM=target/x86_64-unknown-linux-musl/dist/wirecert -t wirecert .
FROM scratch
ARG PROGRAM
COPY ${PROGRAM} /wirecert
# The folder of runs.
WORKDIR /tmp
ENTRYPOINT ["/wirecert"]
