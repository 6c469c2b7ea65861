/*
 * What appending some bytes and making them durable costs without any runtime: one write, one fdatasync.
 *
 *   append_sync FILE SIZE_BYTES
 *
 * SIZE_BYTES bytes come first on standard input: they are what is appended. From then on every byte on standard
 * input asks for one append. The answer is how long the two calls took, in nanoseconds: eight bytes, little end first.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int fail(const char *what) {
  perror(what);
  return 1;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "Cannot run: wanted a file and a size\n");
    return 2;
  }
  size_t size_bytes = strtoull(arguments[2], NULL, 10);
  char *bytes = malloc(size_bytes);
  if (bytes == NULL) return fail("malloc");
  for (size_t have = 0; have < size_bytes;) {
    ssize_t got = read(0, bytes + have, size_bytes - have);
    if (got <= 0) return fail("read");
    have += (size_t)got;
  }
  int file = open(arguments[1], O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0600);
  if (file < 0) return fail("open");

  char asked;
  while (read(0, &asked, 1) == 1) {
    int64_t start_ns = now_ns();
    if (write(file, bytes, size_bytes) != (ssize_t)size_bytes) return fail("write");
    if (fdatasync(file) != 0) return fail("fdatasync");
    uint64_t took_ns = (uint64_t)(now_ns() - start_ns);
    unsigned char answer[8];
    for (int place = 0; place < 8; place++) answer[place] = (unsigned char)(took_ns >> (8 * place));
    if (write(1, answer, sizeof answer) != sizeof answer) return fail("answer");
  }
  return 0;
}
