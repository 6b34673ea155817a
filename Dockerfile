# The daemon in a container; docs/manual/service.md says how to run it. `docker compose up` builds and starts it.
#
# Its sandbox is bubblewrap, nested in the container, which needs three of the engine's locks open (compose.yaml) and no
# capability. A base that has git, bwrap and util-linux already needs no mirror of Debian's packages.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS system
RUN for program in git bwrap setpriv ionice; do command -v "$program" || missing=1; done; \
    test -z "$missing" || { apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bubblewrap git util-linux \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log; }

# As `make setup` does it: exact versions of nightshift/requirements/core.lock, each checked by its digest.
FROM system AS build
ARG PIP_INDEX_URL
# Optional packages to build in, as in `--build-arg WITH="docker gpt4all"`: a container installs none while it runs.
ARG WITH=
WORKDIR /opt/nightshift
COPY . .
RUN CI=true UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_NO_CACHE=1 PIP_NO_CACHE_DIR=1 python3 scripts/setup.py \
    && for name in $WITH; do .venv/bin/uv pip install --no-cache --compile-bytecode --torch-backend cpu \
        --python .venv/bin/python -r "nightshift/requirements/$name.txt" -c nightshift/requirements/constraints.txt || exit; done \
    && .venv/bin/python -m compileall -q -x '/\.(venv|runner)/' . \
    && rm .venv/bin/uv .venv/bin/uvx .setup.lock

FROM system
COPY --from=build /opt/nightshift /opt/nightshift
RUN ln -s /opt/nightshift/cli.py /usr/local/bin/nightshift \
    && echo "nightshift:x:1000:1000::/data:/bin/sh" >> /etc/passwd && echo "nightshift:x:1000:" >> /etc/group \
    && mkdir -m 0700 /data && chown 1000:1000 /data
# All addresses of the container; which of the host's lead there is decided where the port is published.
ENV NIGHTSHIFT_HOME=/data HOME=/data FLASK_HOST=0.0.0.0 FLASK_PORT=5000 EXTRAS=off
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 5000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["python3", "-c", \
    "import os, urllib.request as r; r.urlopen('http://127.0.0.1:%s/healthz' % os.environ['FLASK_PORT'])"]
CMD ["/opt/nightshift/.venv/bin/python", "/opt/nightshift/main.py"]
