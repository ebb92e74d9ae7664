# Host code of the CUDA executor.
set(exec_cuda_sources
  cuda/arena.cpp
  cuda/buffers.cpp
  cuda/check.cpp
  cuda/choose.cpp
  cuda/cuda_executor.cpp
  cuda/cuda_plan.cpp
  cuda/cudnn/attention_plans.cpp
  cuda/driver.cpp
  cuda/handles.cpp
  cuda/host_block.cpp
  cuda/libraries.cpp
  cuda/ops/attention.cpp
  cuda/ops/attention_candidates.cpp
  cuda/ops/binary.cpp
  cuda/ops/clear.cpp
  cuda/ops/cross_entropy.cpp
  cuda/ops/elementwise.cpp
  cuda/ops/families.cpp
  cuda/ops/mat_mul.cpp
  cuda/ops/paged_attention.cpp
  cuda/ops/rms_norm.cpp
  cuda/ops/step.cpp
  cuda/ops/update.cpp
  cuda/plan_files.cpp
  cuda/products/lt_matmul.cpp
  cuda/products/product.cpp
  cuda/products/product_choices.cpp
  cuda/products/trial_products.cpp)
# Kernels, and files whose library headers are heavy: each compiled alone.
set(exec_cuda_alone
  cuda/cudnn/attention_graph.cpp
  cuda/kernels/adam_update.cu
  cuda/kernels/attention_layout.cu
  cuda/kernels/attention_plain.cu
  cuda/kernels/attention_plain_grad.cu
  cuda/kernels/clear.cu
  cuda/kernels/dropout.cu
  cuda/kernels/elementwise.cu
  cuda/kernels/fold_blocks.cu
  cuda/kernels/log_sum_exp.cu
  cuda/kernels/plain_matmul.cu
  cuda/kernels/product_edges.cu
  cuda/kernels/rms_norm.cu
  cuda/kernels/rms_norm_grad.cu
  cuda/kernels/rms_norm_weight_grad.cu
  cuda/kernels/scalars.cu
  cuda/kernels/sgd_update.cu
  cuda/kernels/step.cu
  cuda/kernels/swiglu.cu
  cuda/kernels/trial.cu)
# At -O1 and without logging the frontend of cuDNN compiles in half the time.
set_source_files_properties(cuda/cudnn/attention_graph.cpp PROPERTIES
  COMPILE_OPTIONS "-O1;-DNV_CUDNN_FRONTEND_DISABLE_LOGGING")
