import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Act, newId, sendAction } from "../src/actions";
import type { Model } from "../src/model";
import { ACTION_MESSAGE, type Action } from "../src/wire";
import { Host } from "./host";

const act: Act = { type: "open", row: 3, open: true };

/** What the comm got; the one action, under the id that it was given. */
function sent(host: Host): Action {
  const [action, ...more] = host.sent;
  assert.deepEqual({ ...action, id: "" }, { ...act, id: "" });
  assert.ok(action?.id);
  assert.deepEqual(more, []);
  return action;
}

test("an action goes by both roads with one id", () => {
  const host = new Host();
  sendAction(host.model, act);
  const action = sent(host);
  const [message] = host.kernel.sent;
  assert.deepEqual(message?.content, { run_id: "run-1", action });
  assert.equal(message?.header.msg_type, ACTION_MESSAGE);
  assert.equal(message?.header.session, "client");
  assert.equal(host.kernel.sent.length, 1);
});

test("a closed road does not close the other", () => {
  const host = new Host();
  const fail = () => {
    throw new Error("Cannot send");
  };
  sendAction({ ...host.model, send: fail }, act);
  assert.equal(host.kernel.sent.length, 1);
  host.kernel.sendControlMessage = fail;
  sendAction(host.model, act);
  sent(host);
});

for (const [name, manager] of [
  ["no manager", undefined],
  ["no kernel", {}],
  ["a kernel that was shut down", { kernel: null }],
  ["a kernel without a control channel", { kernel: {} }],
] as [string, Model["widget_manager"]][]) {
  test(`with ${name} the comm is the only road`, () => {
    const host = new Host();
    sendAction({ ...host.model, widget_manager: manager }, act);
    sent(host);
  });
}

test("ids differ, also on a page that is no secure context", () => {
  const ids = [newId(), newId()];
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  ids.push(newId(), newId());
  assert.equal(new Set(ids).size, 4);
  for (const id of ids) assert.ok(id.length >= 32);
});
