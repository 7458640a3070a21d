// Norms of groups of neighbouring columns.

// dst[i, j] = 2-norm of columns j * size ... of src's row i: blockDim.x threads share a group, blockDim.y groups a block.
KERNEL group_norm(Mat dst, Mat src, i32 size) {
    __shared__ double shared[BLOCK];
    i64 groups = (i64)dst.rows * dst.cols;
    for (i64 first = (i64)blockIdx.x * blockDim.y; first < groups; first += (i64)gridDim.x * blockDim.y) {
        i64 group = first + threadIdx.y;
        i32 r = (i32)(group / dst.cols), j = (i32)(group % dst.cols);
        double sum = 0.0;
        if (group < groups) {
            for (i32 k = threadIdx.x; k < size; k += blockDim.x) {
                double x = at(src, r, j * size + k);
                sum += x * x;
            }
        }
        sum = sum_along_x(shared, sum);
        if (group < groups && threadIdx.x == 0) put(dst, r, j, (float)sqrt(sum));
    }
}

__device__ inline float ratio_or_zero(float above, float below) { return below == 0.0f ? 0.0f : above / below; }

KERNEL group_norm_backward(Mat in_deriv, Mat in_value, Mat out_value, Mat out_deriv, i32 size) {
    FILL(in_deriv, r, c,
         ratio_or_zero(at(out_deriv, r, c / size), at(out_value, r, c / size)) * at(in_value, r, c))
}
