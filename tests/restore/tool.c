// Sets and drops extended attributes: `tool set PATH NAME VALUE…`, `tool drop PATH NAME`.
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

int main(int count, char **words) {
    if (count > 4 && strcmp(words[1], "set") == 0) {
        for (int i = 2; i + 2 < count; i += 3)
            if (setxattr(words[i], words[i + 1], words[i + 2], strlen(words[i + 2]), 0)) return perror(words[i]), 1;
        return 0;
    }
    if (count == 4 && strcmp(words[1], "drop") == 0) return removexattr(words[2], words[3]) ? (perror(words[2]), 1) : 0;
    return 2;
}
