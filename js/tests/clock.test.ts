import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock } from "../src/clock";
import { pass } from "./page";

test("a running clock counts on from what Python said", () => {
  const clock = new Clock();
  clock.set(9, true);
  pass(1500);
  assert.equal(clock.read(), 10.5);
});

test("a stopped clock says what Python said, however long ago", () => {
  const clock = new Clock();
  clock.set(12.3, false);
  pass(60_000);
  assert.equal(clock.read(), 12.3);
});

test("a late message never turns the clock back", () => {
  const clock = new Clock();
  clock.set(0, true);
  pass(5000);
  assert.equal(clock.read(), 5);
  clock.set(4.2, true);
  assert.equal(clock.read(), 5);
  pass(1000);
  assert.equal(clock.read(), 5.2);
});

test("the end is Python's own number, also when it is less than was shown", () => {
  const clock = new Clock();
  clock.set(0, true);
  pass(5000);
  clock.read();
  clock.set(4.9, false);
  assert.equal(clock.read(), 4.9);
});
