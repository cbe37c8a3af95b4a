// publish FILE TIMES FOLDER: the renames and flushes that put a layer and its record in place, on a disk with nothing else
// to write. Adds to FILE how long they took, in milliseconds.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

static void must(long result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

static void flush(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    must(file, path);
    must(fsync(file), path);
    close(file);
}

int main(int count, char **words) {
    if (count != 4) return fprintf(stderr, "publish FILE TIMES FOLDER\n"), 2;
    char layer[64], named[64], draft[64], record[64];
    static char text[1500];
    FILE *samples = fopen(words[1], "a");
    if (!samples) return perror(words[1]), 2;
    must(chdir(words[3]), words[3]);
    mkdir("w", 0755), mkdir("l", 0755), mkdir("s", 0755);
    for (int each = 0; each < atoi(words[2]); each++) {
        snprintf(layer, sizeof layer, "w/%d", each);
        snprintf(named, sizeof named, "l/%d", each);
        snprintf(draft, sizeof draft, "s/%d.draft", each);
        snprintf(record, sizeof record, "s/%d", each);
        must(mkdir(layer, 0755), layer);
        flush("w");
        double from = now();
        must(rename(layer, named), named);
        flush("l");
        int file = open(draft, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        must(file, draft);
        must(write(file, text, sizeof text), draft);
        must(fsync(file), draft);
        close(file);
        must(rename(draft, record), record);
        flush("s");
        fprintf(samples, "%.3f\n", now() - from);
    }
    return fclose(samples) != 0;
}
