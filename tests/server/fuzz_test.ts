import { checkCovers, fuzz } from "./fuzz.ts";

Deno.test("1,500 requests made from the OpenAPI document and spoilt: only 2xx and 4xx, each answered", async () => {
  const report = await fuzz(1, 1500);
  console.log(JSON.stringify(report));
  checkCovers(report);
});
