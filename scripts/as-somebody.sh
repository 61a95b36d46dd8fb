#!/bin/sh
# A small part of the tests once more as somebody who is not root, where root runs them: what is tested must not depend on who runs it.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || exit 0
somebody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
if ! somebody test -r package.json -a -x node_modules/.bin/node; then
  echo 'not run as somebody else: only root may read this folder'
  exit 0
fi
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
chown 65534:65534 "$home"
HOME=$home TMPDIR=$home somebody node_modules/.bin/node --test --test-timeout=180000 test/platform/postgres/torture.test.ts test/platform/postgres/postgres.test.ts
