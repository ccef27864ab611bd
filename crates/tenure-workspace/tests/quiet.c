/* Makes every look at a clock visible to `strace`.
 *
 * The kernel maps its clocks into each process (the vDSO), so that reading one is no system call.
 * Loaded before libc (LD_PRELOAD), this makes the functions that read a clock, or the kernel's random
 * numbers, do it by a system call. Whatever reads the processor's time stamp by another way is killed:
 * that is what the kernel's clocks are made of on x86. */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifdef READS_TIME_STAMP
/* A program that reads the time stamp, to prove that it is killed for it. */
int main(void) { return (int)(__builtin_ia32_rdtsc() & 0); }
#else

int clock_gettime(clockid_t clock, struct timespec *now) {
  return (int)syscall(SYS_clock_gettime, clock, now);
}

int gettimeofday(struct timeval *now, void *zone) {
  return (int)syscall(SYS_gettimeofday, now, zone);
}

time_t time(time_t *out) {
  struct timespec now = {0, 0};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
  return syscall(SYS_getrandom, buffer, length, flags);
}

#ifdef PR_SET_TSC
/* Runs after the dynamic linker, which reads the time stamp itself, and before the program. Threads
 * inherit it. */
__attribute__((constructor)) static void kill_readers_of_the_time_stamp(void) {
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}
#endif
#endif
