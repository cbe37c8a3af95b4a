// The first thing that runs in a sandbox: says when that was, in milliseconds of the monotonic clock.
#include <stdio.h>
#include <time.h>

int main(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    printf("%.6f\n", at.tv_sec * 1e3 + at.tv_nsec / 1e6);
    return 0;
}
