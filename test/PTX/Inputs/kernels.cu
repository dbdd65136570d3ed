// Small kernels as other people write them, for cuda.test.
#include <cuda_pipeline.h>
#include <cuda_fp16.h>
#include <cstdint>

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

// A tree in shared memory, then warps.
extern "C" __global__ void sum(const int *x, int *total, int n) {
  __shared__ int part[256];
  int t = threadIdx.x, s = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
    s += x[i];
  part[t] = s;
  __syncthreads();
  for (int k = blockDim.x / 2; k >= 32; k /= 2) {
    if (t < k)
      part[t] += part[t + k];
    __syncthreads();
  }
  if (t < 32) {
    int v = part[t];
    for (int k = 16; k; k /= 2)
      v += __shfl_down_sync(0xffffffffu, v, k);
    if (t == 0)
      atomicAdd(total, v);
  }
}

// 16 x 16 tiles of c = a * b, all n x n.
extern "C" __global__ void matmul(const float *a, const float *b, float *c,
                                  int n) {
  __shared__ float ta[16][16], tb[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
    tb[y][x] = k + y < n && column < n ? b[(k + y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  if (row < n && column < n)
    c[row * n + column] = sum;
}

// Two stages of cp.async.
extern "C" __global__ void staged(const float4 *x, float4 *y, int tiles) {
  __shared__ float4 stage[2][64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&stage[0][t], &x[t], 16);
  __pipeline_commit();
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles)
      __pipeline_memcpy_async(&stage[(i + 1) & 1][t], &x[(i + 1) * 64 + t], 16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 v = stage[i & 1][63 - t];
    y[i * 64 + t] = make_float4(v.w, v.z, v.y, v.x);
    __syncthreads();
  }
}

// Lanes that go different ways, and meet.
extern "C" __global__ void collatz(const unsigned *x, unsigned *steps) {
  unsigned n = x[threadIdx.x], s = 0;
  while (n != 1) {
    n = n & 1 ? 3 * n + 1 : n / 2;
    ++s;
  }
  steps[threadIdx.x] = __reduce_max_sync(0xffffffffu, s) * 1000 + s;
}

extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins,
                                     int n) {
  __shared__ unsigned local[8];
  if (threadIdx.x < 8)
    local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n;
       i += blockDim.x * gridDim.x)
    atomicAdd(&local[x[i] & 7], 1u);
  __syncthreads();
  if (threadIdx.x < 8)
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void scan(const int *x, int *y) {
  int lane = threadIdx.x & 31, v = x[threadIdx.x];
  __shared__ int sums[32];
  for (int k = 1; k < 32; k *= 2) {
    int other = __shfl_up_sync(0xffffffffu, v, k);
    if (lane >= k)
      v += other;
  }
  if (lane == 31)
    sums[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 0; w < int(threadIdx.x / 32); ++w)
    v += sums[w];
  y[threadIdx.x] = v;
}

extern "C" __global__ void transpose(const float *x, float *y, int n) {
  __shared__ float tile[32][33];
  for (int r = threadIdx.y; r < 32; r += 8)
    tile[r][threadIdx.x] =
        x[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8)
    y[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][r];
}

__constant__ float weights[5] = {1, 2, 3, 2, 1};
extern "C" __global__ void stencil(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0;
  for (int k = -2; k <= 2; ++k)
    if (i + k >= 0 && i + k < n)
      s += weights[k + 2] * x[i + k];
  y[i] = s;
}

extern "C" __global__ void halves(const __half2 *x, __half2 *y) {
  int i = threadIdx.x;
  y[i] = __hfma2(x[i], __float2half2_rn(2.0f), __float2half2_rn(0.5f));
}

// A bulk copy in, mbarrier, a bulk copy out.
extern "C" __global__ void bulk(const int *x, int *y) {
  __shared__ alignas(128) int data[128];
  __shared__ alignas(8) uint64_t bar;
  uint32_t at = __cvta_generic_to_shared(data),
           barrier = __cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(
        barrier));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [%0], [%1], 512, [%2];" ::"r"(at),
                 "l"(x), "r"(barrier)
                 : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred p;\nW:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
               "@!p bra W;\n}" ::"r"(barrier)
               : "memory");
  data[threadIdx.x] = data[threadIdx.x] * 2 + 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;"
                 ::"l"(y), "r"(at)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::
                     : "memory");
  }
}

// Neighbours' shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1) swap(const int *x, int *y) {
  __shared__ int mine[32];
  int i = blockIdx.x * 32 + threadIdx.x;
  mine[threadIdx.x] = x[i];
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
               ::: "memory");
  uint32_t at = __cvta_generic_to_shared(&mine[threadIdx.x]), there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(at), "r"((blockIdx.x & 1) ^ 1));
  int v;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(there) : "memory");
  y[i] = v;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
               ::: "memory");
}
