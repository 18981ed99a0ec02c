"""A run in which everything happens once, as a cell that any host can execute: thinking, rows, a failure, an answer, a trace."""

from __future__ import annotations

CHECKOUT = r"""
import agentcell
from agentcell.events import ModelEnded, ModelStarted, ThinkingDelta, Usage
from agentcell.testing import FakeClock

clock = FakeClock()
with agentcell.watch("Why is checkout slow?", clock=clock) as run:
    run.record(ModelStarted(model="large", model_call_id="1"))
    run.record(ThinkingDelta(text="I look at the deploys first.", model_call_id="1"))
    clock.advance(2)
    run.record(ModelEnded(model_call_id="1", usage=Usage(1200, 180), tool_calls=2))
    with run.tool("metrics", route="/cart") as call:
        clock.advance(0.1)
        call.fail("TimeoutError: no answer in 1.5 s")
    with run.tool("search_notes", query="connection pool") as call:
        clock.advance(1.9)
        call.result(["Checkout p95", "Deploy <4121>"])
    run.record(ModelStarted(model="large", model_call_id="2"))
    run.record(ModelEnded(model_call_id="2", usage=Usage(2200, 380)))
    run.write("The p95 rose after **Tuesday's deploy**:\n\n| route | after |\n|---|--:|\n| /cart | 105 ms |\n\n")
    run.write("```yaml\npool:\n  size: 64\n```\n\n1. Undo it.\n2. Look again.\n")
"""

READS = """\
Thought for 4s · 2 tools · 4.0k tokens
Thinking · 2.0s
I look at the deploys first.
✕ Calling metrics failed — TimeoutError: no answer in 1.5 s · 0.1s
in
{"route": "/cart"}
Searching notes for “connection pool” — Found 2 relevant notes · 1.9s
in
{"query": "connection pool"}
out
["Checkout p95", "Deploy <4121>"]
The p95 rose after Tuesday's deploy:
route
after
/cart
105 ms
pool:
  size: 64
Undo it.
Look again.
Tool trace · 1× metrics · 1× search_notes
model asks for 2 tools at 0.0s 2.0s 1,380 tokens
tokens
1,200 in · 180 out · 0 cached
model
large
thinking
I look at the deploys first.
✕ metrics → TimeoutError: no answer in 1.5 s at 2.0s 0.1s
in
{"route": "/cart"}
error
TimeoutError: no answer in 1.5 s
search_notes → 2 relevant notes at 2.1s 1.9s
in
{"query": "connection pool"}
out
["Checkout p95", "Deploy <4121>"]
model answers at 4.0s 2,580 tokens
tokens
2,200 in · 380 out · 0 cached
model
large
""".splitlines()
"""What its HTML says, line by line, to who sees neither styles nor classes."""
