// What CUDA provides and the kernels use, for one CPU thread that plays all threads of a block in turn.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Dim {
    unsigned int x, y, z;
};

// Who runs.
struct Now {
    Dim thread, block, block_dim, grid_dim;
    const char* kernel;
    struct Team* team;
};
static thread_local Now now = {{}, {}, {}, {}, "", nullptr};
#define threadIdx now.thread
#define blockIdx now.block
#define blockDim now.block_dim
#define gridDim now.grid_dim

#define __global__
#define __device__ static
#define __launch_bounds__(threads)
#define __shared__ static thread_local

// For functions of the twin itself that are called while a kernel runs.
#define UNSEEN __attribute__((noinline, no_sanitize("thread")))

// Stops at elements outside of a matrix: a kernel's defect.
[[noreturn]] UNSEEN static void defect(const char* what, long long a, long long b, long long c, long long d) {
    fprintf(stderr, "twin: kernel %s: %s (%lld, %lld) of %lld x %lld; block (%u, %u), thread (%u, %u)\n", now.kernel,
            what, a, b, c, d, blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y);
    abort();
}
#define CHECK_PLACE(m, row, col)                                                \
    if ((row) < 0 || (row) >= (m).rows || (col) < 0 || (col) >= (m).cols)       \
        defect("element", (row), (col), (m).rows, (m).cols);

#include "races.h"
#include "fibers.h"

static inline void __syncthreads() {
    wait_for_all();
}

// What a launch may give each block: `block_memory` of the twin.
#define BLOCK_MEMORY(name) static thread_local double name[8192]

// A thread's value goes to the thread of its warp whose number differs in these bits.
static inline double __shfl_xor_sync(unsigned int, double value, int bits) {
    return exchange(value, bits);
}

static inline double rsqrt(double x) {
    return 1.0 / std::sqrt(x);
}

static inline unsigned int __float_as_uint(float x) {
    unsigned int bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline float __uint_as_float(unsigned int bits) {
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline float __int_as_float(int bits) {
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

using std::exp;
using std::log;
using std::sqrt;
