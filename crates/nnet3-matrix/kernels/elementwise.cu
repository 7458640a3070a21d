// Element by element. A source may be the destination itself: each element is read and written by one thread.

KERNEL set_value(Mat dst, float value) {
    FILL(dst, r, c, value)
}

KERNEL copy_values(Mat dst, Mat src) {
    FILL(dst, r, c, at(src, r, c))
}

KERNEL scale_values(Mat dst, float factor) {
    FILL(dst, r, c, at(dst, r, c) * factor)
}

KERNEL add_values(Mat dst, float alpha, Mat src) {
    FILL(dst, r, c, at(dst, r, c) + alpha * at(src, r, c))
}

KERNEL copy_scaled(Mat dst, float alpha, Mat src) {
    FILL(dst, r, c, alpha * at(src, r, c))
}

__device__ inline float activated(float x, i32 activation) {
    if (activation == SIGMOID) return sigmoid_of(x);
    if (activation == TANH) return tanhf(x);
    return x < 0.0f ? 0.0f : x;
}

KERNEL activate(Mat dst, Mat src, i32 activation) {
    FILL_FROM(dst, r, c, x, at(src, r, c), activated(x, activation))
}

KERNEL activate_backward(Mat dst, Mat out_value, Mat out_deriv, i32 activation) {
    FILL(dst, r, c, at(out_deriv, r, c) * derivative_of(at(out_value, r, c), activation))
}

KERNEL product(Mat dst, Mat a, Mat b) {
    FILL(dst, r, c, at(a, r, c) * at(b, r, c))
}

KERNEL divide(Mat dst, Mat src) {
    FILL(dst, r, c, at(dst, r, c) / at(src, r, c))
}

KERNEL add_product(Mat dst, float alpha, Mat a, Mat b) {
    FILL(dst, r, c, at(dst, r, c) + alpha * at(a, r, c) * at(b, r, c))
}

__device__ inline float times_ratio(float e, float above, float below) {
    return below != 0.0f ? e * (above / below) : e;
}

KERNEL multiply_by_ratio(Mat dst, Mat out_deriv, Mat out_value, Mat in_value) {
    FILL(dst, r, c, times_ratio(at(out_deriv, r, c), at(out_value, r, c), at(in_value, r, c)))
}

KERNEL add_where_equal(Mat dst, Mat a, Mat c, Mat b) {
    FILL(dst, i, j, at(a, i, j) == at(c, i, j) ? at(dst, i, j) + at(b, i, j) : at(dst, i, j))
}

KERNEL max_with(Mat dst, Mat src) {
    FILL(dst, r, c, at(src, r, c) > at(dst, r, c) ? at(src, r, c) : at(dst, r, c))
}
