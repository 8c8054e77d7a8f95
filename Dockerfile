# musterd as an image: no compiler, no jax, no root, nothing to write to.
# BASE may be any image with Python 3.11 or newer.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY muster muster
COPY state state
COPY watchers watchers
COPY reconcilers reconcilers
COPY metrics metrics
COPY daemon daemon
RUN python3 -m venv /opt/muster \
 && /opt/muster/bin/pip install --no-cache-dir --constraint constraints.txt '.[daemon,fast]' \
 && /opt/muster/bin/pip uninstall --yes pip

FROM ${BASE}
COPY --from=build /opt/muster /opt/muster
ENV PATH=/opt/muster/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MUSTER_LOG_FORMAT=json
# A number, because Kubernetes can only check runAsNonRoot against one.
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["musterd"]
