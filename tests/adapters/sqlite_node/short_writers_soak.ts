import { shortWriters } from "./short_writers.ts";

Deno.test("sqlite: 1000 short-lived writers beside a long-lived one leave the database whole (field/D11)", async () => {
  await shortWriters(1000);
});
