// The transpose, by squares that pass through shared memory so that reading and writing both go along rows.

#define SIDE 32

// Blocks of SIDE x 8 threads; block (x, y) takes columns SIDE * x and rows SIDE * y of `src`, and every gridDim'th.
KERNEL copy_transposed(Mat dst, Mat src) {
    // One column more, so that a column of it lies in different banks.
    __shared__ float square[SIDE][SIDE + 1];
    for (i32 top = blockIdx.y * SIDE; top < src.rows; top += gridDim.y * SIDE) {
        for (i32 left = blockIdx.x * SIDE; left < src.cols; left += gridDim.x * SIDE) {
            i32 col = left + threadIdx.x;
            for (i32 k = threadIdx.y; k < SIDE; k += blockDim.y) {
                if (top + k < src.rows && col < src.cols) square[k][threadIdx.x] = at(src, top + k, col);
            }
            __syncthreads();
            i32 row = top + threadIdx.x;
            for (i32 k = threadIdx.y; k < SIDE; k += blockDim.y) {
                if (left + k < src.cols && row < src.rows) put(dst, left + k, row, square[threadIdx.x][k]);
            }
            __syncthreads();
        }
    }
}
