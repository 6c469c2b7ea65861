import { assertEquals } from "@std/assert";
import {
  BufferFullError,
  CorruptLogError,
  FencedError,
  LockLostError,
  SequenceGapError,
  ShortWriteError,
  StorageFullError,
  StorageLostError,
  SyncFailedError,
} from "../../src/errors.ts";
import { isPermanentFailure } from "../../src/writer/failure.ts";

Deno.test("isPermanentFailure() tells what a retry can heal from what it cannot", () => {
  const permanent = [LockLostError, SyncFailedError, FencedError, SequenceGapError, CorruptLogError];
  assertEquals(permanent.map((Failure) => isPermanentFailure(new Failure("x"))), permanent.map(() => true));

  const passing = [StorageFullError, StorageLostError, ShortWriteError, BufferFullError];
  assertEquals(passing.map((Failure) => isPermanentFailure(new Failure("x"))), passing.map(() => false));
});

Deno.test("isPermanentFailure() goes by the code, and takes what has none for passing", () => {
  assertEquals(isPermanentFailure({ code: "FENCED" }), true);
  assertEquals(isPermanentFailure(new Error("EIO")), false);
  assertEquals(isPermanentFailure(undefined), false);
  assertEquals(isPermanentFailure(new TypeError("a row the store refuses")), true);
  assertEquals(isPermanentFailure(new RangeError("a row the store refuses")), true);
});
