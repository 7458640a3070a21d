// Products of each row of `a` with the rows i + o * shift of `b`, o below the number of columns of `c`.

// c[i, o] = alpha * a.row(i) . b.row(i + o * shift): blockDim.x threads share a product, blockDim.y products a block.
KERNEL banded_dots(Mat c, float alpha, Mat a, Mat b, i32 shift) {
    __shared__ double shared[BLOCK];
    i64 count = (i64)c.rows * c.cols;
    for (i64 first = (i64)blockIdx.x * blockDim.y; first < count; first += (i64)gridDim.x * blockDim.y) {
        i64 place = first + threadIdx.y;
        i32 i = (i32)(place / c.cols), o = (i32)(place % c.cols);
        double sum = 0.0;
        if (place < count) {
            for (i32 k = threadIdx.x; k < a.cols; k += blockDim.x) {
                sum += (double)at(a, i, k) * (double)at(b, i + o * shift, k);
            }
        }
        sum = sum_along_x(shared, sum);
        if (place < count && threadIdx.x == 0) put(c, i, o, alpha * (float)sum);
    }
}

// a.row(i) += alpha * sum over o of c[i, o] * b.row(i + o * shift).
KERNEL banded_apply(Mat a, float alpha, Mat c, Mat b, i32 shift) {
    FOR_EACH(a, i, k) {
        float sum = at(a, i, k);
        for (i32 o = 0; o < c.cols; o++) sum += alpha * at(c, i, o) * at(b, i + o * shift, k);
        put(a, i, k, sum);
    }
}

// b.row(i + o * shift) += alpha * c[i, o] * a.row(i); each element of b collects its terms in the order of i.
KERNEL banded_scatter(Mat b, float alpha, Mat c, Mat a, i32 shift) {
    FOR_EACH(b, r, k) {
        float sum = at(b, r, k);
        for (i32 o = c.cols - 1; o >= 0; o--) {
            i32 i = r - o * shift;
            if (i >= 0 && i < a.rows) sum += alpha * at(c, i, o) * at(a, i, k);
        }
        put(b, r, k, sum);
    }
}
