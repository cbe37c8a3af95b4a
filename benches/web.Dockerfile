# What benches/project.sh bakes, for buildah.
FROM localhost/atelier-bench-base
RUN useradd --create-home --uid 1000 dev
USER dev
ENV CI=true
COPY --chown=1000:1000 . /home/dev/web
WORKDIR /home/dev/web
RUN npm ci --ignore-scripts --prefer-offline --no-audit --no-fund
