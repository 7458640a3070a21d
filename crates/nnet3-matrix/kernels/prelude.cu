// What all kernels share: fixed-width types, matrices, loops and sums. There are no headers (NVRTC has none to offer).
//
// Every kernel computes each of its results in one thread, or sums in a tree whose shape depends on shapes only. So two
// runs give the same bytes. None uses atomics. Threads of a block that share memory meet at the same barriers.

typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// rows x cols elements, `stride` elements from one row to the next. Elements are floats; if `half`, their upper halves
// (bfloat16).
struct Mat {
    void* data;
    i32 rows;
    i32 cols;
    i32 stride;
    i32 half;
};

#define KERNEL extern "C" __global__ void
// For blocks of up to LARGE_BLOCK threads, whose registers are fewer then.
#define LARGE_BLOCK 1024
#define LARGE_KERNEL extern "C" __global__ void __launch_bounds__(LARGE_BLOCK)

// Threads of a block in every kernel that shares memory; the launching code uses the same number.
#define BLOCK 256

// The twin on the CPU stops at elements outside of a matrix.
#ifndef CHECK_PLACE
#define CHECK_PLACE(m, row, col)
#endif

// Memory of a block besides `__shared__` arrays, as much as the launch says.
#ifndef BLOCK_MEMORY
#define BLOCK_MEMORY(name) extern __shared__ double name[]
#endif

__device__ inline float widened(u16 upper) { return __uint_as_float((u32)upper << 16); }

// The nearest number with 7 bits of mantissa; a tie goes to the even one. NaN stays NaN.
__device__ inline u16 narrowed(float x) {
    const u32 bits = __float_as_uint(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return (u16)(bits >> 16 | 0x40);
    return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

__device__ inline float at(Mat m, i32 row, i32 col) {
    CHECK_PLACE(m, row, col);
    const i64 place = (i64)row * m.stride + col;
    return m.half ? widened(((const u16*)m.data)[place]) : ((const float*)m.data)[place];
}

__device__ inline void put(Mat m, i32 row, i32 col, float x) {
    CHECK_PLACE(m, row, col);
    const i64 place = (i64)row * m.stride + col;
    if (m.half) {
        ((u16*)m.data)[place] = narrowed(x);
    } else {
        ((float*)m.data)[place] = x;
    }
}

// Visits each element of `m` once, whatever the grid: x along columns, y along rows.
#define FOR_EACH(m, r, c)                                                                             \
    for (i32 r = blockIdx.y * blockDim.y + threadIdx.y; r < (m).rows; r += gridDim.y * blockDim.y)     \
        for (i32 c = blockIdx.x * blockDim.x + threadIdx.x; c < (m).cols; c += gridDim.x * blockDim.x)

// Elements that a thread has on their way at once: it takes several reads under way for each thread to keep the memory busy.
#define GROUP 4

// Sets each element of `m` to `value`, an expression of its row r, its column c and of `name`, which is what `read` is there; whatever
// the grid. They may read that element, and anything that is not written. GROUP elements are read before one is written: those
// of neighbouring steps of the grid along a matrix of one row, else down a column.
#define FILL_FROM(m, r, c, name, read, value)                                                           \
    const bool along = (m).rows == 1;                                                                   \
    const i32 across = gridDim.x * blockDim.x, down = gridDim.y * blockDim.y;                           \
    for (i32 top = blockIdx.y * blockDim.y + threadIdx.y; top < (m).rows; top += GROUP * down)          \
        for (i32 left = blockIdx.x * blockDim.x + threadIdx.x; left < (m).cols;                         \
             left += along ? GROUP * across : across) {                                                 \
            if (along ? left + (GROUP - 1) * across < (m).cols : top + (GROUP - 1) * down < (m).rows) { \
                float group[GROUP];                                                                     \
                _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {                                     \
                    [[maybe_unused]] const i32 r = along ? top : top + k * down;                        \
                    [[maybe_unused]] const i32 c = along ? left + k * across : left;                    \
                    group[k] = (read);                                                                  \
                }                                                                                       \
                _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {                                     \
                    [[maybe_unused]] const i32 r = along ? top : top + k * down;                        \
                    [[maybe_unused]] const i32 c = along ? left + k * across : left;                    \
                    const float name = group[k];                                                        \
                    put(m, r, c, value);                                                                \
                }                                                                                       \
                continue;                                                                               \
            }                                                                                           \
            _Pragma("unroll 1") for (i32 k = 0; k < GROUP; k++) {                                       \
                [[maybe_unused]] const i32 r = along ? top : top + k * down;                            \
                [[maybe_unused]] const i32 c = along ? left + k * across : left;                        \
                if (r >= (m).rows || c >= (m).cols) break;                                              \
                const float name = (read);                                                              \
                put(m, r, c, value);                                                                    \
            }                                                                                           \
        }

// The same without a function of what is read.
#define FILL(m, r, c, value) FILL_FROM(m, r, c, found, value, found)

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
