import assert from "node:assert/strict";
import { test } from "node:test";
import cases from "../../tests/expected/durations.json";
import { clockText, shortDurationText } from "../src/duration";

for (const { seconds, clock, short } of cases) {
  test(`${seconds} s reads the same as in Python`, () => {
    assert.equal(clockText(seconds), clock);
    assert.equal(shortDurationText(seconds), short);
  });
}

test("what is not a number reads as no time at all", () => {
  assert.equal(clockText(Number.NaN), "0s");
  assert.equal(shortDurationText(Number.NaN), "");
});
