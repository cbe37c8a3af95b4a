// repeat [-s] FILE COMMAND…: runs a command once and adds to FILE how long it took, in milliseconds.
// With -s the command prints the monotonic clock (see stamp.c), and what is taken is the time until then.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

int main(int count, char **words) {
    int stamped = count > 1 && strcmp(words[1], "-s") == 0;
    char **rest = words + 1 + stamped;
    if (count < 3 + stamped)
        return fprintf(stderr, "repeat [-s] FILE COMMAND...\n"), 2;
    int out[2];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (stamped) {
        if (pipe2(out, O_CLOEXEC)) return perror("pipe"), 2;
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    }
    pid_t pid;
    int status;
    double from = now();
    if (posix_spawnp(&pid, rest[1], &actions, NULL, rest + 1, environ)) return perror(rest[1]), 127;
    if (waitpid(pid, &status, 0) < 0) return perror("waitpid"), 2;
    double to = now();
    if (!WIFEXITED(status) || WEXITSTATUS(status)) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (stamped) {
        char text[64] = "";
        if (read(out[0], text, sizeof text - 1) <= 0) return fprintf(stderr, "no stamp\n"), 2;
        to = atof(text);
    }
    FILE *samples = fopen(rest[0], "a");
    if (!samples) return perror(rest[0]), 2;
    fprintf(samples, "%.3f\n", to - from);
    return fclose(samples) != 0;
}
