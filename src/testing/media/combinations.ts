/**
 * Choosing one of several versions at each of several places.
 *
 * @module
 */

/**
 * Ways to choose one of `counts[i]` versions at each place, 0 the oldest: all of them, or, where those are more than `limit`,
 * the edges that {@linkcode CrashBounds} names.
 */
export function* combinations(counts: readonly number[], limit: number): Generator<number[]> {
  const product = counts.reduce((left, right) => left * right, 1);
  if (product <= limit) {
    for (let number = 0; number < product; number++) {
      let rest = number;
      yield counts.map((count) => {
        const chosen = rest % count;
        rest = Math.floor(rest / count);
        return chosen;
      });
    }
    return;
  }
  const newest = counts.map((count) => count - 1);
  for (let edge = 0; edge <= counts.length; edge++) {
    yield newest.map((last, index) => index < edge ? last : 0);
    yield newest.map((last, index) => index < edge ? 0 : last);
  }
  for (let one = 0; one < counts.length; one++) {
    for (let version = 0; version < counts[one]!; version++) {
      yield newest.map((_, index) => index === one ? version : 0);
      yield newest.map((last, index) => index === one ? version : last);
    }
  }
}
