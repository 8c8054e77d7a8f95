# musterd as an image: no compiler, no jax, no root, nothing to write to.
# BASE may be any image with Python 3.11 or newer. A release names it by its digest (.github/workflows/release.yml).
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
WORKDIR /src
# What comes from the package index has the version and the hash of the lock files. Wheels only: nothing is compiled.
COPY deploy/image/requirements.txt deploy/image/build-requirements.txt deploy/image/
RUN python3 -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r deploy/image/build-requirements.txt \
 && python3 -m venv /opt/muster \
 && /opt/muster/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r deploy/image/requirements.txt
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY muster muster
COPY docs/runbooks docs/runbooks
COPY docs/reasons.md docs/
RUN /opt/build/bin/hatchling build --target wheel --directory /dist \
 && /opt/muster/bin/pip install --no-cache-dir --no-index --no-deps /dist/*.whl \
 && /opt/muster/bin/pip uninstall --yes setuptools pip

FROM ${BASE}
COPY --from=build /opt/muster /opt/muster
ENV PATH=/opt/muster/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MUSTER_LOG_FORMAT=json
# Memory that a burst took goes back: with an arena per thread, some of each stays.
ENV MALLOC_ARENA_MAX=1
# A number, because Kubernetes can only check runAsNonRoot against one.
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["musterd"]
