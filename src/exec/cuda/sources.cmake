# Host code of the CUDA executor.
set(exec_cuda_sources
  cuda/check.cpp
  cuda/libraries.cpp
  cuda/ops/families.cpp)
# Kernels, and files whose library headers are heavy: each compiled alone.
set(exec_cuda_alone)
