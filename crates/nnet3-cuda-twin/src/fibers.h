// The threads of a block that work together: one stack each, switched at barriers.
#include <setjmp.h>
#include <ucontext.h>

enum State { READY, WAITING, DONE };

struct Fiber {
    ucontext_t entry;
    jmp_buf place;
    bool entered;
    State state;
    Dim thread;
    void (*work)(void**);
    void** args;
    char* stack;
};

static const size_t STACK = 128 * 1024;

struct Team {
    Fiber fibers[1024];
    jmp_buf scheduler;
    Fiber* current;
};

static thread_local Team* team = nullptr;

// Goes on with another thread of the block; comes back when all have come to a barrier.
__attribute__((noinline)) static void leave(State state) {
    Fiber* fiber = team->current;
    fiber->state = state;
    if (_setjmp(fiber->place) == 0) _longjmp(team->scheduler, 1);
}

static void fiber_main() {
    for (;;) {
        Fiber* fiber = team->current;
        fiber->work(fiber->args);
        leave(DONE);
    }
}

__attribute__((noinline)) static void prepare(Fiber* fiber) {
    fiber->stack = (char*)malloc(STACK);
    getcontext(&fiber->entry);
    fiber->entry.uc_stack.ss_sp = fiber->stack;
    fiber->entry.uc_stack.ss_size = STACK;
    fiber->entry.uc_link = nullptr;
    makecontext(&fiber->entry, fiber_main, 0);
}

__attribute__((noinline)) static void resume(Fiber* fiber) {
    team->current = fiber;
    threadIdx = fiber->thread;
    if (_setjmp(team->scheduler) != 0) return;
    if (fiber->entered) _longjmp(fiber->place, 1);
    fiber->entered = true;
    setcontext(&fiber->entry);
    abort();
}

static void wait_for_all() {
    if (team == nullptr || team->current == nullptr) {
        fprintf(stderr, "twin: kernel %s has a barrier but no shared memory\n", running_kernel);
        abort();
    }
    leave(WAITING);
}

// All threads of one block. If some end while others wait at a barrier, a GPU might hang: a defect.
static void run_together(void (*work)(void**), void** args, int backwards) {
    unsigned int count = blockDim.x * blockDim.y;
    if (team == nullptr) team = (Team*)calloc(1, sizeof(Team));
    for (unsigned int k = 0; k < count; k++) {
        Fiber* fiber = &team->fibers[k];
        if (fiber->stack == nullptr) prepare(fiber);
        fiber->state = READY;
        fiber->thread = Dim{k % blockDim.x, k / blockDim.x, 0};
        fiber->work = work;
        fiber->args = args;
    }
    for (;;) {
        unsigned int done = 0;
        for (unsigned int k = 0; k < count; k++) {
            Fiber* fiber = &team->fibers[backwards ? count - 1 - k : k];
            resume(fiber);
            done += fiber->state == DONE;
        }
        if (done == count) break;
        if (done != 0) {
            fprintf(stderr, "twin: kernel %s: %u of %u threads ended before a barrier\n", running_kernel, done, count);
            abort();
        }
    }
    team->current = nullptr;
}
