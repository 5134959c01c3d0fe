# An image with chokepoint, its CPU device and its CUDA device. CUDA itself comes from the host: the driver by NVIDIA's container
# toolkit (--gpus), and cuBLAS, CUPTI, cuDNN and NCCL by a mount of the host's toolkit, of the same major version.
#
#   docker build --build-arg CUDA=12.9.1 -t chokepoint .
#   docker run --rm --gpus all -v /usr/local/cuda:/usr/local/cuda:ro -v "$PWD:/work" chokepoint run core --out=result
#   docker run --rm -v "$PWD:/work" chokepoint diagnose trace.json.gz
ARG CUDA=13.0.2
FROM nvidia/cuda:${CUDA}-devel-ubuntu24.04 AS build
COPY . /source
WORKDIR /source
RUN apt-get update && apt-get install -y --no-install-recommends dpkg-dev file python3 && scripts/setup.sh && scripts/package.sh /package

FROM ubuntu:24.04
RUN --mount=from=build,source=/package,target=/package \
    apt-get update && apt-get install -y --no-install-recommends /package/chokepoint_*.deb && rm -rf /var/lib/apt/lists/*
ENV CUDA_HOME=/usr/local/cuda
WORKDIR /work
ENTRYPOINT ["chokepoint"]
CMD ["--help"]
