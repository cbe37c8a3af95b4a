# Ten layers, as the file of benches/rows/resolve.sh has ten snapshots, for buildah.
FROM localhost/atelier-bench-base
RUN echo 1 > /1
RUN echo 2 > /2
RUN echo 3 > /3
RUN echo 4 > /4
RUN echo 5 > /5
RUN echo 6 > /6
RUN echo 7 > /7
RUN echo 8 > /8
RUN echo 9 > /9
RUN echo 10 > /10
