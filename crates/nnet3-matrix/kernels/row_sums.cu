// Sums along rows: blockDim.x threads share a row, blockDim.y rows share a block.

// col = alpha * (row sums of a, or of a * b if `two`) + beta * col.
KERNEL row_totals(Mat col, float alpha, Mat a, Mat b, i32 two, float beta) {
    __shared__ double shared[BLOCK];
    for (i32 top = blockIdx.x * blockDim.y; top < a.rows; top += gridDim.x * blockDim.y) {
        i32 r = top + threadIdx.y;
        double sum = 0.0;
        if (r < a.rows) {
            for (i32 c = threadIdx.x; c < a.cols; c += blockDim.x) {
                double x = at(a, r, c);
                sum += two ? x * (double)at(b, r, c) : x;
            }
        }
        sum = sum_along_x(shared, sum);
        if (r < a.rows && threadIdx.x == 0) {
            float scaled = alpha * (float)sum;
            put(col, r, 0, beta == 0.0f ? scaled : scaled + beta * at(col, r, 0));
        }
    }
}

// Sums of a (or of a * b if `two`) over the rows and columns that a block visits, one number per block.
KERNEL block_totals(double* totals, Mat a, Mat b, i32 two) {
    __shared__ double shared[BLOCK];
    const bool along = a.rows == 1;
    const i32 across = gridDim.x * blockDim.x, down = gridDim.y * blockDim.y;
    double sum = 0.0;
    for (i32 top = blockIdx.y * blockDim.y + threadIdx.y; top < a.rows; top += GROUP * down) {
        for (i32 left = blockIdx.x * blockDim.x + threadIdx.x; left < a.cols; left += along ? GROUP * across : across) {
            // All of a group are read before one is added.
            float x[GROUP], y[GROUP];
            _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) {
                const i32 r = along ? top : top + k * down, c = along ? left + k * across : left;
                const bool inside = r < a.rows && c < a.cols;
                x[k] = inside ? at(a, r, c) : 0.0f;
                y[k] = two && inside ? at(b, r, c) : 1.0f;
            }
            _Pragma("unroll") for (i32 k = 0; k < GROUP; k++) sum += (double)x[k] * (double)y[k];
        }
    }
    sum = sum_along_x(shared, sum);
    if (threadIdx.x == 0) shared[threadIdx.y] = sum;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        double all = 0.0;
        for (u32 k = 0; k < blockDim.y; k++) all += shared[k];
        totals[blockIdx.y * gridDim.x + blockIdx.x] = all;
    }
}

// total = the sum of `count` numbers, by one block of BLOCK x 1 threads.
KERNEL sum_of_totals(double* total, const double* totals, i32 count) {
    __shared__ double shared[BLOCK];
    double sum = 0.0;
    for (i32 k = threadIdx.x; k < count; k += blockDim.x) sum += totals[k];
    sum = sum_along_x(shared, sum);
    if (threadIdx.x == 0) total[0] = sum;
}
