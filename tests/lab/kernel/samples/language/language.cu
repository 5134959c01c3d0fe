/* What kernels of others use beside the plain language; test_kernel_language.py has what comes out.
 */
#include <cassert>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

struct series {
    int count;
    float scale;
    const float *x;
    short terms;
};

static __device__ __noinline__ float sum_of_series(float x, int terms)
{
    float sum = 0;
    if (terms == 0)
        return 1;
    for (int i = terms; i >= 0; i--) sum = sum * x + i;
    return sum;
}

__global__ void functions(series p, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.count)
        y[i] = sum_of_series(p.x[i], i % 2 ? p.terms : 0) * p.scale;
    if (i == 1)
        printf("%d terms of %5.2f: %s, %c%%, %llx\n", p.terms, p.scale, "text", 'c', 1ull << 40);
}

__global__ void parameters(float *y, int a, int b, int c, int d, int e, int f, int g, int h, int i,
                           int j, int k, int l, int m, int n, int o, int p, int q, int r, int s)
{
    y[threadIdx.x] = a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s;
}

__global__ void tiles(const half *a, const half *b, float *c)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> of_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> of_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    for (int k = 0; k < 32; k += 16) {
        wmma::load_matrix_sync(of_a, a + k, 32);
        wmma::load_matrix_sync(of_b, b + k, 32);
        wmma::mma_sync(sum, of_a, of_b, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 2;
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

__global__ void bytes_of_tiles(const signed char *a, const signed char *b, int *c)
{
    wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> of_a;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::row_major> of_b;
    wmma::fragment<wmma::accumulator, 8, 32, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    wmma::load_matrix_sync(of_a, a, 16);
    wmma::load_matrix_sync(of_b, b, 32);
    wmma::mma_sync(sum, of_a, of_b, sum);
    wmma::store_matrix_sync(c, sum, 8, wmma::mem_col_major);
}

/* Rows come by ldmatrix, transposed for B, and products by mma. */
__global__ void products(const half *a, const half *b, float *d)
{
    __shared__ half of_a[16 * 24], of_b[16 * 8];
    int l = threadIdx.x;
    unsigned r[4], s[2];
    float c[4] = { 0 };
    for (int i = l; i < 256; i += 32) of_a[i / 16 * 24 + i % 16] = a[i];
    for (int i = l; i < 128; i += 32) of_b[i] = b[i];
    __syncthreads();
    unsigned at_a = __cvta_generic_to_shared(&of_a[l % 16 * 24 + l / 16 * 8]);
    unsigned at_b = __cvta_generic_to_shared(&of_b[l % 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at_a));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(s[0]), "=r"(s[1])
                 : "r"(at_b));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, "
                 "%7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(s[0]), "r"(s[1]));
    for (int i = 0; i < 4; i++) d[(l / 4 + i / 2 * 8) * 8 + l % 4 * 2 + i % 2] = c[i];
}

__global__ void copies(const float4 *x, float4 *y, bool waits)
{
    __shared__ float4 tile[2][32];
    int l = threadIdx.x;
    for (int k = 0; k < 2; k++) {
        __pipeline_memcpy_async(&tile[k][l], &x[32 * k + l], 16, k * 8);
        __pipeline_commit();
    }
    if (waits)
        __pipeline_wait_prior(1);
    __syncthreads();
    y[l] = tile[0][31 - l];
    __pipeline_wait_prior(0);
    __syncthreads();
    y[32 + l] = tile[1][31 - l];
}

__global__ void small_numbers(const float *x, unsigned char *e4m3, float *back, __nv_bfloat16 *b,
                              double *down)
{
    int i = threadIdx.x;
    __nv_fp8_e4m3 small(x[i]);
    e4m3[i] = small.__x;
    back[i] = float(small);
    b[i] = __float2bfloat16(x[i]);
    down[i] = __ddiv_rd(x[i], 3.0) + __fdiv_rz(x[i], 7.0f);
}

__global__ void atomics(double *d, half2 *h, __nv_bfloat162 *b, unsigned *u, unsigned short *s)
{
    int i = threadIdx.x;
    atomicAdd(d, 0.5 * i);
    atomicAdd(h, __floats2half2_rn(1, 2));
    atomicAdd(b, __floats2bfloat162_rn(1, 2));
    atomicInc(u, 9);
    atomicDec(u + 1, 9);
    u[2 + i] = __reduce_max_sync(~0u, i % 7) + __match_any_sync(~0u, i % 2);
    if (i == 3)
        atomicCAS(s + 1, (unsigned short)7, (unsigned short)9);
}

__global__ void functions_of_math(const float *x, float *y, double *z)
{
    int i = threadIdx.x;
    y[i] = expf(x[i]) + sinf(20 * x[i]) + cosf(x[i]) + logf(1 + x[i]) + tanhf(x[i]) +
           powf(x[i], 1.5f) + fmodf(7, x[i]);
    double v = x[i];
    z[i] = exp(v) + sin(20 * v) + log(1 + v) + pow(v, 1.5) + rsqrt(1 + v);
}

__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float *y)
{
    int x = threadIdx.x % 8, z = threadIdx.x / 8;
    uchar4 p = surf2Dread<uchar4>(s, 4 * x, z);
    y[threadIdx.x] = tex2D<float>(t, x + 1.0f, z + 0.75f) + p.y;
    surf2Dwrite(make_uchar4(p.w, p.z, p.y, p.x), s, 4 * x, z);
}

__global__ void asserts(int n)
{
    assert(threadIdx.x < n); // here: asserts
}

__global__ void heap(int *y, long long *clocks)
{
    long long begin = clock64();
    int *own = (int *)malloc(4 * (threadIdx.x + 1));
    for (int i = 0; i <= threadIdx.x; i++) own[i] = i;
    for (int i = 0; i <= threadIdx.x; i++) y[threadIdx.x] += own[i];
    free(own);
    clocks[threadIdx.x] = clock64() - begin;
}

__global__ void no_syncwarp(int *y)
{
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = s[threadIdx.x ^ 1]; // here: no_syncwarp
}

__global__ void one_value(int *flag, int *y)
{
    *flag = 1;
    y[threadIdx.x] = 7;
    y[threadIdx.x + 8] = y[threadIdx.x] - 1; // here: one_value
}
