// Numbers are printed in the browser as in Python: both are held to one table.

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { formatNumber, fullValue, parseNumber } from "../../ui/equation/js/numbers.js";
import cases from "../ui/number_cases.json" with { type: "json" };

Deno.test("a number is printed as in the shared table", () => {
  const one = new Float32Array(1), bits = new Uint32Array(one.buffer);
  for (const { bits: wanted, decimals, shown, full } of cases) {
    bits[0] = wanted;
    deepStrictEqual([formatNumber(one[0], decimals), fullValue(one[0])], [shown, full]);
  }
});

Deno.test("what is not a finite number is refused", () => {
  for (const text of ["NaN", "inf", "1e400", "1e39", "two", "1,5", "0x10", "", "--1", "1 2"]) {
    strictEqual(parseNumber(text), null, text);
  }
});

Deno.test("a number is read as the float32 that it names", () => {
  for (const [text, value] of [["−2.5", -2.5], [" 7 ", 7], ["+.5", 0.5], ["1e-3", 0.001], ["0.1", 0.1]]) {
    strictEqual(parseNumber(String(text)), value);
  }
});
