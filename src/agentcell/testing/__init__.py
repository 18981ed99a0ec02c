"""For tests of code that uses agentcell: a clock that obeys, comms that remember, and a server that replays recorded streams."""

from agentcell.testing.replay import ReplayServer

__all__ = ["ReplayServer"]
