# The service: models in /models answered over HTTP on port 8080.
#   docker build -t assay . && docker run --rm -p 8080:8080 -v "$PWD/models:/models:ro" assay
FROM python:3.13-slim AS build
ENV ASSAY_CACHE=/opt/assay/cache
COPY . /src
RUN python -m venv /opt/assay && /opt/assay/bin/pip install --no-cache-dir -c /src/constraints.txt "/src[serve]"
RUN /opt/assay/bin/assay warm

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 assay
COPY --from=build /opt/assay /opt/assay
ENV PATH=/opt/assay/bin:$PATH PYTHONDONTWRITEBYTECODE=1 ASSAY_CACHE=/opt/assay/cache
USER assay
EXPOSE 8080
ENTRYPOINT ["assay", "serve", "/models", "--host", "0.0.0.0", "--port", "8080"]
