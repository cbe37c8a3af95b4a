# What examples/node/prebuild.kdl says, for buildah. The context is a clone.
FROM localhost/atelier-bench-base
RUN useradd --create-home --uid 1000 dev
USER dev
ENV CI=true
COPY --chown=1000:1000 . /home/dev/src
WORKDIR /home/dev/src/examples/node
RUN npm ci --ignore-scripts
RUN npm run build
