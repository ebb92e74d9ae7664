#include "exec/cuda_calls.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

namespace parhelion::test {

CudaCalls& cuda_calls() {
  static CudaCalls calls;
  return calls;
}

}  // namespace parhelion::test

// The linker's names for a call and for what it called before. They are listed in CMakeLists.txt.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

using parhelion::test::cuda_calls;

cudaError_t __real_cudaMalloc(void** data, std::size_t bytes);
cudaError_t __wrap_cudaMalloc(void** data, std::size_t bytes) {
  ++cuda_calls().allocations;
  return __real_cudaMalloc(data, bytes);
}

cudaError_t __real_cudaFree(void* data);
cudaError_t __wrap_cudaFree(void* data) {
  ++cuda_calls().allocations;
  return __real_cudaFree(data);
}

cudaError_t __real_cudaHostRegister(void* data, std::size_t bytes, unsigned flags);
cudaError_t __wrap_cudaHostRegister(void* data, std::size_t bytes, unsigned flags) {
  ++cuda_calls().allocations;
  return __real_cudaHostRegister(data, bytes, flags);
}

cudaError_t __real_cudaHostUnregister(void* data);
cudaError_t __wrap_cudaHostUnregister(void* data) {
  ++cuda_calls().allocations;
  return __real_cudaHostUnregister(data);
}

cudaError_t __real_cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  ++cuda_calls().choices;
  return __real_cudaStreamBeginCapture(stream, mode);
}

cudaError_t __real_cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                        unsigned long long flags);
cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                        unsigned long long flags) {
  ++cuda_calls().choices;
  return __real_cudaGraphInstantiate(made, graph, flags);
}

cublasStatus_t __real_cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int asked, cublasLtMatmulHeuristicResult_t* results,
    int* given);
cublasStatus_t __wrap_cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int asked, cublasLtMatmulHeuristicResult_t* results,
    int* given) {
  ++cuda_calls().choices;
  return __real_cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, c, d, preference, asked,
                                               results, given);
}

cudnnStatus_t __real_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t __wrap_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  ++cuda_calls().choices;
  return __real_cudnnBackendFinalize(descriptor);
}

cublasStatus_t __real_cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                     const void* alpha, const void* a,
                                     cublasLtMatrixLayout_t a_layout, const void* b,
                                     cublasLtMatrixLayout_t b_layout, const void* beta,
                                     const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                     cublasLtMatrixLayout_t d_layout,
                                     const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                     std::size_t workspace_bytes, cudaStream_t stream);
cublasStatus_t __wrap_cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                     const void* alpha, const void* a,
                                     cublasLtMatrixLayout_t a_layout, const void* b,
                                     cublasLtMatrixLayout_t b_layout, const void* beta,
                                     const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                     cublasLtMatrixLayout_t d_layout,
                                     const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                     std::size_t workspace_bytes, cudaStream_t stream) {
  ++cuda_calls().launches;
  return __real_cublasLtMatmul(handle, operation, alpha, a, a_layout, b, b_layout, beta, c,
                               c_layout, d, d_layout, algorithm, workspace, workspace_bytes,
                               stream);
}

cudnnStatus_t __real_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                         cudnnBackendDescriptor_t operands);
cudnnStatus_t __wrap_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                         cudnnBackendDescriptor_t operands) {
  ++cuda_calls().launches;
  return __real_cudnnBackendExecute(handle, plan, operands);
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments) {
  ++cuda_calls().launches;
  return __real_cudaLaunchKernelExC(config, kernel, arguments);
}

cudaError_t __real___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      std::size_t shared_bytes, cudaStream_t stream);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                      std::size_t shared_bytes, cudaStream_t stream) {
  ++cuda_calls().launches;
  return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t __real_cudaMemset(void* data, int value, std::size_t bytes);
cudaError_t __wrap_cudaMemset(void* data, int value, std::size_t bytes) {
  ++cuda_calls().memory_sets;
  return __real_cudaMemset(data, value, bytes);
}

cudaError_t __real_cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  ++cuda_calls().memory_sets;
  return __real_cudaMemsetAsync(data, value, bytes, stream);
}

cudaError_t __real_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  ++cuda_calls().copies;
  return __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
}

cudaError_t __real_cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t __wrap_cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  ++cuda_calls().other_waits;
  return __real_cudaMemcpy(to, from, bytes, kind);
}

cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  ++cuda_calls().graph_launches;
  return __real_cudaGraphLaunch(graph, stream);
}

cudaError_t __real_cudaEventSynchronize(cudaEvent_t event);
cudaError_t __wrap_cudaEventSynchronize(cudaEvent_t event) {
  ++cuda_calls().event_waits;
  return __real_cudaEventSynchronize(event);
}

cudaError_t __real_cudaStreamSynchronize(cudaStream_t stream);
cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream) {
  ++cuda_calls().other_waits;
  return __real_cudaStreamSynchronize(stream);
}

cudaError_t __real_cudaDeviceSynchronize();
cudaError_t __wrap_cudaDeviceSynchronize() {
  ++cuda_calls().other_waits;
  return __real_cudaDeviceSynchronize();
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
