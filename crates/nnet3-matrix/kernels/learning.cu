// Steps of parameters along their gradients. Rules and their constants are numbered as in learning_step.rs.

#define DESCENT 0
#define MOMENTUM 1
#define RMSPROP 2
#define ADAGRAD 3
#define ADADELTA 4
#define ADAM 5
#define ADAMAX 6
#define LION 7

// What the rate multiplies: of the gradient g, the states at this place and the constants of the rule.
__device__ inline float learning_step(i32 rule, float g, float* a, float* b, float c0, float c1, float c2, float c3, float c4) {
    if (rule == MOMENTUM) {
        *a = c0 * *a + g;
        return c1 != 0.0f ? g + c0 * *a : *a;
    }
    if (rule == RMSPROP) {
        *a = c0 * *a + c1 * (g * g);
        return c3 != 0.0f ? g / (sqrtf(*a + c2) + c2) : g / (sqrtf(*a) + c2);
    }
    if (rule == ADAGRAD) {
        *a += g * g;
        return c1 != 0.0f ? g / sqrtf(*a + c0) : g / (sqrtf(*a) + c0);
    }
    if (rule == ADADELTA) {
        *a = c0 * *a + c1 * (g * g);
        float u = sqrtf((*b + c2) / (*a + c2)) * g;
        *b = c0 * *b + c1 * (u * u);
        return u;
    }
    if (rule == ADAM) {
        *a = c0 * *a + c1 * g;
        *b = c2 * *b + c3 * (g * g);
        return *a / (sqrtf(*b) + c4);
    }
    if (rule == ADAMAX) {
        *a = c0 * *a + c1 * g;
        *b = fmaxf(c2 * *b, fabsf(g) + c3);
        return *a / *b;
    }
    if (rule == LION) {
        float c = c0 * *a + c1 * g;
        *a = c2 * *a + c3 * g;
        return c == 0.0f ? 0.0f : copysignf(1.0f, c);
    }
    return g;
}

__device__ inline float within(float x, float bound) {
    return x < -bound ? -bound : x > bound ? bound : x;
}

KERNEL learn(Mat parameter, Mat gradient, Mat first, Mat second, float times, Mat element, float rate, float decay, float keep,
             float clip, float bound, i32 rule, float c0, float c1, float c2, float c3, float c4) {
    float factor = times * at(element, 0, 0);
    FOR_EACH(parameter, r, c) {
        float g = factor * at(gradient, r, c);
        put(gradient, r, c, 0.0f);
        if (factor == 0.0f) continue;
        float x = at(parameter, r, c);
        g = within(g, clip) + decay * x;
        float a = first.rows > 0 ? at(first, r, c) : 0.0f;
        float b = second.rows > 0 ? at(second, r, c) : 0.0f;
        float u = learning_step(rule, g, &a, &b, c0, c1, c2, c3, c4);
        if (first.rows > 0) put(first, r, c, a);
        if (second.rows > 0) put(second, r, c, b);
        put(parameter, r, c, within(keep * x - rate * u, bound));
    }
}
