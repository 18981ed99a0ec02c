"""For tests of code that uses agentcell: a clock that obeys, comms that remember, and a server that replays recorded streams."""

from agentcell.testing.clock import FakeClock
from agentcell.testing.comms import patches, recorded_comms
from agentcell.testing.replay import ReplayRequest, ReplayServer

__all__ = ["FakeClock", "ReplayRequest", "ReplayServer", "patches", "recorded_comms"]
