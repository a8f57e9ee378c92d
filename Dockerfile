# Two stages: the first builds, the second only runs. README.md tells how to run the image.

FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements.lock ./
RUN python -m venv /opt/retrograph \
    && /opt/retrograph/bin/pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY . .
RUN /opt/retrograph/bin/pip install --no-cache-dir --no-deps .

FROM python:3.11-slim-bookworm
# Debian's own versions: a pin would only keep its security fixes out.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends odbc-mariadb unixodbc \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home retrograph \
    && install --directory --owner=retrograph --group=retrograph /data
COPY --from=build /opt/retrograph /opt/retrograph
# Without tokens it answers on the loopback only, so that is where it begins.
ENV PATH=/opt/retrograph/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    RETROGRAPH_HOST=127.0.0.1 \
    RETROGRAPH_PORT=8000
USER 10001
# The database is a file of the working folder by default.
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['RETROGRAPH_PORT'] + '/health/live', timeout=2)"]
ENTRYPOINT ["retrograph"]
CMD ["serve"]
