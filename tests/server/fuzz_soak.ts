import { checkCovers, fuzz } from "./fuzz.ts";

Deno.test("12,000 requests made from the OpenAPI document and spoilt: only 2xx and 4xx, each answered", async () => {
  const report = await fuzz(2, 12_000);
  console.log(JSON.stringify(report));
  checkCovers(report);
});
