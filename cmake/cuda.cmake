# The CUDA toolkit, cuDNN >= 9.19 and the headers of cuDNN's frontend, for GPU architecture 9.0 unless told
# otherwise. Headers of a Python environment are found where CUDNN_FRONTEND_INCLUDE or CUDNN_ROOT point.
if(NOT CMAKE_CUDA_COMPILER)
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin REQUIRED)
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a)
endif()
if(CCACHE_PROGRAM)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
enable_language(CUDA)
# CMake 3.25.1 does not know how nvcc 13 is asked for C++20.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
find_package(CUDAToolkit 13 REQUIRED)
set(gpu_headers ${PROJECT_SOURCE_DIR}/build/gpu-headers)  # tools/fetch-gpu-headers
find_path(CUDNN_INCLUDE cudnn.h REQUIRED
  HINTS ${CUDNN_ROOT}/include ${CUDAToolkit_INCLUDE_DIRS} ${gpu_headers}/nvidia/cudnn/include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 REQUIRED
  HINTS ${CUDNN_ROOT}/lib ${CUDAToolkit_LIBRARY_DIR} ${gpu_headers}/nvidia/cudnn/lib)
find_path(CUDNN_FRONTEND_INCLUDE cudnn_frontend.h REQUIRED HINTS ${gpu_headers}/include)
add_library(parhelion_cuda_libraries INTERFACE)
target_include_directories(parhelion_cuda_libraries SYSTEM INTERFACE
  ${CUDNN_INCLUDE} ${CUDNN_FRONTEND_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(parhelion_cuda_libraries INTERFACE
  CUDA::cudart CUDA::cublasLt CUDA::nvrtc ${CUDNN_LIBRARY})
