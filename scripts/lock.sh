#!/bin/sh
# Makes nightshift/requirements/core.lock anew from checkout.txt and constraints.txt: exact versions and digests for every platform.
set -eu
cd "$(dirname "$0")/.."
exec .venv/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-annotate --no-header -c nightshift/requirements/constraints.txt nightshift/requirements/checkout.txt -o nightshift/requirements/core.lock
