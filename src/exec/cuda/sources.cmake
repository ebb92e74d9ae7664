# Host code of the CUDA executor.
set(exec_cuda_sources
  cuda/arena.cpp
  cuda/buffers.cpp
  cuda/check.cpp
  cuda/choose.cpp
  cuda/cuda_executor.cpp
  cuda/cuda_plan.cpp
  cuda/driver.cpp
  cuda/handles.cpp
  cuda/host_block.cpp
  cuda/libraries.cpp
  cuda/ops/families.cpp)
# Kernels, and files whose library headers are heavy: each compiled alone.
set(exec_cuda_alone)
