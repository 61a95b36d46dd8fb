# The package as npm would publish it, in an image of its own: no sources, no development tools, no root.
FROM node:26-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm pack --pack-destination /tmp

FROM node:26-slim
ENV NODE_ENV=production SVC_HOST=0.0.0.0 SVC_DATA_DIR=/data
COPY --from=build /tmp/strongroom-*.tgz /tmp/
# The packages for passkeys, SAML and S3 go beside it.
RUN npm install --global --omit=dev --no-audit --no-fund /tmp/strongroom-*.tgz @aws-sdk/client-s3@^3 @aws-sdk/lib-storage@^3 \
    @simplewebauthn/server@^14 @node-saml/node-saml@^5 \
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
