# The package as npm would publish it, in an image of its own: no sources, no development tools, no root.
FROM node:26-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY . .
# There is no repository here: docker build --build-arg BUILD_COMMIT=$(git rev-parse HEAD) --build-arg BUILD_COMMIT_TIME=$(git log -1 --format=%cI)
ARG BUILD_COMMIT=""
ARG BUILD_COMMIT_TIME=""
RUN npm pack --pack-destination /tmp

FROM node:26-slim
ENV NODE_ENV=production SVC_HOST=0.0.0.0 SVC_DATA_DIR=/data SVC_ALLOW_PLUGIN_INSTALL=false
# What the service calls for metadata (ExifTool is a program in Perl), films and sounds. Documents of offices need LibreOffice too,
# some 700 MB: docker build --build-arg PROGRAMS="ffmpeg perl libreoffice-core libreoffice-writer libreoffice-calc libreoffice-impress"
ARG PROGRAMS="ffmpeg perl"
RUN apt-get update && apt-get install --yes --no-install-recommends $PROGRAMS && rm -rf /var/lib/apt/lists/*
COPY --from=build /tmp/strongroom-*.tgz /tmp/
# The packages that the service takes where they are installed: S3, passkeys, SAML, PDF, HEIC, metadata. They go beside it.
RUN npm install --global --omit=dev --no-audit --no-fund /tmp/strongroom-*.tgz @aws-sdk/client-s3@^3 @aws-sdk/lib-storage@^3 \
    @opentelemetry/api@^1 @opentelemetry/sdk-trace@^3 @opentelemetry/resources@^3 \
    @opentelemetry/exporter-trace-otlp-http@^0.301 @simplewebauthn/server@^14 @node-saml/node-saml@^5 @hyzyla/pdfium@^2 libheif-js@^1 exiftool-vendored@^38 \
  && rm -rf /tmp/* /root/.npm \
  && mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080
# Answers without a database too; a dead database is not mended by starting the service again.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SVC_PORT ?? 8080}/api/v1/settings`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# PostgreSQL gets its time to stop: docker run --stop-timeout 60.
STOPSIGNAL SIGTERM
ENTRYPOINT ["strongroom"]
CMD ["start"]
