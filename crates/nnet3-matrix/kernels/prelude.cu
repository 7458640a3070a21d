// What all kernels share: fixed-width types, matrices, loops and sums. There are no headers (NVRTC has none to offer).
//
// Every kernel computes each of its results in one thread, or sums in a tree whose shape depends on shapes only. So two
// runs give the same bytes. None uses atomics. Threads of a block that share memory meet at the same barriers.

typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// rows x cols elements, `stride` elements from one row to the next.
struct Mat {
    float* data;
    i32 rows;
    i32 cols;
    i64 stride;
};

#define KERNEL extern "C" __global__ void

// Threads of a block in every kernel that shares memory; the launching code uses the same number.
#define BLOCK 256

// The twin on the CPU stops at elements outside of a matrix.
#ifndef CHECK_PLACE
#define CHECK_PLACE(m, row, col)
#endif

__device__ inline float& at(Mat m, i32 row, i32 col) {
    CHECK_PLACE(m, row, col);
    return m.data[row * m.stride + col];
}

// Visits each element of `m` once, whatever the grid: x along columns, y along rows.
#define FOR_EACH(m, r, c)                                                                             \
    for (i32 r = blockIdx.y * blockDim.y + threadIdx.y; r < (m).rows; r += gridDim.y * blockDim.y)     \
        for (i32 c = blockIdx.x * blockDim.x + threadIdx.x; c < (m).cols; c += gridDim.x * blockDim.x)

// The sum of `value` over the threads that have the same threadIdx.y, given to all of them. `shared` has BLOCK places;
// blockDim.x is a power of two. All threads of the block must come here.
__device__ inline double sum_along_x(double* shared, double value) {
    double* line = shared + threadIdx.y * blockDim.x;
    line[threadIdx.x] = value;
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) line[threadIdx.x] += line[threadIdx.x + half];
    }
    __syncthreads();
    double sum = line[0];
    __syncthreads();
    return sum;
}

// The largest `value`, NaN not counted, likewise.
__device__ inline float max_along_x(float* shared, float value) {
    float* line = shared + threadIdx.y * blockDim.x;
    line[threadIdx.x] = value;
    for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) line[threadIdx.x] = fmaxf(line[threadIdx.x], line[threadIdx.x + half]);
    }
    __syncthreads();
    float max = line[0];
    __syncthreads();
    return max;
}

// The sum of `value` over the threads that have the same threadIdx.x, given to those with threadIdx.y 0. blockDim.y is a
// power of two.
__device__ inline double sum_along_y(double* shared, double value) {
    double* mine = shared + threadIdx.y * blockDim.x + threadIdx.x;
    *mine = value;
    for (u32 half = blockDim.y / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half) *mine += mine[half * blockDim.x];
    }
    double sum = *mine;
    __syncthreads();
    return sum;
}

// Numbers of activations, as the launching code passes them.
#define SIGMOID 0
#define TANH 1
#define RELU 2

__device__ inline float sigmoid_of(float x) {
    float e = expf(-fabsf(x));
    return (x > 0.0f ? 1.0f : e) / (1.0f + e);
}

// The derivative of an activation at output y.
__device__ inline float derivative_of(float y, i32 activation) {
    if (activation == SIGMOID) return y * (1.0f - y);
    if (activation == TANH) return 1.0f - y * y;
    return y > 0.0f ? 1.0f : 0.0f;
}
