# syntax=docker/dockerfile:1
# lexsem in an image of its own: one static program, certificates, and nothing else.
#   docker build --build-arg VERSION=1.2.3 -t lexsem .
#   docker run --rm -v notes:/data -v models:/cache -v "$PWD:/in:ro" lexsem index /in
#   docker run --rm -v notes:/data -v models:/cache lexsem search "how do I rotate the keys"
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION= COMMIT= TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
      -ldflags "-s -w -buildid= -X github.com/lexsem/lexsem/cmd/lexsem/internal/command.linkedVersion=$VERSION -X github.com/lexsem/lexsem/cmd/lexsem/internal/command.linkedCommit=$COMMIT" \
      -o /out/lexsem ./cmd/lexsem \
 && mkdir -p /out/image/data /out/image/cache /out/image/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/lexsem /usr/bin/lexsem
COPY --from=build --chown=65532:65532 /out/image/ /
COPY LICENSE /usr/share/doc/lexsem/
USER 65532:65532
ENV HOME=/cache LEXSEM_DB=/data/db LEXSEM_CACHE=/cache LEXSEM_BACKEND=native LEXSEM_ADDR=0.0.0.0:7700
VOLUME ["/data", "/cache"]
WORKDIR /data
EXPOSE 7700
# It is for servers: docker run … lexsem serve. Elsewhere, turn it off by --no-healthcheck.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["/usr/bin/lexsem", "health"]
ENTRYPOINT ["/usr/bin/lexsem"]
CMD ["help"]
